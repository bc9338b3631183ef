package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// pauseState is what a port knows of pauses, both those that it asks of its upstream
// and those that its downstream asks of it. Masks are of classes.
//
// Upstream, of each ingress class:
//
//	           threshold crossed              PFC frame leaves
//	   ON  ───────────────────────▶  OFF   ──────────────────────▶  paused
//	receiver:                    receiver:                        asked, sent
//	not Paused()                 Paused(), Request
//	   ▲                                                             │ threshold
//	   │   PFC frame leaves                    receiver:             ▼ undercut
//	   └────────────────────  resuming  ◀──────────────────────  not Paused(),
//	                          not asked; sent                     Request
//	                          while a handler holds
//	                          the RESUME (heldResumes)
//
// Downstream, of each egress class: the gate says whether it may send; a deadlock
// handler overrides that in either direction. port.blocked is the outcome.
//
//	blocked = gated &^ open | shut
type pauseState struct {
	asked       packet.ClassMask   // what the receiver last asked the upstream to hold
	sent        packet.ClassMask   // what the upstream was last told
	heldResumes packet.ClassMask   // classes whose RESUME a handler keeps back
	toRenew     packet.ClassMask   // of those, whose pause is due again
	reported    packet.ClassMask   // classes that were OFF when the probe was last told
	sentDepth   [mmu.Classes]uint8 // of the last PAUSE that was sent

	gated     packet.ClassMask         // classes that the gate blocks
	open      packet.ClassMask         // classes that the handler opens
	shut      packet.ClassMask         // classes that the handler shuts
	recvDepth [mmu.Classes]uint8       // of the last PAUSE that was received
	budget    [mmu.Classes]units.Bytes // of open classes: what may still be forced
	since     [mmu.Classes]units.Time  // start of the current block; of a metered class also its last departure
}

// turned follows a change of which ingress classes are ON.
func (p *port) turned() {
	if p.pausing != nil {
		p.fastOut = p.fastOutOn &^ p.pausing.Paused()
	}
}

// reblock recomputes what a port may not send after its gate or a deadlock
// handler changed its mind.
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
			p.stats.Blocked[c] += now - p.pauses.since[c]
		}
		if n.pauseObserver != nil {
			n.pauseObserver.EgressPaused(now, int(p.index), c, on)
		}
	}
	if n.sink != nil {
		n.sink.Blocked(now, int(p.index), from, to)
	}
	if from&^to != 0 {
		n.look(p)
	}
}

// pfcLeaves does the accounting of a PFC frame and applies a handler's hold.
func (n *node) pfcLeaves(now units.Time, p *port, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	enable, pause, quanta := f.PFC()
	n.ask(now, p, p.pauses.asked&^enable|pause)
	if held := enable &^ pause & p.pauses.heldResumes; held != 0 {
		enable &^= held
		n.keepPaused(now, p, held)
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

// keepPaused makes a pause last whose RESUME is held: the receiver does not repeat it any more.
func (n *node) keepPaused(now units.Time, p *port, classes packet.ClassMask) {
	if p.spec.PFC.Indefinite || classes == 0 {
		return
	}
	p.pauses.toRenew |= classes
	n.wakes.sooner(n.renewal, now+max(1, packet.Quanta(p.spec.PFC.Quanta, p.spec.Rate)/2))
}

// renew repeats held pauses, half of the shortest pause after the last time.
func (n *node) renew(now units.Time) {
	for i := range n.ports {
		p := &n.ports[i]
		if held := p.pauses.unresumed() & p.pauses.heldResumes; held != 0 {
			n.keepPaused(now, p, held)
			p.speaking |= speakReceiver
			n.look(p)
		}
	}
}

// unresumed returns the classes that are paused upstream though the receiver is ON again.
func (s *pauseState) unresumed() packet.ClassMask { return s.sent &^ s.asked }

// resumeFrame builds the RESUME of classes whose hold has ended, and repeats pauses that go on.
func (n *node) resumeFrame(now units.Time, p *port, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	free := p.pauses.unresumed() &^ p.pauses.heldResumes
	again := p.pauses.unresumed() & p.pauses.heldResumes & p.pauses.toRenew
	p.pauses.toRenew = 0
	if free|again == 0 {
		return ext, false
	}
	f.SetPFC(free|again, again, p.spec.PFC.Quanta)
	if p.spec.PFC.Size != 0 {
		f.Size = p.spec.PFC.Size
	}
	n.countPFC(now, p, f, free|again, again)
	if n.handler != nil {
		ext = n.handler.OnPFC(now, int(p.index), f, ext)
	}
	return ext, true
}

func (n *node) countPFC(now units.Time, p *port, f *packet.Packet, enable, pause packet.ClassMask) {
	fresh, resumed := pause&^p.pauses.sent, enable&^pause&p.pauses.sent
	if fresh|resumed == 0 {
		p.stats.Refreshes++
	}
	for c := range fresh.All() {
		p.stats.Pauses[c]++
		n.deepen(now, p, c)
	}
	for c := range pause.All() {
		f.SetPauseDepth(c, int(p.pauses.sentDepth[c]))
	}
	for c := range resumed.All() {
		p.stats.Resumes[c]++
		if n.resumedAt != nil {
			n.resumedAt[p.queueID(c)] = now + p.txTime(f.Size)
		}
	}
	if n.log != nil {
		n.log.resumed(now, p, resumed)
	}
	p.pauses.sent = p.pauses.sent&^enable | pause
}

// ask records what an ingress asks its upstream to hold.
func (n *node) ask(now units.Time, p *port, mask packet.ClassMask) {
	if mask == p.pauses.asked {
		return
	}
	from := p.pauses.asked
	p.pauses.asked = mask
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

// received remembers how deep the pauses are that a peer holds here.
func (s *pauseState) received(f *packet.Packet) {
	_, pause, _ := f.PFC()
	for c := range pause.All() {
		s.recvDepth[c] = uint8(f.PauseDepth(c))
	}
}

// Depths counts pauses by their depth; see deepen.
type Depths [packet.MaxPauseDepth + 1]uint64

// Depths returns how deep the pauses were that the node sent.
func (n *node) Depths() *Depths { return &n.depths }

// pauseCause is a received pause that led to one that was sent: its depth, 0 for none,
// and the egress queue that it holds.
type pauseCause struct {
	depth int
	port  uint16
	class uint8
}

// deepen computes the depth of a PAUSE that is about to be sent: one more than
// that of the deepest pause that holds an egress queue in which frames of the
// pausing ingress queue wait, or one when there is none. It stays the depth of
// this pause, refreshes included, until a RESUME ends it.
func (n *node) deepen(now units.Time, p *port, class uint8) {
	var by pauseCause
	if n.beyond != nil {
		by = n.beyond(p, class)
	}
	depth := min(1+by.depth, packet.MaxPauseDepth)
	p.pauses.sentDepth[class] = uint8(depth)
	n.depths[depth]++
	if n.causes != nil {
		n.causes[p.queueID(class)] = by
	}
	if n.log != nil {
		n.log.sent(now, p, class, depth, by)
	}
}
