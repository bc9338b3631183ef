package conformance_test

import (
	"context"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// The files plugin_*_test.go contain miniatures of published schemes. They prove that the plug points
// suffice: each is one file, registers itself like a user's own scheme, and needs no change to the
// core.

func init() {
	flowctl.Schemes.Register(cbfcEntry)
	flowctl.Schemes.Register(dshEntry)
	flowctl.Schemes.Register(bifrostEntry)
	buffer.Policies.Register(l2bmEntry)
	deadlock.Handlers.Register(roundaboutEntry)
}

// incast returns a fabric in which eight hosts send to one at the same time, with some background
// traffic and without congestion control.
func incast(t *testing.T) *scenario.Config {
	t.Helper()
	cfg := scenario.Default()
	tree := cfg.Topology.Params.(*topo.LeafSpineParams)
	tree.Leaves, tree.Spines, tree.HostsPerLeaf = 3, 2, 4
	cfg.Hosts.CC.Name, cfg.Hosts.CC.Params = "none", nil
	cfg.Switch.ECN.Name, cfg.Switch.ECN.Params = "none", nil
	cfg.Switch.Policy.Params.(*buffer.DTParams).Alpha = units.Ratio{Num: 1, Den: 64}
	cfg.Run.Arrivals = 50 * units.Microsecond
	cfg.Run.Stop = scenario.Stop{When: "all_flows_done", AtMost: 50 * units.Millisecond}
	cfg.Workload = []scenario.Workload{
		{Name: "burst", Generator: "incast", Params: &workload.Incast{Senders: 8, Size: 200 * units.KB, At: units.Microsecond}, To: scenario.Selection{"host0"}, Pairs: "any", Class: scenario.ClassChoice{Random: "rdma"}},
		{Name: "background", Generator: "poisson", Params: &workload.Poisson{Sizes: "30KB", AtOnce: 1}, Load: scenario.Load{Share: 0.3, Of: "host_links"}, Pairs: "any", Class: scenario.ClassChoice{Random: "rdma"}},
	}
	return cfg
}

// runScenario builds a scenario with invariant checks and runs it. patch may change what a scenario
// file cannot express. Every flow must finish without drops and in order.
func runScenario(t *testing.T, cfg *scenario.Config, patch func(*fabric.Fabric)) sim.Totals {
	t.Helper()
	b, err := fabric.New(cfg, fabric.Options{Invariants: true})
	if err != nil {
		t.Fatal(err)
	}
	if patch != nil {
		patch(b)
	}
	f, err := sim.NewFast(b.Spec, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Checks {
		if c.Broken != 0 {
			t.Errorf("%d invariant violations, first: %s", c.Broken, c.First)
		}
	}
	for i := range b.Flows.Flow {
		if !b.Flows.Done(i) {
			t.Errorf("flow %d did not finish", i)
		}
		if r := &b.Flows.Recv[i]; r.Early+r.Twice != 0 || b.Flows.Send[i].Resent != 0 {
			t.Errorf("flow %d: %d early, %d duplicate, %d retransmitted packets", i, r.Early, r.Twice, b.Flows.Send[i].Resent)
		}
	}
	total := f.Totals()
	for why := range total.Drops {
		if n := total.Drops[why]; n != 0 {
			t.Errorf("%d frames dropped: %s", n, probe.Reason(why))
		}
	}
	return total
}

// With two workers the network of every plug-in gives the same result as with one.
func TestWorkersAgree(t *testing.T) {
	for name, change := range map[string]func(*conformance.Network){
		"cbfc":     func(n *conformance.Network) { n.Flow = always(cbfcEntry) },
		"dsh":      func(n *conformance.Network) { n.Flow = always(dshEntry) },
		"bifrostx": func(n *conformance.Network) { n.Flow = always(bifrostEntry) },
		"l2bm": func(n *conformance.Network) {
			n.Policy = func(_ int, e buffer.Env) (buffer.Policy, error) { return l2bmEntry.New(nil, e) }
		},
		"roundabout": func(n *conformance.Network) {
			n.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return roundaboutEntry.New(nil, s) }
		},
	} {
		n := conformance.Ring(4, 3, 200*units.KB)
		n.Until = 2 * units.Millisecond
		change(n)
		one := n.Run()
		n.Options.Workers = 2
		if two := n.Run(); one.Err != nil || two.Err != nil || one.Digest() != two.Digest() {
			t.Errorf("%s: one and two workers differ (%v, %v)", name, one.Err, two.Err)
		}
	}
}

func always(e registry.Entry[flowctl.New]) func(int, int) flowctl.Scheme {
	var params any
	if e.Params != nil {
		params = e.Params()
	}
	s, err := e.New(params)
	if err != nil {
		panic(err)
	}
	return func(int, int) flowctl.Scheme { return s }
}
