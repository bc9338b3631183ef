package dataplane

import (
	"github.com/xoff-net/xoff/cc"
	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/probe"
	"github.com/xoff-net/xoff/units"
)

// flowList is a list of queue pairs linked by qp.next.
type flowList struct{ head, tail int32 }

// States of a queue pair.
const (
	qpIdle  uint8 = iota // everything sent, or nothing known to do
	qpReady              // in the ready list of its class
	qpPaced              // in the pace heap
	qpFull               // its window is full
	qpFree               // not in use
)

// qp is the sending side of a flow.
type qp struct {
	nextAt   units.Time // when pacing allows the next packet
	rtoAt    units.Time // when a timeout is due; Never when nothing is unacknowledged
	rto      units.Time // current timeout, doubled by each
	softAt   units.Time // of its entry in the soft heap that counts; Never when there is none
	ctl      cc.Control
	timed    cc.Timed // nil unless ctl has timers
	flow     uint32
	next     int32  // in the ready list
	seq      uint32 // next packet to send
	una      uint32 // first unacknowledged packet
	total    uint32 // packets of the flow
	high     uint32 // packets ever sent
	hash     uint32
	dst      uint16
	lastSize uint16 // frame size of the last packet
	fullSize uint16
	state    uint8
	class    uint8
	way      uint8
	done     bool
	moves    bool // rate changes move nextAt (cc.Repacer)
	flags    packet.Flags
}

// open prepares the queue pair of a flow.
func (n *NIC) open(now units.Time, flow uint32) {
	f := &n.flows.Flow[flow]
	i := n.allocate(f.Transport)
	way := &n.ways[f.Transport]
	q := &n.qps[i]
	packets := (f.Size + way.Payload - 1) / way.Payload
	last := f.Size - (packets-1)*way.Payload
	*q = qp{
		nextAt: now, rtoAt: units.Never, rto: way.Timeout, ctl: q.ctl, timed: q.timed, moves: q.moves, softAt: q.softAt,
		flow: flow, total: uint32(packets), hash: f.Hash, dst: f.Dst,
		lastSize: uint16(last + way.Header), fullSize: uint16(way.Payload + way.Header), class: f.Class, way: f.Transport,
	}
	if f.Pinned {
		q.flags = packet.Pinned
	}
	n.about = cc.Flow{Line: n.ports[0].spec.Rate, MTU: units.Bytes(q.fullSize), BaseRTT: n.rtt}
	q.ctl.Start(now, &n.about)
	n.flows.slot[flow] = i
	if q.timed != nil {
		n.armSoft(i, q)
	}
	n.makeReady(i, q)
	n.report(now, flow, probe.FlowStarts)
}

// report tells the probe about a flow.
func (n *NIC) report(now units.Time, flow uint32, what probe.FlowEvent) {
	if n.sink != nil {
		n.sink.Flow(now, flow, what)
	}
}

func (n *NIC) allocate(way uint8) int32 {
	free := n.idle[way]
	if len(free) > 0 {
		i := free[len(free)-1]
		n.idle[way] = free[:len(free)-1]
		return i
	}
	ctl := n.ways[way].Control()
	q := qp{ctl: ctl, softAt: units.Never}
	q.timed, _ = ctl.(cc.Timed)
	_, q.moves = ctl.(cc.Repacer)
	n.qps = append(n.qps, q)
	return int32(len(n.qps) - 1)
}

func (n *NIC) makeReady(i int32, q *qp) {
	q.state, q.next = qpReady, 0
	l := &n.ready[q.class]
	if l.tail == 0 {
		l.head = i
		n.ports[0].nonEmpty |= 1 << q.class
	} else {
		n.qps[l.tail].next = i
	}
	l.tail = i
}

// popReady takes the first queue pair of a class.
func (n *NIC) popReady(class int) int32 {
	l := &n.ready[class]
	i := l.head
	l.head = n.qps[i].next
	if l.head == 0 {
		l.tail = 0
		if n.waiting&(1<<class) == 0 {
			n.ports[0].nonEmpty &^= 1 << class
		}
	}
	return i
}

func (n *NIC) inFlight(q *qp) units.Bytes {
	return units.Bytes(q.seq-q.una) * n.ways[q.way].Payload
}

func (n *NIC) sendPacket(now units.Time, p *port, i int32, q *qp, size uint16) {
	f := &n.out
	// Field by field: see Switch.describe. The driver sets what is left out.
	f.Flow, f.Seq, f.Hash, f.Dst, f.Size = q.flow, q.seq, q.hash, q.dst, size
	f.Meta, f.Flags = packet.MakeMeta(packet.Data, q.class), q.flags
	way := &n.ways[q.way]
	if units.Bytes(q.seq)*way.Payload < n.bdp {
		f.Flags |= packet.Unscheduled
	}
	// A window shorter than the interval of ACKs would wait for the timeout: as in
	// InfiniBand, the packet that fills it asks for its ACK.
	if way.AckEvery > 1 && n.inFlight(q)+way.Payload >= q.ctl.Window(now) {
		f.Flags |= packet.AckNow
	}
	if q.seq < q.high {
		f.Flags |= packet.Retransmit
		n.flows.Send[q.flow].Resent++
		n.Stats.Resent++
	}
	q.seq++
	q.high = max(q.high, q.seq)
	n.leave(now, p, f, int(q.class))
	q.ctl.OnSend(now, units.Bytes(size))
	n.paced(now, p, q, size)
	if q.rtoAt == units.Never {
		q.rtoAt = now + q.rto
	}
	n.armSoft(i, q)
	switch {
	case q.seq == q.total:
		q.state = qpIdle
	case n.inFlight(q) >= q.ctl.Window(now):
		q.state = qpFull
	default:
		n.queue(now, i, q)
	}
	p.sched.Sent(int(q.class), units.Bytes(size), n.ready[q.class].head == 0)
}

// paced computes when pacing allows the next packet.
func (n *NIC) paced(now units.Time, p *port, q *qp, size uint16) {
	rate := q.ctl.Rate(now)
	if rate >= p.spec.Rate {
		q.nextAt = p.busy
	} else {
		q.nextAt = now + rate.TxTime(units.Bytes(size)+p.spec.WireOverhead)
	}
}

// queue puts a queue pair that may send where it belongs: into the ready list if
// its time will have come when the wire is free, else into the pace heap.
func (n *NIC) queue(now units.Time, i int32, q *qp) {
	if q.nextAt <= max(now, n.ports[0].busy) {
		n.makeReady(i, q)
		return
	}
	q.state = qpPaced
	if n.pace.push(q.nextAt, i) {
		n.drv.ArmPace(n.pace.next())
	}
}

// armSoft makes sure that the soft heap has an entry no later than needed. An
// entry that comes up early is pushed again, so that progress costs nothing.
func (n *NIC) armSoft(i int32, q *qp) {
	at := q.rtoAt
	if q.timed != nil {
		at = min(at, q.timed.NextTimer())
	}
	if q.softAt <= at {
		return
	}
	q.softAt = at
	n.soft.push(at, i)
	n.wakes.set(softWake, n.soft.next())
}

func (n *NIC) softTimers(now units.Time) {
	for n.soft.next() <= now {
		at := n.soft.next()
		i := n.soft.pop()
		q := &n.qps[i]
		if at != q.softAt {
			continue // an earlier entry took its place
		}
		q.softAt = units.Never
		if q.state == qpFree || q.done {
			continue
		}
		if q.timed != nil && q.timed.NextTimer() <= now {
			q.timed.OnTimer(now)
			n.reconsider(now, i, q)
		}
		if q.rtoAt <= now {
			n.timeout(now, i, q)
		}
		n.armSoft(i, q)
	}
	n.wakes.set(softWake, n.soft.next())
}

// timeout sends everything from the first unacknowledged packet on again.
func (n *NIC) timeout(now units.Time, i int32, q *qp) {
	n.flows.Send[q.flow].Timeouts++
	n.Stats.Timeouts++
	n.report(now, q.flow, probe.FlowTimeout)
	q.rto = min(2*q.rto, n.ways[q.way].MaxTimeout)
	q.rtoAt = units.Never
	q.ctl.OnLoss(now, true)
	n.goBack(now, i, q)
}

// goBack restarts a queue pair at its first unacknowledged packet.
func (n *NIC) goBack(now units.Time, i int32, q *qp) {
	q.seq = q.una
	n.reconsider(now, i, q)
}

// reconsider queues a queue pair that had nothing to send or no window.
func (n *NIC) reconsider(now units.Time, i int32, q *qp) {
	if (q.state == qpIdle || q.state == qpFull) && q.seq < q.total && n.inFlight(q) < q.ctl.Window(now) {
		n.queue(now, i, q)
	}
}

// acknowledged takes an ACK or NACK.
func (n *NIC) acknowledged(now units.Time, p *packet.Packet, ext packet.Ext) {
	i := n.flows.slot[p.Flow]
	if i == 0 {
		return // of a flow that is complete: a duplicate
	}
	q := &n.qps[i]
	fresh := units.Bytes(0)
	if p.Seq > q.una {
		fresh = units.Bytes(p.Seq-q.una) * units.Bytes(q.fullSize)
		q.una = p.Seq
		q.seq = max(q.seq, q.una)
		q.rto = n.ways[q.way].Timeout
		q.rtoAt = now + q.rto
		if q.una == q.seq {
			q.rtoAt = units.Never
		}
		n.armSoft(i, q) // after timeouts, progress makes the next one due earlier
	}
	if q.una == q.total {
		n.finish(now, i, q)
		return
	}
	// Field by field: see Switch.describe.
	n.ack.Seq, n.ack.Next, n.ack.Bytes = p.Seq, q.seq, fresh
	n.ack.CE = p.Flags&packet.CE != 0
	n.ack.Nack = p.Kind() == packet.Nack && p.Seq == q.una
	n.ack.Telemetry = ext
	if n.ack.Nack {
		q.ctl.OnLoss(now, false)
		q.seq = q.una
		q.rtoAt = units.Never
	}
	if n.ack.CE && n.ways[q.way].CNP == CNPInAck {
		q.ctl.OnCNP(now)
	}
	if q.moves {
		n.react(now, i, q, func() { q.ctl.OnAck(now, &n.ack) })
		return
	}
	q.ctl.OnAck(now, &n.ack)
	if q.timed != nil {
		n.armSoft(i, q)
	}
	n.reconsider(now, i, q)
}

// react lets the control see an event and, for a Repacer, moves the send time by
// the change of its rate.
func (n *NIC) react(now units.Time, i int32, q *qp, event func()) {
	if !q.moves {
		event()
	} else {
		before := q.ctl.Rate(now)
		event()
		if after := q.ctl.Rate(now); after != before {
			size := units.Bytes(q.fullSize)
			q.nextAt += after.TxTime(size) - before.TxTime(size)
			if q.state == qpPaced {
				n.pace.move(max(now, q.nextAt), i)
				n.drv.ArmPace(n.pace.next())
			}
		}
	}
	if q.timed != nil {
		n.armSoft(i, q)
	}
	n.reconsider(now, i, q)
}

// finish closes a queue pair whose last ACK has arrived.
func (n *NIC) finish(now units.Time, i int32, q *qp) {
	n.flows.Send[q.flow].Acked = now
	if n.checks != nil {
		n.checks.finished(now, n.flows, q.flow)
	}
	n.flows.slot[q.flow] = 0
	n.Stats.Finished++
	n.report(now, q.flow, probe.FlowAcked)
	q.done = true
	if q.state == qpIdle || q.state == qpFull {
		n.free(i, q)
	} // else: freed when its list or heap comes to it
	if n.flows.wait != nil {
		n.release(now, q.flow)
	}
}

func (n *NIC) free(i int32, q *qp) {
	q.state = qpFree
	n.idle[q.way] = append(n.idle[q.way], i)
}
