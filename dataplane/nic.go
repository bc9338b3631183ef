package dataplane

import (
	"github.com/xoff-net/xoff/buffer"
	"github.com/xoff-net/xoff/cc"
	"github.com/xoff-net/xoff/flowctl"
	"github.com/xoff-net/xoff/mmu"
	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/probe"
	"github.com/xoff-net/xoff/route"
	"github.com/xoff-net/xoff/sched"
	"github.com/xoff-net/xoff/units"
)

// NICDriver is the driver of a NIC, which has two timers more than a switch.
type NICDriver interface {
	Driver
	// ArmPace asks for Pace, ArmStart for StartFlows; the last call counts, Never
	// disarms.
	ArmPace(at units.Time)
	ArmStart(at units.Time)
}

// Transport is how a group of flows is carried.
type Transport struct {
	Control    cc.Factory
	Payload    units.Bytes // of a full packet
	Header     units.Bytes // of every data packet
	AckSize    units.Bytes
	AckEvery   int   // packets per ACK
	AckClass   uint8 // class of ACK, NACK and CNP
	CNP        CNPMode
	CNPEvery   units.Time // shortest time between two CNPs of a flow
	NackEvery  units.Time // shortest time between two NACKs for the same gap
	Timeout    units.Time // without progress, before everything is sent again
	MaxTimeout units.Time // bound of the doubling after each timeout
}

// CNPMode says how marks come back to the sender.
type CNPMode uint8

// Modes.
const (
	CNPFrame CNPMode = iota // a CNP frame, at most one per flow and CNPEvery
	CNPInAck                // echoed in the ACK of the marked packet
)

// NICSpec describes a host's NIC.
type NICSpec struct {
	Name       string
	Node       uint16
	Port       flowctl.PortSpec
	Flow       flowctl.Scheme
	Scheduler  sched.Scheduler
	Kinds      [mmu.Classes]mmu.Kind
	Transports []Transport
	BaseRTT    units.Time // of the longest path, for windows and unscheduled marks
	Receive    ReceiveSpec
	Flows      *Flows
	Starts     []uint32 // flows of this host in order of their start
	Sink       probe.Sink
	Checks     *Checks
}

// NIC is a host: queue pairs that send, and the receiving end of others'.
type NIC struct {
	node
	drv     NICDriver
	id      uint16
	kinds   [mmu.Classes]mmu.Kind
	ways    []Transport
	bdp     units.Bytes
	rtt     units.Time
	flows   *Flows
	starts  []uint32 // flows that have not started, by start
	qps     []qp
	idle    [][]int32 // unused queue pairs, by transport
	ready   [mmu.Classes]flowList
	replies [mmu.Classes]ring // ACK, NACK, CNP waiting to leave
	waiting uint8             // classes with replies
	pace    timerHeap         // queue pairs that wait for their send time
	soft    timerHeap         // queue pairs with a timeout or a timer of their control
	receive *receiver
	ack     cc.Ack
	out     packet.Packet // scratch
	Stats   NICStats
}

// NICStats counts what happened at a host.
type NICStats struct {
	Finished uint64 // flows whose last ACK arrived
	Resent   uint64
	Timeouts uint64
	Nacks    uint64 // sent
	CNPs     uint64 // sent, or marks echoed
}

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

// NewNIC builds a NIC. Its wake components are: receiver, gate, receive buffer.
func NewNIC(spec *NICSpec, drv NICDriver) (*NIC, error) {
	n := &NIC{
		drv: drv, id: spec.Node, kinds: spec.Kinds, ways: spec.Transports, rtt: spec.BaseRTT, flows: spec.Flows,
		starts: spec.Starts, idle: make([][]int32, len(spec.Transports)), bdp: spec.Port.Rate.In(spec.BaseRTT),
	}
	n.node = node{drv: drv, ports: make([]port, 1), wakes: newWakes(components), sink: spec.Sink, checks: spec.Checks, serve: n.serveNIC}
	n.qps = make([]qp, 1) // queue pair 0 means "none"
	ledger := mmu.NewLedger(spec.Receive.layout(spec.Kinds))
	n.view = ledger.View()
	policy, err := buffer.Policies.Get("static")
	if err != nil {
		return nil, err
	}
	if n.policy, err = policy.New(&buffer.StaticParams{Limit: max(1, spec.Receive.Xoff)}, buffer.Env{View: n.view}); err != nil {
		return nil, err
	}
	n.initPort(0, spec.Port, spec.Flow)
	n.ports[0].sched = spec.Scheduler
	n.receive = newReceiver(n, &spec.Receive, ledger, spec.Flow)
	n.armStart()
	return n, nil
}

// Start begins the run.
func (n *NIC) Start(now units.Time) {
	if n.receive != nil {
		n.receive.start()
	}
	n.wakes.dirty = true
	n.settle(now)
}

func (n *NIC) armStart() {
	at := units.Never
	if len(n.starts) > 0 {
		at = n.flows.Flow[n.starts[0]].Start
	}
	n.drv.ArmStart(at)
}

// StartFlows opens a queue pair for each flow that starts now.
func (n *NIC) StartFlows(now units.Time) {
	n.tick(now)
	for len(n.starts) > 0 && n.flows.Flow[n.starts[0]].Start <= now {
		n.open(now, n.starts[0])
		n.starts = n.starts[1:]
	}
	n.armStart()
	n.kick(now)
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
	q.ctl.Start(now, &cc.Flow{Line: n.ports[0].spec.Rate, MTU: units.Bytes(q.fullSize), BaseRTT: n.rtt})
	n.flows.slot[flow] = i
	if q.timed != nil {
		n.armSoft(i, q)
	}
	n.makeReady(i, q)
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

// tick opens an event.
func (n *NIC) tick(now units.Time) {
	if n.checks != nil {
		n.checks.event(now, nil)
	}
}

// kick sends if the wire is free, and ends the event.
func (n *NIC) kick(now units.Time) {
	n.start(now, &n.ports[0])
	if len(n.todo) != 0 || n.wakes.dirty {
		n.settle(now)
	}
}

// Pace follows the send time of one or more queue pairs.
func (n *NIC) Pace(now units.Time) {
	n.tick(now)
	for n.pace.next() <= now {
		i := n.pace.pop()
		q := &n.qps[i]
		if q.done {
			n.free(i, q)
			continue
		}
		n.makeReady(i, q)
	}
	n.drv.ArmPace(n.pace.next())
	n.kick(now)
}

// TxDone follows the last bit of a frame when more was waiting.
func (n *NIC) TxDone(now units.Time, _ int) {
	n.tick(now)
	n.ports[0].armed = false
	n.serveNIC(now, &n.ports[0])
	if len(n.todo) != 0 || n.wakes.dirty {
		n.settle(now)
	}
}

// serveNIC sends the next frame: flow control first, then replies, then data.
func (n *NIC) serveNIC(now units.Time, p *port) {
	if p.speaking != 0 && n.speak(now, p) {
		n.more(p)
		return
	}
	eligible := p.nonEmpty &^ p.blocked
	for eligible != 0 {
		reply := eligible & n.waiting
		var class int
		if reply != 0 {
			class = lowest(reply)
		} else {
			class = p.sched.Pick(eligible)
		}
		bit := uint8(1) << class
		sent := false
		if reply != 0 {
			sent = n.sendReply(now, p, class)
		} else {
			sent = n.sendData(now, p, class)
		}
		if sent {
			n.more(p)
			return
		}
		eligible &^= bit
		if reply == 0 {
			eligible &= p.nonEmpty
		}
	}
}

func (n *NIC) more(p *port) {
	if p.speaking != 0 || p.nonEmpty&^p.blocked != 0 {
		p.armed = true
		n.drv.ArmTx(0, p.busy)
	}
}

// may asks the meter of the gate, if the class has one.
func (n *NIC) may(now units.Time, p *port, class int, size uint16) bool {
	return p.metered&(1<<class) == 0 || p.meter.May(now, uint8(class), units.Bytes(size))
}

func (n *NIC) sendReply(now units.Time, p *port, class int) bool {
	r := &n.replies[class]
	f := r.front()
	if !n.may(now, p, class, f.Size) {
		return false
	}
	r.pop()
	if r.empty() {
		n.waiting &^= 1 << class
		if n.ready[class].head == 0 {
			p.nonEmpty &^= 1 << class
		}
	}
	n.leave(now, p, f, class)
	return true
}

// sendData sends a packet of the next queue pair of a class that may send.
func (n *NIC) sendData(now units.Time, p *port, class int) bool {
	for n.ready[class].head != 0 {
		i := n.ready[class].head
		q := &n.qps[i]
		switch {
		case q.done:
			n.popReady(class)
			n.free(i, q)
			continue
		case q.seq >= q.total:
			n.popReady(class)
			q.state = qpIdle
			continue
		case n.inFlight(q) >= q.ctl.Window(now):
			n.popReady(class)
			q.state = qpFull
			continue
		}
		size := q.fullSize
		if q.seq+1 == q.total {
			size = q.lastSize
		}
		if !n.may(now, p, class, size) {
			return false
		}
		n.popReady(class)
		n.sendPacket(now, p, i, q, size)
		return true
	}
	return false
}

func (n *NIC) inFlight(q *qp) units.Bytes {
	return units.Bytes(q.seq-q.una) * n.ways[q.way].Payload
}

func (n *NIC) sendPacket(now units.Time, p *port, i int32, q *qp, size uint16) {
	f := &n.out
	*f = packet.Packet{Flow: q.flow, Seq: q.seq, Hash: q.hash, Dst: q.dst, Size: size, Meta: packet.MakeMeta(packet.Data, q.class), Flags: q.flags}
	if units.Bytes(q.seq)*n.ways[q.way].Payload < n.bdp {
		f.Flags |= packet.Unscheduled
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

// leave puts a data packet or reply on the wire and into the books.
func (n *NIC) leave(now units.Time, p *port, f *packet.Packet, class int) {
	if n.checks != nil {
		n.checks.leaves(now, p, f)
	}
	if p.metered&(1<<class) != 0 {
		p.meter.Sent(now, uint8(class), units.Bytes(f.Size))
	}
	p.busy = now + p.txTime(f.Size)
	n.depart(now, p, f)
	n.drv.Transmit(0, f, nil, p.busy)
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

// Wake components of a NIC, after the receiver and the gate of its port.
const (
	softWake  = 2 + iota // timers of queue pairs
	rxWake               // the receive buffer
	stormWake            // stuck times of the receive buffer
	components
)

// Wake runs the components whose time has come.
func (n *NIC) Wake(now units.Time) {
	n.tick(now)
	for left := n.wakes.components(); ; left-- {
		id, ok := n.wakes.pop(now, left)
		if !ok {
			break
		}
		switch id {
		case softWake:
			n.softTimers(now)
		case rxWake:
			n.receive.wake(now)
		case stormWake:
			n.receive.turn(now)
		default:
			n.wake(now, id)
		}
	}
	n.wakes.dirty = true
	n.kick(now)
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

// Arrive takes a frame whose last bit has arrived. The packet is read-only.
func (n *NIC) Arrive(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	if n.sink != nil {
		n.sink.Arrive(now, in, p)
	}
	n.tick(now)
	switch {
	case p.Control():
		n.control(now, in, p, ext)
		n.settle(now)
		return
	case n.receive != nil:
		n.receive.arrive(now, p, ext)
	default:
		n.accept(now, p, ext)
	}
	n.kick(now)
}

// accept hands a frame to its queue pair, sending or receiving.
func (n *NIC) accept(now units.Time, p *packet.Packet, ext packet.Ext) {
	switch p.Kind() {
	case packet.Data:
		n.data(now, p)
	case packet.CNP:
		if i := n.flows.slot[p.Flow]; i != 0 {
			q := &n.qps[i]
			n.react(now, i, q, func() { q.ctl.OnCNP(now) })
		}
	default:
		n.acknowledged(now, p, ext)
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
	n.flows.slot[q.flow] = 0
	n.Stats.Finished++
	q.done = true
	if q.state == qpIdle || q.state == qpFull {
		n.free(i, q)
	} // else: freed when its list or heap comes to it
}

func (n *NIC) free(i int32, q *qp) {
	q.state = qpFree
	n.idle[q.way] = append(n.idle[q.way], i)
}

// data takes a data packet: go-back-N accepts only the next one in order.
func (n *NIC) data(now units.Time, p *packet.Packet) {
	f := &n.flows.Flow[p.Flow]
	r := &n.flows.Recv[p.Flow]
	way := &n.ways[f.Transport]
	if n.checks != nil && (f.Dst != n.id || p.Dst != n.id) {
		n.checks.fail(now, "host %d got a packet of flow %d for host %d", n.id, p.Flow, f.Dst)
	}
	marked := p.Flags&packet.CE != 0
	if marked {
		n.notify(now, p, r, way)
	}
	switch {
	case p.Seq == r.Next:
		r.Next++
		r.unacked++
		total := uint32((f.Size + way.Payload - 1) / way.Payload)
		if r.Next == total {
			r.Delivered = now
		}
		if int(r.unacked) >= way.AckEvery || r.Next == total || marked && way.CNP == CNPInAck {
			r.unacked = 0
			n.reply(p, packet.Ack, way, r.Next, marked)
		}
	case p.Seq > r.Next:
		r.Early++
		if r.nacked != r.Next+1 || now-r.lastNack >= way.NackEvery {
			r.nacked, r.lastNack = r.Next+1, now
			n.Stats.Nacks++
			n.reply(p, packet.Nack, way, r.Next, marked)
		}
	default:
		r.Twice++
		n.reply(p, packet.Ack, way, r.Next, marked)
	}
}

// notify sends the mark of a packet back, in the way the transport says.
func (n *NIC) notify(now units.Time, p *packet.Packet, r *RecvResult, way *Transport) {
	if way.CNP == CNPInAck {
		n.Stats.CNPs++
		return
	}
	if r.lastCNP == 0 || now-(r.lastCNP-1) >= way.CNPEvery {
		r.lastCNP = now + 1
		n.Stats.CNPs++
		n.reply(p, packet.CNP, way, r.Next, false)
	}
}

// reply queues an ACK, NACK or CNP for the source of a packet.
func (n *NIC) reply(p *packet.Packet, kind packet.Kind, way *Transport, seq uint32, marked bool) {
	f := packet.Packet{
		Flow: p.Flow, Seq: seq, Hash: route.Mix(p.Hash ^ replySalt), Dst: n.flows.Flow[p.Flow].Src,
		Size: uint16(way.AckSize), Meta: packet.MakeMeta(kind, way.AckClass), Flags: p.Flags & packet.Pinned,
	}
	if marked {
		f.Flags |= packet.CE
	}
	n.replies[way.AckClass].push(&f)
	n.waiting |= 1 << way.AckClass
	n.ports[0].nonEmpty |= 1 << way.AckClass
}

// replySalt makes the ECMP hash of the reverse direction another one.
const replySalt = 0x9e3779b9
