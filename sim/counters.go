package sim

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Counters holds the counters of every port and buffer of a run.
type Counters struct {
	Ports []PortResult // hosts first
	Pools []PoolResult // one per switch
	// Deadlocks lists the deadlocks found, by time. If the End of the last one
	// is Never, it persists at the end of the run. Earlier ones are known only if the
	// run was watched (Spec.WatchDeadlocks).
	Deadlocks []Deadlock
	Pauses    []Pause // only with Spec.LogPauses
}

// PortResult holds the counters of a port.
type PortResult struct {
	Node, Port, Peer int // Peer is -1 without a cable
	Host             bool
	Stats            dataplane.PortStats
	View             mmu.View
	Headroom         units.Bytes // reserved for the port, or the size of its headroom pool
	Rate             units.Rate
}

// PoolResult describes the buffer of a switch.
type PoolResult struct {
	Node     int
	View     mmu.View
	Private  units.Bytes // sum over all queues
	Headroom units.Bytes // sum over all ports, cabled or not, and the headroom pool
}

// Final returns the counters of all nodes up to now.
func (f *Fast) Final() Counters { return final(f.spec, f.nics, f.switches, f.deadlocks, f.now) }

// Final returns the counters of all nodes up to now.
func (o *Oracle) Final() Counters { return final(o.spec, o.nics, o.switches, o.deadlocks, o.now) }

// Counters returns the ports and pools of Final. It has no side effects, so it may be
// called during the run, between windows.
func (f *Fast) Counters() Counters { return counters(f.spec, f.nics, f.switches, f.now) }

// Counters returns the ports and pools of Final. It has no side effects, so it may be
// called during the run, between events.
func (o *Oracle) Counters() Counters { return counters(o.spec, o.nics, o.switches, o.now) }

func final(spec *Spec, nics []*dataplane.NIC, switches []*dataplane.Switch, d *deadlocks, now units.Time) Counters {
	all := counters(spec, nics, switches, now)
	if d.deadlockSearch == nil {
		d.deadlockSearch = newDeadlockSearch(spec, nics, switches)
	}
	all.Deadlocks = d.all(now)
	if spec.LogPauses {
		all.Pauses = pauses(d.deadlockSearch, nics, switches)
	}
	return all
}

func counters(spec *Spec, nics []*dataplane.NIC, switches []*dataplane.Switch, now units.Time) Counters {
	cables := make(map[End]*Cable)
	for i := range spec.Cables {
		c := &spec.Cables[i]
		cables[c.A], cables[c.B] = c, c
	}
	of := func(at End) (peer int, rate units.Rate) {
		switch c := cables[at]; {
		case c == nil:
			return -1, 0
		case c.A == at:
			return c.B.Node, c.Rate
		default:
			return c.A.Node, c.Rate
		}
	}
	var all Counters
	for i, n := range nics {
		peer, rate := of(End{Node: i})
		all.Ports = append(all.Ports, PortResult{
			Node: i, Peer: peer, Rate: rate, Host: true, Stats: n.PortStats(0, now), View: n.View(), Headroom: n.Headroom(0),
		})
	}
	for i, s := range switches {
		node := len(nics) + i
		for p := range s.Ports() {
			peer, rate := of(End{node, p})
			all.Ports = append(all.Ports, PortResult{
				Node: node, Port: p, Peer: peer, Rate: rate, Stats: s.PortStats(p, now), View: s.View(), Headroom: s.Headroom(p),
			})
		}
		all.Pools = append(all.Pools, pool(node, spec.Switches[i], s))
	}
	return all
}

// pool returns the sizes of a switch's buffer segments. Everything that is neither shared
// nor private is headroom.
func pool(node int, spec *dataplane.SwitchSpec, s *dataplane.Switch) PoolResult {
	r := PoolResult{Node: node, View: s.View(), Headroom: spec.Spare + spec.Buffer.Pool}
	for p := range s.Ports() {
		if !spec.Ports[p].Pooled {
			r.Headroom += s.Headroom(p)
		}
		r.Private += dataplane.PrivateSize(spec.Flow[p], spec.Buffer.Kinds, spec.Buffer.Private)
	}
	return r
}
