package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// pauseState is the pause state of a port: the pauses that it requests from its upstream, and
// the pauses that its downstream requests from it. Masks are sets of classes.
//
// Upstream, per ingress class:
//
//	           threshold crossed              PFC frame leaves
//	   ON  ───────────────────────▶  OFF   ──────────────────────▶  paused
//	receiver:                    receiver:                        requested,
//	not Paused()                 Paused(), Request                sent
//	   ▲                                                             │ below
//	   │   PFC frame leaves                    receiver:             ▼ threshold
//	   └────────────────────  resuming  ◀──────────────────────  not Paused(),
//	                          not requested;                      Request
//	                          sent while a handler
//	                          withholds the RESUME
//
// Downstream, per egress class: the gate decides whether the class may send. A deadlock
// handler can override it both ways. port.blocked is the result:
//
//	blocked = gated &^ open | shut
type pauseState struct {
	requested packet.ClassMask   // classes that the receiver wants paused
	sent      packet.ClassMask   // classes that the upstream was last told to pause
	withheld  packet.ClassMask   // classes whose RESUME a handler withholds
	toRenew   packet.ClassMask   // withheld classes whose pause must be repeated
	reported  packet.ClassMask   // classes that were OFF when the probe was last told
	sentDepth [mmu.Classes]uint8 // depth of the last PAUSE sent

	gated     packet.ClassMask         // classes that the gate blocks
	open      packet.ClassMask         // classes that the handler forces open
	shut      packet.ClassMask         // classes that the handler shuts
	recvDepth [mmu.Classes]uint8       // depth of the last PAUSE received
	budget    [mmu.Classes]units.Bytes // bytes of the peer's buffer that an open class may still fill despite a pause; negative: unlimited
	since     [mmu.Classes]units.Time  // start of the current block; for metered classes also the last departure
}

// updateFastOut follows a change of the ingress classes that are ON.
func (p *port) updateFastOut() {
	if p.pausing != nil {
		p.fastOut = p.fastOutOn &^ p.pausing.Paused()
	}
}

// reblock recomputes the blocked classes of a port after its gate or a deadlock handler
// changed them.
func (n *node) reblock(now units.Time, p *port) {
	from := p.blocked
	to := p.pauses.gated&^p.pauses.open | p.pauses.shut
	if from == to {
		return
	}
	p.blocked = to
	for c := range (from ^ to).All() {
		on := to.Has(c)
		if on {
			p.pauses.since[c] = now
		} else {
			p.rare().Blocked[c] += now - p.pauses.since[c]
		}
		if n.pauseObserver != nil {
			n.pauseObserver.EgressPaused(now, int(p.index), c, on)
		}
	}
	if n.sink != nil {
		n.sink.Blocked(now, int(p.index), from, to)
	}
	if from&^to != 0 {
		n.revisit(p)
	}
}

// filterPFC counts a PFC frame that is about to leave, and removes RESUMEs that a handler
// withholds. It returns false if nothing is left to send.
func (n *node) filterPFC(now units.Time, p *port, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	enable, pause, quanta := f.PFC()
	n.setRequested(now, p, p.pauses.requested&^enable|pause)
	if withheld := enable &^ pause & p.pauses.withheld; withheld != 0 {
		enable &^= withheld
		n.renewLater(now, p, withheld)
		if enable == 0 {
			return ext, false
		}
		f.SetPFC(enable, pause, quanta)
	}
	n.countPFC(now, p, f, enable, pause)
	if n.handler != nil {
		ext = n.handler.OnPFC(now, int(p.index), f, ext)
	}
	return ext, true
}

// renewLater schedules the repetition of pauses whose RESUME is withheld; the receiver no
// longer repeats them.
func (n *node) renewLater(now units.Time, p *port, classes packet.ClassMask) {
	if p.spec.PFC.Indefinite || classes == 0 {
		return
	}
	p.pauses.toRenew |= classes
	n.wakes.sooner(n.renewal, now+max(1, packet.Quanta(p.spec.PFC.Quanta, p.spec.Rate)/2))
}

// renew repeats pauses whose RESUME is withheld, every half pause time.
func (n *node) renew(now units.Time) {
	for i := range n.ports {
		p := &n.ports[i]
		if withheld := p.pauses.unresumed() & p.pauses.withheld; withheld != 0 {
			n.renewLater(now, p, withheld)
			p.ctlPending |= ctlReceiver
			n.revisit(p)
		}
	}
}

// unresumed returns the classes that are paused upstream although the receiver is ON again.
func (s *pauseState) unresumed() packet.ClassMask { return s.sent &^ s.requested }

// resumeFrame builds the RESUME of classes that are no longer withheld, and repeats the pause
// of the others.
func (n *node) resumeFrame(now units.Time, p *port, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	resumed := p.pauses.unresumed() &^ p.pauses.withheld
	renewed := p.pauses.unresumed() & p.pauses.withheld & p.pauses.toRenew
	p.pauses.toRenew = 0
	if resumed|renewed == 0 {
		return ext, false
	}
	f.SetPFC(resumed|renewed, renewed, p.spec.PFC.Quanta)
	if p.spec.PFC.Size != 0 {
		f.Size = p.spec.PFC.Size
	}
	n.countPFC(now, p, f, resumed|renewed, renewed)
	if n.handler != nil {
		ext = n.handler.OnPFC(now, int(p.index), f, ext)
	}
	return ext, true
}

func (n *node) countPFC(now units.Time, p *port, f *packet.Packet, enable, pause packet.ClassMask) {
	fresh, resumed := pause&^p.pauses.sent, enable&^pause&p.pauses.sent
	if fresh|resumed == 0 {
		p.rare().Refreshes++
	}
	for c := range fresh.All() {
		p.rare().Pauses[c]++
		n.setDepth(now, p, c)
	}
	for c := range pause.All() {
		f.SetPauseDepth(c, int(p.pauses.sentDepth[c]))
	}
	for c := range resumed.All() {
		p.rare().Resumes[c]++
		if n.resumedAt != nil {
			n.resumedAt[p.queueID(c)] = now + p.txTime(f.Size)
		}
	}
	if n.log != nil {
		n.log.resumed(now, p, resumed)
	}
	p.pauses.sent = p.pauses.sent&^enable | pause
}

// setRequested records the classes that an ingress wants paused.
func (n *node) setRequested(now units.Time, p *port, mask packet.ClassMask) {
	if mask == p.pauses.requested {
		return
	}
	from := p.pauses.requested
	p.pauses.requested = mask
	if n.sink != nil {
		n.sink.Paused(now, int(p.index), from, mask)
	}
	if n.handler != nil {
		n.handler.Paused(now, int(p.index), from, mask)
	}
}

// reportOff tells the probe which queues of a port turned OFF or ON.
func (n *node) reportOff(now units.Time, p *port) {
	if p.pausing == nil {
		return
	}
	from, to := p.pauses.reported, p.pausing.Paused()
	if from != to {
		p.pauses.reported = to
		n.sink.Off(now, int(p.index), from, to)
	}
}

// received records the depths of pauses that arrive from the peer.
func (s *pauseState) received(f *packet.Packet) {
	_, pause, _ := f.PFC()
	for c := range pause.All() {
		s.recvDepth[c] = uint8(f.PauseDepth(c))
	}
}

// Depths counts pauses by depth; see setDepth.
type Depths [packet.MaxPauseDepth + 1]uint64

// Depths returns the depths of the pauses that the node sent; nil: none.
func (n *node) Depths() *Depths { return n.depths }

// pauseCause is a received pause that led to a sent one: its depth (0: none) and the egress
// queue that it blocks.
type pauseCause struct {
	depth int
	port  uint16
	class uint8
}

// setDepth computes the depth of a PAUSE that is about to be sent. It is one more than the
// depth of the deepest pause that blocks an egress queue with frames of the pausing ingress
// queue, or one if there is none. The depth stays the same, refreshes included, until a RESUME
// ends the pause.
func (n *node) setDepth(now units.Time, p *port, class uint8) {
	var by pauseCause
	if n.causeOf != nil {
		by = n.causeOf(p, class)
	}
	depth := min(1+by.depth, packet.MaxPauseDepth)
	p.pauses.sentDepth[class] = uint8(depth)
	if n.depths == nil {
		n.depths = new(Depths)
	}
	n.depths[depth]++
	if n.causes != nil {
		n.causes[p.queueID(class)] = by
	}
	if n.log != nil {
		n.log.sent(now, p, class, depth, by)
	}
}
