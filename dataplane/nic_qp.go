package dataplane

import (
	"unsafe"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/cc"
)

// flowList is a list of queue pairs linked by qp.next.
type flowList struct{ head, tail int32 }

// States of a queue pair.
const (
	qpIdle  uint8 = iota // nothing to send
	qpReady              // in the ready list of its class
	qpPaced              // in the pace heap
	qpFull               // its window is full
	qpFree               // not in use
)

// qp is a queue pair: the sending end of a flow.
type qp struct {
	// Fields needed only for sending. Slices of elements with pointers start 8 bytes into a
	// cache line, so this part ends at a cache line boundary.
	nextAt   units.Time // when pacing allows the next packet
	paceAt   units.Time // like softAt, for the pace heap
	board    *board     // nil if single packets are not tracked (Transport.clocked is false)
	flow     uint32
	next     int32  // next in the ready list
	high     uint32 // packets ever sent
	recover  uint32 // go-back-N: recovery lasts until all packets before this one are acknowledged
	hash     uint32
	dst      uint32
	lastSize uint16 // frame size of the last packet
	fullSize uint16
	sentSize uint16 // frame size of the packet sent last
	class    uint8
	flags    packet.Flags

	// Fields that ACKs need too: one cache line.
	ctl    cc.Control
	tr     *Transport
	rtoAt  units.Time  // when the retransmission timeout is due; Never if nothing is unacknowledged
	softAt units.Time  // time of its valid entry in the soft heap; Never: no entry
	window units.Bytes // window of ctl after the last event
	seq    uint32      // next packet to send; with selective repeat, the next one never sent
	una    uint32      // first unacknowledged packet
	total  uint32      // packets of the flow
	state  uint8
	done   bool
	late   bool // there was a timeout since the last progress
	plain  bool // tr is plain

	rto units.Time // current timeout, doubled by each expiry
}

var _ = [1]struct{}{}[unsafe.Offsetof(qp{}.ctl)-56+unsafe.Sizeof(qp{})-128]

// open sets up the queue pair of a flow.
func (n *NIC) open(now units.Time, flow uint32) {
	f := &n.flows.Flow[flow]
	i := n.allocate(f.Transport)
	tr := &n.transports[f.Transport]
	q := &n.qps[i]
	packets := (f.Size + tr.Payload - 1) / tr.Payload
	last := f.Size - (packets-1)*tr.Payload
	*q = qp{
		nextAt: now, rtoAt: units.Never, rto: tr.Timeout, ctl: q.ctl, softAt: q.softAt, paceAt: q.paceAt, board: q.board,
		flow: flow, total: uint32(packets), hash: f.Hash, dst: f.Dst,
		lastSize: uint16(last + tr.Header), fullSize: uint16(tr.Payload + tr.Header), class: f.Class, plain: tr.plain, tr: tr,
	}
	if f.Pinned {
		q.flags = packet.Pinned
	}
	if tr.records {
		q.flags |= packet.Telemetry
	}
	if q.board != nil {
		q.board.start(tr.Recovery == SACK)
	}
	n.flowInfo = cc.Flow{Line: n.ports[0].spec.Rate, MTU: units.Bytes(q.fullSize), MSS: tr.Payload, BaseRTT: n.rtt, ID: flow}
	if n.sink != nil {
		n.flowInfo.Events = (*flowEvents)(n)
	}
	q.ctl.Start(now, &n.flowInfo)
	q.window = q.ctl.Window(now)
	n.flows.slot[flow] = i
	if q.tr.timed {
		n.armSoft(i, q)
	}
	if n.scan != nil {
		n.scanAdd(i, q)
	} else {
		n.makeReady(i, q)
	}
	n.reportFlow(now, flow, probe.FlowStarts)
}

// reportFlow tells the probe about a flow.
func (n *NIC) reportFlow(now units.Time, flow uint32, what probe.FlowEvent) {
	if n.sink != nil {
		n.sink.Flow(now, flow, what)
	}
}

func (n *NIC) allocate(tr uint8) int32 {
	free := n.freeQPs[tr]
	if len(free) > 0 {
		i := free[len(free)-1]
		n.freeQPs[tr] = free[:len(free)-1]
		return i
	}
	ctl := n.transports[tr].Control()
	q := qp{ctl: ctl, softAt: units.Never, paceAt: units.Never}
	if n.transports[tr].clocked {
		q.board = &board{}
	}
	n.qps = append(n.qps, q)
	return int32(len(n.qps) - 1)
}

func (n *NIC) makeReady(i int32, q *qp) {
	q.state, q.next = qpReady, 0
	l := &n.ready[q.class&7]
	if l.tail == 0 {
		l.head = i
		n.ports[0].nonEmpty |= 1 << (q.class & 7)
	} else {
		n.qps[l.tail].next = i
	}
	l.tail = i
}

// popReady removes the first queue pair from the ready list of a class.
func (n *NIC) popReady(class int) int32 {
	l := &n.ready[class&7]
	i := l.head
	l.head = n.qps[i].next
	if l.head == 0 {
		l.tail = 0
		if !n.waiting.Has(uint8(class)) {
			n.ports[0].nonEmpty &^= 1 << (class & 7)
		}
	}
	return i
}

// inFlight returns the payload bytes that the sender estimates to be in flight.
func (q *qp) inFlight() units.Bytes {
	packets := q.seq - q.una
	if q.tr.selective {
		packets = q.board.pipe
	}
	return units.Bytes(packets) * q.tr.Payload
}

// hasMore reports whether there is a packet to send or retransmit.
func (q *qp) hasMore() bool { return q.seq < q.total || q.tr.selective && q.board.lost > 0 }

// full reports whether the congestion window or Transport.Window is full.
func (q *qp) full() bool {
	if q.tr.selective && q.board.lost == 0 && q.seq-q.una >= q.tr.Window {
		return true
	}
	return q.inFlight() >= q.window
}

// nextPacket returns the packet to send next; lost packets come first.
func (q *qp) nextPacket() uint32 {
	if q.tr.selective && q.board.lost > 0 {
		return q.board.nextLost(q.una)
	}
	return q.seq
}

func (q *qp) sizeOf(seq uint32) uint16 {
	if seq+1 == q.total {
		return q.lastSize
	}
	return q.fullSize
}

func (n *NIC) sendPacket(now units.Time, p *port, i int32, q *qp, seq uint32, size uint16) {
	f := &n.out
	// Field by field: see Switch.describe. The driver sets the other fields.
	f.Flow, f.Seq, f.Hash, f.To, f.Size = q.flow, seq, q.hash, q.dst, size
	f.Meta, f.Flags = packet.MakeMeta(packet.Data, q.class), q.flags
	tr := q.tr
	first := tr.First
	if first == 0 {
		first = n.bdp
	}
	if units.Bytes(seq)*tr.Payload < first {
		f.Flags |= packet.Unscheduled
	}
	// If the window is smaller than the ACK interval, the sender would wait for the timeout. As
	// in InfiniBand, the packet that fills the window requests an ACK.
	resent := seq < q.high
	if tr.AckEvery > 1 && (q.inFlight()+tr.Payload >= q.window || q.tr.selective && (resent || seq-q.una+1 >= tr.Window)) {
		f.Flags |= packet.AckNow
	}
	if resent {
		f.Flags |= packet.Retransmit
		n.flows.Send[q.flow].Resent++
		n.Stats.Resent++
	}
	if q.board != nil {
		q.board.noteSent(now, seq, q.una, resent, q.tr.selective)
	}
	ext := packet.Ext(nil)
	if resent && tr.stamped {
		n.stamp[0] = uint64(now)
		f.Flags |= packet.Extended
		ext = n.stamp[:]
	}
	if seq == q.seq {
		q.seq++
	}
	q.high = max(q.high, q.seq)
	q.sentSize = size
	if n.watched && n.flowEnds != nil {
		n.flowEnds.Sends(q.flow, q.nextAt)
	}
	n.transmit(now, p, f, ext, int(q.class))
	q.ctl.OnSend(now, units.Bytes(size))
	n.paced(now, p, q, size)
	if n.watched {
		n.reportSendable(now, q)
	}
	if q.rtoAt == units.Never {
		q.rtoAt = now + n.timeoutOf(q)
	}
	n.armSoft(i, q)
	if n.scan != nil {
		return
	}
	switch {
	case !q.hasMore():
		q.state = qpIdle
	case q.full():
		q.state = qpFull
	default:
		n.queue(now, i, q)
	}
	p.sched.Sent(int(q.class), units.Bytes(size), n.ready[q.class&7].head == 0)
}

// paced computes when pacing allows the next packet.
func (n *NIC) paced(now units.Time, p *port, q *qp, size uint16) {
	rate := q.ctl.Rate(now)
	if rate >= n.wire.rate {
		q.nextAt = p.busy
	} else {
		q.nextAt = now + n.wire.spacing(rate, size)
	}
}

// queue puts a queue pair that may send into the ready list if its send time comes before the
// wire is free, otherwise into the pace heap.
func (n *NIC) queue(now units.Time, i int32, q *qp) {
	if q.nextAt <= max(now, n.ports[0].busy) {
		n.makeReady(i, q)
		return
	}
	q.state = qpPaced
	if n.pushPace(i, q) {
		n.drv.ArmPace(n.paceHeap.next())
	}
}

// pushPace puts a queue pair into the pace heap and reports whether it is the earliest. An
// existing later entry becomes invalid.
func (n *NIC) pushPace(i int32, q *qp) bool {
	q.paceAt = q.nextAt
	return n.paceHeap.push(q.nextAt, i)
}

// armSoft ensures that the soft heap has an entry that is not too late. An early entry is
// pushed again when it fires, so that progress does not touch the heap.
func (n *NIC) armSoft(i int32, q *qp) {
	at := q.rtoAt
	if q.tr.timed {
		at = min(at, q.ctl.(cc.Timed).NextTimer())
	}
	if q.softAt <= at {
		return
	}
	q.softAt = at
	n.softHeap.push(at, i)
	n.wakes.set(softWake, n.softHeap.next())
}

func (n *NIC) softTimers(now units.Time) {
	for n.softHeap.next() <= now {
		at := n.softHeap.next()
		i := n.softHeap.pop()
		q := &n.qps[i]
		if at != q.softAt {
			continue // replaced by an earlier entry
		}
		q.softAt = units.Never
		if q.state == qpFree || q.done {
			continue
		}
		if q.tr.timed {
			if c := q.ctl.(cc.Timed); c.NextTimer() <= now {
				c.OnTimer(now)
				n.reconsider(now, i, q)
			}
		}
		if q.rtoAt <= now {
			n.timeout(now, i, q)
		}
		n.armSoft(i, q)
	}
	n.wakes.set(softWake, n.softHeap.next())
}

// timeout handles an expired retransmission timer.
func (n *NIC) timeout(now units.Time, i int32, q *qp) {
	n.flows.Send[q.flow].Timeouts++
	n.Stats.Timeouts++
	n.reportFlow(now, q.flow, probe.FlowTimeout)
	n.reportLost(now, q)
	q.late, q.rto = true, min(2*q.rto, q.tr.MaxTimeout)
	q.rtoAt = units.Never
	q.ctl.OnLoss(now, true)
	if q.tr.selective {
		n.loseAll(now, i, q)
	} else {
		n.goBack(now, i, q)
	}
}

// goBack restarts a queue pair at its first unacknowledged packet.
func (n *NIC) goBack(now units.Time, i int32, q *qp) {
	q.seq, q.recover = q.una, q.high
	n.reconsider(now, i, q)
}

// reconsider follows every call of the congestion control except OnSend. It updates the window
// and queues a queue pair that was idle or full and may send now.
func (n *NIC) reconsider(now units.Time, i int32, q *qp) {
	q.window = q.ctl.Window(now)
	if n.watched {
		n.reportSendable(now, q)
	}
	if n.scan == nil && (q.state == qpIdle || q.state == qpFull) && q.hasMore() && !q.full() {
		n.queue(now, i, q)
	}
}

// acknowledged handles an ACK or NACK.
func (n *NIC) acknowledged(now units.Time, p *packet.Packet, ext packet.Ext) {
	i := n.flows.slot[p.Flow]
	if i == 0 {
		return // the flow is complete: a duplicate
	}
	q := &n.qps[i]
	if q.tr.selective {
		n.selectivelyAcknowledged(now, i, q, p, ext)
		return
	}
	// Field by field, here and in feedback: see Switch.describe.
	n.ack.Bytes, n.ack.RTT, n.ack.Nack, n.ack.Telemetry = 0, 0, false, ext
	if q.tr.stamped {
		n.ack.Telemetry = nil
	}
	if p.Seq > q.una {
		n.ack.Bytes = q.payload(q.una, p.Seq)
		if q.tr.clocked && p.Kind() == packet.Ack {
			n.ack.RTT = q.roundTrip(now, p, ext)
		}
		q.una = p.Seq
		q.seq = max(q.seq, q.una)
		if q.late {
			q.late, q.rto = false, q.tr.Timeout
		}
		q.rtoAt = now + q.tr.Timeout
		if q.una == q.seq {
			q.rtoAt = units.Never
		}
		n.armSoft(i, q) // after timeouts, progress makes the next one due earlier
	}
	if q.una == q.total && n.scan == nil {
		n.finishFlow(now, i, q)
		return
	}
	before := n.rateOf(now, q)
	if p.Kind() == packet.Nack && p.Seq == q.una {
		n.ack.Nack = true
		n.reportLost(now, q)
		if q.una >= q.recover {
			q.recover = q.high
			q.ctl.OnLoss(now, false)
		}
		q.seq = q.una
		q.rtoAt = units.Never
	}
	n.feedback(now, i, q, p, before)
}

// roundTrip returns the round-trip time of the packet that caused an ACK of go-back-N, or 0 if it
// is unknown. The ACK of a retransmission carries its send time. Otherwise a flow with a loss in
// every window would never get a sample, because it delivers only retransmissions.
func (q *qp) roundTrip(now units.Time, p *packet.Packet, ext packet.Ext) units.Time {
	switch {
	case p.Flags&packet.Retransmit == 0:
		return q.board.rtt(now, p.Seq-1)
	case q.tr.stamped && len(ext) > 0:
		return now - units.Time(ext[0])
	}
	return 0
}

// feedback passes an ACK or NACK to the congestion control. The caller has filled in the fields
// of n.ack that the frame does not contain. before is the rate of a Repacer before the event.
func (n *NIC) feedback(now units.Time, i int32, q *qp, p *packet.Packet, before units.Rate) {
	n.ack.Seq, n.ack.Next = p.Seq, q.seq
	n.ack.Flight = q.inFlight()
	n.ack.CE = p.Flags&packet.CE != 0
	if n.ack.CE && q.tr.CNP == CNPInAck {
		q.ctl.OnCNP(now)
	}
	if n.scan != nil && q.una == q.total { // in the public simulators the last ACK also changes the rate
		n.finishFlow(now, i, q)
	}
	q.ctl.OnAck(now, &n.ack)
	n.reacted(now, i, q, before)
}

// payload returns the payload bytes of packets from..to-1; the last packet may be short.
func (q *qp) payload(from, to uint32) units.Bytes {
	b := units.Bytes(to-from) * q.tr.Payload
	if to == q.total {
		b -= units.Bytes(q.fullSize - q.lastSize)
	}
	return b
}

// rateOf returns the rate of a Repacer, and 0 for other algorithms.
func (n *NIC) rateOf(now units.Time, q *qp) units.Rate {
	if !q.tr.repaces {
		return 0
	}
	return q.ctl.Rate(now)
}

// reacted follows an event that the congestion control has handled. If the rate of a Repacer
// changed, its send time moves by the change in spacing of the last packet.
func (n *NIC) reacted(now units.Time, i int32, q *qp, before units.Rate) {
	if q.tr.repaces && q.sentSize > 0 {
		if after := q.ctl.Rate(now); after != before {
			q.nextAt += n.wire.spacing(after, q.sentSize) - n.wire.spacing(before, q.sentSize)
			if q.state == qpPaced && q.nextAt < q.paceAt {
				// An entry that fires too early is pushed again.
				q.nextAt = max(now, q.nextAt)
				if n.pushPace(i, q) {
					n.drv.ArmPace(n.paceHeap.next())
				}
			}
		}
		if n.scan != nil {
			n.scanMoved(now, q)
		}
	}
	if q.tr.timed {
		n.armSoft(i, q)
	}
	n.reconsider(now, i, q)
}

// finishFlow closes a queue pair whose last ACK has arrived.
func (n *NIC) finishFlow(now units.Time, i int32, q *qp) {
	n.flows.Send[q.flow].Acked = now
	if n.checks != nil {
		n.checks.finished(now, n.flows, q.flow)
	}
	n.flows.slot[q.flow] = 0
	n.Stats.Finished++
	n.reportFlow(now, q.flow, probe.FlowAcked)
	q.done = true
	if n.scan == nil && (q.state == qpIdle || q.state == qpFull) {
		n.free(i, q)
	} // otherwise freed when the list or heap reaches it
	if n.flows.wait != nil {
		n.releaseWaiters(now, q.flow)
	}
}

//go:noinline
func (n *NIC) free(i int32, q *qp) {
	q.state = qpFree
	n.freeQPs[q.tr.index] = append(n.freeQPs[q.tr.index], i)
}
