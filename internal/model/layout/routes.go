package layout

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
)

// HopLink is one link of a path.
type HopLink struct {
	Rate  units.Rate
	Delay units.Time
}

// Path returns the links from one host to another, using the first of equal-cost ports. It is
// nil if the destination cannot be reached.
func (l *Layout) Path(src, dst int) []HopLink {
	hosts := l.Graph.Hosts
	ends := l.PortEnds()
	var links []HopLink
	for node, port := src, 0; ; {
		e := ends[node][port]
		links = append(links, HopLink{e.Rate, e.Delay})
		node = e.To
		if node == dst {
			return links
		}
		if node < hosts || len(links) > l.Graph.Nodes() {
			return nil
		}
		ports := l.Tables()[node].Set(uint32(dst))
		if len(ports) == 0 {
			return nil
		}
		port = int(ports[0])
	}
}

// roundTrip returns the time of a full packet from h on one path and of an ACK from to on the
// other.
func (l *Layout) roundTrip(h, to *HostSetting, there, back []HopLink) units.Time {
	over, sum := l.Config.Switch.WireOverhead, units.Time(0)
	for _, hop := range there {
		sum += hop.Rate.TxTime(h.Payload+h.HeaderSize()+over) + hop.Delay
	}
	for _, hop := range back {
		sum += hop.Rate.TxTime(to.AckSize(h.Records)+over) + hop.Delay
	}
	return sum
}

// GivenRTT returns the base RTT for congestion control and IRN: compat.base_rtt if it is set,
// else BaseRTT.
func (l *Layout) GivenRTT() units.Time {
	if t := l.Config.Compat.BaseRTT; t != 0 {
		return t
	}
	return l.BaseRTT()
}

// BaseRTT returns the round trip of a full packet and its ACK on the longest path from the
// first or the last host.
func (l *Layout) BaseRTT() units.Time {
	longest := units.Time(0)
	for _, src := range [2]int{0, l.Graph.Hosts - 1} {
		for dst := range l.Graph.Hosts {
			if dst == src {
				continue
			}
			there, back := l.Path(src, dst), l.Path(dst, src)
			for _, h := range l.HostAt(src).Variants {
				longest = max(longest, l.roundTrip(h, l.HostAt(dst).Variant(h.Name), there, back))
			}
		}
	}
	return longest
}

// Tables returns the routing tables with all links up, without pinned routes.
func (l *Layout) Tables() []*route.Table {
	if l.tables == nil {
		l.tables = topo.Routes(l.Graph, nil)
	}
	return l.tables
}

// Routes returns the routing tables with pinned routes when some links are down. A nil down
// means that all links are up. Tables without pinned routes are shared.
func (l *Layout) Routes(t *Traffic, down func(link int) bool) []*route.Table {
	var tables []*route.Table
	if down == nil {
		tables = slices.Clone(l.Tables())
	} else {
		tables = topo.Routes(l.Graph, down)
	}
	l.addPins(t, tables)
	return tables
}

// PortTo returns the port of a node that leads to a neighbour, or -1.
func (l *Layout) PortTo(node, neighbour int) int {
	for p, e := range l.PortEnds()[node] {
		if e.To == neighbour {
			return p
		}
	}
	return -1
}

// FirstFaults returns the time of the first fault of each faulty link, at least 1 ps.
func (l *Layout) FirstFaults() map[int]units.Time {
	first := make(map[int]units.Time)
	for _, f := range l.Config.Faults {
		if f.Link == "" {
			continue
		}
		link := l.Link(f.Link)
		if t, ok := first[link]; !ok || f.At < t {
			first[link] = max(1, f.At)
		}
	}
	return first
}

// DeadLinks returns the links that are down for the whole run.
func (l *Layout) DeadLinks() map[int]bool {
	dead := make(map[int]bool)
	for _, f := range l.Config.Faults {
		if l.dead(&f) {
			dead[l.Link(f.Link)] = true
		}
	}
	return dead
}

// findIslands returns for each node the number of its connected part of the fabric.
func (l *Layout) findIslands() []int {
	dead := l.DeadLinks()
	return islands(l.Graph, func(link int) bool { return dead[link] })
}

// islands returns for each node the number of its part of the graph, connected by links that
// are not dead. Hosts do not forward, but each has only one link.
func islands(g *topo.Graph, dead func(link int) bool) []int {
	part := make([]int, g.Nodes())
	for i := range part {
		part[i] = i
	}
	root := func(n int) int {
		for part[n] != n {
			part[n] = part[part[n]]
			n = part[n]
		}
		return n
	}
	for i, link := range g.Links {
		if x, y := root(link.A), root(link.B); x != y && !dead(i) {
			part[max(x, y)] = min(x, y)
		}
	}
	for i := range part {
		part[i] = root(i)
	}
	return part
}

// cut returns an error about the link failure that separates two hosts of a workload: the
// first key, in order, after which no path is left. It is nil if there was no path before.
func (l *Layout) cut(workload string, src, dst int32) error {
	whole := *l.Config
	whole.Topology.Down = nil
	g, err := Graph(&whole)
	if err != nil {
		return nil
	}
	down := make(map[int]bool)
	separated := func() bool {
		part := islands(g, func(link int) bool { return down[link] })
		return part[src] != part[dst]
	}
	blame := func(path, link string) error {
		return yaml.Atf(path, "without %s, no path leads from %s to %s, but workload %s has flows between them (expected links that leave a path)",
			link, g.Names[src], g.Names[dst], workload)
	}
	if separated() {
		return nil
	}
	for i, pattern := range l.Config.Topology.Down {
		links, err := g.LinksLike(pattern)
		if err != nil {
			return nil
		}
		for _, k := range links {
			down[k] = true
		}
		if separated() {
			return blame(fmt.Sprintf("topology.down[%d]", i), pattern)
		}
	}
	for i, f := range l.Config.Faults {
		if !l.dead(&f) {
			continue
		}
		if link, err := g.LinkNamed(f.Link); err == nil {
			down[link] = true
		}
		if separated() {
			return blame(fmt.Sprintf("faults[%d].down_for", i), f.Link)
		}
	}
	return nil
}

// dead reports whether a fault takes its link down for the whole run.
func (l *Layout) dead(f *scenario.Fault) bool {
	return f.DownFor > 0 && f.At == 0 && f.DownFor >= l.Config.Run.Stop.AtMost
}
