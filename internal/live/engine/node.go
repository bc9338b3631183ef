package engine

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// node is the driver of one data plane.
type node struct {
	e     *Engine
	data  sim.Node
	nic   *dataplane.NIC // nil: a switch
	index int
	first int // index of its first slot
	here  bool
	wires []wire  // by port
	in    []inbox // by port
}

// wire is the peer of a port and the delay to it.
type wire struct {
	to    sim.End
	delay units.Time
}

// arm sets a timer of a node. A time in the past means now.
func (n *node) arm(slot int, at units.Time) { n.plan(&n.e.slots[n.first+slot], n.first+slot, at) }

func (n *node) plan(s *slot, at int, when units.Time) {
	if when > units.MaxTime || !n.here {
		when = units.Never
	}
	n.e.agenda.set(at, max(when, n.e.now), s.order())
}

// ofPort returns the indexes of a port's two slots.
func (n *node) ofPort(port int) (txDone, arrival int) {
	at := n.first + ownSlots + 2*port
	return at, at + 1
}

// ArmTx implements dataplane.Driver.
func (n *node) ArmTx(port int, at units.Time) {
	i, _ := n.ofPort(port)
	n.plan(&n.e.slots[i], i, at)
}

// ArmWake implements dataplane.Driver.
func (n *node) ArmWake(at units.Time) { n.arm(slotWake, at) }

// ArmPace implements dataplane.NICDriver.
func (n *node) ArmPace(at units.Time) { n.arm(slotPace, at) }

// ArmStart implements dataplane.NICDriver.
func (n *node) ArmStart(at units.Time, _ uint32) { n.arm(slotStart, at) }

// Transmit implements dataplane.Driver.
func (n *node) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	w := &n.wires[port]
	if p.Flags&packet.Extended == 0 {
		ext = nil
	}
	if wires := n.e.opts.Wires; wires != nil {
		wires.Send(sim.End{Node: n.index, Port: port}, p, ext, done+w.delay)
		return
	}
	n.e.nodes[w.to.Node].deliver(w.to.Port, p, ext, done+w.delay)
}

// deliver puts a frame on the wire to a port. Frames of a wire arrive in order.
func (n *node) deliver(port int, p *packet.Packet, ext packet.Ext, at units.Time) {
	b := &n.in[port]
	at = max(at, b.last)
	b.last = at
	f := b.push()
	f.p = *p
	f.p.At, f.p.Link = at, 0
	f.p.SetPort(port)
	f.p.Flags &^= packet.Extended
	f.ext = append(f.ext[:0], ext...)
	if len(ext) > 0 {
		f.p.Flags |= packet.Extended
	}
	if b.n == 1 {
		n.expect(port)
	}
}

// expect schedules the arrival of the first frame on the wire to a port.
func (n *node) expect(port int) {
	_, i := n.ofPort(port)
	s, p := &n.e.slots[i], &n.in[port].front().p
	s.kind = kindArrival
	if p.Control() {
		s.kind = kindControl
	}
	n.plan(s, i, p.At)
}

// arrive delivers the first frame on the wire to the node. Nothing is added to the wire
// meanwhile: its peer is another node.
func (n *node) arrive(port int) {
	b := &n.in[port]
	f := b.front()
	// Frames from wires are not trusted.
	switch foreign := f.p.Kind() == packet.Foreign; {
	case foreign && n.e.bridge != nil:
		n.e.bridge.arrive(n.e.now, n, port, f)
	case !foreign && (n.e.opts.Wires == nil || n.nic == nil || !f.p.OfFlow() || n.nic.Possible(n.e.now, &f.p, f.ext)):
		n.e.net.Arrive(n.e.now, n.index, port, &f.p, f.ext)
	default:
		n.e.impossible++
	}
	b.pop()
	if b.n > 0 {
		n.expect(port)
	}
}

// inbox is a queue of the frames on the wire to a port.
type inbox struct {
	frames []carried // ring buffer
	head   int
	n      int
	last   units.Time // arrival time of the last frame
}

// carried is a frame on a wire.
type carried struct {
	p   packet.Packet
	ext packet.Ext
}

func (b *inbox) push() *carried {
	if b.n == len(b.frames) {
		bigger := make([]carried, max(4, 2*b.n))
		for i := range b.frames {
			bigger[i] = b.frames[(b.head+i)%b.n]
		}
		b.frames, b.head = bigger, 0
	}
	f := &b.frames[(b.head+b.n)%len(b.frames)]
	b.n++
	return f
}

func (b *inbox) front() *carried { return &b.frames[b.head] }

func (b *inbox) pop() {
	b.head = (b.head + 1) % len(b.frames)
	b.n--
}
