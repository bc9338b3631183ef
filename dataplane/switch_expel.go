package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// This file expels stored frames for policies that request it (buffer.Expeller). Switches with
// other policies pay nothing.

// pushOut is the observer of a switch whose policy expels frames. It plans the next expulsion
// whenever the stored frames change.
type pushOut struct {
	policy buffer.Expeller
	s      *Switch
}

// Enqueued implements buffer.Observer.
func (x *pushOut) Enqueued(now units.Time, v mmu.View, a *mmu.Arrival) {
	x.policy.Enqueued(now, v, a)
	x.plan(now)
}

// Dequeued implements buffer.Observer.
func (x *pushOut) Dequeued(now units.Time, v mmu.View, a *mmu.Arrival) {
	x.policy.Dequeued(now, v, a)
	x.plan(now)
}

// plan arms the timer. Queues are inconsistent during an event, so an expulsion that is due now
// happens 1 ps later; if one is already armed, it is not postponed.
func (x *pushOut) plan(now units.Time) {
	w, id := &x.s.wakes, x.s.expelWake()
	at := x.policy.ExpelAt(now, x.s.view)
	if at <= now {
		at = min(now+1, w.at[id])
	}
	w.set(id, at)
}

// expelDue expels all frames that are due.
func (x *pushOut) expelDue(now units.Time) {
	for {
		port, class, ok := x.policy.Expel(now, x.s.view)
		if !ok {
			break
		}
		x.s.expel(now, &x.s.ports[port], class&7)
	}
	if at := x.policy.ExpelAt(now, x.s.view); at <= now {
		panic(fmt.Sprintf("dataplane: a frame was due to be expelled at %s, but the policy names none at %s", at, now))
	}
	x.plan(now)
}

// expel drops the packet at the head of an egress queue.
func (s *Switch) expel(now units.Time, p *port, class uint8) {
	q := &p.queues[class]
	slot := q.head
	if slot == 0 {
		panic(fmt.Sprintf("dataplane: the policy expels a frame of class %d at port %d, but the queue is empty", class, p.index))
	}
	f := &s.memory.packets[slot]
	if q.head = s.memory.next[slot]; q.head == 0 {
		q.tail = 0
		p.nonEmpty &^= 1 << class
		p.sched.Sent(int(class), 0, true)
	}
	a := &s.leaving
	s.describe(a, f.Port(), int(p.index), slot, f)
	s.ledger.Expel(a)
	s.observer.Dequeued(now, s.view, a)
	if s.checks != nil {
		s.checks.dequeued(now, p.queueID(class), slot)
		s.checks.expelled += uint64(a.Bytes)
	}
	s.drop(now, a.In, f, probe.Expelled)
	s.memory.recycle(slot)
}
