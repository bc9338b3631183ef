package cc_test

import (
	"math"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// NewReno in a fabric with one flow and no marks: each loss leaves half of the bytes in flight
// (RFC 5681, eq. 4), which is the window. Between losses the window grows by about a segment
// per round trip. The queue takes 444,444 / 1518 = 292 segments and the path 26.5 KB / 1518 =
// 17: losses begin at 309.
func TestNewRenoHalves(t *testing.T) {
	b := newSetup("tcp", tcpKeys("{name: newreno}", "{name: none}"), 1, 0).build(t)
	cuts := 0
	last := units.Bytes(0)
	for at := 5 * units.Millisecond; at < 200*units.Millisecond; at += sim.CheckPeriod {
		b.until(at)
		w := b.controls[0].Window(at)
		if w < last {
			cuts++
			if share := float64(w) / float64(last); math.Abs(share-0.5) > 0.02 {
				t.Errorf("at %s the window goes from %d to %d B: %.3f", at, last, w, share)
			}
			if math.Abs(float64(last)/1460-309) > 4 {
				t.Errorf("at %s a window of %.1f segments lost a packet, want 309", at, float64(last)/1460)
			}
		}
		last = w
	}
	if cuts < 2 {
		t.Errorf("%d losses in 195 ms", cuts)
	}
	if n := b.Flows.Send[0].Timeouts; n != 0 {
		t.Errorf("%d timeouts", n)
	}
	b.checkInvariants()
}

// Cubic in a fabric with a path of 200 ms, where it is faster than Reno. A frame is corrupted
// at 0.1 s. From the end of the recovery the window follows W(t) = C (t - K)^3 + W_max, K =
// cube root of (W_max (1 - beta) / C) (RFC 9438, section 4.2), within 1 % of W_max, for 16 s.
func TestCubicCurve(t *testing.T) {
	s := setup{units.Gbps, 100 * units.Mbps, 50 * units.Millisecond, tcpKeys("{name: cubic, initial_segments: 1000}", "{name: none}"), "tcp", 1, 0}
	s.keys = strings.NewReplacer("min_rto: 1ms", "min_rto: 1s, timeout: 2s", "size: 4MB", "size: 40MB").Replace(s.keys)
	s.keys += "faults: [{at: 60ms, link: host0-switch0, corrupt: 1, for: 200us}]\n"
	b := s.build(t)
	window := func(at units.Time) float64 {
		b.until(at)
		return float64(b.controls[0].Window(at)) / 1460
	}
	const step = units.Millisecond
	at := step
	before, after := window(at), 0.0
	for ; ; at += step { // the loss
		if after = window(at); after < before {
			break
		}
		before = after
	}
	if math.Abs(after/before-0.7) > 0.005 {
		t.Errorf("the window goes from %.1f to %.1f segments, want 0.7 of it", before, after)
	}
	for window(at) == after { // the recovery
		at += step
	}
	k := math.Cbrt((before - after) / 0.4)
	worst := 0.0
	begin := at - step
	for ; at < begin+16*units.Second; at += step {
		x := (at - begin).Seconds() - k
		worst = max(worst, math.Abs(window(at)-(0.4*x*x*x+before)))
	}
	if !(worst < 0.01*before) {
		t.Errorf("the window is up to %.1f segments off the curve of %.1f segments and K = %.2f s", worst, before, k)
	}
	if r := b.Flows.Send[0]; r.Timeouts != 0 || r.Resent == 0 {
		t.Errorf("%+v", r)
	}
	b.checkInvariants()
}

// Go-back-N sends repeated NACKs for a gap; the control is told of one loss.
func TestOneLossPerRecovery(t *testing.T) {
	s := newSetup("tcp", `hosts:
  cc: {name: newreno, initial_segments: 64}
  reliability: {name: go-back-n, nack_interval: 1us}
faults: [{at: 8us, link: host0-switch0, corrupt: 1, for: 500ns}]
`, 1, 0)
	b := s.build(t)
	b.until(50 * units.Microsecond)
	// 64 packets, plus one for each of the 8 acknowledged, are in flight: 36 are left. A
	// second reaction would leave 18.
	if w := b.controls[0].Window(50 * units.Microsecond); w != 36*units.KB {
		t.Errorf("the window falls to %s, want 36 KB", w)
	}
	if n := b.engine.Totals().Nacks; n < 3 {
		t.Errorf("%d NACKs: the test needs some", n)
	}
	b.checkInvariants()
}
