package sim

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// With Spec.InsertionOrder, simultaneous events happen in the order in which they were
// scheduled, as in ns-3. The oracle counts them in one global queue. The fast engine has no
// such queue; it computes the same order from what scheduled an event, its cause.

// number is the position of an event among simultaneous ones: events with an earlier cause
// come first.
type number struct {
	cause units.Time // time of the cause
	// order is the rank of the cause among the causes of that time, and in the low 32 bits
	// the index of the event among those that the cause scheduled.
	order uint64
}

func (n number) before(o number) bool {
	return n.cause < o.cause || n.cause == o.cause && n.order < o.order
}

// Causes that are no events. Samples precede everything else, then timed changes, then what
// nodes schedule when they start. A starting flow in ns-3 passes through two events without
// delay, so it follows everything scheduled earlier for that time. Flows with the same start
// time start in the order of their indices, on any host.
const (
	causeSample units.Time = iota - 3
	causeChange
	causeStart
	causeFlow = units.Never
)

// orderedNode is a node of the fast engine in insertion order. It adds numbers to the timers
// and frames of fastNode.
//
// A node that runs its window alone does not know how many events at other nodes are causes
// at the same time as its own. It need not: events of one node with causes of the same time
// keep their order whatever other nodes do, and frames that arrive were sent in an earlier
// window. So ranks count the causes at this node until the window ends. Then the planner
// corrects the ranks of causes that share their time with causes at other nodes.
type orderedNode struct {
	*fastNode
	next       number       // number of the next event that the current event schedules
	ends       []ownNumber  // by port: end of the current transmission
	timed      [4]ownNumber // numbers of fastNode.timers
	lastCause  units.Time   // time of the last cause
	lastRank   uint32       // rank of the last cause
	lastChange uint64       // number of timed changes at this and previous nodes
}

// ownNumber is the number of an event that the node scheduled for itself.
type ownNumber struct {
	number
	parent uint32 // index of the cause in the worker's journal, if it was in this window
}

// Transmit implements dataplane.Driver. In ns-3 the end of the transmission is a separate
// event, scheduled before the arrival. Here it may become an event later (ArmTx), so its
// number is reserved now.
func (o *orderedNode) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	o.fastNode.Transmit(port, p, ext, done)
	o.plan(&o.ends[port])
	sent := o.numberOfSent(port, done)
	*sent = o.next
	o.next.order++
	o.worker.journal.add(sent)
}

// numberOfSent returns where the number of the frame that was sent last is stored.
func (o *orderedNode) numberOfSent(port int, done units.Time) *number {
	to, near := &o.outputs[port], &o.worker.near
	if at := done + to.delay; at < near.far {
		b := near.box(to.to, near.of(at))
		if b.last.numbers == nil {
			b.last.numbers = new([blockFrames]number)
		}
		return &b.last.numbers[(b.n-1)%blockFrames]
	}
	l := o.links[port]
	if l.last.rest.numbers == nil {
		l.last.rest.numbers = new([chunkFrames]number)
	}
	return &l.last.rest.numbers[(l.tail-1)%chunkFrames]
}

// plan numbers an event of this node that the current event schedules. A timer gets a new
// number whenever it is set, even to the same time.
func (o *orderedNode) plan(n *ownNumber) {
	n.number = o.next
	o.next.order++
	if o.next.cause >= 0 { // ranks of starting nodes are final
		n.parent = o.worker.journal.add(&n.number)
	}
}

// ArmTx implements dataplane.Driver.
func (o *orderedNode) ArmTx(port int, at units.Time) { o.setEnd(port, key(at, classTxDone, port)) }

// setEnd is tree.set with the order of insertion among simultaneous ends of transmissions.
func (o *orderedNode) setEnd(port int, k uint64) {
	t := &o.txDone
	if t.single {
		t.least = k
		return
	}
	g := &t.groups[uint(port)/treePorts]
	at := uint(treePorts) + uint(port)%treePorts
	g[at] = k
	for at > 1 {
		k = o.firstEnd(k, g[at^1])
		at >>= 1
		g[at] = k
	}
	if len(t.groups) > 1 {
		for i := range t.groups {
			k = o.firstEnd(k, t.groups[i][1])
		}
	}
	t.least = k
}

// firstEnd returns the key of the transmission that ends first.
func (o *orderedNode) firstEnd(a, b uint64) uint64 {
	if (a^b)>>keyTimeShift == 0 && a != none && o.ends[b&(MaxPorts-1)].before(o.ends[a&(MaxPorts-1)].number) {
		return b
	}
	if (a^b)>>keyTimeShift == 0 {
		return a
	}
	return min(a, b)
}

// ArmWake implements dataplane.Driver.
func (o *orderedNode) ArmWake(at units.Time) {
	o.plan(&o.timed[timerWake])
	o.fastNode.ArmWake(at)
}

// ArmPace implements dataplane.NICDriver.
func (o *orderedNode) ArmPace(at units.Time) {
	o.plan(&o.timed[timerPace])
	o.fastNode.ArmPace(at)
}

// ArmStart implements dataplane.NICDriver.
func (o *orderedNode) ArmStart(at units.Time, flow uint32) {
	// The number depends on the flow alone. Nevertheless the current event becomes a cause:
	// the planner must know every event after which another may be due sooner than its
	// number suggests.
	o.next.order++
	o.timed[timerStart].number = number{causeFlow, uint64(flow)}
	o.fastNode.ArmStart(at, flow)
}

// armChange schedules the next sample or timed change.
func (o *orderedNode) armChange() {
	o.fastNode.armChange()
	o.timed[timerChange].number = number{cause: causeSample}
	if o.samples == nil || len(o.changes) > 0 && o.changes[0].at < o.samples.next {
		o.timed[timerChange].number = number{causeChange, o.lastChange - uint64(len(o.changes))}
	}
}

// run is fastNode.run in insertion order.
func (o *orderedNode) run(s *arrivals, from, end units.Time) {
	n, sw := o.fastNode, o.sw
	keys, i, base := s.gather(n, from, end), 0, uint64(from)<<keyTimeShift
	for {
		k := keys[i]
		arrival, x, timer := (base+k>>refBits)>>keyTimeShift, n.txDone.top(), n.timer>>keyTimeShift
		ends := x >> keyTimeShift
		at := units.Time(min(arrival, ends, timer))
		if at >= end {
			return
		}
		if arrival == ends || min(arrival, ends) == timer {
			arrival, ends = o.breakTie(s, k, arrival, ends, timer)
		}
		o.begin(at)
		switch uint64(at) {
		case arrival:
			i++
			o.arrive(s, k)
			if o.isCause() {
				o.done(*s.number(k), 0)
			}
		case ends:
			port, pending := int(x&(MaxPorts-1)), false
			number, parent := o.ends[port].number, o.ends[port].parent
			if sw != nil {
				pending = sw.TxDone(at, port)
			} else {
				pending = n.nic.TxDone(at, port)
			}
			if !pending { // otherwise the data plane has armed it again
				o.setEnd(port, none)
			}
			if o.isCause() {
				o.done(number, parent)
			}
		default:
			slot := o.firstTimer()
			number, parent := o.timed[slot].number, o.timed[slot].parent
			o.fire(at, slot)
			if o.isCause() {
				o.done(number, parent)
			}
		}
	}
}

// arrive handles the arrival of a key.
func (o *orderedNode) arrive(s *arrivals, k uint64) {
	n, ref, port := o.fastNode, k%(2*nearRef), int(k>>refBits&(MaxPorts-1))
	if ref < nearRef {
		n.arriveFar(port)
		return
	}
	p := s.frames[ref-nearRef]
	switch {
	case p.Control() || p.Flags&packet.Extended != 0 || n.faulty:
		n.arriveSpecial(port, p, s.ext(ref-nearRef, p))
	case n.sw != nil:
		n.sw.Forward(p.At, port, p, nil)
	default:
		n.nic.Arrive(p.At, port, p, nil)
	}
}

// breakTie finds out which of simultaneous events comes first: the next arrival, end of a
// transmission, or timer. It returns the times of the first two, or never if another one
// comes first.
//
//go:noinline
func (o *orderedNode) breakTie(s *arrivals, k, arrival, ends, timer uint64) (uint64, uint64) {
	const never = none
	at, first := min(arrival, ends, timer), number{units.Never, none}
	if timer == at {
		first = o.timed[o.firstTimer()].number
	}
	if ends == at {
		if end := o.ends[o.txDone.top()&(MaxPorts-1)].number; end.before(first) {
			first = end
		} else {
			ends = never
		}
	}
	if arrival == at {
		if s.number(k).before(first) {
			ends = never
		} else {
			arrival = never
		}
	}
	return arrival, ends
}

// firstTimer returns the slot of the next timer.
func (o *orderedNode) firstTimer() int {
	slot := timerChange
	for i := timerWake; i < len(o.timers); i++ {
		a, b := o.timers[slot]>>keyTimeShift, o.timers[i]>>keyTimeShift
		if b < a || b == a && o.timed[i].before(o.timed[slot].number) {
			slot = i
		}
	}
	return slot
}

// fire runs a timer.
func (o *orderedNode) fire(now units.Time, slot int) {
	if slot == timerChange {
		o.alter(now)
		o.armChange()
		return
	}
	o.setTimer(slot, none)
	switch slot {
	case timerWake:
		o.common.Wake(now)
	case timerPace:
		o.nic.Pace(now)
	default:
		o.nic.StartFlows(now)
	}
}

// begin prepares for an event. Its rank follows the rank of the last cause of the same
// time.
func (o *orderedNode) begin(at units.Time) {
	rank := uint32(0)
	if at == o.lastCause {
		rank = o.lastRank + 1
	}
	o.next = number{at, uint64(rank) << 32}
}

// isCause reports whether the current event has scheduled others.
func (o *orderedNode) isCause() bool { return uint32(o.next.order) != 0 }

// done records the current event, which is a cause. n is its number, and parent the index of
// its own cause in the journal.
func (o *orderedNode) done(n number, parent uint32) {
	at, rank := o.next.cause, uint32(o.next.order>>32)
	o.lastCause, o.lastRank = at, rank
	w := o.worker
	w.journal.record(at-w.f.now, cause{number: n, parent: parent, node: uint32(o.index), rank: rank})
}
