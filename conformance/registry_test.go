package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
)

// every runs the suite of a plug point on each entry of its table, the
// throw-away plug-ins of this package included.
func every[N any](t *testing.T, table *registry.Table[N], suite func(testing.TB, registry.Entry[N])) {
	for _, e := range table.All() {
		t.Run(e.Name, func(t *testing.T) { suite(t, e) })
	}
}

func TestFlowControl(t *testing.T) { every(t, flowctl.Schemes, conformance.FlowControl) }
func TestPolicy(t *testing.T)      { every(t, buffer.Policies, conformance.Policy) }
func TestDeadlock(t *testing.T)    { every(t, deadlock.Handlers, conformance.Deadlock) }
func TestMarker(t *testing.T)      { every(t, mark.Markers, conformance.Marker) }
func TestRouter(t *testing.T)      { every(t, route.Routers, conformance.Router) }
func TestScheduler(t *testing.T) {
	also := map[string][]any{
		"dwrr": {&sched.DWRRParams{Quantum: sched.DefaultQuantum, Quanta: map[int]units.Bytes{2: 3200, 3: 4800}}},
	}
	every(t, sched.Schedulers, func(t testing.TB, e registry.Entry[sched.New]) { conformance.Scheduler(t, e, also[e.Name]...) })
}

func TestCongestionControl(t *testing.T) { every(t, cc.Algorithms, conformance.CongestionControl) }
