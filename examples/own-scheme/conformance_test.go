package main

import (
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// get returns a registered scheme.
func get[N any](t *testing.T, table *registry.Table[N], name string) registry.Entry[N] {
	t.Helper()
	e, err := table.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFlowControl(t *testing.T) { conformance.FlowControl(t, get(t, flowctl.Schemes, "early")) }
func TestControl(t *testing.T)     { conformance.CongestionControl(t, get(t, cc.Algorithms, "aimd")) }
func TestScheduler(t *testing.T)   { conformance.Scheduler(t, get(t, sched.Schedulers, "highest")) }
func TestRouter(t *testing.T)      { conformance.Router(t, get(t, route.Routers, "shortest-queue")) }
func TestMarker(t *testing.T)      { conformance.Marker(t, get(t, mark.Markers, "coin")) }
func TestDeadlock(t *testing.T)    { conformance.Deadlock(t, get(t, deadlock.Handlers, "alarm")) }
func TestTopology(t *testing.T)    { conformance.Topology(t, get(t, topo.Topologies, "star-of-stars")) }
func TestGenerator(t *testing.T) {
	conformance.Generator(t, get(t, workload.Generators, "neighbours"), &Neighbours{Size: 50 * units.KB}, nil)
}
func TestProbe(t *testing.T) {
	conformance.Probe(t, get(t, probe.Kinds, "fill"), &FillParams{Every: units.Microsecond})
}
