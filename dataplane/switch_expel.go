package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// This file takes frames back that are stored, for policies that ask for it
// (buffer.Expeller). It costs nothing where there is none.

// pushOut is the observer of a switch with such a policy: whenever what is stored
// changes, it plans the next frame to be taken back.
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

// plan arms the timer. Within an event queues are half changed, so what could be done now
// is done next; a time that is armed for it already stays, however many events there are.
func (x *pushOut) plan(now units.Time) {
	w, id := &x.s.wakes, x.s.expelWake()
	at := x.policy.ExpelAt(now, x.s.view)
	if at <= now {
		at = min(now+1, w.at[id])
	}
	w.set(id, at)
}

// expelDue takes back what may be taken back now.
func (x *pushOut) expelDue(now units.Time) {
	for {
		port, class, ok := x.policy.Expel(now, x.s.view)
		if !ok {
			break
		}
		x.s.expel(now, &x.s.ports[port], class&7)
	}
	if at := x.policy.ExpelAt(now, x.s.view); at <= now {
		panic(fmt.Sprintf("dataplane: a frame is to be taken back from %s on, and at %s none is named", at, now))
	}
	x.plan(now)
}

// expel gives up the packet at the head of an egress queue.
func (s *Switch) expel(now units.Time, p *port, class uint8) {
	q := &p.queues[class]
	slot := q.head
	if slot == 0 {
		panic(fmt.Sprintf("dataplane: a frame of class %d is to be taken back at port %d, where none waits", class, p.index))
	}
	f := &s.memory.packets[slot]
	if q.head = s.memory.next[slot]; q.head == 0 {
		q.tail = 0
		p.nonEmpty &^= 1 << class
		p.sched.Sent(int(class), 0, true)
	}
	a := &s.leaving
	s.describe(a, int(f.Port), int(p.index), slot, f)
	s.ledger.Expel(a)
	s.observer.Dequeued(now, s.view, a)
	if s.checks != nil {
		s.checks.dequeued(now, p.queueID(class), slot)
		s.checks.expelled += uint64(a.Bytes)
	}
	s.drop(now, a.In, f, probe.Expelled)
	s.memory.recycle(slot)
}
