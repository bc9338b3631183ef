package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// fastPath decides which frames skip the policy and the receiver. Nearly every frame finds its
// queue far below its threshold, and then neither needs to be asked. flowctl.Shortcuts says
// which calls may be skipped, and when. The decision uses a few counters of the ledger:
//
//	admits    port.fastIn: with the frame, the ingress queue stays within the policy's
//	          share of the free bytes. Control classes have no threshold; a queue within
//	          the share leaves room for them.
//	releases  port.fastOut: the frame left a queue that is ON and at least margin below
//	          that share, and its port stores at most levels times the share.
//
// Both treat data and ACKs the same way, because a branch on the kind would be mispredicted.
// All other frames take the slow path, which gives the same results. This is tested by
// sim.TestShortcutsChangeNothing and, for any scheme, by package conformance.
type fastPath struct {
	share  mmu.Share   // share of the policy
	margin units.Bytes // largest margin of all receivers
	levels int64       // smallest levels of all receivers that set it; 0: none does
}

// addPort finds out which frames of a port can take the fast path: none if always is set.
// Frames that pass through an idle port are not counted in either case.
func (f *fastPath) addPort(p *port, policy buffer.Policy, lossless, control packet.ClassMask, always bool) {
	var allowed flowctl.Shortcuts
	if q, ok := p.recv.(flowctl.Shortcutter); ok {
		allowed = q.Shortcuts()
	}
	if !allowed.Passing {
		p.counted = lossless
	}
	if _, limits := policy.(buffer.EgressLimiting); limits || always {
		return // every frame must be checked
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
	p.updateFastOut()
}

// admits reports whether the shared segment takes a frame of a class in port.fastIn.
func (f *fastPath) admits(l *mmu.Ledger, in int, class uint8, b units.Bytes) bool {
	queue, _, free := l.Room(in, class)
	return queue+b <= f.share.Of(free)
}

// releases reports whether the receiver need not be told that a frame of a class in
// port.fastOut left. The usage of all ports is compared first, because that is cheaper.
func (f *fastPath) releases(l *mmu.Ledger, in int, class uint8) bool {
	queue, used, free := l.Room(in, class)
	t := f.share.Of(free)
	limit := units.Bytes(f.levels) * t
	return queue+f.margin <= t && (f.levels == 0 || used <= limit || l.PortShared(in) <= limit)
}
