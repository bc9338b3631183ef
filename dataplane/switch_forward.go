package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// This file follows a packet through a switch: arrival, admission, queueing, departure.

// Arrive handles a frame whose last bit has arrived. The packet is read-only.
func (s *Switch) Arrive(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	if p.Control() {
		if s.watched {
			s.observe(now, in, p, ext)
		}
		s.control(now, in, p, ext)
		s.endEvent(now)
		return
	}
	if p.Flags&packet.Extended == 0 {
		ext = nil
	}
	s.Forward(now, in, p, ext)
}

// Forward is Arrive for a frame that is not a control frame. ext must be nil unless the packet
// has the Extended flag.
func (s *Switch) Forward(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	if s.watched {
		s.observe(now, in, p, ext)
	}
	out := s.router.Route(now, in, p)
	if s.plain && p.Flags&(packet.Extended|packet.Telemetry) == 0 && s.forwardPlain(now, in, out, p) {
		return
	}
	s.forward(now, in, out, p, ext)
}

// forward is Forward for a frame whose egress is known.
//
//go:noinline
func (s *Switch) forward(now units.Time, in, out int, p *packet.Packet, ext packet.Ext) {
	ip := &s.ports[in]
	bit := packet.MaskOf(p.Class())
	if ip.armedIn&bit != 0 {
		s.forHandler.arriving(now, in, out, p, ext)
		s.endEvent(now)
		return
	}
	if out < 0 {
		s.dropUnrouted(now, in, p)
		return
	}
	seg, notify := mmu.Shared, false
	a := &s.arrival
	cells := s.ledger.Cells(units.Bytes(p.Size))
	if ip.fastIn&bit == 0 || !s.fast.admits(s.ledger, in, p.Class(), cells) {
		if ip.arriver == nil || s.kinds[p.Class()&7] != mmu.Lossless || !ip.arriver.Arrived(now, p.Class(), cells) {
			s.describe(a, in, out, 0, p)
			if seg, notify = s.admit(now, ip, a); seg == mmu.Drop {
				s.refuse(now, a, p)
				s.endEvent(now)
				return
			}
		}
	}
	if op := &s.ports[out]; op.idle(now, bit) {
		// Straight through: a frame that is not stored need not be counted, unless a component
		// relies on it.
		if seg == mmu.Headroom || ip.counted&bit != 0 {
			s.describe(a, in, out, 0, p)
			s.chargeSlot(now, ip, a, seg, notify)
			s.release(now, a)
		}
		if s.watched {
			s.observeDeparture(now, op, p)
		}
		op.count(p)
		op.busy = now + op.txTime(p.Size)
		if s.stamps != nil {
			s.passStamped(now, op, p, ext)
		} else {
			s.drv.Transmit(out, p, ext, op.busy)
		}
		if op.everyEnd != 0 {
			s.rearmTx(op)
		}
	} else {
		s.describe(a, in, out, 0, p)
		s.chargeSlot(now, ip, a, seg, notify)
		slot := s.memory.put(p)
		if p.Flags&(packet.Extended|packet.Telemetry) != 0 {
			s.memory.keepExt(slot, ext)
		}
		s.enqueue(now, op, slot)
		if s.sink != nil {
			s.sink.Queued(now, in, out, &s.memory.packets[slot], seg)
		}
		if op.wants() {
			s.serveOrWait(now, op)
		}
	}
	s.endEvent(now)
}

// dropUnrouted drops a frame without a route. A stray Barrier does not count as a drop.
func (s *Switch) dropUnrouted(now units.Time, in int, p *packet.Packet) {
	if p.Kind() == packet.Barrier {
		s.countConsumed(p)
		return
	}
	s.drop(now, in, p, probe.NoRoute)
}

// observeDeparture reports a departing frame to the checks and the probe.
func (s *Switch) observeDeparture(now units.Time, p *port, f *packet.Packet) {
	if s.checks != nil {
		s.checks.sends(now, p, f)
		s.checks.out += uint64(s.ledger.Cells(units.Bytes(f.Size)))
	}
	s.depart(now, p, f)
}

// observe reports an arriving frame to the probe and the checks.
func (s *Switch) observe(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	s.reportArrival(now, in, p, ext)
	if s.checks != nil {
		s.checks.event(now, s.ledger)
		if !p.Control() {
			if p.Port() != in {
				s.checks.fail(now, "the driver delivered a frame to port %d, but its ingress port is %d", in, p.Port())
			}
			s.checks.in += uint64(s.ledger.Cells(units.Bytes(p.Size)))
		}
	}
}

// idle reports whether a frame of a class can be sent at once: the wire is free, no other frame
// can be sent, and neither meter nor handler wants to be asked.
func (p *port) idle(now units.Time, bit packet.ClassMask) bool {
	// One expression instead of five branches, which would be mispredicted. The sign bit of
	// the difference is set if the wire is busy.
	taken := uint8(uint64(now-p.busy) >> 63)
	return taken|p.txPending|p.pending()|uint8((p.nonEmpty|p.blocked|p.metered|p.handledOut)&bit) == 0
}

// describe fills in the description of a frame for the ledger and the policies. It assigns
// field by field because a composite literal is built elsewhere and copied.
func (s *Switch) describe(a *mmu.Arrival, in, out int, slot uint32, p *packet.Packet) {
	a.In, a.Out = in, out
	a.Bytes = s.ledger.Cells(units.Bytes(p.Size))
	a.Slot = slot
	class := p.Class()
	a.Class = class
	a.Kind = s.kinds[class]
	a.Unscheduled = p.Flags&packet.Unscheduled != 0
}

// chargeSlot is charge for a frame that takes the next memory slot. A frame that passes
// straight through uses that slot number only during the call.
func (s *Switch) chargeSlot(now units.Time, ip *port, a *mmu.Arrival, seg mmu.Segment, notify bool) {
	if s.observer != nil {
		a.Slot = s.nextSlot()
	}
	s.charge(now, ip, a, seg, notify)
}

// nextSlot returns the slot of the next stored packet.
func (s *Switch) nextSlot() uint32 {
	if s.memory.free != 0 {
		return s.memory.free
	}
	return uint32(len(s.memory.packets))
}

// enqueue appends a stored packet to its egress queue.
func (s *Switch) enqueue(now units.Time, op *port, slot uint32) {
	p := &s.memory.packets[slot]
	class := p.Class()
	if s.stamps != nil {
		s.stamps.countQueued(op, p)
	}
	if s.atEnq && op.ecn.Has(class) {
		s.mark(now, op, p)
	}
	s.link(op, class, slot)
	if s.checks != nil {
		s.checks.enqueued(op.queueID(class), slot)
	}
}

// link appends a slot to the list of its egress queue.
func (s *Switch) link(op *port, class uint8, slot uint32) {
	// A branch on an empty queue would be mispredicted. If there is no predecessor, the
	// link goes into slot 0, which is unused.
	q := &op.queues[class&7]
	s.memory.next[q.tail] = slot
	head := q.head
	if q.tail == 0 {
		head = slot
	}
	q.head, q.tail = head, slot
	op.nonEmpty |= 1 << class
}

// unlink removes the first slot from the list of its egress queue, and tells the scheduler.
func (s *Switch) unlink(p *port, class uint8, slot uint32, size uint16) {
	q := &p.queues[class&7]
	next, tail, gone := s.memory.next[slot], q.tail, packet.ClassMask(0)
	s.memory.prefetch(next)
	if next == 0 {
		tail = 0
	}
	if next == 0 {
		gone = 1
	}
	q.head, q.tail = next, tail
	p.nonEmpty &^= gone << class
	p.sched.Sent(int(class), units.Bytes(size), next == 0)
}

// queueID returns the index of the egress queue of a class.
func (p *port) queueID(class uint8) int { return int(p.index)*mmu.Classes + int(class) }

// mark sets the ECN mark depending on the length of the egress queue.
func (s *Switch) mark(now units.Time, op *port, p *packet.Packet) {
	if q := s.view.Egress(int(op.index), p.Class()); q > op.floor && markable(p) {
		m := op.marker
		if op.markers != nil {
			if m = op.markers[p.Class()&7]; q <= m.Floor() {
				return
			}
		}
		if m.Mark(q, s.rand) {
			p.Flags |= packet.CE
			op.rare().Marks[p.Class()]++
			if s.sink != nil {
				s.sink.Marked(now, int(op.index), p)
			}
		}
	}
}

// markable reports whether a frame can be marked. A foreign frame that cannot be marked, or
// already is, arrives with the mark set.
func markable(p *packet.Packet) bool {
	return p.Kind() == packet.Data || p.Kind() == packet.Foreign && p.Flags&packet.CE == 0
}

// release removes a departing frame from the counters.
func (s *Switch) release(now units.Time, a *mmu.Arrival) {
	s.ledger.Release(a)
	ip := &s.ports[a.In]
	if !ip.fastOut.Has(a.Class) || !s.fast.releases(s.ledger, a.In, a.Class) {
		if a.Kind == mmu.Lossless {
			ip.recv.Released(now, a)
		}
	}
	if s.observer != nil {
		s.observer.Dequeued(now, s.view, a)
	}
}

// TxDone sends the next frame of a port when the last bit of the one before has left. It
// returns whether another TxDone is pending.
func (s *Switch) TxDone(now units.Time, port int) bool {
	if p := &s.ports[port]; s.plain && p.ctlPending == 0 && p.metered == 0 {
		return s.txDonePlain(now, p)
	}
	return s.txDone(now, port)
}

// txDone is TxDone of any port.
//
//go:noinline
func (s *Switch) txDone(now units.Time, port int) bool {
	if s.checks != nil {
		s.checks.event(now, s.ledger)
	}
	p := &s.ports[port]
	p.txPending = 0
	s.serveData(now, p)
	s.endEvent(now)
	return p.txPending != 0
}

// serveData sends the next frame of a port whose wire is free.
func (s *Switch) serveData(now units.Time, p *port) {
	if p.ctlPending != 0 && s.sendControl(now, p) {
		s.rearmTx(p)
		return
	}
	eligible := p.nonEmpty &^ p.blocked
	for eligible != 0 {
		class := uint8(p.sched.Pick(eligible)) & 7
		slot := p.queues[class].head
		bit := packet.MaskOf(class)
		if (p.metered|p.handledOut)&bit != 0 {
			if p.metered&bit != 0 && !p.meter.May(now, class, units.Bytes(s.memory.packets[slot].Size)) {
				eligible &^= bit
				continue
			}
			if p.handledOut&bit != 0 && !s.forHandler.departing(now, p, slot) {
				eligible = eligible &^ bit & p.nonEmpty
				continue
			}
		}
		s.send(now, p, class, slot)
		s.rearmTx(p)
		return
	}
}

// rearmTx requests TxDone if there is more to send.
func (s *Switch) rearmTx(p *port) {
	if p.pending()|p.everyEnd != 0 {
		p.txPending = 1
		s.drv.ArmTx(int(p.index), p.busy)
	}
}

// send dequeues the packet at the head of a queue and transmits it.
func (s *Switch) send(now units.Time, p *port, class uint8, slot uint32) {
	class &= 7
	f := &s.memory.packets[slot]
	s.unlink(p, class, slot, f.Size)
	a := &s.leaving
	s.describe(a, f.Port(), int(p.index), slot, f)
	s.release(now, a)
	if p.ecn.Has(class) && !s.atEnq {
		s.mark(now, p, f)
	}
	if s.watched {
		if s.checks != nil {
			s.checks.dequeued(now, p.queueID(class), slot)
		}
		s.observeDeparture(now, p, f)
	}
	if p.metered.Has(class) {
		p.pauses.since[class] = now
		p.meter.Sent(now, class, units.Bytes(f.Size))
	}
	p.count(f)
	p.busy = now + p.txTime(f.Size)
	if s.stamps != nil {
		s.stampStored(now, p, f, slot)
	}
	s.drv.Transmit(int(p.index), f, s.memory.extOf(f, slot), p.busy)
	if p.handledOut != 0 {
		s.forHandler.departed(now, p, f)
	}
	s.memory.recycle(slot)
}

// Wake wakes the components whose timers are due.
func (s *Switch) Wake(now units.Time) {
	if s.checks != nil {
		s.checks.event(now, s.ledger)
	}
	s.wakes.each(now, func(id int) {
		switch id {
		case s.policyWake():
			s.timed.Wake(now, s.view)
			s.wakes.set(id, s.timed.NextWake())
		case s.handlerWake():
			s.handler.Wake(now, 0)
		case s.expelWake():
			s.pushOut.expelDue(now)
		case s.renewal:
			s.renew(now)
		default:
			s.wakeEnd(now, id)
		}
	})
	s.wakes.dirty = true // the driver's timer has fired and needs the next time
	s.endEvent(now)
}
