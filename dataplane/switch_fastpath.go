package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// fastPath is the owner of the shortcuts of a switch: nearly every frame finds its queue
// far below its threshold, and then neither policy nor receiver need be asked.
// flowctl.Shortcuts says what may be left out, and when; this decides it for each frame,
// by a few counters that the books have at hand:
//
//	admits    port.fastIn: the frame keeps its ingress queue within the policy's
//	          share of what is free. Control classes have no threshold; a queue within
//	          the share leaves them room.
//	releases  port.fastOut: the frame left a queue that is ON and is margin below that
//	          share, and its port is within levels of it.
//
// Both are asked for data and ACKs alike, before anyone finds out which it is: that
// branch would be mispredicted. Everything else takes the slow path, which gives the
// same results (sim.TestShortcutsChangeNothing; the suites of conformance for schemes
// from anywhere).
type fastPath struct {
	share  mmu.Share   // of the policy
	margin units.Bytes // of all receivers the largest
	levels int64       // of those that ask for it the smallest; 0: nobody does
}

// learn finds out which frames of a port can be on the fast path. With always there are
// none, though frames that pass an idle port are still not counted.
func (f *fastPath) learn(p *port, policy buffer.Policy, lossless, control packet.ClassMask, always bool) {
	var allowed flowctl.Shortcuts
	if q, ok := p.recv.(flowctl.Quick); ok {
		allowed = q.Shortcuts()
	}
	if !allowed.Passing {
		p.counted = lossless
	}
	if _, limits := policy.(buffer.EgressLimiting); limits || always {
		return // every frame is asked about
	}
	p.arriver = allowed.Arrived
	shares, ok := policy.(buffer.Proportional)
	if !ok {
		return
	}
	if f.share, ok = shares.Share(); !ok {
		return
	}
	p.fastIn, p.fastOutOn = control, control
	if allowed.Admit {
		p.fastIn |= lossless
	}
	if allowed.Release {
		p.fastOutOn |= lossless
		f.margin = max(f.margin, allowed.Margin)
		if l := allowed.Levels; l != 0 && (f.levels == 0 || l < f.levels) {
			f.levels = l
		}
	}
	p.turned()
}

// admits reports whether the shared segment takes a frame of a class of port.fastIn.
func (f *fastPath) admits(l *mmu.Ledger, in int, class uint8, b units.Bytes) bool {
	queue, _, free := l.Room(in, class)
	return queue+b <= f.share.Of(free)
}

// releases reports whether nobody need hear that a frame left, of a class of
// port.fastOut. That all ports together are within the levels of one is asked first:
// it is cheaper.
func (f *fastPath) releases(l *mmu.Ledger, in int, class uint8) bool {
	queue, used, free := l.Room(in, class)
	t := f.share.Of(free)
	limit := units.Bytes(f.levels) * t
	return queue+f.margin <= t && (f.levels == 0 || used <= limit || l.PortShared(in) <= limit)
}
