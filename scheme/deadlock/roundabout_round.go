package deadlock

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// This file rotates a locked loop (Roundabout sections IV-B to IV-D). Credits go upstream, frames
// downstream; bytes that leave a switch become credit, so the sum of both is constant. A barrier
// from each switch separates its frames from the frames of others. When the barrier is back at
// the head of its queue, frames that missed their exit are behind it and all others have left.

// raRound is the current round at a switch.
type raRound struct {
	on, lead  bool
	sent      bool // the switch's own barrier has left
	back      bool // it has returned
	home      bool // it has reached the head of the queue: sending stops
	moving    bool // frames that missed their exit move to the switch of that exit
	stopped   bool // coordinator: moving has ended
	t         Tuple
	serial    uint32
	in, out   int
	class     uint8
	granted   uint64 // bytes granted to the upstream in total
	invited   bool   // the upstream got a credit, which starts its round even if it is 0
	announced uint64 // part of granted that the upstream was told
	arrived   uint64 // part of granted that was used
	allowed   uint64 // bytes granted by the downstream in total
	spent     uint64
	cell      units.Bytes // cell size of the downstream
	perFrame  units.Bytes // cost of a frame there in addition to its cells
	floor     units.Bytes // see roundabout.floor
	owed      units.Bytes // freed bytes for which nothing could be set aside yet
	longest   units.Bytes // longest frame of the loop
	missed    []bool      // by exit port: a frame stayed in the loop because the exit was paused
	displaced int64       // number of frames that missed their exit at this switch
	waiting   bool        // an OpCheck waits for the barrier
	check     Header
	moved     units.Time // time of the last progress
	before    mmu.Ingress
	sharedWas units.Bytes
	nodes     []NodeID // coordinator: nodes of the loop
}

// barrierSize is the size of the smallest frame.
const barrierSize = 64

// same reports whether a header belongs to the round.
func (r *raRound) same(hdr *Header) bool {
	return r.on && r.t.Sid == hdr.T.Sid && r.t.Qid == hdr.T.Qid && r.serial == hdr.Round
}

// own reports whether a frame is this switch's barrier.
func (h *roundabout) own(p *packet.Packet) bool {
	r := &h.round
	return p.Kind() == packet.Barrier && p.Seq == uint32(h.s.ID()) && p.Flow == r.serial && p.Hash == uint32(r.t.Sid)<<16|uint32(r.t.Qid)
}

// begin starts the round for which the switch is locked. Only a coordinator passes the nodes of
// the loop. The barrier is at the head of the queue before the first credit is granted.
func (h *roundabout) begin(now units.Time, nodes []NodeID) {
	l, r := h.lock, &h.round
	clear(r.missed)
	*r = raRound{on: true, t: l.t, serial: l.serial, in: l.in, out: l.out, class: l.class, missed: r.missed, nodes: r.nodes[:0], moved: now, cell: 1, floor: h.floor(), longest: min(h.params.Redundant, h.frame)}
	r.lead, r.nodes = len(nodes) > 0, append(r.nodes, nodes...)
	h.lock = raLock{}
	h.armTable()
	bit := packet.MaskOf(r.class)
	barrier := packet.Packet{Flow: r.serial, Seq: uint32(h.s.ID()), Hash: uint32(r.t.Sid)<<16 | uint32(r.t.Qid), To: packet.NoNode, Size: barrierSize, Meta: packet.MakeMeta(packet.Barrier, r.class)}
	barrier.At = now
	took, ok := h.insert(now, &barrier)
	if !ok {
		r.on = false
		h.hold(now, r.in)
		return
	}
	for p := range h.off {
		h.s.ArmIngress(p, bit)
		h.s.ArmEgress(p, bit)
	}
	h.s.SetGate(now, r.out, r.class, Open, -1)
	h.s.Report(now, RoundBegun, r.in, int(r.class), int64(r.serial))
	r.owed = h.params.Redundant
	if own := min(r.owed, h.unused(r.in, r.class)-took); own > 0 && h.s.SetAside(own, mmu.Headroom) {
		r.owed -= own
		r.granted += uint64(own)
	}
	h.grant(now)
	r.owed = 0 // room that appears later is left to replies
	h.s.WakeAt(h.timers.round, now+h.params.Timeout)
}

// insert puts the barrier at the head of the queue. If the shared segment is full it is stored in
// unused headroom of the queue, or of queues that have lent theirs; the result is the headroom
// bytes used.
func (h *roundabout) insert(now units.Time, barrier *packet.Packet) (units.Bytes, bool) {
	r := &h.round
	if h.s.InsertHead(now, r.in, r.out, barrier) {
		return 0, true
	}
	need := h.s.View().Cells(barrierSize)
	if h.unused(r.in, r.class)+h.loans(r.in, r.class) < need || !h.s.SetAside(need, mmu.Headroom) {
		return 0, false
	}
	return need, h.s.InsertHead(now, r.in, r.out, barrier)
}

// unused returns the unused headroom of an ingress queue; everything in flight has arrived. An
// insurance shared by all classes of the port is kept for classes that are not paused.
func (h *roundabout) unused(in int, class uint8) units.Bytes {
	v, queues := h.s.View(), units.Bytes(h.lossless.Count())
	if h.off[in] == h.lossless {
		return h.s.Headroom(in) - v.PortIn(in, mmu.Headroom)
	}
	return h.s.Headroom(in)/queues - v.In(in, class, mmu.Headroom)
}

// floor returns the shared bytes that stay free for replies.
func (h *roundabout) floor() units.Bytes { return h.s.View().SharedSize() / 16 }

// endLoan ends the use of a reserve by a queue. The queue keeps no more headroom than its own
// share, if the shared segment has room for the rest and for another round.
func (h *roundabout) endLoan(now units.Time, in int, class uint8) {
	own := h.unused(in, class) + h.s.View().In(in, class, mmu.Headroom)
	h.s.Settle(now, in, class, own, h.floor()+h.params.Redundant)
}

// grant sets aside owed bytes and sends a credit upstream once that is worth a frame.
func (h *roundabout) grant(now units.Time) {
	r := &h.round
	free := h.s.View().SharedFree()
	spare := free - r.floor
	if r.granted-r.arrived < uint64(r.longest) {
		spare = min(free, r.longest) // without credit for a frame the round stops
	}
	for b := min(r.owed, spare); b > 0; b /= 2 {
		if h.s.SetAside(b, mmu.Shared) {
			r.owed -= b
			r.granted += uint64(b)
			break
		}
	}
	fresh := r.granted - r.announced
	if !r.invited || fresh >= uint64(h.frame) || fresh > 0 && r.announced-r.arrived < 2*uint64(h.frame) {
		r.invited, r.announced = true, r.granted
		h.send(now, r.in, &Header{Op: OpCredit, Class: r.class, T: Tuple{Rand: uint32(r.granted), Sid: r.t.Sid, Qid: r.t.Qid}, Round: r.serial, Nodes: []NodeID{unit(h.s.View())}})
	}
}

// worthFrame is the credit that is worth a frame while the upstream has some left, unless
// frames are larger.
const worthFrame = 4096

// credit takes an OpCredit that arrived at the egress of the loop. The first one starts the round
// of a locked switch.
func (h *roundabout) credit(now units.Time, port int, hdr *Header) {
	r, l := &h.round, &h.lock
	if !r.on && l.on && l.built && l.t.Sid == hdr.T.Sid && l.t.Qid == hdr.T.Qid && l.serial == hdr.Round && l.out == port {
		h.begin(now, nil)
	}
	if !r.same(hdr) || r.out != port || len(hdr.Nodes) != 1 {
		return
	}
	r.cell, r.perFrame = max(1, units.Bytes(hdr.Nodes[0].Switch)), units.Bytes(hdr.Nodes[0].In)
	// The field has 32 bits; credits of a round only grow.
	r.allowed += uint64(hdr.T.Rand - uint32(r.allowed))
	h.s.SetGate(now, r.out, r.class, Open, -1) // serves the port again
}

// costs returns the downstream credit that a frame uses.
func (r *raRound) costs(p *packet.Packet) uint64 {
	return uint64((units.Bytes(p.Size)+r.cell-1)/r.cell*r.cell + r.perFrame)
}

// unit returns what the upstream needs to count like this switch: the cell size, and the cost of
// a frame in addition to its cells.
func unit(v mmu.View) NodeID {
	perFrame := v.Cells(0)
	return NodeID{Switch: uint16(v.Cells(1) - perFrame), In: uint16(perFrame)}
}

// Arriving implements Hook.
func (h *roundabout) Arriving(now units.Time, p *packet.Packet, out *int) Verdict {
	r := &h.round
	if !r.on || p.Port() != r.in {
		if p.Flags&packet.Marked != 0 { // by switches that are still in a round that is given up here
			p.Flags &^= packet.Marked
			h.s.Report(now, OrderLost, p.Port(), int(p.Class()), 1)
		}
	}
	if !r.on {
		return Normal
	}
	if p.Port() != r.in {
		if *out == r.out {
			return Aside
		}
		return Normal
	}
	r.moved = now
	size := h.s.View().Cells(units.Bytes(p.Size))
	r.arrived, r.longest = r.arrived+uint64(size), max(r.longest, size)
	h.grant(now) // pending credit may be worth a frame now
	switch {
	case p.Kind() == packet.Barrier:
		r.back = r.back || h.own(p)
		*out = r.out
	case *out < 0:
		return Normal
	case r.moving:
		p.Flags &^= packet.Marked
	case p.Flags&packet.Marked != 0 && r.back:
		p.Flags &^= packet.Marked // it has completed the loop
	case p.Flags&packet.Marked != 0:
		*out = r.out
	case *out != r.out && (r.missed[*out] || h.s.GatedClasses(*out).Has(r.class)):
		// After one frame has stayed in the loop, all later frames to that exit must stay too;
		// otherwise they would overtake it.
		r.missed[*out] = true
		r.displaced++
		p.Flags |= packet.Marked
		*out = r.out
	}
	return InLoop
}

// Departing implements Hook. It records the counters before a frame leaves.
func (h *roundabout) Departing(now units.Time, port int, p *packet.Packet) Verdict {
	r := &h.round
	if port == r.out {
		switch {
		case r.home && !r.moving || r.stopped:
			return HoldOff
		case r.sent && h.own(p):
			h.atHome(now)
			return Consume
		case r.allowed-r.spent < r.costs(p):
			return HoldOff
		}
	}
	r.before, r.sharedWas = h.s.View().Ingress(p.Port(), p.Class()), h.s.View().SharedSize()
	return Normal
}

// Departed implements Hook: the bytes freed by the frame are granted to the upstream, from the
// segment they were in, whichever queue they belonged to.
func (h *roundabout) Departed(now units.Time, port int, p *packet.Packet) {
	r := &h.round
	if port == r.out {
		r.spent += r.costs(p)
		r.sent = r.sent || h.own(p)
	} else if p.Port() != r.in {
		return
	}
	if port == r.out || !r.home {
		r.moved = now // after the barrier is home, exits may take long to drain
	}
	v := h.s.View()
	size := v.Cells(units.Bytes(p.Size))
	after := v.Ingress(p.Port(), p.Class())
	shared := min(size, max(0, r.before.Shared-after.Shared+v.SharedSize()-r.sharedWas))
	h.reuse(now, p.Port(), shared, mmu.Shared)
	h.reuse(now, p.Port(), size-shared, mmu.Headroom)
	h.grant(now)
}

// reuse sets aside bytes that an ingress queue freed. A queue other than the loop's own gets its
// headroom back after the loop's queue has drained, and is not resumed before.
func (h *roundabout) reuse(now units.Time, in int, b units.Bytes, from mmu.Segment) {
	r := &h.round
	switch {
	case b == 0:
	case from == mmu.Shared && h.s.View().SharedFree()-b < r.floor || !h.s.SetAside(b, from):
		r.owed += b
	default:
		r.granted += uint64(b)
		if in != r.in && (from == mmu.Headroom || h.scarce()) {
			h.lend(now, in, b, from)
		}
	}
}

// lend records that bytes freed by another queue are lent to the loop.
func (h *roundabout) lend(now units.Time, in int, b units.Bytes, from mmu.Segment) {
	r, l := &h.round, &h.at(in, h.round.class).borrow
	if !l.on {
		h.borrowed++
	}
	if !l.on || l.by != r.in {
		*l = raBorrow{by: r.in, on: true}
	}
	if l.repaid = units.Never; from == mmu.Headroom {
		l.headroom += b
	}
	h.hold(now, in)
}

// loans returns the headroom that other queues have lent to the queue of a loop.
func (h *roundabout) loans(by int, class uint8) units.Bytes {
	sum := units.Bytes(0)
	for in := range h.off {
		if b := &h.at(in, class).borrow; b.on && b.by == by {
			sum += b.headroom
		}
	}
	return sum
}

// scarce reports whether the shared segment is nearly full. Resumed queues would use more of it,
// and replies need room too.
func (h *roundabout) scarce() bool { return h.s.View().SharedFree() < h.s.View().SharedSize()/4 }

// raBorrow records that bytes of an ingress queue are lent to the queue of a loop.
type raBorrow struct {
	by     int // ingress port of the loop; the class is the same
	on     bool
	repaid units.Time // time since which the bytes are free again; Never: they are not

	headroom units.Bytes // part of the lent bytes that is headroom
}

// hold withholds RESUMEs of an ingress port: of the class that a loop has locked or is turning,
// and of classes whose bytes are lent.
func (h *roundabout) hold(now units.Time, in int) {
	mask := packet.ClassMask(0)
	if h.lock.on && h.lock.in == in {
		mask |= packet.MaskOf(h.lock.class)
	}
	if h.round.on && h.round.in == in {
		mask |= packet.MaskOf(h.round.class)
	}
	for class := range h.lossless.All() {
		if h.at(in, class).borrow.on {
			mask |= packet.MaskOf(class)
		}
	}
	h.s.HoldResume(now, in, mask)
}

// repay resumes queues whose headroom is free again. While the shared segment is nearly full they
// wait for room, because replies need it too. If frames of other classes are stored, they wait no
// longer than a round without progress: those frames may wait for these queues.
func (h *roundabout) repay(now units.Time) {
	if h.borrowed == 0 {
		return
	}
	for i := range h.queues {
		b, in, class := &h.queues[i].borrow, i/mmu.Classes, uint8(i%mmu.Classes)
		if !b.on || h.round.on && h.round.class == class {
			continue
		}
		if h.unused(b.by, class) < 0 {
			h.endLoan(now, b.by, class)
		}
		q := h.s.View().Ingress(b.by, class)
		switch {
		case q.Reserve != 0 || h.unused(b.by, class) < 0:
			b.repaid = units.Never
		case b.repaid == units.Never:
			b.repaid = now
		}
		if b.repaid != units.Never && (!h.scarce() || now-b.repaid >= h.params.Timeout && h.others(class)) || q.Total() == 0 {
			b.on = false
			h.borrowed--
			h.hold(now, in)
		}
	}
}

// others reports whether shared bytes belong to lossless classes other than this one.
func (h *roundabout) others(class uint8) bool {
	v := h.s.View()
	for in := range h.off {
		for other := range h.lossless.All() {
			if other != class && v.In(in, other, mmu.Shared) > 0 {
				return true
			}
		}
	}
	return false
}

// atHome follows the return of the switch's own barrier to the head of its queue.
func (h *roundabout) atHome(now units.Time) {
	r := &h.round
	r.home, r.moved = true, now
	switch {
	case r.lead:
		hdr := Header{Op: OpCheck, Flags: raAllBack, Class: r.class, T: r.t, Round: r.serial, Nodes: r.nodes}
		h.checkPass(now, &hdr, len(r.nodes))
	case r.waiting:
		r.waiting = false
		h.checkPass(now, &r.check, int(r.check.T.Hop))
	}
}

// below reports whether the queue of the loop would be resumed.
func (h *roundabout) below(now units.Time) bool {
	r := &h.round
	q := h.s.View().Ingress(r.in, r.class)
	_, xoff := h.s.Level(now, r.in, r.class)
	return q.Total()-q.Private < xoff
}

func (h *roundabout) checkPass(now units.Time, hdr *Header, at int) {
	if h.below(now) {
		hdr.Flags |= raBelowXon
	}
	h.pass(now, hdr, at)
}

// check takes an OpCheck. If the barrier is not home yet, the check waits for it.
func (h *roundabout) check(now units.Time, port int, hdr *Header) {
	r, at := &h.round, int(hdr.T.Hop)
	switch {
	case !r.same(hdr) || port != r.in || at >= len(hdr.Nodes) || int(hdr.Nodes[at].Out) != r.out:
	case hdr.Flags&raEnd != 0 && at > 0:
		h.end(now)
		h.pass(now, hdr, at)
	case hdr.Flags&raEnd != 0:
		h.end(now)
		h.again(now, false)
	case hdr.Flags&raGo != 0 && at > 0:
		h.move(now)
		h.pass(now, hdr, at)
	case hdr.Flags&raGo != 0:
	case at > 0 && r.home:
		h.checkPass(now, hdr, at)
	case at > 0:
		r.waiting, r.check = true, *hdr
		r.check.Nodes = append([]NodeID(nil), hdr.Nodes...)
	case hdr.Flags&raBelowXon != 0: // all barriers are home, and the loop is open
		h.end(now)
		h.finish(now)
		h.again(now, true)
	default:
		h.move(now)
		h.pass(now, &Header{Op: OpCheck, Flags: raGo, Class: r.class, T: r.t, Round: r.serial, Nodes: r.nodes}, len(r.nodes))
		h.s.WakeAt(h.timers.round, now+h.params.Retry)
	}
}

// finish announces the end of the round. Frames sent earlier arrive before it.
func (h *roundabout) finish(now units.Time) {
	r := &h.round
	h.pass(now, &Header{Op: OpCheck, Flags: raEnd, Class: r.class, T: r.t, Round: r.serial, Nodes: r.nodes}, len(r.nodes))
}

// move lets frames that have completed the loop go to the switch of their exit, as far as credits
// reach, and wait there. If all exits are paused by loops that wait for this one, a round would
// otherwise change nothing; now each frame is a hop nearer to its destination. The coordinator
// detects when nothing moves any more.
func (h *roundabout) move(now units.Time) {
	r := &h.round
	r.moving, r.moved = true, now
	h.s.SetGate(now, r.out, r.class, Open, -1) // serves the port again
}

// again schedules another round of a coordinator whose loop is still closed.
func (h *roundabout) again(now units.Time, open bool) {
	l := &h.lead
	if !l.on {
		return
	}
	l.tables = 0
	if l.rounds++; !open && l.rounds >= h.params.Rounds {
		h.giveUp(now)
		return
	}
	h.retryAt(now + h.params.Retry)
}

// end ends the round at this switch.
func (h *roundabout) end(now units.Time) {
	r := &h.round
	r.on = false
	for p := range h.off {
		h.s.ArmIngress(p, 0)
		h.s.ArmEgress(p, 0)
	}
	h.s.SetGate(now, r.out, r.class, Obey, 0)
	h.endLoan(now, r.in, r.class)
	h.s.GiveBack(h.s.View().Reserved())
	h.s.Splice(now, r.out, r.class)
	h.hold(now, r.in)
	h.repay(now)
	h.s.WakeAt(h.timers.round, units.Never)
	h.s.Report(now, RoundEnded, r.in, int(r.class), int64(r.serial))
	h.lookAll(now)
	h.wake(now)
}

// roundOverdue gives up a round without progress. It can end at once, because without credit
// nothing is in flight but what other switches sent before. Frames that missed their exit stay
// where they are, without a mark, so later frames of their flow may overtake them. No other flow
// loses its order: no mark outlives its round, and order lost counts the frames.
func (h *roundabout) roundOverdue(now units.Time) {
	r := &h.round
	if !r.on {
		return
	}
	patience := h.params.Timeout
	if r.home {
		patience *= 4 // other switches may still have frames before their barriers
	}
	if r.owed > 0 {
		h.grant(now)
	}
	if r.lead && r.moving && !r.stopped {
		if wait := r.moved + h.params.Retry; now < wait {
			h.s.WakeAt(h.timers.round, wait)
			return
		}
		r.stopped, r.moved = true, now
		h.finish(now) // returns when all switches have stopped
	}
	if now-r.moved < patience {
		h.s.WakeAt(h.timers.round, min(r.moved+patience, now+h.params.Timeout))
		return
	}
	lost := r.displaced
	h.s.DropWhere(now, r.out, r.class, func(p *packet.Packet) bool {
		if p.Flags&packet.Marked != 0 {
			p.Flags &^= packet.Marked
			lost++
		}
		return p.Kind() == packet.Barrier
	})
	h.s.Report(now, GivenUp, r.in, int(r.class), int64(r.serial))
	if lost > 0 {
		h.s.Report(now, OrderLost, r.in, int(r.class), lost)
	}
	h.end(now)
	h.s.ArmIngress(r.in, packet.MaskOf(r.class)) // for marked frames that still arrive, until the next round
	h.again(now, false)
}
