package conformance_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/sim"
)

// Every scheme brings this ring to a deadlock. It is found with the same times for all engine
// options, and no frame moves afterwards.
func TestDeadlockUnderEveryScheme(t *testing.T) {
	pfc, err := flowctl.Schemes.Get("pfc")
	if err != nil {
		t.Fatal(err)
	}
	sonic, err := flowctl.Schemes.Get("sonic")
	if err != nil {
		t.Fatal(err)
	}
	for name, scheme := range map[string]func(int, int) flowctl.Scheme{
		"pfc": always(pfc), "sonic": always(sonic), "dsh": always(dshEntry), "cbfc": always(cbfcEntry), "bifrost": always(bifrostEntry),
	} {
		var first []sim.Deadlock
		for _, o := range []sim.Options{{}, {WindowDivisor: 2}, {WindowDivisor: 3, Workers: 2}} {
			for _, watch := range []bool{false, true} {
				n := conformance.Ring(4, 3, 400*units.KB)
				n.Until, n.Flow, n.Options, n.Watch = 2*units.Millisecond, scheme, o, watch
				r := n.Run()
				if r.Err != nil || r.Unfinished() == 0 {
					t.Fatalf("%s: %v, %d unfinished", name, r.Err, r.Unfinished())
				}
				if len(r.Deadlocks) != 1 || len(r.Deadlocks[0].Loop) != 4 || r.Deadlocks[0].End != units.Never {
					t.Fatalf("%s, %+v, watch %v: %+v", name, o, watch, r.Deadlocks)
				}
				if first == nil {
					first = r.Deadlocks
				}
				if !reflect.DeepEqual(first, r.Deadlocks) {
					t.Errorf("%s, %+v, watch %v:\n%+v\nwant\n%+v", name, o, watch, r.Deadlocks, first)
				}
			}
		}
	}
}

// Two flows of different classes share a port under DSH. The loop closes through pauses of whole
// ports: the second class has no loop of its own, but is stuck too.
func TestDeadlockByPortPause(t *testing.T) {
	n := conformance.Ring(4, 3, 400*units.KB)
	n.Until, n.Flow, n.Watch = 2*units.Millisecond, always(dshEntry), true
	// N_q T is 7/8 of the free bytes: with different classes, ports pause before queues do.
	n.Policy = func(_ int, e buffer.Env) (buffer.Policy, error) {
		dt, err := buffer.Policies.Get("dt")
		if err != nil {
			return nil, err
		}
		return dt.New(&buffer.DTParams{Alpha: units.Ratio{Num: 1, Den: 8}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, e)
	}
	for i := range n.Flows {
		n.Flows[i].Class = uint8(1 + i%2)
	}
	r := n.Run()
	if r.Err != nil || len(r.Deadlocks) != 1 || r.Deadlocks[0].End != units.Never {
		t.Fatalf("%v %+v", r.Err, r.Deadlocks)
	}
	classes := make(map[uint8]int)
	for _, q := range r.Deadlocks[0].Queues {
		classes[q.Class]++
	}
	if classes[1] == 0 || classes[2] == 0 {
		t.Errorf("stuck queues by class: %v", classes)
	}
}

// A handler that resolves a deadlock ends it: it is recorded with its end, and none is left when all
// flows are done.
func TestDeadlockIsResolved(t *testing.T) {
	n := conformance.Ring(4, 3, 400*units.KB)
	n.Watch = true
	n.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return roundaboutEntry.New(nil, s) }
	r := n.Run()
	if r.Err != nil || r.Unfinished() != 0 {
		t.Fatalf("%v, %d unfinished", r.Err, r.Unfinished())
	}
	if len(r.Deadlocks) == 0 {
		t.Fatal("no deadlock found")
	}
	for _, d := range r.Deadlocks {
		// The handler waits 50 us before it acts.
		if d.End == units.Never || d.End-d.Onset < 50*units.Microsecond {
			t.Errorf("deadlock from %s to %s (expected at least 50 us)", d.Onset, d.End)
		}
	}
}

// Every flow control that can pause its upstream implements flowctl.Resuming.
func TestEverySchemeResumes(t *testing.T) {
	for _, e := range flowctl.Schemes.All() {
		n := conformance.Ring(3, 1, 10*units.KB)
		n.Flow = func(int, int) flowctl.Scheme { return resumes{always(e)(0, 0), t, e.Name} }
		if r := n.Run(); r.Err != nil {
			t.Errorf("%s: %v", e.Name, r.Err)
		}
	}
}

// resumes checks the receivers of a scheme.
type resumes struct {
	flowctl.Scheme
	t    *testing.T
	name string
}

func (s resumes) Receiver(p flowctl.Port) flowctl.Receiver {
	r := s.Scheme.Receiver(p)
	if _, ok := r.(flowctl.Resuming); !ok {
		s.t.Errorf("%s does not implement flowctl.Resuming: its queues would never be found in a deadlock (docs/deadlock.md)", s.name)
	}
	return r
}
