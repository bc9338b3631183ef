package scenario

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
)

// Default returns a scenario with all defaults: a small leaf-spine fabric with PFC and DCQCN,
// and no workload.
func Default() *Config {
	grouping := metrics.DefaultGrouping()
	return &Config{
		Name:     "unnamed",
		Seed:     1,
		Topology: Fabric("leaf-spine", paramsOf(topo.Topologies, "leaf-spine")),
		Classes: map[string]Class{
			"control": {IDs: []int{0}, Kind: "control"},
			"rdma":    {IDs: []int{1, 2, 3, 4, 5, 6, 7}, Kind: "lossless"},
		},
		Switch: Switch{
			Buffer:      Buffer{Size: 16 * units.MiB, Cell: 1, ReserveFor: "cabled"},
			Policy:      choice("dt", paramsOf(buffer.Policies, "dt")),
			FlowControl: choice("pfc", paramsOf(flowctl.Schemes, "pfc")),
			PFC:         PFC{Hold: "timed", Quanta: 65535, Coalesce: true},
			Scheduler:   Scheduler{Choice: choice("dwrr", paramsOf(sched.Schedulers, "dwrr")), Strict: []string{"control"}},
			ECN:         ECN{Choice: choice("red", paramsOf(mark.Markers, "red")), At: "dequeue"},
			Deadlock:    choice("none", paramsOf(deadlock.Handlers, "none")),
		},
		Routing: Routing{Choice: choice("ecmp", paramsOf(route.Routers, "ecmp"))},
		Hosts: Hosts{
			Payload: 1000, Header: 48,
			Ack: Ack{Every: 1, Class: "control", Size: 64},
			CNP: CNP{Mode: "interval", Interval: 50 * units.Microsecond},
			Reliability: Reliability{Name: "go-back-n", Timeout: units.Millisecond, MaxTimeout: 64 * units.Millisecond,
				NackInterval: 500 * units.Microsecond, MinRTO: units.Millisecond, RTOLow: 100 * units.Microsecond, Few: 3},
			CC:        choice("dcqcn", paramsOf(cc.Algorithms, "dcqcn")),
			Telemetry: Telemetry{Header: 42, Ack: 42},
			Receive:   Receive{Buffer: units.MiB, Xoff: 100 * units.KB},
		},
		Run: Run{
			Arrivals: units.Millisecond,
			Stop:     Stop{When: "measured_flows_done", AtMost: units.Second},
		},
		Output: Output{GroupBy: grouping.By, SizeBuckets: grouping.Sizes},
	}
}

func choice(name string, params any) Choice { return Choice{Name: name, Params: params} }
