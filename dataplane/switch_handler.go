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

// handlerSwitch implements deadlock.Switch: what a handler can see and do. It costs nothing on
// queues that the handler has not armed.
type handlerSwitch struct {
	s      *Switch
	hook   deadlock.Hook // nil: the handler does not inspect frames
	timers []int         // indexes in node.wakes of timers 1 and up
	rand   *rand.PCG     // separate from the switch's, so that a handler does not affect marking
	aside  map[int]fifo  // by egress queue: frames that the handler set aside
}

func (h *handlerSwitch) ID() uint16                             { return uint16(h.s.id) }
func (h *handlerSwitch) Rand() *rand.PCG                        { return h.rand }
func (h *handlerSwitch) View() mmu.View                         { return h.s.view }
func (h *handlerSwitch) Ports() int                             { return len(h.s.ports) }
func (h *handlerSwitch) Rate(port int) units.Rate               { return h.s.ports[port].spec.Rate }
func (h *handlerSwitch) MTU(port int) units.Bytes               { return h.s.ports[port].spec.MTU }
func (h *handlerSwitch) Headroom(port int) units.Bytes          { return h.s.ports[port].reserved }
func (h *handlerSwitch) ToHost(port int) bool                   { return h.s.ports[port].spec.ToHost }
func (h *handlerSwitch) GatedClasses(port int) packet.ClassMask { return h.s.ports[port].pauses.gated }
func (h *handlerSwitch) PausedClasses(port int) packet.ClassMask {
	return h.s.ports[port].pauses.requested
}

func (h *handlerSwitch) Level(now units.Time, port int, class uint8) (q, xoff units.Bytes) {
	return h.s.policy.Level(now, h.s.view, port, class)
}

func (h *handlerSwitch) Head(port int, class uint8) *packet.Packet {
	if slot := h.s.ports[port].queues[class].head; slot != 0 {
		return &h.s.memory.packets[slot]
	}
	return nil
}

func (h *handlerSwitch) NewTimer() int {
	h.timers = append(h.timers, h.s.wakes.add())
	h.s.timers = append(h.s.timers, endTimer{timer: len(h.timers)})
	return len(h.timers)
}

func (h *handlerSwitch) WakeAt(timer int, at units.Time) {
	id := h.s.handlerWake()
	if timer > 0 {
		id = h.timers[timer-1]
	}
	h.s.wakes.set(id, at)
}

func (h *handlerSwitch) Report(now units.Time, event string, port, class int, number int64) {
	h.s.report(now, probe.Deadlock, event, port, class, number)
}

func (h *handlerSwitch) WholePort(port int) bool {
	w, ok := h.s.ports[port].recv.(flowctl.PortPauser)
	return ok && w.WholePort()
}

func (h *handlerSwitch) Choices(p *packet.Packet) []uint16 { return h.s.routes.Set(p.Dst()) }

func (h *handlerSwitch) Repeat(now units.Time, port int, mask packet.ClassMask) {
	if r, ok := h.s.ports[port].recv.(flowctl.Repeater); ok {
		r.Repeat(now, mask)
	}
}

// Settle makes the receiver re-evaluate the queue by releasing zero bytes. A queue that turned
// ON while arrivals went to the reserve turns OFF if it uses headroom.
func (h *handlerSwitch) Settle(now units.Time, port int, class uint8, part, keep units.Bytes) {
	_, xoff := h.Level(now, port, class)
	h.s.ledger.Settle(port, class, xoff, part, keep)
	a := mmu.Arrival{In: port, Out: port, Class: class, Kind: h.s.kinds[class&7]}
	if a.Kind != mmu.Lossless {
		return
	}
	if h.s.view.In(port, class, mmu.Headroom) > 0 {
		h.s.ports[port].recv.Charged(now, &a, mmu.Headroom)
	}
	h.s.ports[port].recv.Released(now, &a)
}

func (h *handlerSwitch) Send(_ units.Time, port int, f *packet.Packet, ext packet.Ext) {
	h.s.queueControl(&h.s.ports[port], f, ext)
}

func (h *handlerSwitch) ArmIngress(port int, mask packet.ClassMask) { h.s.ports[port].armedIn = mask }

func (h *handlerSwitch) ArmEgress(port int, mask packet.ClassMask) {
	p := &h.s.ports[port]
	p.armedOut = mask
	p.handledOut = mask | p.pauses.open
}

func (h *handlerSwitch) SetGate(now units.Time, port int, class uint8, g deadlock.Gate, budget units.Bytes) {
	p := &h.s.ports[port]
	bit := packet.MaskOf(class)
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
	p.handledOut = p.armedOut | p.pauses.open
	h.s.reblock(now, p)
	h.s.revisit(p)
}

func (h *handlerSwitch) HoldResume(_ units.Time, port int, mask packet.ClassMask) {
	p := &h.s.ports[port]
	ended := p.pauses.withheld &^ mask
	p.pauses.withheld = mask
	if ended != 0 {
		p.ctlPending |= ctlReceiver
		h.s.revisit(p)
	}
}

func (h *handlerSwitch) SetRoute(dst uint32, port int) {
	o, ok := h.s.router.(*overrides)
	switch {
	case port >= 0 && !ok:
		h.s.router = &overrides{Router: h.s.router, ports: map[uint32]int{dst: port}}
	case port >= 0:
		o.ports[dst] = port
	case ok:
		if delete(o.ports, dst); len(o.ports) == 0 {
			h.s.router = o.Router
		}
	}
}

// overrides is a router with routes changed by a deadlock handler.
type overrides struct {
	route.Router
	ports map[uint32]int // output port by destination
}

// Route implements route.Router.
func (o *overrides) Route(now units.Time, in int, p *packet.Packet) int {
	if port, ok := o.ports[p.Dst()]; ok {
		return port
	}
	return o.Router.Route(now, in, p)
}

func (h *handlerSwitch) SetAside(b units.Bytes, from mmu.Segment) bool {
	return h.s.ledger.SetAside(b, from)
}
func (h *handlerSwitch) GiveBack(b units.Bytes) { h.s.ledger.GiveBack(b) }
func (h *handlerSwitch) SetOrder(port int, class uint8, o mmu.Order) {
	h.s.ledger.SetOrder(port, class, o)
}
func (h *handlerSwitch) ResizeShared(b units.Bytes) { h.s.ledger.Resize(b) }

// arriving handles a frame of an armed ingress queue according to the handler's verdict.
func (h *handlerSwitch) arriving(now units.Time, in, out int, p *packet.Packet, ext packet.Ext) {
	f := *p
	verdict := h.hook.Arriving(now, &f, &out)
	if verdict == deadlock.Consume {
		h.s.countConsumed(&f)
		return
	}
	if out < 0 {
		h.s.dropUnrouted(now, in, &f)
		return
	}
	if verdict == deadlock.DropIt {
		h.s.drop(now, in, &f, probe.Handler)
		return
	}
	ip := &h.s.ports[in]
	a := &h.s.arrival
	h.s.describe(a, in, out, 0, &f)
	var seg mmu.Segment
	var notify bool
	if verdict == deadlock.InLoop {
		seg, notify = h.s.admitReserved(now, ip, a, true)
	} else {
		seg, notify = h.s.admit(now, ip, a)
	}
	if seg == mmu.Drop {
		h.s.refuse(now, a, &f)
		return
	}
	h.s.chargeSlot(now, ip, a, seg, notify)
	slot := h.s.memory.store(&f, ext)
	op := &h.s.ports[out]
	if verdict == deadlock.Aside {
		at := out*mmu.Classes + int(f.Class())
		if h.aside == nil {
			h.aside = make(map[int]fifo)
		}
		q := h.aside[at]
		h.appendTo(&q, slot)
		h.aside[at] = q
		return
	}
	h.s.enqueue(now, op, slot)
	if h.s.sink != nil {
		h.s.sink.Queued(now, in, out, &h.s.memory.packets[slot], seg)
	}
	h.s.revisit(op)
}

// countConsumed balances the checks for a frame that the handler consumed.
func (s *Switch) countConsumed(f *packet.Packet) {
	if s.checks != nil {
		s.checks.out += uint64(s.ledger.Cells(units.Bytes(f.Size)))
	}
}

func (h *handlerSwitch) appendTo(q *fifo, slot uint32) {
	if q.tail == 0 {
		q.head = slot
	} else {
		h.s.memory.next[q.tail] = slot
	}
	q.tail = slot
	if h.s.checks != nil {
		h.s.checks.exempt(slot)
	}
}

// departing asks the handler about the head of an armed egress queue and reports whether it may
// leave now. A frame sent despite a pause must fit into the budget.
func (h *handlerSwitch) departing(now units.Time, p *port, slot uint32) bool {
	f := &h.s.memory.packets[slot]
	bit := packet.MaskOf(f.Class())
	if b := p.pauses.budget[f.Class()]; p.pauses.open&p.pauses.gated&bit != 0 && b >= 0 && b < p.spec.StoreOfPeer().Cost(units.Bytes(f.Size)) {
		h.exhausted(now, p, bit) // no frame passes the head of a queue, so the rest is unusable
		return false
	}
	if p.armedOut&bit == 0 {
		return true
	}
	switch h.hook.Departing(now, int(p.index), f) {
	case deadlock.Consume:
		h.remove(int(p.index), f.Class(), func(q *packet.Packet) bool { return q == f }, func(slot uint32) {
			h.s.countConsumed(f)
			h.discard(now, int(p.index), slot)
		})
		h.s.revisit(p)
		return false
	case deadlock.DropIt:
		h.DropWhere(now, int(p.index), f.Class(), func(q *packet.Packet) bool { return q == f })
		h.s.revisit(p)
		return false
	case deadlock.HoldOff:
		return false
	default:
		return true
	}
}

// departed follows the departure of a frame on a port that the handler armed or opened.
func (h *handlerSwitch) departed(now units.Time, p *port, f *packet.Packet) {
	class := f.Class()
	bit := packet.MaskOf(class)
	if p.pauses.open&p.pauses.gated&bit != 0 {
		p.rare().Forced++
		if p.pauses.budget[class] >= 0 {
			if p.pauses.budget[class] -= p.spec.StoreOfPeer().Cost(units.Bytes(f.Size)); p.pauses.budget[class] <= 0 {
				h.exhausted(now, p, bit)
			}
		}
	}
	if f.Kind() != packet.Barrier {
		h.s.handled[int(p.index)*mmu.Classes+int(class)].moved = now
	}
	if p.armedOut&bit != 0 {
		h.hook.Departed(now, int(p.index), f)
	}
}

// exhausted closes a class whose budget is exhausted. Its peer blocks it again, and the
// deadlock search must see that.
func (h *handlerSwitch) exhausted(now units.Time, p *port, bit packet.ClassMask) {
	p.pauses.open &^= bit
	p.handledOut = p.armedOut | p.pauses.open
	h.s.reblock(now, p)
}

func (h *handlerSwitch) InsertHead(now units.Time, in, out int, p *packet.Packet) bool {
	var a mmu.Arrival
	h.s.describe(&a, in, out, 0, p)
	seg, notify := h.s.admitReserved(now, &h.s.ports[in], &a, false)
	if seg == mmu.Drop {
		return false
	}
	h.s.chargeSlot(now, &h.s.ports[in], &a, seg, notify)
	if h.s.checks != nil {
		h.s.checks.in += uint64(a.Bytes)
	}
	f := *p
	f.SetPort(in)
	slot := h.s.memory.store(&f, nil)
	q := &h.s.ports[out].queues[p.Class()]
	h.s.memory.next[slot] = q.head
	q.head = slot
	if q.tail == 0 {
		q.tail = slot
	}
	op := &h.s.ports[out]
	op.nonEmpty |= 1 << p.Class()
	if h.s.checks != nil {
		h.s.checks.exempt(slot)
	}
	h.s.revisit(op)
	return true
}

func (h *handlerSwitch) Splice(_ units.Time, port int, class uint8) {
	at := port*mmu.Classes + int(class)
	side, ok := h.aside[at]
	if !ok {
		return
	}
	delete(h.aside, at)
	q := &h.s.ports[port].queues[class]
	if q.tail == 0 {
		q.head = side.head
	} else {
		h.s.memory.next[q.tail] = side.head
	}
	q.tail = side.tail
	p := &h.s.ports[port]
	p.nonEmpty |= 1 << class
	h.s.revisit(p)
}

func (h *handlerSwitch) DropWhere(now units.Time, port int, class uint8, match func(*packet.Packet) bool) int {
	return h.remove(port, class, match, func(slot uint32) {
		f := &h.s.memory.packets[slot]
		if f.Kind() == packet.Barrier {
			h.s.countConsumed(f) // inserted by the handler itself
		} else {
			h.s.drop(now, f.Port(), f, probe.Handler)
		}
		h.discard(now, port, slot)
	})
}

// discard removes a frame that will not be sent from the counters and the memory.
func (h *handlerSwitch) discard(now units.Time, port int, slot uint32) {
	f := &h.s.memory.packets[slot]
	var a mmu.Arrival
	h.s.describe(&a, f.Port(), port, slot, f)
	h.s.release(now, &a)
	h.s.memory.recycle(slot)
}

func (h *handlerSwitch) Requeue(now units.Time, port int, class uint8, to int, match func(*packet.Packet) bool) int {
	if to == port {
		return 0
	}
	op := &h.s.ports[to]
	n := h.remove(port, class, match, func(slot uint32) {
		f := &h.s.memory.packets[slot]
		var a mmu.Arrival
		h.s.describe(&a, f.Port(), port, slot, f)
		if h.s.observer != nil {
			h.s.observer.Dequeued(now, h.s.view, &a)
		}
		h.s.ledger.Move(&a, to)
		if h.s.observer != nil {
			a.Out = to
			h.s.observer.Enqueued(now, h.s.view, &a)
		}
		h.s.enqueue(now, op, slot)
	})
	h.s.revisit(op)
	return n
}

// remove takes the matching packets out of a queue, in order, and passes each to use. It
// returns their number.
func (h *handlerSwitch) remove(port int, class uint8, match func(*packet.Packet) bool, use func(slot uint32)) int {
	q := &h.s.ports[port].queues[class]
	n := 0
	var last uint32
	for slot := q.head; slot != 0; {
		next := h.s.memory.next[slot]
		if !match(&h.s.memory.packets[slot]) {
			last, slot = slot, next
			continue
		}
		if last == 0 {
			q.head = next
		} else {
			h.s.memory.next[last] = next
		}
		if q.tail == slot {
			q.tail = last
		}
		h.s.memory.next[slot] = 0
		n++
		use(slot)
		slot = next
	}
	p := &h.s.ports[port]
	if q.head == 0 && p.nonEmpty.Has(class) {
		p.nonEmpty &^= 1 << class
		p.sched.Sent(int(class), 0, true)
	}
	return n
}
