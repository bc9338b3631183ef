package layout

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/job"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/workload"
)

// Traffic is the flows of all workloads, ordered by start time.
type Traffic struct {
	Flows     *dataplane.Flows
	Workloads []string   // names of workloads in results
	Origin    []int32    // by flow: index in Workloads
	Groups    []int32    // by flow: burst of an incast, else -1
	Ways      []Way      // routes of single flows
	Endless   []string   // workloads whose flows may outlast the run
	Jobs      []*job.Job // by workload, without those that are no jobs
}

// Traffic generates the flows of all workloads and sorts them by start time. Flows with the
// same start time keep the order of generation. If only is not empty, other workloads have no
// flows; the flows of this one are the same as with them.
func (l *Layout) Traffic(only string) (*Traffic, error) {
	t := &Traffic{}
	var plans []*workload.Plan
	total := 0
	for i := range l.Config.Workload {
		if only != "" && l.Config.Workload[i].Name != only {
			plans = append(plans, &workload.Plan{})
			continue
		}
		g, e, err := l.Generator(i)
		if err != nil {
			return nil, err
		}
		p, err := g.Generate(e)
		if err != nil {
			return nil, WorkloadError(WorkloadPath(i), err)
		}
		if total += len(p.Flows); total > MaxFlows {
			return nil, yaml.Atf(WorkloadPath(i), "the workloads up to this one have %d flows (expected at most %d)", total, MaxFlows)
		}
		plans = append(plans, p)
	}
	// begin: index of each plan's first flow among all flows; origins: indexes in Workloads.
	begin := make([]int, len(plans))
	origins := make([][]int, len(plans))
	for i, p := range plans {
		if i > 0 {
			begin[i] = begin[i-1] + len(plans[i-1].Flows)
		}
		names := p.Names
		if names == nil {
			names = []string{l.Config.Workload[i].Name}
		}
		for _, n := range names {
			origins[i] = append(origins[i], t.named(n))
		}
		for _, n := range p.Endless {
			t.Endless = append(t.Endless, cmp.Or(n, l.Config.Workload[i].Name))
		}
	}
	order := flowOrder(plans, begin, total)
	out := make([]dataplane.Flow, total)
	t.Origin, t.Groups = make([]int32, total), make([]int32, total)
	for at, o := range order {
		p := plans[o.plan]
		f := &p.Flows[o.flow]
		name := l.Config.Workload[o.plan].Transport
		if len(p.Transports) > 0 {
			if own, ok := p.Transports[t.Workloads[origins[o.plan][f.Origin]]]; ok {
				name = own
			}
		}
		out[at] = dataplane.Flow{
			Start: f.Start, Size: f.Size, Src: uint32(f.Src), Dst: uint32(f.Dst), Class: f.Class, Hash: f.Hash,
			Transport: uint8(l.HostAt(int(f.Src)).Variant(name).Number),
		}
		t.Origin[at], t.Groups[at] = int32(origins[o.plan][f.Origin]), int32(f.Group)
	}
	id := make([]uint32, total) // by position among all plans
	for at, o := range order {
		id[begin[o.plan]+int(o.flow)] = uint32(at)
	}
	counts := make([]int, len(plans))
	for i, p := range plans {
		counts[i], p.Flows = len(p.Flows), nil // they are as large as the table of flows
	}
	t.Flows = dataplane.NewFlows(out)
	t.depend(plans, begin, id)
	for i, p := range plans {
		if p.Job != nil {
			// Its flows have the same start time, so their order is the order of generation.
			p.Job.Name = l.Config.Workload[i].Name
			if counts[i] > 0 {
				p.Job.Flow0 = id[begin[i]]
			}
			t.Flows.Await(int(p.Job.Flow0), counts[i])
			t.Jobs = append(t.Jobs, p.Job)
		}
		for _, w := range p.Ways {
			t.Ways = append(t.Ways, Way{id[begin[i]+int(w.Flow)], w.Back, w.Via})
		}
	}
	return t, nil
}

// named returns the index of a name in Workloads, and adds it if it is new.
func (t *Traffic) named(name string) int {
	i := slices.Index(t.Workloads, name)
	if i < 0 {
		i = len(t.Workloads)
		t.Workloads = append(t.Workloads, name)
	}
	return i
}

// planned identifies a flow of a plan.
type planned struct{ plan, flow int32 }

// flowOrder returns the flows of all plans, sorted by start time.
func flowOrder(plans []*workload.Plan, begin []int, total int) []planned {
	order := make([]planned, 0, total)
	for i, p := range plans {
		for k := range p.Flows {
			order = append(order, planned{int32(i), int32(k)})
		}
	}
	start := func(o planned) units.Time { return plans[o.plan].Flows[o.flow].Start }
	slices.SortFunc(order, func(x, y planned) int {
		if a, b := start(x), start(y); a != b {
			if a < b {
				return -1
			}
			return 1
		}
		return begin[x.plan] + int(x.flow) - begin[y.plan] - int(y.flow)
	})
	return order
}

// depend adds the dependencies to Flows.
func (t *Traffic) depend(plans []*workload.Plan, begin []int, id []uint32) {
	if !slices.ContainsFunc(plans, func(p *workload.Plan) bool { return len(p.Waits) > 0 }) {
		return
	}
	var on []uint32
	t.Flows.Depend(func(yield func(dataplane.Wait) bool) {
		for i, p := range plans {
			for k := range p.Waits {
				w := &p.Waits[k]
				on = on[:0]
				for _, f := range w.On {
					on = append(on, id[begin[i]+int(f)])
				}
				if !yield(dataplane.Wait{Flow: id[begin[i]+int(w.Flow)], On: on, Delay: w.Delay, Until: w.Until}) {
					return
				}
			}
		}
	})
	for _, p := range plans {
		p.Waits = nil
	}
}

// classesOf returns the classes from which a flow's class is drawn, with their shares.
func (l *Layout) classesOf(c scenario.ClassChoice) ([]uint8, []float64) {
	switch {
	case c.Random != "":
		return slices.Collect(l.Masks[c.Random].All()), nil
	case c.Fixed != "":
		return []uint8{l.classNamed(c.Fixed)}, nil
	case len(c.Shares) > 0:
		var list []uint8
		var shares []float64
		for _, s := range c.Shares {
			list, shares = append(list, l.classNamed(s.Class)), append(shares, s.Share)
		}
		return list, shares
	}
	id, _ := l.Config.FirstDataClass()
	return []uint8{uint8(id)}, nil
}

// classNamed returns the class of an id, or the first class of a group.
func (l *Layout) classNamed(name string) uint8 {
	if id, err := strconv.Atoi(name); err == nil {
		return uint8(id)
	}
	return l.Masks[name].Lowest()
}
