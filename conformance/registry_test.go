package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// every runs the suite of a plug point on each entry of its table, including the plug-ins of this
// package.
func every[N any](t *testing.T, table *registry.Table[N], suite func(testing.TB, registry.Entry[N])) {
	for _, e := range table.All() {
		if e.Name == "test-bad" {
			continue // contains mistakes on purpose
		}
		t.Run(e.Name, func(t *testing.T) { suite(t, e) })
	}
}

// slow are the miniatures with frequent control frames; TestDeepMiniatures runs their suite.
var slow = map[string]bool{"test-bifrostx": true, "test-cbfc": true}

func TestFlowControl(t *testing.T) {
	every(t, flowctl.Schemes, func(t testing.TB, e registry.Entry[flowctl.New]) {
		if !slow[e.Name] {
			conformance.FlowControl(t, e)
		}
	})
}
func TestPolicy(t *testing.T)   { every(t, buffer.Policies, conformance.Policy) }
func TestDeadlock(t *testing.T) { every(t, deadlock.Handlers, conformance.Deadlock) }
func TestMarker(t *testing.T)   { every(t, mark.Markers, conformance.Marker) }
func TestRouter(t *testing.T)   { every(t, route.Routers, conformance.Router) }
func TestScheduler(t *testing.T) {
	also := map[string][]any{
		"dwrr": {&sched.DWRRParams{Quantum: sched.DefaultQuantum, Quanta: map[int]units.Bytes{2: 3200, 3: 4800}}},
	}
	every(t, sched.Schedulers, func(t testing.TB, e registry.Entry[sched.New]) { conformance.Scheduler(t, e, also[e.Name]...) })
}

func TestCongestionControl(t *testing.T) { every(t, cc.Algorithms, conformance.CongestionControl) }

// The default parameters of custom are empty.
func TestTopology(t *testing.T) {
	every(t, topo.Topologies, func(t testing.TB, e registry.Entry[topo.New]) {
		if e.Name != "custom" {
			conformance.Topology(t, e)
		}
	})
}

// generatorParams are parameters with which generators produce a few flows. Generators that are not
// listed do so with their defaults.
var generatorParams = map[string]any{
	"poisson": &workload.Poisson{Sizes: "10KB", AtOnce: 1}, "incast": &workload.Incast{Senders: 4, Size: 20 * units.KB},
	"query_response": &workload.QueryResponse{Size: 50 * units.KB, Rate: 20000}, "request": &workload.Request{Size: 50 * units.KB, Servers: 3, Rate: 20000},
	"sequential": &workload.Sequential{Sizes: "10KB", Count: 3}, "messages": &workload.Messages{Size: 10 * units.KB, Depth: 2, Streams: 1, Count: 5},
	"long_lived":       &workload.LongLived{Streams: 1, Size: 100 * units.KB},
	"flows":            &workload.List{Flows: []workload.FlowSpec{{From: "host0", To: "host5", Size: 1000}}},
	"ring_allreduce":   &workload.RingAllReduce{Size: 100 * units.KB, Order: "hosts", Repeat: 1},
	"halving_doubling": &workload.HalvingDoubling{Size: 100 * units.KB, Order: "hosts", Repeat: 1},
	"all_to_all":       &workload.AllToAll{Size: 100 * units.KB, Order: "hosts", Repeat: 1, Parallel: 1},
	"training": &workload.Training{Layers: 2, Hidden: 64, Sequence: 16, MicroBatch: 1, MicroBatches: 2, TP: 2, PP: 2, DP: 2,
		Bytes: 2, TFLOPS: 1, Algorithm: "ring", Channels: 1, Iterations: 1, Placement: "packed"},
}

func TestGenerator(t *testing.T) {
	every(t, workload.Generators, func(t testing.TB, e registry.Entry[workload.New]) {
		params, ok := generatorParams[e.Name]
		switch {
		case e.Name == "trace":
			return // reads a file; package workload tests it
		case !ok:
			params = e.Params()
			if _, err := e.New(params).Check(&workload.Env{MaxSize: units.GB, MaxDelay: units.Second, Load: 1}); err != nil {
				t.Skipf("the defaults give no flows (%v): add parameters to this test", err)
			}
		}
		conformance.Generator(t, e, params, func(w *scenario.Workload) {
			if _, ok := params.(*workload.QueryResponse); ok {
				w.Load = scenario.Load{}
			}
			if _, ok := params.(*workload.Request); ok {
				w.Load = scenario.Load{}
			}
		})
	})
}

func TestProbe(t *testing.T) {
	every(t, probe.Kinds, func(t testing.TB, e registry.Entry[probe.New]) {
		var params any
		if e.Params != nil {
			params = e.Params()
		}
		conformance.Probe(t, e, params)
	})
}
