package scenario

import (
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/units"
)

// Outcome describes a run of the scenario that ended at that time; partial says
// that it was interrupted.
func (b *Built) Outcome(end units.Time, totals sim.Totals, partial bool) *metrics.Outcome {
	o := &metrics.Outcome{
		Scenario: b.Config.Name, Seed: b.Config.Seed, End: end, Partial: partial, Totals: totals,
		Flows: b.Flows, Ideal: b.Ideal, Origin: b.Origin, Groups: b.Groups, Measured: make([]bool, len(b.Flows.Flow)),
		Hosts: b.Graph.Names[:b.Graph.Hosts], Checks: b.Checks,
	}
	for _, w := range b.Config.Workload {
		o.Workloads = append(o.Workloads, w.Name)
	}
	for i := range b.Flows.Flow {
		o.Measured[i] = b.Config.measured(b.Flows.Flow[i].Start)
	}
	return o
}
