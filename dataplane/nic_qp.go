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
	qpIdle  uint8 = iota // everything sent, or nothing known to do
	qpReady              // in the ready list of its class
	qpPaced              // in the pace heap
	qpFull               // its window is full
	qpFree               // not in use
)

// qp is the sending side of a flow.
type qp struct {
	// What only sending needs. Slices of what has pointers begin 8 bytes into a cache
	// line, so this part ends with one.
	nextAt   units.Time // when pacing allows the next packet
	paceAt   units.Time // as softAt, in the pace heap
	board    *board     // nil when nothing is remembered of single packets (not Transport.clocked)
	flow     uint32
	next     int32  // in the ready list
	high     uint32 // packets ever sent
	recover  uint32 // go-back-N: a loss was reported, and its recovery lasts until all before this packet is acknowledged
	hash     uint32
	dst      uint16
	lastSize uint16 // frame size of the last packet
	fullSize uint16
	sentSize uint16 // of the last packet sent
	class    uint8
	flags    packet.Flags
	_        [2]byte

	// What ACKs need, too: one cache line.
	ctl    cc.Control
	way    *Transport
	rtoAt  units.Time  // when a timeout is due; Never when nothing is unacknowledged
	softAt units.Time  // of its entry in the soft heap that counts; Never when there is none
	window units.Bytes // of ctl, as it was after the last event
	seq    uint32      // next packet to send; with selective repeat, the next one never sent
	una    uint32      // first unacknowledged packet
	total  uint32      // packets of the flow
	state  uint8
	done   bool
	late   bool // there was a timeout since the last progress
	_      byte

	rto units.Time // current timeout, doubled by each
}

var _ = [1]struct{}{}[unsafe.Offsetof(qp{}.ctl)-56+unsafe.Sizeof(qp{})-128]

// open prepares the queue pair of a flow.
func (n *NIC) open(now units.Time, flow uint32) {
	f := &n.flows.Flow[flow]
	i := n.allocate(f.Transport)
	way := &n.ways[f.Transport]
	q := &n.qps[i]
	packets := (f.Size + way.Payload - 1) / way.Payload
	last := f.Size - (packets-1)*way.Payload
	*q = qp{
		nextAt: now, rtoAt: units.Never, rto: way.Timeout, ctl: q.ctl, softAt: q.softAt, paceAt: q.paceAt, board: q.board,
		flow: flow, total: uint32(packets), hash: f.Hash, dst: f.Dst,
		lastSize: uint16(last + way.Header), fullSize: uint16(way.Payload + way.Header), class: f.Class, way: way,
	}
	if f.Pinned {
		q.flags = packet.Pinned
	}
	if way.records {
		q.flags |= packet.Telemetry
	}
	if q.board != nil {
		q.board.start(way.Recovery == SACK)
	}
	n.about = cc.Flow{Line: n.ports[0].spec.Rate, MTU: units.Bytes(q.fullSize), MSS: way.Payload, BaseRTT: n.rtt, ID: flow}
	if n.sink != nil {
		n.about.Events = (*flowEvents)(n)
	}
	q.ctl.Start(now, &n.about)
	q.window = q.ctl.Window(now)
	n.flows.slot[flow] = i
	if q.way.timed {
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

func (n *NIC) allocate(way uint8) int32 {
	free := n.freeQPs[way]
	if len(free) > 0 {
		i := free[len(free)-1]
		n.freeQPs[way] = free[:len(free)-1]
		return i
	}
	ctl := n.ways[way].Control()
	q := qp{ctl: ctl, softAt: units.Never, paceAt: units.Never}
	if n.ways[way].clocked {
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

// popReady takes the first queue pair of a class.
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

// inFlight returns what is in the network, as far as the sender knows.
func (q *qp) inFlight() units.Bytes {
	packets := q.seq - q.una
	if q.way.selective {
		packets = q.board.pipe
	}
	return units.Bytes(packets) * q.way.Payload
}

// hasMore reports whether there is a packet to send, new or again.
func (q *qp) hasMore() bool { return q.seq < q.total || q.way.selective && q.board.lost > 0 }

// full reports whether the window, or that of the receiver, lets nothing more be
// sent.
func (q *qp) full() bool {
	if q.way.selective && q.board.lost == 0 && q.seq-q.una >= q.way.Window {
		return true
	}
	return q.inFlight() >= q.window
}

// nextPacket returns the number of the packet to send next: lost ones come first.
func (q *qp) nextPacket() uint32 {
	if q.way.selective && q.board.lost > 0 {
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
	// Field by field: see Switch.describe. The driver sets what is left out.
	f.Flow, f.Seq, f.Hash, f.Dst, f.Size = q.flow, seq, q.hash, q.dst, size
	f.Meta, f.Flags = packet.MakeMeta(packet.Data, q.class), q.flags
	way := q.way
	if units.Bytes(seq)*way.Payload < n.bdp {
		f.Flags |= packet.Unscheduled
	}
	// A window shorter than the interval of ACKs would wait for the timeout: as in
	// InfiniBand, the packet that fills it asks for its ACK.
	again := seq < q.high
	if way.AckEvery > 1 && (q.inFlight()+way.Payload >= q.window || q.way.selective && (again || seq-q.una+1 >= way.Window)) {
		f.Flags |= packet.AckNow
	}
	if again {
		f.Flags |= packet.Retransmit
		n.flows.Send[q.flow].Resent++
		n.Stats.Resent++
	}
	if q.board != nil {
		q.board.note(now, seq, q.una, again, q.way.selective)
	}
	ext := packet.Ext(nil)
	if again && way.stamped {
		n.left[0] = uint64(now)
		f.Flags |= packet.Extended
		ext = n.left[:]
	}
	if seq == q.seq {
		q.seq++
	}
	q.high = max(q.high, q.seq)
	q.sentSize = size
	if n.watched && n.flowEnds != nil {
		n.flowEnds.Sends(q.flow, q.nextAt)
	}
	n.leave(now, p, f, ext, int(q.class))
	q.ctl.OnSend(now, units.Bytes(size))
	n.paced(now, p, q, size)
	if n.watched {
		n.tellMay(now, q)
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

// queue puts a queue pair that may send where it belongs: into the ready list if
// its time will have come when the wire is free, else into the pace heap.
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

// pushPace puts a queue pair into the pace heap, where it may have an entry that
// is too late now. It reports whether it is the earliest.
func (n *NIC) pushPace(i int32, q *qp) bool {
	q.paceAt = q.nextAt
	return n.paceHeap.push(q.nextAt, i)
}

// armSoft makes sure that the soft heap has an entry no later than needed. An
// entry that comes up early is pushed again, so that progress costs nothing.
func (n *NIC) armSoft(i int32, q *qp) {
	at := q.rtoAt
	if q.way.timed {
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
			continue // an earlier entry took its place
		}
		q.softAt = units.Never
		if q.state == qpFree || q.done {
			continue
		}
		if q.way.timed {
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

// timeout sends everything from the first unacknowledged packet on again.
func (n *NIC) timeout(now units.Time, i int32, q *qp) {
	n.flows.Send[q.flow].Timeouts++
	n.Stats.Timeouts++
	n.reportFlow(now, q.flow, probe.FlowTimeout)
	n.tellLost(now, q)
	q.late, q.rto = true, min(2*q.rto, q.way.MaxTimeout)
	q.rtoAt = units.Never
	q.ctl.OnLoss(now, true)
	if q.way.selective {
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

// reconsider follows every event that the control was told of, but for sending: it
// notes the window, and queues a queue pair that had nothing to send or no window.
func (n *NIC) reconsider(now units.Time, i int32, q *qp) {
	q.window = q.ctl.Window(now)
	if n.watched {
		n.tellMay(now, q)
	}
	if n.scan == nil && (q.state == qpIdle || q.state == qpFull) && q.hasMore() && !q.full() {
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
	if q.way.selective {
		n.selectivelyAcknowledged(now, i, q, p, ext)
		return
	}
	// Field by field, here and in feedback: see Switch.describe.
	n.ack.Bytes, n.ack.RTT, n.ack.Nack, n.ack.Telemetry = 0, 0, false, ext
	if q.way.stamped {
		n.ack.Telemetry = nil
	}
	if p.Seq > q.una {
		n.ack.Bytes = q.payload(q.una, p.Seq)
		if q.way.clocked && p.Kind() == packet.Ack {
			n.ack.RTT = q.roundTrip(now, p, ext)
		}
		q.una = p.Seq
		q.seq = max(q.seq, q.una)
		if q.late {
			q.late, q.rto = false, q.way.Timeout
		}
		q.rtoAt = now + q.way.Timeout
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
		n.tellLost(now, q)
		if q.una >= q.recover {
			q.recover = q.high
			q.ctl.OnLoss(now, false)
		}
		q.seq = q.una
		q.rtoAt = units.Never
	}
	n.feedback(now, i, q, p, before)
}

// roundTrip returns the round-trip time of the packet that caused an ACK of
// go-back-N, 0 when nobody knows. The ACK of a packet that was sent again has the
// time at which that left: without, a flow that lost something in every window
// would measure nothing any more, because all that its receiver takes was sent
// before.
func (q *qp) roundTrip(now units.Time, p *packet.Packet, ext packet.Ext) units.Time {
	switch {
	case p.Flags&packet.Retransmit == 0:
		return q.board.rtt(now, p.Seq-1)
	case q.way.stamped && len(ext) > 0:
		return now - units.Time(ext[0])
	}
	return 0
}

// feedback tells the control of an ACK or NACK that was taken into account; what
// the frame does not say is in n.ack already. Before is the rate of a Repacer
// before that.
func (n *NIC) feedback(now units.Time, i int32, q *qp, p *packet.Packet, before units.Rate) {
	n.ack.Seq, n.ack.Next = p.Seq, q.seq
	n.ack.Flight = q.inFlight()
	n.ack.CE = p.Flags&packet.CE != 0
	if n.ack.CE && q.way.CNP == CNPInAck {
		q.ctl.OnCNP(now)
	}
	if n.scan != nil && q.una == q.total { // the public simulators let the last ACK change the rate, too
		n.finishFlow(now, i, q)
	}
	q.ctl.OnAck(now, &n.ack)
	n.reacted(now, i, q, before)
}

// payload returns the bytes of packets from..to, the last of which may be short.
func (q *qp) payload(from, to uint32) units.Bytes {
	b := units.Bytes(to-from) * q.way.Payload
	if to == q.total {
		b -= units.Bytes(q.fullSize - q.lastSize)
	}
	return b
}

// rateOf returns the rate of a Repacer, and nothing of interest for others.
func (n *NIC) rateOf(now units.Time, q *qp) units.Rate {
	if !q.way.moves {
		return 0
	}
	return q.ctl.Rate(now)
}

// reacted follows an event that the control has seen. The send time of a Repacer
// moves by what the change of its rate makes of the spacing of the last packet.
func (n *NIC) reacted(now units.Time, i int32, q *qp, before units.Rate) {
	if q.way.moves && q.sentSize > 0 {
		if after := q.ctl.Rate(now); after != before {
			q.nextAt += n.wire.spacing(after, q.sentSize) - n.wire.spacing(before, q.sentSize)
			if q.state == qpPaced && q.nextAt < q.paceAt {
				// An entry that is too early comes up and is pushed again.
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
	if q.way.timed {
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
	} // else: freed when its list or heap comes to it
	if n.flows.wait != nil {
		n.releaseWaiters(now, q.flow)
	}
}

//go:noinline
func (n *NIC) free(i int32, q *qp) {
	q.state = qpFree
	n.freeQPs[q.way.index] = append(n.freeQPs[q.way.index], i)
}
