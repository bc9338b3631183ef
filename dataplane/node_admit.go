package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// This file is admission: where a frame that arrives is stored, or that it is not. It
// is the same for a switch, for what a deadlock handler lets in, and for the receive
// buffer of a host.

// admit finds room for a frame. What is private to a queue comes first. Control classes
// have nothing private and no threshold: they take what is left of the shared segment.
// It also returns whether the receiver is to be told when the frame is there.
func (n *node) admit(now units.Time, ip *port, a *mmu.Arrival) (seg mmu.Segment, tell bool) {
	if n.egress != nil && n.refusesOut(a) {
		return mmu.Drop, false
	}
	switch a.Kind {
	case mmu.Lossless:
		return ip.recv.Place(now, a), true
	case mmu.Control:
		return n.unbounded(a), false
	default:
		if n.view.In(a.In, a.Class, mmu.Private)+a.Bytes <= n.view.PrivateSize() {
			return mmu.Private, false
		}
		if n.policy.Fits(now, n.view, a) {
			return mmu.Shared, false
		}
	}
	return mmu.Drop, false
}

// refusesOut asks the egress side. It is apart because few switches have one.
//
//go:noinline
func (n *node) refusesOut(a *mmu.Arrival) bool { return !n.egress.Admits(n.view, a) }

// unbounded is what is left of the shared segment for the port, whatever thresholds say.
func (n *node) unbounded(a *mmu.Arrival) mmu.Segment {
	if a.Bytes <= n.view.PartFree(a.In) {
		return mmu.Shared
	}
	return mmu.Drop
}

// admitReserved finds room for a frame that a deadlock handler lets in: in what it set
// aside, else as for any other frame, or, where there is no upstream that could hold it,
// without a threshold.
func (n *node) admitReserved(now units.Time, ip *port, a *mmu.Arrival, bounded bool) (seg mmu.Segment, tell bool) {
	switch {
	case n.ledger.Reserved() >= a.Bytes:
		return mmu.Reserve, a.Kind == mmu.Lossless
	case bounded:
		return n.admit(now, ip, a)
	}
	return n.unbounded(a), a.Kind == mmu.Lossless
}

// charge puts a frame into the books and tells the receiver, if it is to know.
func (n *node) charge(now units.Time, ip *port, a *mmu.Arrival, seg mmu.Segment, tell bool) {
	n.ledger.Charge(a, seg)
	if tell {
		ip.recv.Charged(now, a, seg)
	}
	if n.observer != nil {
		n.observer.Enqueued(now, n.view, a)
	}
}

// refuse drops a frame for which there is no room.
func (n *node) refuse(now units.Time, a *mmu.Arrival, p *packet.Packet) {
	why := probe.Overflow
	if a.Kind == mmu.Lossless {
		why = probe.Lossless
	}
	n.drop(now, a.In, p, why)
}

// drop gives up a frame that came in by a port.
func (n *node) drop(now units.Time, in int, p *packet.Packet, why probe.Reason) {
	n.ports[in].stats.Drops[p.Class()][why]++
	broken := why == probe.Lossless && n.ports[in].lost(now)
	if n.checks != nil {
		n.checks.dropped += uint64(n.ledger.Cells(units.Bytes(p.Size)))
		if broken {
			n.checks.fail(now, "lossless frame of class %d dropped at port %d", p.Class(), in)
		}
	}
	if n.sink != nil {
		n.sink.Drop(now, in, p, why)
	}
}
