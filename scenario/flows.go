package scenario

import (
	"slices"
	"sort"
	"strconv"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/workload"
)

// flows generates the flows of every workload and puts them in order of their
// start; those of the same time stay in the order of generation.
func (b *builder) flows() error {
	var plans []*workload.Plan
	total := 0
	for i := range b.cfg.Workload {
		g, e, err := b.generator(i)
		if err != nil {
			return err
		}
		p, err := g.Generate(e)
		if err != nil {
			return workloadError(workloadPath(i), err)
		}
		if total += len(p.Flows); total > maxFlows {
			return atf(workloadPath(i), "there are %d flows up to here; allowed: at most %d in a run", total, maxFlows)
		}
		plans = append(plans, p)
	}
	// Where each plan begins among all flows, and the names of its workloads.
	begin := make([]int, len(plans))
	origins := make([][]int, len(plans))
	for i, p := range plans {
		if i > 0 {
			begin[i] = begin[i-1] + len(plans[i-1].Flows)
		}
		names := p.Names
		if names == nil {
			names = []string{b.cfg.Workload[i].Name}
		}
		for _, n := range names {
			origins[i] = append(origins[i], b.workloadNamed(n))
		}
	}
	order := flowOrder(plans, begin, total)
	out := make([]dataplane.Flow, total)
	b.out.Origin, b.out.Groups = make([]int32, total), make([]int32, total)
	for at, o := range order {
		f := &plans[o.plan].Flows[o.flow]
		name := b.cfg.Workload[o.plan].Transport
		if t, ok := plans[o.plan].Transports[b.out.Workloads[origins[o.plan][f.Origin]]]; ok {
			name = t
		}
		out[at] = dataplane.Flow{
			Start: f.Start, Size: f.Size, Src: uint16(f.Src), Dst: uint16(f.Dst), Class: f.Class, Hash: f.Hash,
			Transport: uint8(b.hostAt(int(f.Src)).variant(name).way),
		}
		b.out.Origin[at], b.out.Groups[at] = int32(origins[o.plan][f.Origin]), int32(f.Group)
	}
	b.out.Flows = dataplane.NewFlows(out)
	id := make([]uint32, total) // by position among all plans
	for at, o := range order {
		id[begin[o.plan]+int(o.flow)] = uint32(at)
	}
	b.depend(plans, begin, id)
	for i, p := range plans {
		for _, w := range p.Ways {
			b.ways = append(b.ways, flowWay{id[begin[i]+int(w.Flow)], w.Back, w.Via})
		}
	}
	return nil
}

// workloadNamed returns the index of a name among those of results.
func (b *builder) workloadNamed(name string) int {
	i := slices.Index(b.out.Workloads, name)
	if i < 0 {
		i = len(b.out.Workloads)
		b.out.Workloads = append(b.out.Workloads, name)
	}
	return i
}

// planned is a flow of a plan.
type planned struct{ plan, flow int32 }

// flowOrder returns the flows of all plans by start.
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

// depend hands the dependencies of all plans to the flow table.
func (b *builder) depend(plans []*workload.Plan, begin []int, id []uint32) {
	if !slices.ContainsFunc(plans, func(p *workload.Plan) bool { return len(p.Waits) > 0 }) {
		return
	}
	for i, p := range plans {
		for _, w := range p.Waits {
			on := make([]uint32, len(w.On))
			for k, f := range w.On {
				on[k] = id[begin[i]+int(f)]
			}
			b.out.Waits = append(b.out.Waits, dataplane.Wait{Flow: id[begin[i]+int(w.Flow)], On: on, Delay: w.Delay, Until: w.Until})
		}
	}
	sort.Slice(b.out.Waits, func(i, j int) bool { return b.out.Waits[i].Flow < b.out.Waits[j].Flow })
	b.out.Flows.Depend(b.out.Waits)
}

// classesOf returns the classes among which a flow's is drawn, with their shares.
func (b *builder) classesOf(c ClassChoice) ([]uint8, []float64) {
	switch {
	case c.Random != "":
		return ids(b.masks[c.Random]), nil
	case c.Fixed != "":
		return []uint8{b.classNamed(c.Fixed)}, nil
	case len(c.Shares) > 0:
		var list []uint8
		var shares []float64
		for _, s := range c.Shares {
			list, shares = append(list, b.classNamed(s.Class)), append(shares, s.Share)
		}
		return list, shares
	}
	id, _ := b.cfg.firstDataClass()
	return []uint8{uint8(id)}, nil
}

// classNamed returns the class of an id or of a group, its first.
func (b *builder) classNamed(name string) uint8 {
	if id, err := strconv.Atoi(name); err == nil {
		return uint8(id)
	}
	return ids(b.masks[name])[0]
}

// host returns the node number of a host, -1 when there is none of that name.
func (b *builder) host(name string) int { return b.graph.Host(name) }
