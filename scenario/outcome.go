package scenario

import (
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/sim"
)

// Outcome describes a run of the scenario that ended at that time; partial says
// that it was interrupted.
func (b *Built) Outcome(end units.Time, totals sim.Totals, fabric sim.Fabric, partial bool) *metrics.Outcome {
	return &metrics.Outcome{
		Scenario: b.Config.Name, Seed: b.Config.Seed, End: end, Partial: partial, Totals: totals, Fabric: fabric,
		Flows: b.Flows, Ideal: b.Ideal, Origin: b.Origin, Groups: b.Groups, Workloads: b.Workloads, Measured: b.measured,
		Nodes: b.Graph.Names, Hosts: b.Graph.Names[:b.Graph.Hosts], Checks: b.Checks,
		Watched: b.Spec.WatchDeadlocks || b.Spec.StopAtDeadlock, Trees: b.Spec.LogPauses,
		Grouping: metrics.Grouping{By: b.Config.Output.GroupBy, Sizes: b.Config.Output.SizeBuckets},
	}
}

// measured reports whether a flow counts in summaries: it was offered, and began
// in the measurement window.
func (b *Built) measured(i int) bool {
	start := b.Flows.Flow[i].Start
	if began, ok := b.Flows.Began(i); ok {
		start = began
	}
	return b.Flows.Offered(i) && b.Config.measured(start)
}

// FlowControls returns the names of the schemes that ports run.
func (b *Built) FlowControls() []string {
	var names []string
	for _, s := range slices.Concat(b.set.ofSwitches, b.set.ofPorts) {
		if !slices.Contains(names, s.FlowControl.Name) {
			names = append(names, s.FlowControl.Name)
		}
	}
	return names
}
