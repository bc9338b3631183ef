package check

import (
	"context"
	"fmt"
	"slices"
)

// CutOff is a set of links whose failure separates some hosts from the others.
type CutOff struct {
	Links []string `json:"links"`
	Hosts []string `json:"hosts"`

	inside []bool // by switch: it is on the side of Hosts
}

// CutOffs returns, for every switch with hosts that at most k link failures can separate from
// others, a smallest set of such links. The side with fewer hosts counts as cut off.
//
// By Menger's theorem, the smallest cut between two switches has as many links as there are
// link-disjoint paths between them. If any two switches can be separated, one of them can be
// separated from the first switch, so only cuts from the first one are searched.
func (f *Fabric) CutOffs(ctx context.Context, k int) ([]CutOff, error) {
	var list []CutOff
	p := pathFinder{f: f, flow: make([]int8, len(f.graph.Links)), via: make([]int32, len(f.out))}
	for _, home := range f.homes[1:] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !p.separable(f.homes[0], home, k) {
			continue
		}
		for _, inside := range [2][]bool{p.side(f.homes[0], 0), p.side(home, 1)} {
			cut := f.cut(inside)
			if !slices.ContainsFunc(list, func(o CutOff) bool { return slices.Equal(o.Links, cut.Links) }) {
				list = append(list, cut)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b CutOff) int { return len(a.Links) - len(b.Links) })
	return list, nil
}

// cut returns the links and hosts of the cut between the switches inside and the others. It
// flips inside if that is the side with more hosts.
func (f *Fabric) cut(inside []bool) CutOff {
	hosts := 0
	for host := range f.hosts {
		if inside[f.homes[f.hosts[host]]] {
			hosts++
		}
	}
	if 2*hosts > len(f.hosts) {
		for s := range inside {
			inside[s] = !inside[s]
		}
	}
	c := CutOff{inside: inside}
	for i := range f.graph.Links {
		if e := f.ends[2*i]; f.betweenSwitches(i) && inside[e.from] != inside[e.to] {
			c.Links = append(c.Links, f.graph.LinkName(i))
		}
	}
	for host := range f.hosts {
		if inside[f.homes[f.hosts[host]]] {
			c.Hosts = append(c.Hosts, f.graph.Names[host])
		}
	}
	return c
}

// pathFinder finds link-disjoint paths, by the augmenting paths of maximum flow.
type pathFinder struct {
	f     *Fabric
	flow  []int8  // by link: 1 for a path from A to B, -1 from B to A, 0 unused
	via   []int32 // by switch: the channel by which it was reached; -1: not reached
	queue []int32
}

// usable reports whether another path can take a channel, possibly cancelling a path in the
// opposite direction.
func (p *pathFinder) usable(c int32) bool {
	if c%2 == 0 {
		return p.flow[c/2] < 1
	}
	return p.flow[c/2] > -1
}

// separable reports whether at most k link failures separate two switches.
func (p *pathFinder) separable(from, to int32, k int) bool {
	clear(p.flow)
	for range k + 1 {
		if !p.augment(from, to) {
			return true
		}
	}
	return false
}

// augment adds the shortest augmenting path, or returns false if there is none.
func (p *pathFinder) augment(from, to int32) bool {
	for i := range p.via {
		p.via[i] = -1
	}
	p.queue = append(p.queue[:0], from)
	for i := 0; i < len(p.queue); i++ {
		for _, c := range p.f.out[p.queue[i]] {
			next := p.f.ends[c].to
			if next == from || p.via[next] >= 0 || !p.usable(c) {
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

// side returns the switches that another path could reach from start (reverse 0), or from
// which it could reach start (reverse 1).
func (p *pathFinder) side(start, reverse int32) []bool {
	inside := make([]bool, len(p.f.out))
	inside[start] = true
	p.queue = append(p.queue[:0], start)
	for i := 0; i < len(p.queue); i++ {
		for _, c := range p.f.out[p.queue[i]] {
			if next := p.f.ends[c].to; !inside[next] && p.usable(c^reverse) {
				inside[next] = true
				p.queue = append(p.queue, next)
			}
		}
	}
	return inside
}

// cutOffs reports hosts that link failures can cut off. With Options.Flows, it reports only
// cuts that some flow crosses.
func (c *checker) cutOffs(ctx context.Context, f *Fabric, o Options) error {
	if o.Failures == 0 || c.FirstPath {
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
			side := func(host uint32) bool { return cut.inside[f.homes[f.hosts[host]]] }
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
		Level: Note, Kind: KindPartition, Where: hosts, CutOffs: list,
		What: fmt.Sprintf("%s can be cut off from the others by the failure of %s", count(len(hosts), "host", "hosts"), count(fewest, "link", "links")),
		Fix:  "add a link between the switches on both sides",
	})
	return nil
}
