package layout

import (
	"fmt"

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

// Path follows the routing tables from host to host, taking the first of
// equally good ports. It is nil when the destination cannot be reached.
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
		ports := l.Tables()[node].Set(uint16(dst))
		if len(ports) == 0 {
			return nil
		}
		port = int(ports[0])
	}
}

// roundTrip is how long a full packet of a host takes on one path and an ACK of
// the other host on another.
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

// GivenRTT is the round trip that congestion control and IRN are told: BaseRTT, unless
// the scenario gives another one.
func (l *Layout) GivenRTT() units.Time {
	if t := l.Config.Compat.BaseRTT; t != 0 {
		return t
	}
	return l.BaseRTT()
}

// BaseRTT is the round trip of a full packet and its ACK on the longest path
// from the first and the last host.
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

// Tables returns the routing tables of the healthy fabric, without pinned routes.
func (l *Layout) Tables() []*route.Table {
	if l.tables == nil {
		l.tables = topo.Routes(l.Graph, nil)
	}
	return l.tables
}

// Routes returns routing tables for the flows of a run when some links are down;
// nil: none is.
func (l *Layout) Routes(t *Traffic, down func(link int) bool) []*route.Table {
	tables := topo.Routes(l.Graph, down)
	l.addPins(t, tables)
	return tables
}

// PortTo returns the port of a node that leads to a neighbour, -1 when it is
// none.
func (l *Layout) PortTo(node, neighbour int) int {
	for p, e := range l.PortEnds()[node] {
		if e.To == neighbour {
			return p
		}
	}
	return -1
}

// FirstFaults returns when each faulty link fails first, at 1 ps or later.
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

// DeadLinks returns the links that are down all the time.
func (l *Layout) DeadLinks() map[int]bool {
	dead := make(map[int]bool)
	for _, f := range l.Config.Faults {
		if l.dead(&f) {
			dead[l.Link(f.Link)] = true
		}
	}
	return dead
}

// findIslands numbers the parts of the fabric that no link joins, by node.
func (l *Layout) findIslands() []int {
	dead := l.DeadLinks()
	return islands(l.Graph, func(link int) bool { return dead[link] })
}

// islands numbers the parts of a graph that links join which are not dead, by node.
// Hosts do not forward, but each has one link only.
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

// cut says which link that is down parts two hosts of a workload: of those that the
// scenario names, in order, the first without which there is no path. It is nil when
// there never was one.
func (l *Layout) cut(workload string, src, dst int32) error {
	whole := *l.Config
	whole.Topology.Down = nil
	g, err := Graph(&whole)
	if err != nil {
		return nil
	}
	gone := make(map[int]bool)
	parted := func() bool {
		part := islands(g, func(link int) bool { return gone[link] })
		return part[src] != part[dst]
	}
	blame := func(path, link string) error {
		return yaml.Atf(path, "without %s %s cannot be reached from %s, and workload %s has flows between them; allowed: links that leave a path",
			link, g.Names[dst], g.Names[src], workload)
	}
	if parted() {
		return nil
	}
	for i, pattern := range l.Config.Topology.Down {
		links, err := g.LinksLike(pattern)
		if err != nil {
			return nil
		}
		for _, k := range links {
			gone[k] = true
		}
		if parted() {
			return blame(fmt.Sprintf("topology.down[%d]", i), pattern)
		}
	}
	for i, f := range l.Config.Faults {
		if !l.dead(&f) {
			continue
		}
		if link, err := g.LinkNamed(f.Link); err == nil {
			gone[link] = true
		}
		if parted() {
			return blame(fmt.Sprintf("faults[%d].down_for", i), f.Link)
		}
	}
	return nil
}

// dead reports whether a fault is of a link that is down all the time.
func (l *Layout) dead(f *scenario.Fault) bool {
	return f.DownFor > 0 && f.At == 0 && f.DownFor >= l.Config.Run.Stop.AtMost
}
