package dataplane

import (
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
)

// This file is what a deadlock handler may do to a switch (deadlock.Switch). It
// costs nothing on queues that no handler has armed.

// Node implements deadlock.Switch.
func (s *Switch) Node() uint16 { return s.id }

// ToHost implements deadlock.Switch.
func (s *Switch) ToHost(port int) bool { return s.ports[port].spec.ToHost }

// Rand implements deadlock.Switch.
func (s *Switch) Rand() *rand.PCG { return s.handlerRand }

// BlockedClasses implements deadlock.Switch.
func (s *Switch) BlockedClasses(port int) uint8 { return s.ports[port].pauses.gate }

// PausedClasses implements deadlock.Switch.
func (s *Switch) PausedClasses(port int) uint8 { return s.ports[port].pauses.asked }

// Head implements deadlock.Switch.
func (s *Switch) Head(port int, class uint8) *packet.Packet {
	if slot := s.ports[port].queues[class].head; slot != 0 {
		return &s.memory.packets[slot]
	}
	return nil
}

// NewTimer implements deadlock.Switch.
func (s *Switch) NewTimer() int {
	s.handlerTimers = append(s.handlerTimers, s.wakes.add())
	s.timers = append(s.timers, endTimer{timer: len(s.handlerTimers)})
	return len(s.handlerTimers)
}

// WakeAt implements deadlock.Switch.
func (s *Switch) WakeAt(timer int, at units.Time) {
	id := s.handlerWake()
	if timer > 0 {
		id = s.handlerTimers[timer-1]
	}
	s.wakes.set(id, at)
}

// Report implements deadlock.Switch.
func (s *Switch) Report(now units.Time, event string, port, class int, number int64) {
	s.reported(now, probe.Deadlock, event, port, class, number)
}

// WholePort implements deadlock.Switch.
func (s *Switch) WholePort(port int) bool {
	w, ok := s.ports[port].recv.(flowctl.Whole)
	return ok && w.WholePort()
}

// Choices implements deadlock.Switch.
func (s *Switch) Choices(p *packet.Packet) []uint16 { return s.routes.Set(p.Dst) }

// Repeat implements deadlock.Switch.
func (s *Switch) Repeat(now units.Time, port int, mask uint8) {
	if r, ok := s.ports[port].recv.(flowctl.Repeater); ok {
		r.Repeat(now, mask)
	}
}

// Settle implements deadlock.Switch. A departure of nothing makes the receiver look; one
// that turned ON while the reserve took what came is OFF if headroom is in use.
func (s *Switch) Settle(now units.Time, port int, class uint8, part, keep units.Bytes) {
	_, xoff := s.Level(now, port, class)
	s.ledger.Settle(port, class, xoff, part, keep)
	a := mmu.Arrival{In: port, Out: port, Class: class, Kind: s.kinds[class&7]}
	if a.Kind != mmu.Lossless {
		return
	}
	if s.view.In(port, class, mmu.Headroom) > 0 {
		s.ports[port].recv.Charged(now, &a, mmu.Headroom)
	}
	s.ports[port].recv.Released(now, &a)
}

// Send implements deadlock.Switch.
func (s *Switch) Send(_ units.Time, port int, f *packet.Packet, ext packet.Ext) {
	s.push(&s.ports[port], f, ext)
}

// ArmIngress implements deadlock.Switch.
func (s *Switch) ArmIngress(port int, mask uint8) { s.ports[port].hookIn = mask }

// ArmEgress implements deadlock.Switch.
func (s *Switch) ArmEgress(port int, mask uint8) {
	p := &s.ports[port]
	p.armedOut = mask
	p.hookOut = mask | p.pauses.open
}

// SetGate implements deadlock.Switch.
func (s *Switch) SetGate(now units.Time, port int, class uint8, g deadlock.Gate, budget units.Bytes) {
	p := &s.ports[port]
	bit := uint8(1) << class
	p.pauses.open &^= bit
	p.pauses.shut &^= bit
	switch g {
	case deadlock.Open:
		if budget != 0 {
			p.pauses.open |= bit
		}
		p.pauses.budget[class] = budget
	case deadlock.Shut:
		p.pauses.shut |= bit
	}
	p.hookOut = p.armedOut | p.pauses.open
	s.reblock(now, p)
	s.look(p)
}

// HoldResume implements deadlock.Switch.
func (s *Switch) HoldResume(_ units.Time, port int, mask uint8) {
	p := &s.ports[port]
	ended := p.pauses.holding &^ mask
	p.pauses.holding = mask
	if ended != 0 {
		p.speaking |= speakReceiver
		s.look(p)
	}
}

// SetRoute implements deadlock.Switch.
func (s *Switch) SetRoute(dst uint16, port int) {
	o, ok := s.router.(*overrides)
	switch {
	case port >= 0 && !ok:
		s.router = &overrides{Router: s.router, ports: map[uint16]int{dst: port}}
	case port >= 0:
		o.ports[dst] = port
	case ok:
		if delete(o.ports, dst); len(o.ports) == 0 {
			s.router = o.Router
		}
	}
}

// overrides is a router of which a deadlock handler has changed some routes.
type overrides struct {
	route.Router
	ports map[uint16]int // by destination
}

// Route implements route.Router.
func (o *overrides) Route(now units.Time, in int, p *packet.Packet) int {
	if port, ok := o.ports[p.Dst]; ok {
		return port
	}
	return o.Router.Route(now, in, p)
}

// SetAside implements deadlock.Switch.
func (s *Switch) SetAside(b units.Bytes, from mmu.Segment) bool { return s.ledger.SetAside(b, from) }

// GiveBack implements deadlock.Switch.
func (s *Switch) GiveBack(b units.Bytes) { s.ledger.GiveBack(b) }

// SetOrder implements deadlock.Switch.
func (s *Switch) SetOrder(port int, class uint8, o mmu.Order) { s.ledger.SetOrder(port, class, o) }

// ResizeShared implements deadlock.Switch.
func (s *Switch) ResizeShared(b units.Bytes) { s.ledger.Resize(b) }

// arriveHooked stores a frame of an armed ingress queue as the handler says.
func (s *Switch) arriveHooked(now units.Time, in, out int, p *packet.Packet, ext packet.Ext) {
	f := *p
	verdict := s.hook.Arriving(now, &f, &out)
	if verdict == deadlock.Consume {
		s.consumed(&f)
		return
	}
	if out < 0 {
		s.unrouted(now, in, &f)
		return
	}
	if verdict == deadlock.DropIt {
		s.drop(now, in, &f, probe.Handler)
		return
	}
	ip := &s.ports[in]
	a := &s.arrival
	s.describe(a, in, out, 0, &f)
	var seg mmu.Segment
	var tell bool
	if verdict == deadlock.InLoop {
		seg, tell = s.admitReserved(now, ip, a, true)
	} else {
		seg, tell = s.admit(now, ip, a)
	}
	if seg == mmu.Drop {
		s.refuse(now, a, &f)
		return
	}
	s.storeAt(now, ip, a, seg, tell)
	slot := s.memory.store(&f, ext, in)
	op := &s.ports[out]
	if verdict == deadlock.Aside {
		at := out*mmu.Classes + int(f.Class())
		if s.aside == nil {
			s.aside = make(map[int]fifo)
		}
		q := s.aside[at]
		s.link(&q, slot)
		s.aside[at] = q
		return
	}
	s.join(now, op, slot)
	if s.sink != nil {
		s.sink.Queued(now, in, out, &s.memory.packets[slot], seg)
	}
	s.look(op)
}

// consumed takes a frame that was for the handler out of the count.
func (s *Switch) consumed(f *packet.Packet) {
	if s.checks != nil {
		s.checks.out += uint64(s.ledger.Cells(units.Bytes(f.Size)))
	}
}

func (s *Switch) link(q *fifo, slot uint32) {
	if q.tail == 0 {
		q.head = slot
	} else {
		s.memory.next[q.tail] = slot
	}
	q.tail = slot
	if s.checks != nil {
		s.checks.forget(slot)
	}
}

// departHooked asks the handler about the head of an armed egress queue and
// reports whether it may leave now. What is forced must be covered by the budget.
func (s *Switch) departHooked(now units.Time, p *port, slot uint32) bool {
	f := &s.memory.packets[slot]
	bit := uint8(1) << f.Class()
	if b := p.pauses.budget[f.Class()]; p.pauses.open&p.pauses.gate&bit != 0 && b >= 0 && b < units.Bytes(f.Size) {
		s.spent(now, p, bit) // nothing passes the head of a queue: the rest serves nobody
		return false
	}
	if p.armedOut&bit == 0 {
		return true
	}
	switch s.hook.Departing(now, int(p.index), f) {
	case deadlock.Consume:
		s.take(int(p.index), f.Class(), func(q *packet.Packet) bool { return q == f }, func(slot uint32) {
			s.consumed(f)
			s.forgo(now, int(p.index), slot)
		})
		s.look(p)
		return false
	case deadlock.DropIt:
		s.DropWhere(now, int(p.index), f.Class(), func(q *packet.Packet) bool { return q == f })
		s.look(p)
		return false
	case deadlock.HoldOff:
		return false
	default:
		return true
	}
}

// departed follows the departure of a frame on a port with a handler at work.
func (s *Switch) departed(now units.Time, p *port, f *packet.Packet) {
	class := f.Class()
	bit := uint8(1) << class
	if p.pauses.open&p.pauses.gate&bit != 0 {
		p.Stats.Forced++
		if p.pauses.budget[class] >= 0 {
			if p.pauses.budget[class] -= units.Bytes(f.Size); p.pauses.budget[class] <= 0 {
				s.spent(now, p, bit)
			}
		}
	}
	if p.armedOut&bit != 0 {
		s.hook.Departed(now, int(p.index), f)
	}
}

// spent closes a class whose budget is: it is held by its peer again, and the search for
// deadlock has to see that.
func (s *Switch) spent(now units.Time, p *port, bit uint8) {
	p.pauses.open &^= bit
	p.hookOut = p.armedOut | p.pauses.open
	s.reblock(now, p)
}

// InsertHead implements deadlock.Switch.
func (s *Switch) InsertHead(now units.Time, in, out int, p *packet.Packet) bool {
	var a mmu.Arrival
	s.describe(&a, in, out, 0, p)
	seg, tell := s.admitReserved(now, &s.ports[in], &a, false)
	if seg == mmu.Drop {
		return false
	}
	s.storeAt(now, &s.ports[in], &a, seg, tell)
	if s.checks != nil {
		s.checks.in += uint64(a.Bytes)
	}
	slot := s.memory.store(p, nil, in)
	q := &s.ports[out].queues[p.Class()]
	s.memory.next[slot] = q.head
	q.head = slot
	if q.tail == 0 {
		q.tail = slot
	}
	op := &s.ports[out]
	op.nonEmpty |= 1 << p.Class()
	if s.checks != nil {
		s.checks.forget(slot)
	}
	s.look(op)
	return true
}

// Splice implements deadlock.Switch.
func (s *Switch) Splice(_ units.Time, port int, class uint8) {
	at := port*mmu.Classes + int(class)
	side, ok := s.aside[at]
	if !ok {
		return
	}
	delete(s.aside, at)
	q := &s.ports[port].queues[class]
	if q.tail == 0 {
		q.head = side.head
	} else {
		s.memory.next[q.tail] = side.head
	}
	q.tail = side.tail
	p := &s.ports[port]
	p.nonEmpty |= 1 << class
	s.look(p)
}

// DropWhere implements deadlock.Switch.
func (s *Switch) DropWhere(now units.Time, port int, class uint8, match func(*packet.Packet) bool) int {
	return s.take(port, class, match, func(slot uint32) {
		f := &s.memory.packets[slot]
		if f.Kind() == packet.Barrier {
			s.consumed(f) // it was the handler's own
		} else {
			s.drop(now, int(f.Port), f, probe.Handler)
		}
		s.forgo(now, port, slot)
	})
}

// forgo takes a frame that does not leave out of the books and the memory.
func (s *Switch) forgo(now units.Time, port int, slot uint32) {
	f := &s.memory.packets[slot]
	var a mmu.Arrival
	s.describe(&a, int(f.Port), port, slot, f)
	s.release(now, &a)
	s.memory.drop(slot)
}

// Requeue implements deadlock.Switch.
func (s *Switch) Requeue(now units.Time, port int, class uint8, to int, match func(*packet.Packet) bool) int {
	if to == port {
		return 0
	}
	op := &s.ports[to]
	n := s.take(port, class, match, func(slot uint32) {
		f := &s.memory.packets[slot]
		var a mmu.Arrival
		s.describe(&a, int(f.Port), port, slot, f)
		if s.watcher != nil {
			s.watcher.Dequeued(now, s.view, &a)
		}
		s.ledger.Move(&a, to)
		if s.watcher != nil {
			a.Out = to
			s.watcher.Enqueued(now, s.view, &a)
		}
		s.join(now, op, slot)
	})
	s.look(op)
	return n
}

// take removes the matching packets from a queue, in order, and gives each to
// use.
func (s *Switch) take(port int, class uint8, match func(*packet.Packet) bool, use func(slot uint32)) int {
	q := &s.ports[port].queues[class]
	n := 0
	var last uint32
	for slot := q.head; slot != 0; {
		next := s.memory.next[slot]
		if !match(&s.memory.packets[slot]) {
			last, slot = slot, next
			continue
		}
		if last == 0 {
			q.head = next
		} else {
			s.memory.next[last] = next
		}
		if q.tail == slot {
			q.tail = last
		}
		s.memory.next[slot] = 0
		n++
		use(slot)
		slot = next
	}
	p := &s.ports[port]
	if q.head == 0 && p.nonEmpty&(1<<class) != 0 {
		p.nonEmpty &^= 1 << class
		p.sched.Sent(int(class), 0, true)
	}
	return n
}
