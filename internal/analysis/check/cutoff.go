package check

import (
	"context"
	"fmt"
	"slices"
)

// CutOff is a set of failed links after which some hosts reach no others.
type CutOff struct {
	Links []string `json:"links"`
	Hosts []string `json:"hosts"`

	apart []bool // by switch: it is on the side of these hosts
}

// CutOffs returns, for every switch with hosts that the failure of at most k links
// between switches can part from others, a smallest set that does. Of the two sides the
// one with fewer hosts is cut off. The fewest links that part two switches are as many
// as there are ways between them without a link in common, and if any two can be parted,
// one of them can be parted from the first.
func (f *Fabric) CutOffs(ctx context.Context, k int) ([]CutOff, error) {
	var list []CutOff
	p := parting{f: f, flow: make([]int8, len(f.graph.Links)), via: make([]int32, len(f.out))}
	for _, home := range f.homes[1:] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !p.part(f.homes[0], home, k) {
			continue
		}
		for _, apart := range [2][]bool{p.side(f.homes[0], 0), p.side(home, 1)} {
			cut := f.cut(apart)
			if !slices.ContainsFunc(list, func(o CutOff) bool { return slices.Equal(o.Links, cut.Links) }) {
				list = append(list, cut)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b CutOff) int { return len(a.Links) - len(b.Links) })
	return list, nil
}

// cut describes what parts a set of switches from the others.
func (f *Fabric) cut(apart []bool) CutOff {
	in := 0
	for host := range f.hosts {
		if apart[f.homes[f.hosts[host]]] {
			in++
		}
	}
	if 2*in > len(f.hosts) {
		for s := range apart {
			apart[s] = !apart[s]
		}
	}
	c := CutOff{apart: apart}
	for i := range f.graph.Links {
		if e := f.ends[2*i]; f.between(i) && apart[e.from] != apart[e.to] {
			c.Links = append(c.Links, f.graph.LinkName(i))
		}
	}
	for host := range f.hosts {
		if apart[f.homes[f.hosts[host]]] {
			c.Hosts = append(c.Hosts, f.graph.Names[host])
		}
	}
	return c
}

// parting looks for ways without a link in common.
type parting struct {
	f     *Fabric
	flow  []int8  // by link: 1 from A to B, -1 from B to A
	via   []int32 // by switch: the channel by which it was reached; -1: not
	queue []int32
}

// free tells whether one more way can take a channel, perhaps instead of one that takes
// its link in the other direction.
func (p *parting) free(c int32) bool {
	if c%2 == 0 {
		return p.flow[c/2] < 1
	}
	return p.flow[c/2] > -1
}

// part tells whether at most k links part two switches.
func (p *parting) part(from, to int32, k int) bool {
	clear(p.flow)
	for range k + 1 {
		if !p.another(from, to) {
			return true
		}
	}
	return false
}

// another adds a way, the shortest there is.
func (p *parting) another(from, to int32) bool {
	for i := range p.via {
		p.via[i] = -1
	}
	p.queue = append(p.queue[:0], from)
	for i := 0; i < len(p.queue); i++ {
		for _, c := range p.f.out[p.queue[i]] {
			next := p.f.ends[c].to
			if next == from || p.via[next] >= 0 || !p.free(c) {
				continue
			}
			p.via[next] = c
			p.queue = append(p.queue, next)
		}
	}
	if p.via[to] < 0 {
		return false
	}
	for at := to; at != from; at = p.f.ends[p.via[at]].from {
		p.flow[p.via[at]/2] += 1 - 2*int8(p.via[at]%2)
	}
	return true
}

// side returns the switches to which another way could get from one (turn 0), or from
// which it could go on to one (turn 1).
func (p *parting) side(of, turn int32) []bool {
	apart := make([]bool, len(p.f.out))
	apart[of] = true
	p.queue = append(p.queue[:0], of)
	for i := 0; i < len(p.queue); i++ {
		for _, c := range p.f.out[p.queue[i]] {
			if next := p.f.ends[c].to; !apart[next] && p.free(c^turn) {
				apart[next] = true
				p.queue = append(p.queue, next)
			}
		}
	}
	return apart
}

// cutOffs reports hosts that failures part from others; of scenarios by their flows,
// those that send to each other.
func (c *checker) cutOffs(ctx context.Context, f *Fabric, o Options) error {
	if o.Failures == 0 || c.First {
		return nil
	}
	list, err := f.CutOffs(ctx, o.Failures)
	if err != nil {
		return err
	}
	if o.Flows {
		flows, err := c.Flows()
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(cut CutOff) bool {
			side := func(host uint16) bool { return cut.apart[f.homes[f.hosts[host]]] }
			for i := range flows {
				if side(flows[i].Src) != side(flows[i].Dst) {
					return false
				}
			}
			return true
		})
	}
	if len(list) == 0 {
		return nil
	}
	var hosts []string
	for _, cut := range list {
		hosts = append(hosts, cut.Hosts...)
	}
	hosts = unique(hosts)
	fewest := len(list[0].Links)
	c.add(Finding{
		Level: Note, Kind: OfCutOff, Where: hosts, CutOffs: list,
		What: fmt.Sprintf("%s can be cut off from others, by the failure of %s", count(len(hosts), "host", "hosts"), count(fewest, "link", "links")),
		Fix:  "another link between the switches on both sides",
	})
	return nil
}
