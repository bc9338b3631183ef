package cc

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// rounds is the common state of HPCC and PowerTCP: every ACK sets the rate, relative to a
// reference that changes once per round trip. So reactions are fast, and the ACKs of one
// round trip, which report the same congestion, do not react to it twice (Li et al. 2019,
// section 3.2).
type rounds struct {
	line units.Rate
	min  units.Rate
	rate units.Rate // current rate
	cur  units.Rate // reference rate
	u    float64    // load of the most loaded hop, averaged over a round trip
	t    int64      // base round-trip time in ticks of the clock
	last uint32     // packets before this one were sent before the reference changed
}

func startRounds(f *Flow, lowest units.Rate, tick units.Time) rounds {
	return rounds{line: f.Line, min: min(lowest, f.Line), rate: f.Line, cur: f.Line, u: 1, t: int64(max(1, f.BaseRTT/tick))}
}

// blend averages a load measured over dt ticks into u.
func (r *rounds) blend(load float64, dt int64) {
	dt = min(dt, r.t)
	r.u = float64(float64(r.u*float64(r.t-dt))+float64(load*float64(dt))) / float64(r.t)
}

// over returns the reference divided by c. For a load of zero the result is far above any
// line rate; set limits it.
func (r *rounds) over(c float64) units.Rate {
	const farAbove = 1e18
	if v := float64(r.cur) / c; v < farAbove {
		return units.Rate(v)
	}
	return farAbove
}

// set sets the rate within its limits and, after a full round trip, also the reference.
func (r *rounds) set(rate units.Rate, full bool, next uint32) {
	r.rate = min(max(rate, r.min), r.line)
	if full {
		r.cur = r.rate
		r.last = max(r.last, next)
	}
}

// largest is the maximum of non-negative loads and the ticks over which it was measured.
// The most loaded hop changes from ACK to ACK, so a branch would be mispredicted. Floats are
// compared as integers, which have the same order and compile without a branch.
type largest struct {
	bits  uint64 // bits of the load, plus one; 0: none
	ticks int64
}

// zeroLoad is a starting value that loads of zero do not exceed.
var zeroLoad = largest{bits: 1}

func (l largest) or(load float64, ticks int64) largest {
	b := math.Float64bits(load) + 1
	if b <= l.bits {
		ticks = l.ticks
	}
	return largest{max(b, l.bits), ticks}
}

// value returns the largest load and its ticks, or zeros if there is none.
func (l largest) value() (float64, int64) {
	if l.bits == 0 {
		return 0, 0
	}
	return math.Float64frombits(l.bits - 1), l.ticks
}

// share returns the window at the current rate, where w0 is the window at line rate.
func (r *rounds) share(w0 units.Bytes) units.Bytes { return windowShare(w0, r.rate, r.line) }

// windowShare returns w0 times rate over line, rounded down, but at least one byte.
func windowShare(w0 units.Bytes, rate, line units.Rate) units.Bytes {
	hi, lo := bits.Mul64(uint64(w0), uint64(rate))
	q, _ := bits.Div64(hi, lo, uint64(line))
	return max(1, units.Bytes(q))
}

// inTrip returns the bytes sent in a base round-trip time; a tick lasts the given seconds.
func (r *rounds) inTrip(seconds float64) units.Bytes {
	return max(1, units.Bytes(float64(float64(float64(r.rate)*float64(r.t))*seconds)/8))
}

// hops keeps the records of the last ACK; before the first, they are zero.
type hops struct {
	at    units.Time
	n     int
	words [telemetry.MaxWords]uint64 // last field: most of it is never touched
}

// keep stores the records of an ACK.
func (h *hops) keep(now units.Time, ext packet.Ext) {
	h.n, h.at = copy(h.words[:], ext), now
}

// fresh reports whether records can be compared with the records of the last ACK: they are
// from the same hops, and not so old that a clock may have wrapped. An age of 0 disables the check.
func (h *hops) fresh(now units.Time, f telemetry.Format, ext packet.Ext, age units.Time) bool {
	return age == 0 || now-h.at <= age && f.SamePath(ext, h.words[:h.n])
}

// complement returns 1 - g rounded to nine digits: 0.1 for 0.9, not 0.09999999999999998.
func complement(g float64) float64 {
	return float64(int64(float64((1-g)*1e9)+0.5)) / 1e9
}

// telemetrySpec parses the parameters of telemetry.
func telemetrySpec(format, counter string, age units.Time) (telemetry.Spec, error) {
	f, err := telemetry.ParseFormat(format)
	if err != nil {
		return telemetry.Spec{}, fmt.Errorf("telemetry: %w", err)
	}
	c, err := telemetry.ParseCounter(counter)
	if err != nil {
		return telemetry.Spec{}, fmt.Errorf("counter: %w", err)
	}
	if age < 0 || age >= f.Span() {
		return telemetry.Spec{}, fmt.Errorf("max_age is %s (expected 0s to compare always, or less than %s, when the clock of format %s wraps)", age, f.Span(), f)
	}
	return telemetry.Spec{Format: f, Counter: c}, nil
}
