package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// A switch is plain if nothing but its counters follows a frame: no probe, no checks, no
// telemetry, no observer, no deadlock handler, buffers that count bytes, and marks that are set
// when frames leave. NewSwitch decides this once. Frames of a plain switch take the functions of
// this file, which do in one piece what Forward and TxDone do; whatever they do not handle goes
// through the general path. TestPlainNodesChangeNothing compares the two.

// isPlain reports whether the switch is plain. It holds for the whole run.
func (s *Switch) isPlain(spec *SwitchSpec) bool {
	return !spec.NoShortcuts && !s.watched && s.stamps == nil && s.observer == nil && s.handler == nil && !s.atEnq && s.ledger.Plain()
}

// forwardPlain is Forward for a frame without an extension whose egress is known. It returns
// false, and has changed nothing, if the frame needs the general path: if the policy or the
// receiver must be asked.
func (s *Switch) forwardPlain(now units.Time, in, out int, p *packet.Packet) bool {
	if uint(out) >= uint(len(s.ports)) {
		return false
	}
	ip, op := &s.ports[in], &s.ports[out]
	class := p.Class()
	bit := packet.ClassMask(1) << class
	l, size := s.ledger, p.Size
	if (^ip.fastIn|ip.counted)&bit != 0 || !s.fast.admits(l, in, class, units.Bytes(size)) {
		return false
	}
	if op.idle(now, bit) {
		op.sent[class] += uint64(size) + uint64(op.overhead)
		op.busy = now + op.txTime(size)
		s.drv.Transmit(out, p, nil, op.busy)
		if op.everyEnd != 0 {
			s.rearmTx(op)
		}
	} else {
		l.ChargeShared(in, out, class, int32(size))
		slot := s.memory.put(p)
		s.link(op, class, slot)
		if op.wants() {
			s.serveOrWait(now, op)
		}
	}
	s.endEvent(now)
	return true
}

// txDonePlain is TxDone for a port without control frames to send, meter or handler.
func (s *Switch) txDonePlain(now units.Time, p *port) bool {
	p.txPending = 0
	eligible := p.nonEmpty &^ p.blocked
	if eligible == 0 {
		return false
	}
	class := uint8(p.sched.Pick(eligible)) & 7
	slot := p.queues[class].head
	f := &s.memory.packets[slot]
	size, in, l := f.Size, f.Port(), s.ledger
	s.unlink(p, class, slot, size)
	if !l.ReleaseShared(in, int(p.index), class, int32(size)) {
		s.describe(&s.leaving, in, int(p.index), slot, f)
		s.release(now, &s.leaving)
	} else if s.ports[in].fastOut>>class&1 == 0 || !s.fast.releases(l, in, class) {
		s.releasedPlain(now, in, p, slot, f)
	}
	if p.ecn>>class&1 != 0 {
		s.mark(now, p, f)
	}
	p.sent[class] += uint64(size) + uint64(p.overhead)
	p.busy = now + p.txTime(size)
	s.drv.Transmit(int(p.index), f, s.memory.extOf(f, slot), p.busy)
	s.memory.recycle(slot)
	s.rearmTx(p)
	s.endEvent(now)
	return p.txPending != 0
}

// releasedPlain tells the receiver that a frame left.
//
//go:noinline
func (s *Switch) releasedPlain(now units.Time, in int, p *port, slot uint32, f *packet.Packet) {
	a := &s.leaving
	s.describe(a, in, int(p.index), slot, f)
	if a.Kind == mmu.Lossless {
		s.ports[in].recv.Released(now, a)
	}
}
