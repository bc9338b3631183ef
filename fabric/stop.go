package fabric

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// first returns, for each flow, the flow whose start decides whether it is measured; nil
// if no flow waits. A flow that waits for others, such as a step of a collective or the
// response to a request, counts with the first of them, however late it starts. A flow with
// a latest start time belongs to an open-ended series and counts by its own start.
func (b *builder) first() []int32 {
	n := len(b.Flows.Flow)
	if !b.Flows.Depends() {
		return nil
	}
	on := func(f int32) []uint32 {
		if b.Flows.Until(int(f)) < units.Never {
			return nil
		}
		return b.Flows.On(int(f))
	}
	const unknown = -1
	first := make([]int32, n)
	for i := range first {
		first[i] = unknown
	}
	earlier := func(f, g int32) bool {
		return cmp.Or(cmp.Compare(b.Flows.Flow[f].Start, b.Flows.Flow[g].Start), cmp.Compare(f, g)) < 0
	}
	var path []int32 // explicit stack: a chain can include every flow
	for i := range first {
		// Most flows do not wait, or wait for one whose first flow is known.
		switch list := on(int32(i)); {
		case len(list) == 0:
			first[i] = int32(i)
			continue
		case len(list) == 1 && first[list[0]] != unknown:
			first[i] = first[list[0]]
			continue
		}
		path = append(path[:0], int32(i))
		for len(path) > 0 {
			f := path[len(path)-1]
			best := int32(unknown)
			more := false
			for _, o := range on(f) {
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
			if len(on(f)) == 0 {
				best = f
			}
			first[f] = best
			path = path[:len(path)-1]
		}
	}
	return first
}

// counts reports whether a flow is measured: it, or the first flow that it waits for,
// started in the measurement window. The second result is false if that is not known yet.
func (b *Fabric) counts(i int) (counts, known bool) {
	for _, j := range b.Jobs {
		if j.Owns(uint32(i)) { // the first flow of a job decides
			return b.Plan.Measured(j.Start), true
		}
	}
	if b.first != nil {
		i = int(b.first[i])
	}
	began, ok := b.Flows.Began(i)
	return ok && b.Plan.Measured(began), ok
}

// outlast marks flows that are meant to outlast the run and cannot finish in time, and
// flows that wait for one of them.
func (b *builder) outlast() []bool {
	list := make([]bool, len(b.Flows.Flow))
	atMost := b.Config.Run.Stop.AtMost
	var bad []uint32 // marked flows whose dependents are not yet marked
	for i, f := range b.Flows.Flow {
		list[i] = b.out.Ideal[i] > atMost-f.Start && slices.Contains(b.Endless, b.Workloads[b.Origin[i]])
		if list[i] {
			bad = append(bad, uint32(i))
		}
	}
	if !b.Flows.Depends() {
		return list
	}
	for len(bad) > 0 {
		i := bad[len(bad)-1]
		bad = bad[:len(bad)-1]
		for _, d := range b.Flows.Dependents(i) {
			if !list[d] {
				list[d], bad = true, append(bad, d)
			}
		}
	}
	return list
}

// done returns the stop rule, or nil if the run ends at a fixed time. It does not wait for
// flows that are meant to outlast the run.
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
		wanted := all
		if !all {
			counts, known := b.out.counts(i)
			wanted = counts || !known
		}
		if wanted && !outlasts[i] {
			left = append(left, int32(i))
		}
	}
	if len(left) == 0 && len(b.Jobs) == 0 {
		return nil
	}
	b.out.awaited = left
	jobs := b.Jobs
	return func(now units.Time) bool {
		for len(jobs) > 0 && jobs[len(jobs)-1].Done() {
			jobs = jobs[:len(jobs)-1]
		}
		if len(jobs) > 0 {
			return false
		}
		// Flows finish roughly in the order of their start: check the last ones first
		// and remove those that are done.
		for len(left) > 0 && !b.out.open(int(left[len(left)-1]), all, now) {
			left = left[:len(left)-1]
		}
		return len(left) == 0
	}
}

// doneAt returns the times from which the stop rule no longer waits for flows that have not
// started.
func (b *builder) doneAt() []units.Time {
	times := []units.Time{b.MeasuredUntil()}
	for i := range b.Flows.Flow {
		if b.Flows.Waits(i) {
			if at := b.Flows.Until(i); at != times[len(times)-1] { // flows of jobs have the same
				times = append(times, at)
			}
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// open reports whether the stop rule must wait for a flow: it is not complete, or it may
// still start and be measured.
func (b *Fabric) open(i int, all bool, now units.Time) bool {
	_, began := b.Flows.Began(i)
	if began && b.Flows.Done(i) || !began && now >= b.Flows.Until(i) {
		return false
	}
	if all {
		return true
	}
	counts, known := b.counts(i)
	return counts || !began && !known && now < b.Plan.MeasuredUntil()
}

// Unfinished returns the number of flows that the stop rule was still waiting for when the
// run ended, and how many of them had not started. Operations of jobs count if all flows are done. Both are 0 if at_most did not end the
// run.
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
	for _, j := range b.Jobs {
		if flows == 0 && rule.When != "time" {
			flows, waiting = j.Left(), j.Left()
		}
	}
	return flows, waiting
}
