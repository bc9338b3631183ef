package engine

import (
	"fmt"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// outsideHost is the network card of a real host at its cable of the scenario. It sends at the
// rate of the cable and obeys PFC, which Linux does not.
type outsideHost struct {
	*dataplane.NIC // stays idle
	n              *node
	b              *bridge
	line           Interface
	rate           units.Rate
	overhead       units.Bytes
	mtu            units.Bytes
	peer           sim.End

	queues  [mmu.Classes]inbox // frames of the host that wait for the wire
	waiting int                // frames in queues
	control inbox              // PFC frames of the host
	until   [mmu.Classes]units.Time
	busy    units.Time
	turn    int
	out     outbox // frames to the host
	now     units.Time
	take    func(b []byte, came int64, unfilled bool) // receives a frame of the host at the time now
}

// maxQueued is the capacity of the transmit queue in frames, as txqueuelen of Linux.
const maxQueued = 1000

func newOutsideHost(b *bridge, n *node, nic *dataplane.NIC, line Interface) *outsideHost {
	w := b.e.net.Wire(n.index, 0)
	p := b.e.net.Port(w.To.Node, w.To.Port)
	o := &outsideHost{NIC: nic, n: n, b: b, line: line, rate: w.Rate, overhead: p.WireOverhead, mtu: p.MTU, peer: w.To}
	o.take = func(frame []byte, _ int64, unfilled bool) {
		b.came = o.now
		o.enter(o.now, frame, unfilled)
	}
	return o
}

// Start implements sim.Node. It does nothing: a real host starts flows itself.
func (o *outsideHost) Start(units.Time) {}

// enter processes one frame of the host.
func (o *outsideHost) enter(now units.Time, b []byte, unfilled bool) {
	var h frame.Headers
	if err := h.Read(b); err != nil {
		o.b.count(err.Error())
		return
	}
	switch {
	case h.Control():
		o.pfc(b)
	case o.waiting >= maxQueued:
		o.b.count("live: transmit queue of a real host full")
	case h.Dst.LinkLocal():
		o.b.count("live: to a link-local address, which switches do not forward")
	case h.Src.Group():
		o.b.count("live: from a group address")
	case units.Bytes(len(b)+frame.FCSLen) > o.mtu:
		o.b.count(fmt.Sprintf("live: longer than the link's MTU of %d B; fix: lower the MTU of the host, or disable its offloads", o.mtu))
	default:
		if unfilled {
			h.FillChecksum(b)
		}
		o.data(now, &h, b)
	}
	o.kick(now)
}

// pfc queues a PFC frame of the host.
func (o *outsideHost) pfc(b []byte) {
	f := &o.b.f
	if err := f.Decode(b); err != nil {
		o.b.count(err.Error())
		return
	}
	push := func(p *packet.Packet) {
		if o.control.n < maxQueued {
			o.control.push().p = *p
		}
	}
	push(&f.Packet)
	f.More(func(p *packet.Packet) {
		p.Size = f.Packet.Size
		push(p)
	})
}

// data queues a frame of the host for its destination.
func (o *outsideHost) data(now units.Time, h *frame.Headers, b []byte) {
	o.b.learn(now, h.Src, uint32(o.n.index))
	dst, known := packet.NoNode, false
	if !h.Dst.Group() {
		dst, known = o.b.table.find(now, h.Dst)
	}
	switch {
	case !known:
		dst = packet.NoNode
	case int(dst) == o.n.index:
		return // the destination is behind the same host
	}
	class := o.b.classes.of(h, !known)
	o.b.f.Foreign(h, b, uint32(o.n.index), dst, class)
	c := o.queues[class].push()
	c.p, c.ext = o.b.f.Packet, append(c.ext[:0], o.b.f.Ext...)
	o.waiting++
}

// kick sends the next frame if the wire is free: PFC first, then classes that are not paused, in
// turn.
func (o *outsideHost) kick(now units.Time) {
	if now < o.busy {
		return
	}
	if o.control.n > 0 {
		o.send(now, &o.control)
		return
	}
	wake := units.Never
	for range mmu.Classes {
		o.turn = (o.turn + 1) % mmu.Classes
		q := &o.queues[o.turn]
		switch {
		case q.n == 0:
		case o.until[o.turn] > now:
			wake = min(wake, o.until[o.turn])
		default:
			o.waiting--
			o.send(now, q)
			return
		}
	}
	if wake != units.Never {
		o.n.ArmWake(wake)
	}
}

func (o *outsideHost) send(now units.Time, q *inbox) {
	f := q.front()
	o.busy = now + o.rate.TxTime(units.Bytes(f.p.Size)+o.overhead)
	o.n.Transmit(0, &f.p, f.ext, o.busy)
	q.pop()
	o.n.ArmTx(0, o.busy)
}

// TxDone implements sim.Node.
func (o *outsideHost) TxDone(now units.Time, _ int) bool {
	o.kick(now)
	return false
}

// Wake implements sim.Node: a pause has expired.
func (o *outsideHost) Wake(now units.Time) { o.kick(now) }

// Arrive implements sim.Node. The host also gets PFC frames, in case its card supports PFC.
func (o *outsideHost) Arrive(now units.Time, _ int, p *packet.Packet, ext packet.Ext) {
	switch p.Kind() {
	case packet.PFC:
		enable, pause, quanta := p.PFC()
		for c := range o.until {
			if !enable.Has(uint8(c)) {
				continue
			}
			o.until[c] = 0
			if pause.Has(uint8(c)) {
				o.until[c] = now + packet.Quanta(quanta, o.rate)
			}
		}
	case packet.Foreign:
	default:
		return // other control frames mean nothing to a real host
	}
	if o.out.add(frame.Append(o.out.next(), macOf(o.peer), frame.MAC{}, p, ext, nil)) {
		o.out.flush(o.line)
	}
	o.kick(now)
}
