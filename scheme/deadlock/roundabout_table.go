package deadlock

import (
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// This file finds the loop and locks it (Roundabout section IV-A). A candidate asks upstream;
// each stuck queue adds its switch and ports. When the question returns, the table goes along the
// loop twice: first to lock every switch, where the smaller tuple preempts, then to make the
// locks final. Frames move only after that, so a loser leaves nothing behind.

// raLock reserves a switch for one loop. There is one per switch, because a round uses the buffer
// of the whole switch.
type raLock struct {
	on, built bool
	t         Tuple
	serial    uint32
	in, out   int
	class     uint8
	until     units.Time
}

// raLead is the state of a coordinator. A switch leads for one queue at a time.
type raLead struct {
	on, reported bool // reported: the Confirmed event was sent
	in           int
	class        uint8
	rounds       int
	tables       int // unsuccessful tables for a loop that may run through several classes
	serial       uint32
	nodes        []NodeID
	next         units.Time // time of the next question
}

// send sends a header as a separate frame.
func (h *roundabout) send(now units.Time, port int, hdr *Header) {
	f := packet.Packet{Size: hdr.size(), Meta: packet.MakeMeta(packet.Loop, 0)}
	h.s.Send(now, port, &f, hdr.Append(nil))
}

// ask starts the route accumulation of a candidate.
func (h *roundabout) ask(now units.Time, in int, class uint8) {
	q := h.at(in, class)
	if h.round.on || h.lead.on && (h.lead.in != in || h.lead.class != class) || now < q.rest {
		return // the switch already has a loop, or has to wait; the next check tries again
	}
	if h.s.ToHost(in) {
		return // no loop runs through a host
	}
	e := &q.e
	if !h.lead.on {
		h.lead = raLead{on: true, in: in, class: class, nodes: h.lead.nodes}
		h.s.Report(now, Detected, in, int(class), 0)
	}
	h.send(now, in, &Header{Op: OpRoute, Class: class, T: e.Init, Round: uint32(e.Round) | stamp(now)<<8, Nodes: []NodeID{{h.s.ID(), uint16(in), 0}}})
	h.retryAt(now + h.wait(q.slow))
}

// stamp returns the time of a question in microseconds, modulo 2^24: a header has room for 24
// bits.
func stamp(now units.Time) uint32 { return uint32(now/units.Microsecond) & (1<<24 - 1) }

// wait returns how long an answer, or a pass along the loop, may take.
func (h *roundabout) wait(slow uint8) units.Time { return h.params.Retry << slow }

// maxSlow is the largest number of doublings: a table has three bits for it.
const maxSlow = 7

// answered follows the return of a question, in time or not. The next wait is at least 1.5 times
// as long as this answer took; otherwise a loop with long or many cables would be asked for ever.
// It does not grow beyond the timeout of a round.
func (h *roundabout) answered(now units.Time, q *raQueue, asked uint32) {
	took := units.Time((stamp(now)-asked>>8)&(1<<24-1)) * units.Microsecond
	for q.slow < maxSlow && h.wait(q.slow) < h.params.Timeout && 2*h.wait(q.slow) < 3*took {
		q.slow++
	}
}

func (h *roundabout) retryAt(at units.Time) {
	h.lead.next = at
	h.armTable()
}

func (h *roundabout) armTable() {
	at := units.Never
	if h.lead.on {
		at = h.lead.next
	}
	if h.lock.on {
		at = min(at, h.lock.until)
	}
	h.s.WakeAt(h.timers.table, at)
}

// overdue asks again, and releases a lock that led to no round.
func (h *roundabout) overdue(now units.Time) {
	if h.lock.on && h.lock.until <= now {
		h.unlock(now)
	}
	if l := &h.lead; l.on && l.next <= now {
		q := h.at(l.in, l.class)
		l.next = now + h.wait(q.slow)
		e := &q.e
		e.Confirmed = false
		switch {
		case h.round.on:
		case e.Asking:
			h.askAnother(now)
		default:
			h.askAgain(now, l.in, l.class)
		}
	}
	h.armTable()
}

// askAgain lets the leading queue ask again, if it is still a candidate.
func (h *roundabout) askAgain(now units.Time, in int, class uint8) {
	if y := h.at(in, class).e.Retry(); y.Ask {
		h.ask(now, in, class)
	} else {
		h.lead.on = false
	}
}

// askAnother follows an unanswered question. A queue that leads to a loop by two paths, without
// being part of it, is a candidate too. The next candidate of the switch gets its turn, if there
// is one.
func (h *roundabout) askAnother(now units.Time) {
	l := &h.lead
	was := l.in*mmu.Classes + int(l.class)
	for i := 1; i < len(h.queues); i++ {
		next := (was + i) % len(h.queues)
		in, class := next/mmu.Classes, uint8(next%mmu.Classes)
		if h.queues[next].e.Candidate && !h.s.ToHost(in) && now >= h.queues[next].rest {
			l.on = false
			h.askAgain(now, in, class)
			return
		}
	}
	h.askAgain(now, l.in, l.class)
}

// stepDown ends the lead of a queue that is no longer a candidate.
func (h *roundabout) stepDown(in int, class uint8) {
	if l := &h.lead; l.on && l.in == in && l.class == class && !h.round.on {
		l.on = false
		h.armTable()
	}
}

// question takes an OpRoute that arrived at an egress.
func (h *roundabout) question(now units.Time, out int, hdr *Header) {
	for in, off := range h.off {
		for class := range off.All() {
			if !h.stuckOn(now, in, class, out, hdr.Class) {
				continue
			}
			if slices.ContainsFunc(hdr.Nodes[min(1, len(hdr.Nodes)):], func(n NodeID) bool { return n.Switch == h.s.ID() && int(n.In) == in }) {
				continue // it circulates in a loop without its candidate
			}
			q := h.at(in, class)
			if q.e.Asking && hdr.T.Same(q.e.Init) {
				h.answered(now, q, hdr.Round)
			}
			y := q.e.Question(hdr.T, uint8(hdr.Round), true)
			switch {
			case y.Relay && len(hdr.Nodes) < maxNodes && q.relays(now, h.params.Retry):
				up := *hdr
				if up.Class = class; class != hdr.Class {
					up.Flags |= raJoined
				}
				up.Nodes = append(slices.Clone(hdr.Nodes), NodeID{h.s.ID(), uint16(in), uint16(out)})
				h.send(now, in, &up)
			case y.Confirmed:
				h.confirmed(now, in, class, out, hdr)
			}
		}
	}
}

// maxRelays is the number of questions that a queue relays while a candidate waits for an answer.
const maxRelays = 16

// relays reports whether a queue may relay another question. In a mesh of loops a queue receives
// more questions than it can remember, and forgotten ones would multiply. A candidate that gets
// no answer asks again.
func (q *raQueue) relays(now, period units.Time) bool {
	if now-q.since >= period {
		q.since, q.passed = now, 0
	}
	if q.passed == maxRelays {
		return false
	}
	q.passed++
	return true
}

// confirmed follows the return of the queue's own question: the loop is known.
func (h *roundabout) confirmed(now units.Time, in int, class uint8, out int, hdr *Header) {
	l, q := &h.lead, h.at(in, class)
	if !l.on || l.in != in || l.class != class || len(hdr.Nodes) == 0 {
		q.e.Confirmed = false // another queue leads now; this one must not refuse questions for ever
		return
	}
	l.nodes = append(l.nodes[:0], hdr.Nodes...)
	l.nodes[0].Out = uint16(out)
	if !l.reported {
		l.reported = true
		h.s.Report(now, Confirmed, in, int(class), int64(len(l.nodes)))
	}
	if !h.params.Resolve {
		l.next = units.Never
		h.armTable()
		return
	}
	if hdr.Flags&raJoined != 0 {
		// Each queue relays one copy, so the loop may also exist within one class.
		l.tables++
	}
	if class != hdr.Class || l.tables > maxTables || h.twice() {
		h.giveUp(now)
		return
	}
	h.serial++
	l.serial = h.serial
	table := Header{Op: OpTable, Flags: q.slow << raSlow, Class: class, T: q.e.Init, Round: l.serial, Nodes: l.nodes}
	if h.locks(now, &table, in, out) {
		h.retryAt(now + h.wait(q.slow))
		h.pass(now, &table, len(l.nodes))
	}
}

// maxTables limits the attempts to lock a loop that may run through several classes.
const maxTables = 4

// twice reports whether the loop runs through a switch twice.
func (h *roundabout) twice() bool {
	for i, n := range h.lead.nodes {
		for _, m := range h.lead.nodes[:i] {
			if n.Switch == m.Switch {
				return true
			}
		}
	}
	return false
}

// giveUp leaves a deadlock to others. Another queue may find a loop that can be rotated, so this
// one draws a number that rarely wins.
func (h *roundabout) giveUp(now units.Time) {
	l := &h.lead
	h.s.Report(now, GivenUp, l.in, int(l.class), int64(l.rounds))
	l.on = false
	h.armTable()
	h.at(l.in, l.class).rest = now + h.params.Timeout
	if h.printed != nil {
		h.printed[l.in*mmu.Classes+int(l.class)].Found, h.at(l.in, l.class).e.Candidate = false, false
		return
	}
	h.act(now, l.in, l.class, h.at(l.in, l.class).e.Retire(uint32(h.s.Rand().Uint64()), h.stuck(now, l.in, l.class)))
}

// askNext lets another candidate of the switch ask, after the previous one has finished.
func (h *roundabout) askNext(now units.Time) {
	for in, off := range h.off {
		for class := range off.All() {
			if h.lead.on || h.round.on {
				return
			}
			h.act(now, in, class, h.at(in, class).e.Retry())
		}
	}
}

// locks takes the lock of the switch for a loop, if possible. From now on the upstream of the
// loop stays paused: the round lends out the headroom for its frames.
func (h *roundabout) locks(now units.Time, hdr *Header, in, out int) bool {
	l, t := &h.lock, hdr.T
	if h.round.on || !h.off[in].Has(hdr.Class) || l.on && (l.built || !t.Same(l.t) && !t.Before(l.t)) {
		return false
	}
	if l.on {
		h.unlock(now)
	}
	t.Hop = 0
	*l = raLock{on: true, t: t, serial: hdr.Round, in: in, out: out, class: hdr.Class, until: now + 4*h.wait(hdr.slow())}
	h.hold(now, in)
	h.armTable()
	return true
}

// unlock releases a lock that led to no round.
func (h *roundabout) unlock(now units.Time) {
	in := h.lock.in
	h.lock = raLock{}
	h.hold(now, in)
}

// pass sends a header to the next switch of the loop, downstream. Hop is the index of that switch
// in the list, which starts at the coordinator and runs upstream.
func (h *roundabout) pass(now units.Time, hdr *Header, at int) {
	hdr.T.Hop = uint8(at - 1)
	h.send(now, int(hdr.Nodes[at%len(hdr.Nodes)].Out), hdr)
}

// table takes an OpTable that arrived at the ingress of the loop.
func (h *roundabout) table(now units.Time, port int, hdr *Header) {
	at := int(hdr.T.Hop)
	if at >= len(hdr.Nodes) {
		h.badHeader(now, port)
		return
	}
	me := hdr.Nodes[at]
	in, out := int(me.In), int(me.Out)
	if me.Switch != h.s.ID() || in != port || out >= len(h.off) {
		h.badHeader(now, port)
		return
	}
	l := &h.lock
	mine := l.on && l.t.Same(hdr.T) && l.serial == hdr.Round
	built := hdr.Flags&raBuilt != 0
	switch {
	case at == 0 && mine && built:
		h.begin(now, hdr.Nodes)
	case at == 0 && mine:
		l.built = true
		l.until = now + 4*h.wait(hdr.slow())
		hdr.Flags |= raBuilt
		h.retryAt(now + h.wait(hdr.slow()))
		h.pass(now, hdr, len(hdr.Nodes))
	case at == 0:
	case built && mine:
		l.built = true
		h.pass(now, hdr, at)
	case !built && h.stuckOn(now, in, hdr.Class, out, hdr.Class) && h.locks(now, hdr, in, out):
		h.pass(now, hdr, at)
	}
}
