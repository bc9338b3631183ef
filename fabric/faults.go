package fabric

import (
	"maps"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// faults applies link faults to the cables and schedules the resulting route changes.
func (b *builder) faults(spec *sim.Spec) {
	for _, f := range b.Config.Faults {
		if f.Link == "" {
			continue
		}
		c := &spec.Cables[b.Link(f.Link)]
		if f.DownFor > 0 {
			for k := range max(1, f.Times) {
				from := f.At + units.Time(k)*f.Every
				c.Down = append(c.Down, units.Interval{From: from, To: from + f.DownFor})
			}
		}
		if f.Corrupt > 0 {
			to := units.MaxTime
			if f.For > 0 {
				to = f.At + f.For
			}
			c.Corrupt = append(c.Corrupt, sim.Corruption{Interval: units.Interval{From: f.At, To: to}, Rate: f.Corrupt})
		}
	}
	spec.Routes = b.reroutes(spec)
}

// reroutes returns the routing tables after each link change. They take effect after
// routing.reroute_after.
func (b *builder) reroutes(spec *sim.Spec) []sim.RouteChange {
	times := map[units.Time]bool{}
	for i := range spec.Cables {
		for _, d := range spec.Cables[i].Down {
			times[d.From] = true
			if d.To < units.MaxTime { // otherwise it never comes up again
				times[d.To] = true
			}
		}
	}
	var changes []sim.RouteChange
	for _, t := range slices.Sorted(maps.Keys(times)) {
		tables := b.Routes(b.Traffic, func(link int) bool {
			for _, d := range spec.Cables[link].Down {
				if d.From <= t && t < d.To {
					return true
				}
			}
			return false
		})
		for node := b.Graph.Hosts; node < b.Graph.Nodes(); node++ {
			changes = append(changes, sim.RouteChange{At: t + b.Config.Routing.RerouteAfter, Node: node, Table: tables[node]})
		}
	}
	return changes
}
