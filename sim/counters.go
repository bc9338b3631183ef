package sim

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Counters is what a run left behind at every port and in every buffer.
type Counters struct {
	Ports []PortResult // hosts first
	Pools []PoolResult // of the switches
	// Deadlocks that were found, in order of time: the last one, if its End is
	// Never, stands at the end of the run. Those before it are known only if the run
	// was watched.
	Deadlocks []Deadlock
	Pauses    []Pause // with Spec.LogPauses
}

// PortResult is a port after the run.
type PortResult struct {
	Node, Port, Peer int // Peer is -1 without a cable
	Host             bool
	Stats            dataplane.PortStats
	View             mmu.View
	Headroom         units.Bytes // set aside for it
	Rate             units.Rate
}

// PoolResult is the buffer of a switch after the run.
type PoolResult struct {
	Node     int
	View     mmu.View
	Private  units.Bytes // of all queues
	Headroom units.Bytes // of all ports, cabled or not
}

// Final returns the counters of all nodes up to now.
func (f *Fast) Final() Counters { return final(f.spec, f.nics, f.switches, f.deadlocks, f.now) }

// Final returns the counters of all nodes up to now.
func (o *Oracle) Final() Counters { return final(o.spec, o.nics, o.switches, o.deadlocks, o.now) }

// Counters returns the ports and pools of Final, also while the run goes: it changes nothing.
func (f *Fast) Counters() Counters { return counters(f.spec, f.nics, f.switches, f.now) }

// Counters returns the ports and pools of Final, also while the run goes: it changes nothing.
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

// pool finds the sizes of a buffer's segments: what is neither shared nor private
// was set aside as headroom.
func pool(node int, spec *dataplane.SwitchSpec, s *dataplane.Switch) PoolResult {
	r := PoolResult{Node: node, View: s.View()}
	for p := range s.Ports() {
		r.Headroom += s.Headroom(p)
		r.Private += dataplane.PrivateSize(spec.Flow[p], spec.Buffer.Kinds, spec.Buffer.Private)
	}
	r.Headroom += spec.Spare + spec.Buffer.Pool
	return r
}
