package deadlock_test

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// smallFrames is a switch that hides the size of its frames from its handler.
type smallFrames struct{ deadlock.Switch }

func (smallFrames) MTU(int) units.Bytes { return 64 }

// Without redundant headroom for a frame, only barriers move in a round, and every round is
// given up. The loop is one deadlock from its onset to the end, whether the run ends within a
// round or between two.
func TestRoundsInVainAreADeadlock(t *testing.T) {
	e, _ := deadlock.Handlers.Get("roundabout")
	p := e.Params().(*deadlock.RoundaboutParams)
	p.Redundant = 1047
	until := func(end units.Time, watch bool) *conformance.Result {
		net := conformance.Ring(4, 3, 500*units.KB)
		net.PFC.Ordered, net.Until, net.Watch = true, end, watch
		net.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return e.New(p, smallFrames{s}) }
		return net.Run()
	}
	onset := units.Time(0)
	for _, end := range []units.Time{9_000_000_000, 10_000_000_000, 20_000_000_000, 20_700_000_000} {
		for _, watch := range []bool{false, true} {
			r := until(end, watch)
			if r.Err != nil || r.Unfinished() == 0 || len(r.Deadlocks) != 1 {
				t.Fatalf("until %s, watched %t: %v, %d flows unfinished, %d deadlocks", end, watch, r.Err, r.Unfinished(), len(r.Deadlocks))
			}
			d := &r.Deadlocks[0]
			if onset == 0 {
				onset = d.Onset
			}
			if d.End != units.Never || d.Onset != onset || onset > units.Millisecond || len(d.Loop) != 4 {
				t.Errorf("until %s, watched %t: from %s to %s, loop %d", end, watch, d.Onset, d.End, d.Loop)
			}
		}
	}
	if r := until(2*units.Millisecond, false); len(r.Deadlocks) != 0 {
		t.Errorf("%d deadlocks in the first round, which may still succeed", len(r.Deadlocks))
	}
}

// Redundant headroom must hold the largest frame, in cells and with its cost per packet. One
// frame is enough, also for frames larger than the usual credit.
func TestRedundantHoldsAFrame(t *testing.T) {
	e, _ := deadlock.Handlers.Get("roundabout")
	for _, c := range []struct {
		cell, mtu, redundant units.Bytes
		resolve              bool
		says                 string
	}{
		{0, 1048, 1048, true, ""},
		{0, 1048, 1047, true, "redundant is 1.047KB: a frame of 1.048KB takes 1.048KB of buffer (expected 1.048KB or more)"},
		{0, 1048, 1047, false, ""},
		{200, 1048, 1200, true, ""},
		{200, 1048, 1199, true, "a frame of 1.048KB takes 1.2KB of buffer (expected 1.2KB or more)"},
		{0, 9000, 9000, true, ""},
	} {
		p := e.Params().(*deadlock.RoundaboutParams)
		p.Redundant, p.Resolve = c.redundant, c.resolve
		net := conformance.Ring(4, 3, 500*units.KB)
		net.PFC.Ordered, net.Cell, net.Until = true, c.cell, 100*units.Millisecond
		net.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) {
			if c.mtu != 1048 {
				s = largeFrames{s, c.mtu}
			}
			return e.New(p, s)
		}
		r := net.Run()
		switch {
		case c.says != "":
			if r.Err == nil || !strings.Contains(r.Err.Error(), c.says) {
				t.Errorf("%+v: %v", c, r.Err)
			}
		case r.Err != nil || c.resolve != (r.Unfinished() == 0):
			t.Errorf("%+v: %v, %d unfinished", c, r.Err, r.Unfinished())
		}
	}
}

// largeFrames is a switch with a larger MTU.
type largeFrames struct {
	deadlock.Switch
	mtu units.Bytes
}

func (s largeFrames) MTU(int) units.Bytes { return s.mtu }
