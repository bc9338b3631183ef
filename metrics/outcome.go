// Package metrics turns a run into results: a summary, and one row per flow. It
// knows what a run left behind, not how it was described or driven, and its
// output depends on nothing else: the same run gives the same bytes.
package metrics

import (
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/units"
)

// Outcome is what a run left behind. Slices by flow have the length of
// Flows.Flow.
type Outcome struct {
	Scenario  string
	Seed      uint64
	End       units.Time // simulated time at which the run ended
	Partial   bool       // it was interrupted
	Totals    sim.Totals
	Flows     *dataplane.Flows
	Ideal     []units.Time // by flow: completion time in an empty network
	Origin    []int        // by flow: index into Workloads
	Groups    []int        // by flow: burst of an incast, -1 for none
	Measured  []bool       // by flow: counts in summaries
	Workloads []string     // names
	Hosts     []string     // names, by node number
	Checks    []*dataplane.Checks
}

// fct returns the completion time of a flow: from its start to the arrival of
// its last ACK at the source. It is false for an unfinished flow.
func (o *Outcome) fct(i int) (units.Time, bool) {
	if !o.Flows.Done(i) {
		return 0, false
	}
	return o.Flows.Send[i].Acked - o.start(i), true
}

// start is when a flow started, or was to start at the earliest if it still waits
// for others.
func (o *Outcome) start(i int) units.Time {
	if at, ok := o.Flows.Began(i); ok {
		return at
	}
	return o.Flows.Flow[i].Start
}

// slowdown is a completion time in units of the ideal one. One division of two
// exactly converted integers has the same bits on every machine.
func (o *Outcome) slowdown(i int, fct units.Time) float64 {
	return float64(fct) / float64(o.Ideal[i])
}
