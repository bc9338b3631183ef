package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// This file provides what the deadlock search reads of a node. Nothing else uses it.

// BlockedQueue is an egress queue that its peer blocks.
type BlockedQueue struct {
	Port  int
	Class uint8
	Since units.Time
	// Sent is the latest time at which the last bit sent before the block left.
	Sent units.Time
	// Processing is the time from the arrival of a PFC frame to its effect.
	Processing units.Time
	Waits      bool        // there is something to send
	Next       units.Bytes // size of the first waiting frame; an estimate for a NIC
	// Due is the time until which a deadlock handler may still resolve the block of a queue that
	// it has armed; 0 for other queues.
	Due units.Time
}

// handledQueue is what the deadlock search knows about an egress queue of a switch with a
// deadlock handler.
type handledQueue struct {
	gated units.Time // start of the current pause by the gate, whatever the handler does
	moved units.Time // last departure of a frame, other than a Barrier, while the handler had the queue
}

// BlockedQueues appends the lossless egress queues that may not send: paused, or without credit
// for their first frame. Queues that a deadlock handler has opened are left out.
func (n *node) BlockedQueues(now units.Time, list []BlockedQueue) []BlockedQueue {
	return n.listBlocked(now, list, nil, units.Never)
}

// BlockedQueues appends the blocked queues with the sizes of their first frames.
func (s *Switch) BlockedQueues(now units.Time, list []BlockedQueue) []BlockedQueue {
	patience := units.Never
	if p, ok := s.handler.(deadlock.Patient); ok {
		patience = p.Patience()
	}
	return s.listBlocked(now, list, func(p *port, class uint8) (units.Bytes, units.Time) {
		slot := p.queues[class&7].head
		size := units.Bytes(s.memory.packets[slot].Size)
		for s.memory.packets[slot].Kind() == packet.Barrier && s.memory.next[slot] != 0 {
			slot = s.memory.next[slot]
		}
		return size, s.memory.packets[slot].At
	}, patience)
}

// listBlocked appends the blocked queues. A function returns the size of the first frame of a
// queue and the arrival time of the first frame that is not a Barrier. A deadlock handler may
// keep a queue for as long as its patience.
func (n *node) listBlocked(now units.Time, list []BlockedQueue, first func(*port, uint8) (units.Bytes, units.Time), patience units.Time) []BlockedQueue {
	for i := range n.ports {
		p := &n.ports[i]
		paused, kept := p.blocked&p.pauses.gated, packet.ClassMask(0)
		if patience != units.Never {
			kept = p.armedOut & p.pauses.gated & p.nonEmpty
		}
		for c := range (((paused|p.metered&p.nonEmpty)&^p.handledOut | kept) & p.spec.Lossless).All() {
			bit := packet.MaskOf(c)
			longest := max(p.spec.MTU, p.spec.MTUOut)
			h := BlockedQueue{Port: i, Class: c, Since: p.pauses.since[c], Processing: p.spec.PFC.Processing, Waits: p.nonEmpty&bit != 0, Next: longest}
			arrived := units.Time(0)
			if h.Waits && first != nil {
				h.Next, arrived = first(p, c)
			}
			switch {
			case kept&bit != 0:
				q := &n.handled[i*mmu.Classes+int(c)]
				h.Since = max(q.gated, q.moved)
				h.Due = max(h.Since, arrived) + patience
			case paused&bit == 0:
				if p.meter.May(now, c, h.Next) {
					continue
				}
				h.Since = max(h.Since, arrived)
			case n.handled != nil:
				// A handler that opened the queue in vain did not end the block.
				if q := &n.handled[i*mmu.Classes+int(c)]; q.moved <= q.gated {
					h.Since = min(h.Since, q.gated)
				}
			}
			h.Sent = h.Since + p.txTime(uint16(longest))
			list = append(list, h)
		}
	}
	return list
}

// EachWaiting calls use for every frame waiting in an egress queue, with the buffer space it
// takes.
func (s *Switch) EachWaiting(port int, class uint8, use func(f *packet.Packet, b units.Bytes)) {
	for _, q := range [2]fifo{s.ports[port].queues[class&7], s.forHandler.aside[port*mmu.Classes+int(class)]} {
		for slot := q.head; slot != 0; {
			f := &s.memory.packets[slot]
			use(f, s.ledger.Cells(units.Bytes(f.Size)))
			slot = s.memory.next[slot]
		}
	}
}

// Rest returns an mmu.Rest of the switch's ledger.
func (s *Switch) Rest() *mmu.Rest { return s.ledger.Rest() }

// Resumes reports whether the receiver of a port would resume (see flowctl.Resuming).
func (s *Switch) Resumes(now units.Time, port int, r *flowctl.Rest) bool {
	recv, ok := s.ports[port].recv.(flowctl.Resuming)
	return !ok || recv.Resumes(now, r)
}

// Quiet returns when a frame that arrived on a port last left (see flowctl.Resuming).
func (s *Switch) Quiet(port int, class uint8) units.Time {
	if recv, ok := s.ports[port].recv.(flowctl.Resuming); ok {
		return recv.Quiet(class)
	}
	return 0
}

// LastResume returns when the last bit of the last RESUME of a class left a port.
func (s *Switch) LastResume(port int, class uint8) units.Time {
	return s.resumedAt[port*mmu.Classes+int(class)]
}
