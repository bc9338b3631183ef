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

// outsideHost is a real host at its end of a cable of the scenario: a network card that
// sends at the rate of the cable and obeys PFC, which Linux does not.
type outsideHost struct {
	*dataplane.NIC // which stays idle
	n              *node
	b              *bridge
	line           Interface
	rate           units.Rate
	overhead       units.Bytes
	mtu            units.Bytes
	peer           sim.End

	queues  [mmu.Classes]inbox // what the host has sent and the wire not yet carried
	waiting int                // frames in them
	control inbox              // PFC of the host
	until   [mmu.Classes]units.Time
	busy    units.Time
	turn    int
	buf     []byte
}

// maxQueued is how many frames a card keeps before it drops: txqueuelen of Linux.
const maxQueued = 1000

func newOutsideHost(b *bridge, n *node, nic *dataplane.NIC, line Interface) *outsideHost {
	w := b.e.net.Wire(n.index, 0)
	p := b.e.net.Port(w.To.Node, w.To.Port)
	return &outsideHost{NIC: nic, n: n, b: b, line: line, rate: w.Rate, overhead: p.WireOverhead, mtu: p.MTU, peer: w.To}
}

// Start implements sim.Node: a real host has begun long ago.
func (o *outsideHost) Start(units.Time) {}

// poll takes what the host has sent.
func (o *outsideHost) poll(now units.Time) {
	o.line.Poll(func(b []byte, _ int64, unfilled bool) { o.enter(now, b, unfilled) })
}

// enter takes one frame of the host.
func (o *outsideHost) enter(now units.Time, b []byte, unfilled bool) {
	var h frame.Headers
	if err := h.Read(b); err != nil {
		o.b.count(err.Error())
		return
	}
	switch {
	case h.Control():
		o.pfc(b)
	case h.Dst.LinkLocal():
		o.b.count("live: to an address that no switch forwards")
	case h.Src.Group():
		o.b.count("live: from the address of a group")
	case units.Bytes(len(b)+frame.FCSLen) > o.mtu:
		o.b.count(fmt.Sprintf("live: longer than the %d B of the link: lower the MTU of the host, switch its offloads off", o.mtu))
	default:
		if unfilled {
			h.FillChecksum(b)
		}
		o.data(now, &h, b)
	}
	o.kick(now)
}

// pfc takes a pause of the host's own.
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

// data queues a frame for whoever it is for.
func (o *outsideHost) data(now units.Time, h *frame.Headers, b []byte) {
	o.b.learn(now, h.Src, uint16(o.n.index))
	dst, known := uint16(packet.NoNode), false
	if !h.Dst.Group() {
		dst, known = o.b.table.find(now, h.Dst)
	}
	switch {
	case !known:
		dst = packet.NoNode
	case int(dst) == o.n.index:
		return // its destination is on the same side
	}
	if o.waiting >= maxQueued {
		o.b.count("live: sent faster than the link of a real host carries")
		return
	}
	class := o.b.classes.of(h, !known)
	if err := o.b.f.Foreign(b, uint16(o.n.index), dst, class); err != nil {
		o.b.count(err.Error())
		return
	}
	c := o.queues[class].push()
	c.p, c.ext = o.b.f.Packet, append(c.ext[:0], o.b.f.Ext...)
	o.waiting++
}

// kick sends the next frame if the wire is free: pauses first, then one of each class in
// turn that is not paused.
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

// Arrive implements sim.Node: the host gets the frame, PFC included, in case that its card
// does know it.
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
		return // frames of the scheme's own mean nothing to it
	}
	o.buf = frame.Append(o.buf[:0], macOf(o.peer), frame.MAC{}, p, ext, nil)
	if err := o.line.Send(o.buf); err != nil {
		o.b.count("not sent: " + err.Error())
	}
	o.kick(now)
}
