package build

import (
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// done returns the stop rule. A flow that cannot be done in time at all does not
// hold it up.
func (b *builder) done() func(now units.Time) bool {
	rule := b.Config.Run.Stop
	if rule.When == "time" {
		return nil
	}
	all := rule.When == "all_flows_done"
	flows := b.Flows
	var left []int
	for i, f := range flows.Flow {
		if (all || flows.Waits(i) || b.Measured(f.Start)) && b.out.Ideal[i] <= rule.AtMost-f.Start {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return func(now units.Time) bool {
		// Flows finish roughly in order of their start: look at the last open
		// ones first and forget what is done.
		for len(left) > 0 && !b.open(left[len(left)-1], all, now) {
			left = left[:len(left)-1]
		}
		return len(left) == 0
	}
}

// doneAt returns the times at which a flow that has not begun stops to count for
// the stop rule.
func (b *builder) doneAt() []units.Time {
	times := []units.Time{b.MeasuredUntil()}
	for i := range b.Flows.Flow {
		if b.Flows.Waits(i) {
			times = append(times, b.Flows.Until(i))
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// open reports whether a run must go on for a flow: because it is not complete, or
// because it may still start and count.
func (b *builder) open(i int, all bool, now units.Time) bool {
	flows := b.Flows
	if began, ok := flows.Began(i); ok {
		return !flows.Done(i) && (all || b.Measured(began))
	}
	if now >= flows.Until(i) {
		return false
	}
	return all || now < b.MeasuredUntil()
}
