package sim

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Network holds the nodes of a run for a driver outside this package, such as one with a
// real clock. The driver owns time and wires: it delivers frames and fires timers as
// dataplane.Driver requires. The network provides faults, route changes, samples and the
// stop rule. The driver may be late with every call.
type Network struct {
	Spec  *Spec
	Nodes []Node // hosts first

	nics      []*dataplane.NIC
	switches  []*dataplane.Switch
	deadlocks *deadlocks
	changes   [][]change
	samples   []*sampler
	wires     [][]Wire // by node and port
	faults    [][]*faults
	hops      []uint64
	controls  []Controls
}

// Node is a data plane.
type Node interface {
	Probe() probe.Node
	Start(now units.Time)
	Wake(now units.Time)
	TxDone(now units.Time, port int) (pending bool)
	Arrive(now units.Time, port int, p *packet.Packet, ext packet.Ext)
}

// Wire is one direction of a cable, seen from its sender.
type Wire struct {
	To    End
	Delay units.Time // from the last bit sent to the last bit received
	Rate  units.Rate // 0: no cable
}

// NewNetwork builds the nodes of a run; driver returns the driver of each node.
func NewNetwork(spec *Spec, driver func(node int) dataplane.NICDriver) (*Network, error) {
	if _, err := spec.lookahead(); err != nil {
		return nil, err
	}
	n := spec.nodeCount()
	w := &Network{Spec: spec, changes: spec.changes(), samples: spec.samplers(), hops: make([]uint64, n), controls: make([]Controls, n)}
	for i := range n {
		w.wires = append(w.wires, make([]Wire, spec.portCount(i)))
		w.faults = append(w.faults, make([]*faults, spec.portCount(i)))
	}
	for i := range spec.Cables {
		c := &spec.Cables[i]
		w.wires[c.A.Node][c.A.Port] = Wire{c.B, c.AtoB, c.Rate}
		w.wires[c.B.Node][c.B.Port] = Wire{c.A, c.BtoA, c.Rate}
		// Each direction has its own random stream, as in the engines.
		w.faults[c.B.Node][c.B.Port] = newFaults(c, c.AtoB, spec.Seed, uint64(2*i))
		w.faults[c.A.Node][c.A.Port] = newFaults(c, c.BtoA, spec.Seed, uint64(2*i+1))
	}
	var err error
	if w.nics, w.switches, w.deadlocks, err = spec.nodes(driver); err != nil {
		return nil, err
	}
	for _, n := range w.nics {
		w.Nodes = append(w.Nodes, n)
	}
	for _, s := range w.switches {
		w.Nodes = append(w.Nodes, s)
	}
	return w, nil
}

// NIC returns the NIC of a host, or nil for a switch.
func (w *Network) NIC(node int) *dataplane.NIC {
	if node < len(w.nics) {
		return w.nics[node]
	}
	return nil
}

// Switch returns the switch of a node, or nil for a host.
func (w *Network) Switch(node int) *dataplane.Switch {
	if node < len(w.nics) {
		return nil
	}
	return w.switches[node-len(w.nics)]
}

// Wire returns the outgoing wire of a port.
func (w *Network) Wire(node, port int) Wire { return w.wires[node][port] }

// Port returns the description of a port.
func (w *Network) Port(node, port int) *link.Port { return w.Spec.port(End{node, port}) }

// NextChange returns the time of the next link or route change of a node, or Never.
func (w *Network) NextChange(node int) units.Time {
	if len(w.changes[node]) == 0 {
		return units.Never
	}
	return w.changes[node][0].at
}

// Change applies the next link or route change of a node.
func (w *Network) Change(now units.Time, node int) {
	c := w.changes[node][0]
	w.changes[node] = w.changes[node][1:]
	switch {
	case c.table != nil:
		w.Switch(node).SetRoutes(c.table)
	case node < len(w.nics):
		w.nics[node].LinkChanged(now, c.port, c.up)
	default:
		w.Switch(node).LinkChanged(now, c.port, c.up)
	}
}

// NextSample returns the time of the next sample of a node, or Never.
func (w *Network) NextSample(node int) units.Time {
	if w.samples[node] == nil {
		return units.Never
	}
	return w.samples[node].next
}

// Sample takes the samples of a node that are due. If a late driver missed several periods
// of a sample, it takes one.
func (w *Network) Sample(now units.Time, node int) { w.samples[node].take(now, w.Nodes[node].Probe()) }

// Arrive delivers a frame to a node unless the wire lost it. On entry p.At is the time at
// which its last bit reached the node, which may be before now.
func (w *Network) Arrive(now units.Time, node, port int, p *packet.Packet, ext packet.Ext) {
	if p.Control() {
		w.controls[node].count(p)
	} else {
		w.hops[node]++
	}
	lost := false
	if f := w.faults[node][port]; f != nil {
		lost = f.damages(p)
	}
	p.At = now
	switch {
	case !lost:
		w.Nodes[node].Arrive(now, port, p, ext)
	case node < len(w.nics):
		w.nics[node].Lose(now, port, p)
	default:
		w.Switch(node).Lose(now, port, p)
	}
}

// Check applies the stop rule to a run that would end at until. The driver must call it
// periodically, while all nodes are at the same time. It returns the new end of the run
// and whether the run ends now.
func (w *Network) Check(now, until units.Time) (units.Time, bool) {
	until = w.Spec.endTime(now, until)
	return until, w.deadlocks.check(now) || now >= until
}

// Finish ends the run at all switches.
func (w *Network) Finish(now units.Time) {
	for _, s := range w.switches {
		s.Finish(now)
	}
}

// Totals returns the totals up to now.
func (w *Network) Totals(now units.Time) Totals {
	t := totals(w.Spec, w.nics, w.switches, now)
	for i := range w.Nodes {
		t.Hops += w.hops[i]
		w.controls[i].addTo(&t)
	}
	return t
}

// Final returns the counters of all nodes up to now.
func (w *Network) Final(now units.Time) Counters {
	return final(w.Spec, w.nics, w.switches, w.deadlocks, now)
}

// Counters returns the ports and pools of Final. It has no side effects, so it may be
// called during the run.
func (w *Network) Counters(now units.Time) Counters {
	return counters(w.Spec, w.nics, w.switches, now)
}
