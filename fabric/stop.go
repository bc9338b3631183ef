package fabric

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// first is by which flow's start it is decided whether another one counts: a flow that
// waits for others, as the steps of a collective and the answers to a request do,
// counts with the first of them, whenever its own turn comes. Nil: no flow waits. A flow
// with a last time to start is one of an open series, of which those count that start
// in the measurement window.
func (b *builder) first() []int32 {
	if len(b.Waits) == 0 {
		return nil
	}
	n := len(b.Flows.Flow)
	on := make([][]uint32, n)
	for _, w := range b.Waits {
		if w.Until == 0 {
			on[w.Flow] = w.On
		}
	}
	const unknown = -1
	first := make([]int32, n)
	for i := range first {
		first[i] = unknown
	}
	earlier := func(f, g int32) bool {
		return cmp.Or(cmp.Compare(b.Flows.Flow[f].Start, b.Flows.Flow[g].Start), cmp.Compare(f, g)) < 0
	}
	var path []int32 // chains can be as long as there are flows: no recursion
	for i := range first {
		path = append(path[:0], int32(i))
		for len(path) > 0 {
			f := path[len(path)-1]
			best := int32(unknown)
			more := false
			for _, o := range on[f] {
				switch r := first[o]; {
				case r == unknown:
					path, more = append(path, int32(o)), true
				case best == unknown || earlier(r, best):
					best = r
				}
			}
			if more {
				continue
			}
			if len(on[f]) == 0 {
				best = f
			}
			first[f] = best
			path = path[:len(path)-1]
		}
	}
	return first
}

// counts reports whether a flow counts by its start or, if it waits, by that of the
// first that it waits for; false for the second result: nobody knows yet.
func (b *Fabric) counts(i int) (counts, known bool) {
	if b.first != nil {
		i = int(b.first[i])
	}
	began, ok := b.Flows.Began(i)
	return ok && b.Plan.Measured(began), ok
}

// outlast marks the flows that are meant to outlast the run and cannot be done in time,
// and those that wait for one.
func (b *builder) outlast() []bool {
	list := make([]bool, len(b.Flows.Flow))
	atMost := b.Config.Run.Stop.AtMost
	var bad []uint32 // whose dependents are to be marked
	for i, f := range b.Flows.Flow {
		list[i] = b.out.Ideal[i] > atMost-f.Start && slices.Contains(b.Endless, b.Workloads[b.Origin[i]])
		if list[i] {
			bad = append(bad, uint32(i))
		}
	}
	if len(bad) == 0 || len(b.Waits) == 0 {
		return list
	}
	dependents := make([][]uint32, len(list))
	for _, w := range b.Waits {
		for _, on := range w.On {
			dependents[on] = append(dependents[on], w.Flow)
		}
	}
	for len(bad) > 0 {
		i := bad[len(bad)-1]
		bad = bad[:len(bad)-1]
		for _, d := range dependents[i] {
			if !list[d] {
				list[d], bad = true, append(bad, d)
			}
		}
	}
	return list
}

// done returns the stop rule. A flow that is meant to outlast the run does not hold it
// up.
func (b *builder) done() func(now units.Time) bool {
	rule := b.Config.Run.Stop
	if rule.When == "time" {
		return nil
	}
	all := rule.When == "all_flows_done"
	outlasts := b.outlast()
	var left []int32
	for i := range b.Flows.Flow {
		if here := b.opts.Here; here != nil && !here[b.Flows.Flow[i].Src] {
			continue
		}
		if counts, known := b.out.counts(i); (all || counts || !known) && !outlasts[i] {
			left = append(left, int32(i))
		}
	}
	if len(left) == 0 {
		return nil
	}
	b.out.awaited = left
	return func(now units.Time) bool {
		// Flows finish roughly in order of their start: look at the last open
		// ones first and forget what is done.
		for len(left) > 0 && !b.out.open(int(left[len(left)-1]), all, now) {
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
func (b *Fabric) open(i int, all bool, now units.Time) bool {
	counts, known := b.counts(i)
	if _, began := b.Flows.Began(i); began {
		return !b.Flows.Done(i) && (all || counts)
	}
	if now >= b.Flows.Until(i) {
		return false
	}
	return all || counts || !known && now < b.Plan.MeasuredUntil()
}

// Unfinished counts the flows that the stop rule waited for and that were not done when
// the run ended, and how many of them had not even started. Both are 0 for a run that
// ended as it was asked to.
func (b *Fabric) Unfinished(end units.Time) (flows, waiting int) {
	rule := b.Config.Run.Stop
	if end < rule.AtMost {
		return 0, 0
	}
	for _, i := range b.awaited {
		if !b.open(int(i), rule.When == "all_flows_done", end) {
			continue
		}
		flows++
		if at, ok := b.Flows.Began(int(i)); !ok || at > end {
			waiting++
		}
	}
	return flows, waiting
}
