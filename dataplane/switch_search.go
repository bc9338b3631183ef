package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// This file is what the search for deadlock sees of a node. Nothing else uses it.

// BlockedQueue is an egress queue that its peer does not let send.
type BlockedQueue struct {
	Port  int
	Class uint8
	Since units.Time
	// Sent is when the last bit of what it sent before has left at the latest.
	Sent units.Time
	// Takes is how long the peer's word takes from its arrival to its effect.
	Takes units.Time
	Waits bool        // there is something to send
	Next  units.Bytes // size of the first frame that waits; of a NIC an estimate
}

// BlockedQueues lists the lossless egress queues that may not send: paused, or short
// of credit for their first frame. A queue that a deadlock handler has armed or
// opens is in its hands, not blocked.
func (n *node) BlockedQueues(now units.Time, list []BlockedQueue) []BlockedQueue {
	return n.listBlocked(now, list, nil)
}

// BlockedQueues lists them with their first frames.
func (s *Switch) BlockedQueues(now units.Time, list []BlockedQueue) []BlockedQueue {
	return s.listBlocked(now, list, func(p *port, class uint8) (units.Bytes, units.Time) {
		f := &s.memory.packets[p.queues[class&7].head]
		return units.Bytes(f.Size), f.At
	})
}

func (n *node) listBlocked(now units.Time, list []BlockedQueue, first func(*port, uint8) (units.Bytes, units.Time)) []BlockedQueue {
	for i := range n.ports {
		p := &n.ports[i]
		paused := p.blocked & p.pauses.gated
		for c := range ((paused | p.metered&p.nonEmpty) & p.spec.Lossless &^ p.handledOut).All() {
			bit := packet.MaskOf(c)
			longest := max(p.spec.MTU, p.spec.MTUOut)
			h := BlockedQueue{Port: i, Class: c, Since: p.pauses.since[c], Takes: p.spec.PFC.Processing, Waits: p.nonEmpty&bit != 0, Next: longest}
			came := units.Time(0)
			if h.Waits && first != nil {
				h.Next, came = first(p, c)
			}
			if paused&bit == 0 {
				if p.meter.May(now, c, h.Next) {
					continue
				}
				h.Since = max(h.Since, came)
			}
			h.Sent = h.Since + p.txTime(uint16(longest))
			list = append(list, h)
		}
	}
	return list
}

// EachWaiting calls use for every frame that waits for an egress queue: where it
// came in, when, and what it takes of the buffer.
func (s *Switch) EachWaiting(port int, class uint8, use func(in int, came units.Time, b units.Bytes)) {
	for _, q := range [2]fifo{s.ports[port].queues[class&7], s.forHandler.aside[port*mmu.Classes+int(class)]} {
		for slot := q.head; slot != 0; {
			f := &s.memory.packets[slot]
			use(int(f.Port), f.At, s.ledger.Cells(units.Bytes(f.Size)))
			slot = s.memory.next[slot]
		}
	}
}

// Rest returns a rest of the switch's buffer.
func (s *Switch) Rest() *mmu.Rest { return s.ledger.Rest() }

// Resumes asks the receiver of a port (see flowctl.Resuming).
func (s *Switch) Resumes(now units.Time, port int, r *flowctl.Rest) bool {
	recv, ok := s.ports[port].recv.(flowctl.Resuming)
	return !ok || recv.Resumes(now, r)
}

// Quiet returns when a frame that came in by a port last left (see
// flowctl.Resuming).
func (s *Switch) Quiet(port int, class uint8) units.Time {
	if recv, ok := s.ports[port].recv.(flowctl.Resuming); ok {
		return recv.Quiet(class)
	}
	return 0
}

// LastResume returns when the last bit of the last RESUME of a class left by a port.
func (s *Switch) LastResume(port int, class uint8) units.Time {
	return s.resumedAt[port*mmu.Classes+int(class)]
}
