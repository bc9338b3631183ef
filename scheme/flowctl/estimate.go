package flowctl

import (
	"math"
	"math/bits"
	"sort"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// This file estimates how much headroom a queue needs (DSH section IV-C). The queue grows at g =
// dq/dt; until a pause takes effect, within D = PHI / C, it will grow by g D. Both estimators
// keep a smoothed g and its mean deviation per queue, and use phi^ = (g_avg + k v_avg) D, limited
// to 0 .. PHI. The first arrival of a queue has no gradient. phi^ is computed on demand, which is
// rare.

// weights are the parameters of an estimate.
type weights struct{ gradient, deviation, k units.Ratio }

// ideal is Algorithm 2 in floating point, with every step rounded.
type ideal struct {
	wg, wv, k float64
	delay     float64 // D, in ps
	phi       float64 // PHI
}

// never is the last arrival time of a queue without arrivals. No time has passed since then.
const never = units.Never

// gradient is the state of a queue: half a cache line.
type gradient struct {
	at     units.Time // last arrival
	g, v   float64    // g_avg and v_avg, in bytes per ps
	length int64      // queue length at that time
}

func newIdeal(w weights, phi units.Bytes, rate units.Rate) ideal {
	e := ideal{wg: real(w.gradient), wv: real(w.deviation), k: real(w.k), phi: float64(phi)}
	if rate > 0 {
		e.delay = float64(float64(phi)*8e12) / float64(rate)
	}
	return e
}

func real(r units.Ratio) float64 { return float64(r.Num) / float64(r.Den) }

// arrive records an arrival that makes the queue that long.
func (e *ideal) arrive(q *gradient, now units.Time, length units.Bytes) {
	grown, took := int64(length)-q.length, now-q.at
	q.length, q.at = int64(length), now
	if took <= 0 {
		return
	}
	off := float64(float64(grown)/float64(took)) - q.g
	q.g += float64(e.wg * off)
	q.v += float64(e.wv * (math.Abs(off) - q.v))
}

// estimate returns phi^ of a queue, to the nearest byte.
func (e *ideal) estimate(q *gradient) units.Bytes {
	phi := float64((q.g + float64(e.k*q.v)) * e.delay)
	return units.Bytes(max(0, min(phi, e.phi)) + 0.5)
}

// tables is Algorithm 3 in integers: a quotient is a difference of logarithms from a table,
// weights are shifts, and phi^ is found by comparing g^ with thresholds. Line 4 of the algorithm
// as printed subtracts w_g |g_avg - g| whatever the sign; here g_avg moves towards g, as in eq.
// 5.
type tables struct {
	wg, wv, k uint8 // shifts
	steps     [estimateSteps]int64
	phis      [estimateSteps + 1]units.Bytes
	queues    [mmu.Classes]tableQueue
}

type tableQueue struct {
	at     units.Time
	g, v   int64 // in bytes per 2^24 ps
	length int64
}

// Sizes of the tables, see docs/dsh.md. A logarithm has logBits of fraction and is looked up by
// the same number of bits after the leading one. The thresholds divide the line rate into equal
// steps.
const (
	logBits       = 8
	estimateSteps = 32
	gradientBits  = 24
	expBits       = 16
)

var (
	logTable [1 << logBits]uint16 // log2(1 + (i + 1/2)/2^logBits), in 1/2^logBits
	expTable [1 << logBits]uint32 // 2^(i/2^logBits), in 1/2^expBits
)

func init() {
	for i := range logTable {
		m := uint64(1)<<31 + uint64(2*i+1)<<(30-logBits)
		logTable[i] = uint16((log2(m, logBits+4) + 8) >> 4)
	}
	for i := range expTable {
		// The smallest mantissa whose logarithm is large enough.
		n := sort.Search(1<<expBits, func(n int) bool {
			return log2(uint64(1<<expBits+n)<<(31-expBits), logBits+12) >= uint64(i)<<12
		})
		expTable[i] = uint32(1<<expBits + n)
	}
}

// log2 returns log2(m / 2^31) for m from 2^31 to 2^32 with n bits of fraction, by squaring. It
// uses integers only, so that all machines have the same tables.
func log2(m uint64, n int) uint64 {
	r := uint64(0)
	for range n {
		m, r = m*m>>31, r<<1
		if m >= 1<<32 {
			m, r = m>>1, r|1
		}
	}
	return r
}

// logOf looks up the logarithm of a positive number.
func logOf(x uint64) int {
	e := bits.Len64(x) - 1
	return e<<logBits + int(logTable[x<<(63-e&63)>>(63-logBits)&(1<<logBits-1)])
}

// quotient returns a / b in units of 2^-gradientBits from the tables.
func quotient(a, b uint64) int64 {
	l := logOf(a) - logOf(b) + gradientBits<<logBits
	m := int64(expTable[l&(1<<logBits-1)])
	e := l>>logBits - expBits
	if e >= 0 {
		return m << min(e, 62-expBits-1)
	}
	return m >> min(-e, 63)
}

// newTables returns false if a weight is not a power of two.
func newTables(w weights, phi units.Bytes, rate units.Rate) (*tables, bool) {
	e := &tables{}
	var ok [3]bool
	e.wg, ok[0] = shiftOf(units.Ratio{Num: w.gradient.Den, Den: w.gradient.Num})
	e.wv, ok[1] = shiftOf(units.Ratio{Num: w.deviation.Den, Den: w.deviation.Num})
	e.k, ok[2] = shiftOf(w.k)
	hi, lo := bits.Mul64(uint64(rate), 1<<(gradientBits-3))
	quotient, _ := bits.Div64(hi, lo, 1e12)
	line := int64(quotient) // C
	for i := range e.steps {
		e.steps[i] = line * int64(i) / estimateSteps
		e.phis[i+1] = phi * units.Bytes(i+1) / estimateSteps
	}
	for i := range e.queues {
		e.queues[i].at = never
	}
	return e, ok == [3]bool{true, true, true}
}

// shiftOf returns n for a ratio of 2^n, n >= 0.
func shiftOf(r units.Ratio) (uint8, bool) {
	if r.Den != 1 || r.Num&(r.Num-1) != 0 {
		return 0, false
	}
	return uint8(bits.TrailingZeros64(uint64(r.Num))), true
}

// arrive is as for ideal.
func (e *tables) arrive(now units.Time, class uint8, length units.Bytes) {
	q := &e.queues[class&7]
	grown, took := int64(length)-q.length, now-q.at
	q.length, q.at = int64(length), now
	if took <= 0 {
		return
	}
	g := int64(0)
	if grown > 0 {
		g = quotient(uint64(grown), uint64(took))
	} else if grown < 0 {
		g = -quotient(uint64(-grown), uint64(took))
	}
	off := g - q.g
	q.g += off >> (e.wg & 63)
	if off < 0 {
		off = -off
	}
	q.v += (off - q.v) >> (e.wv & 63)
}

// estimate returns phi^ of a queue.
func (e *tables) estimate(class uint8) units.Bytes {
	q := &e.queues[class&7]
	return e.phis[e.above(q.g+q.v<<(e.k&63))]
}

// above counts the thresholds below g^, so a step is rounded up.
func (e *tables) above(g int64) int {
	n := 0
	for half := estimateSteps / 2; half > 0; half /= 2 {
		if g > e.steps[n+half-1] {
			n += half
		}
	}
	if g > e.steps[n] {
		n++
	}
	return n
}
