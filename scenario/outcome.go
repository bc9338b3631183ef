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
		Flows: b.Flows, Ideal: b.Ideal, Origin: b.Origin, Groups: b.Groups, Workloads: b.Workloads, Measured: make([]bool, len(b.Flows.Flow)),
		Hosts: b.Graph.Names[:b.Graph.Hosts], Checks: b.Checks,
	}
	for i := range b.Flows.Flow {
		start := b.Flows.Flow[i].Start
		if began, ok := b.Flows.Began(i); ok {
			start = began
		}
		o.Measured[i] = b.Flows.Offered(i) && b.Config.measured(start)
	}
	return o
}
