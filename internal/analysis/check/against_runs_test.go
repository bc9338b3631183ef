package check

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/examples"
)

// Every deadlock of a run is a cycle that the check finds: each step of its loop is a hop of
// a cycle.
func TestDeadlocksAreCyclesThatWereFound(t *testing.T) {
	for name, set := range map[string][]string{
		"deadlock":        nil,
		"roundabout-ring": {"run.arrivals=10us", "run.stop.at_most=300us"},
		"dsh-fig16":       {"run.arrivals=370us", "run.stop.at_most=370us"},
		"dsh-ring":        {"run.arrivals=100us", "run.stop.at_most=100us"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := examples.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			built, fast := simulate(t, e.Text, set...)
			found := fast.Final().Deadlocks
			if len(found) != 1 || len(found[0].Loop) < 3 {
				t.Fatalf("deadlocks: %+v", found)
			}
			type step struct{ from, at, to string }
			steps := make(map[step]bool)
			for _, f := range runCheck(t, e.Text, Options{}).Findings {
				for _, c := range f.Cycles {
					for _, h := range c.Hops {
						steps[step{h.From, h.Switch, h.To}] = true
					}
				}
			}
			names := built.Graph.Names
			d := &found[0]
			for i, at := range d.Loop {
				q, next := &d.Queues[at], &d.Queues[d.Loop[(i+1)%len(d.Loop)]]
				if s := (step{names[q.Node], names[next.Node], names[next.Peer.Node]}); !steps[s] {
					t.Errorf("%+v is stuck, but the check found only %v", s, steps)
				}
			}
		})
	}
}

// Pinned routes may name ports, and a list of flows may set routes of single flows: both form
// the loop of the example.
func TestRoutesOfCycles(t *testing.T) {
	e, err := examples.Get("deadlock")
	if err != nil {
		t.Fatal(err)
	}
	ports := strings.ReplaceAll(e.Text, "via: [switch0, switch1,", "via: [switch0.port1, switch1.port2,")
	from, to := strings.Index(e.Text, "routing:"), strings.Index(e.Text, "hosts:\n  rel")
	free := e.Text[:from] + "routing: {name: static}\n" + e.Text[to:]
	routed := free
	for _, f := range [][2]string{{"host0, to: host2", "switch0, switch1, switch2"}, {"host1, to: host0", "switch1, switch2, switch0"}, {"host2, to: host1", "switch2, switch0.port1, switch1"}} {
		routed = strings.ReplaceAll(routed, "{from: "+f[0], "{via: ["+f[1]+"], from: "+f[0])
	}
	if ports == e.Text || routed == free {
		t.Fatal("the example has changed; adapt the test")
	}
	other := strings.Replace(routed, "{ids: [3], kind: lossless}", "{ids: [3], kind: lossless}\n  more: {ids: [4], kind: lossless}", 1)
	for _, c := range []struct {
		name, text string
		flows      bool
		want       int
	}{
		{"ports", ports, false, 1},
		{"flows with routes", routed, true, 1},
		{"flows with routes among all traffic", routed, false, 1},
		{"in two classes", strings.Replace(other, "{via: [switch2,", "{class: more, via: [switch2,", 1), false, 0},
		{"flows without routes", free, true, 0},
	} {
		found := 0
		for _, f := range findings(runCheck(t, c.text, Options{Flows: c.flows}), KindCycles) {
			found += len(f.Cycles)
		}
		if found != c.want {
			t.Errorf("%s: %d cycles, want %d", c.name, found, c.want)
		}
	}
}
