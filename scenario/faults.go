package scenario

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// faults applies link faults to the cables and schedules what routing makes of
// them.
func (b *builder) faults(spec *sim.Spec) {
	for _, f := range b.cfg.Faults {
		if f.Link == "" {
			continue
		}
		c := &spec.Cables[b.link(f.Link)]
		if f.DownFor > 0 {
			for k := range max(1, f.Times) {
				from := f.At + units.Time(k)*f.Every
				c.Down = append(c.Down, dataplane.Interval{From: from, To: from + f.DownFor})
			}
		}
		if f.Corrupt > 0 {
			to := units.MaxTime
			if f.For > 0 {
				to = f.At + f.For
			}
			c.Corrupt = append(c.Corrupt, sim.Corruption{Interval: dataplane.Interval{From: f.At, To: to}, Rate: f.Corrupt})
		}
	}
	spec.Routes = b.reroutes(spec)
}

// firstFaults returns when each faulty link fails first, at 1 ps or later.
func (b *builder) firstFaults() map[int]units.Time {
	first := make(map[int]units.Time)
	for _, f := range b.cfg.Faults {
		if f.Link == "" {
			continue
		}
		l := b.link(f.Link)
		if t, ok := first[l]; !ok || f.At < t {
			first[l] = max(1, f.At)
		}
	}
	return first
}

// reroutes computes the tables after each change of a link, in force after the
// configured delay.
func (b *builder) reroutes(spec *sim.Spec) []sim.RouteChange {
	times := map[units.Time]bool{}
	for i := range spec.Cables {
		for _, d := range spec.Cables[i].Down {
			times[d.From], times[d.To] = true, true
		}
	}
	var changes []sim.RouteChange
	for _, t := range sorted(times) {
		tables := topo.Routes(b.graph, func(link int) bool {
			for _, d := range spec.Cables[link].Down {
				if d.From <= t && t < d.To {
					return true
				}
			}
			return false
		})
		b.addPins(tables)
		for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
			changes = append(changes, sim.RouteChange{At: t + b.cfg.Routing.RerouteAfter, Node: node, Table: tables[node]})
		}
	}
	return changes
}

// tables returns the routing tables of the healthy fabric.
func (b *builder) tables() []*route.Table {
	if b.healthy == nil {
		b.healthy = topo.Routes(b.graph, nil)
		b.addPins(b.healthy)
	}
	return b.healthy
}

// portTo returns the port of a node that leads to a neighbour, -1 when it is
// none.
func (b *builder) portTo(node, neighbour int) int {
	for p, e := range b.portEnds()[node] {
		if e.to == neighbour {
			return p
		}
	}
	return -1
}

// link returns the index of a link, -1 when there is none of that name.
func (b *builder) link(name string) int {
	i, _ := b.graph.LinkNamed(name)
	return i
}
