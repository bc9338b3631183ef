package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// This file implements admission: in which segment an arriving frame is stored, or whether it
// is dropped. Switches, deadlock handlers and receive buffers of hosts use it.

// admit returns the segment for an arriving frame, or Drop. The private segment is filled
// first. Control classes have no private segment and no threshold; they may use all of the
// shared segment. notify is true if the receiver must be told once the frame is stored.
func (n *node) admit(now units.Time, ip *port, a *mmu.Arrival) (seg mmu.Segment, notify bool) {
	if n.egress != nil && n.refusesOut(a) {
		return mmu.Drop, false
	}
	switch a.Kind {
	case mmu.Lossless:
		return ip.recv.Place(now, a), true
	case mmu.Control:
		return n.admitShared(a), false
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

// refusesOut asks the egress limit. It is a separate function because few switches have one.
//
//go:noinline
func (n *node) refusesOut(a *mmu.Arrival) bool { return !n.egress.Admits(n.view, a) }

// admitShared returns Shared if the frame fits into the shared segment, ignoring thresholds.
func (n *node) admitShared(a *mmu.Arrival) mmu.Segment {
	if a.Bytes <= n.view.PartFree(a.In) {
		return mmu.Shared
	}
	return mmu.Drop
}

// admitReserved returns the segment for a frame that a deadlock handler lets in. The reserve
// comes first. If it is too small, a bounded frame is admitted like any other; an unbounded
// one, which no upstream can keep back, ignores thresholds.
func (n *node) admitReserved(now units.Time, ip *port, a *mmu.Arrival, bounded bool) (seg mmu.Segment, notify bool) {
	switch {
	case n.ledger.Reserved() >= a.Bytes:
		return mmu.Reserve, a.Kind == mmu.Lossless
	case bounded:
		return n.admit(now, ip, a)
	}
	return n.admitShared(a), a.Kind == mmu.Lossless
}

// charge counts a stored frame, and tells the receiver if notify is set.
func (n *node) charge(now units.Time, ip *port, a *mmu.Arrival, seg mmu.Segment, notify bool) {
	n.ledger.Charge(a, seg)
	if notify {
		ip.recv.Charged(now, a, seg)
	}
	if n.observer != nil {
		n.observer.Enqueued(now, n.view, a)
	}
}

// refuse drops a frame for lack of room.
func (n *node) refuse(now units.Time, a *mmu.Arrival, p *packet.Packet) {
	why := probe.Overflow
	if a.Kind == mmu.Lossless {
		why = probe.Lossless
	}
	n.drop(now, a.In, p, why)
}

// drop discards a frame that arrived on port in.
func (n *node) drop(now units.Time, in int, p *packet.Packet, why probe.Reason) {
	n.ports[in].rare().Drops[p.Class()][why]++
	broken := why == probe.Lossless && n.ports[in].countLosslessDrop(now)
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
