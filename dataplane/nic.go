package dataplane

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/sched"
)

// NICDriver is the driver of a NIC, which has two timers more than a switch.
type NICDriver interface {
	Driver
	// ArmPace asks for Pace, ArmStart for StartFlows; the last call counts, Never
	// disarms.
	ArmPace(at units.Time)
	// ArmStart also names the first flow that will start, for drivers that order
	// simultaneous starts of different hosts by it.
	ArmStart(at units.Time, flow uint32)
}

// Transport is how a group of flows is carried.
type Transport struct {
	Control    cc.Factory
	Payload    units.Bytes // of a full packet
	Header     units.Bytes // of every data packet
	AckSize    units.Bytes
	AckEvery   int   // packets per ACK
	AckClass   uint8 // class of ACK, NACK and CNP, or ClassOfData
	AckQueue   uint8 // queue of the host in which they wait, by the class that can pause it; ClassOfData: that of the data
	CNP        CNPMode
	CNPEvery   units.Time // shortest time between two CNPs of a flow
	NackEvery  units.Time // shortest time between two NACKs for the same gap
	Timeout    units.Time // without progress, before everything is sent again
	MaxTimeout units.Time // bound of the doubling after each timeout

	Recovery   Recovery
	Window     uint32     // SACK, IRN: packets from the first unacknowledged one on that may be sent
	MinTimeout units.Time // SACK: least timeout that follows from round-trip times; Timeout is that before the first
	LowTimeout units.Time // IRN: timeout when fewer than LowPackets are in the network
	LowPackets uint32

	index     uint8 // in NICSpec.Transports
	clocked   bool  // round-trip times are measured
	stamped   bool  // packets that are sent again carry the time
	records   bool  // packets collect telemetry
	selective bool  // recovery by selective repeat
	timed     bool  // the control has timers (cc.Timed)
	moves     bool  // changes of its rate move send times (cc.Repacer)
}

// ClassOfData as class of ACKs is that of the data which they acknowledge.
const ClassOfData uint8 = mmu.Classes

// queue returns where replies of a class wait.
func (t *Transport) queue(class uint8) uint8 {
	if t.AckQueue == ClassOfData {
		return class
	}
	return t.AckQueue
}

// Recovery says what is sent again after a loss.
type Recovery uint8

// Recoveries.
const (
	GoBackN Recovery = iota // everything from the lost packet on
	SACK                    // what selective ACKs show to be missing (RFC 6675)
	IRN                     // the same at the first sign (Mittal et al. 2018)
)

// threshold is how many later packets must have arrived before one is lost.
func (r Recovery) threshold() int {
	if r == IRN {
		return 1
	}
	return dupThreshold
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
	Port       link.Port
	Flow       flowctl.Scheme
	Scheduler  sched.Scheduler
	Kinds      [mmu.Classes]mmu.Kind
	Transports []Transport // completed by NewNIC; hosts with the same slice share it
	BaseRTT    units.Time  // of the longest path, for windows and unscheduled marks
	Receive    ReceiveSpec
	Flows      *Flows
	Starts     []uint32 // flows of this host that wait for no other, in order of their start
	Sink       probe.Sink
	Checks     *Checks
	Log        *PauseLog
	Scan       bool // choose queue pairs as the public simulators do (see scanner)
}

// NIC is a host: queue pairs that send, and the receiving end of others'.
type NIC struct {
	// There are many hosts, and each does little in a window: what packets need is
	// in as few cache lines as it fits.
	drv     NICDriver
	flows   *Flows
	ways    []Transport
	receive *receiver
	scan    *scanner // nil: lists of those that may send

	qps      []qp
	paceHeap timerHeap // queue pairs that wait for their send time
	bdp      units.Bytes
	waiting  packet.ClassMask // classes with replies
	_        [7]byte

	ready [mmu.Classes]flowList

	out  packet.Packet // scratch
	wire wire
	_    [8]byte

	ack cc.Ack // scratch
	node
	replies     [mmu.Classes]ring // ACK, NACK, CNP waiting to leave
	softHeap    timerHeap         // queue pairs with a timeout or a timer of their control
	freeQPs     [][]int32         // unused queue pairs, by transport
	id          uint16
	kinds       [mmu.Classes]mmu.Kind
	rtt         units.Time
	starts      []uint32               // flows that have not started, by start
	later       timerHeap              // flows that waited for others and may start
	answers     [mmu.Classes]wordQueue // extensions of replies that have one
	reorder     []reorder              // packets that came out of order, by RecvResult.held; 0 is unused
	freeReorder []int32                // unused ones
	sack        packet.Ext             // scratch, as are the next two
	about       cc.Flow
	left        [1]uint64  // extension of a packet that carries its time
	flowEnds    probe.Ends // what of the sink sees the ends of flows; nil: nothing does
	Stats       NICStats
}

// wire is what the pacing of every packet asks of the spec of the port.
type wire struct {
	rate     units.Rate
	overhead units.Bytes
	tick     units.Time
}

// spacing is how long a frame takes at a rate.
func (w *wire) spacing(r units.Rate, size uint16) units.Time {
	return link.TxTime(r, units.Bytes(size)+w.overhead, w.tick)
}

// NICStats counts what happened at a host.
type NICStats struct {
	Finished uint64 // flows whose last ACK arrived
	Resent   uint64
	Timeouts uint64
	Nacks    uint64 // sent
	CNPs     uint64 // sent, or marks echoed
}

// NewNIC builds a NIC. Its wake components are: receiver, gate, receive buffer.
func NewNIC(spec *NICSpec, drv NICDriver) (*NIC, error) {
	words := probe.WireOf(spec.Sink)
	if words != nil {
		drv = &nicTap{drv, words}
	}
	n := &NIC{
		drv: drv, id: spec.Node, kinds: spec.Kinds, ways: spec.Transports, rtt: spec.BaseRTT, flows: spec.Flows,
		starts: spec.Starts, freeQPs: make([][]int32, len(spec.Transports)), bdp: spec.Port.Rate.In(spec.BaseRTT),
		wire: wire{spec.Port.Rate, spec.Port.WireOverhead, spec.Port.Tick}, flowEnds: probe.EndsOf(spec.Sink),
	}
	n.node = node{drv: drv, ports: make([]port, 1), wakes: newWakes(components), fixed: components, sink: spec.Sink,
		checks: spec.Checks, watched: spec.Sink != nil || spec.Checks != nil, serve: n.serveNIC, log: spec.Log, words: words}
	if spec.Scan {
		n.scan, n.serve = &scanner{wake: units.Never}, n.serveScan
	}
	n.qps = make([]qp, 1) // queue pair 0 means "none"
	n.reorder = make([]reorder, 1)
	for i := range n.ways {
		way := &n.ways[i]
		way.index = uint8(i)
		control := way.Control()
		_, way.clocked = control.(cc.Clocked)
		_, way.records = control.(cc.Telemetry)
		way.stamped = way.clocked && way.Recovery == GoBackN && !way.records
		way.clocked = way.clocked || way.Recovery != GoBackN
		way.selective = way.Recovery != GoBackN
		_, way.timed = control.(cc.Timed)
		_, way.moves = control.(cc.Repacer)
	}
	// The receive buffer is a one-port switch: a static limit per class, the rest is
	// headroom.
	size, others := spec.Receive.size(&spec.Port, spec.Flow)
	ledger := mmu.NewLedger(mmu.Spec{Ports: 1, Size: size, Shared: size, Kinds: spec.Kinds})
	n.ledger, n.view = ledger, ledger.View()
	static, err := buffer.Policies.Get("static")
	if err != nil {
		return nil, err
	}
	limits, err := static.New(&buffer.StaticParams{Limit: max(1, spec.Receive.Xoff)}, buffer.Env{View: n.view})
	if err != nil {
		return nil, err
	}
	n.policy = &hostPolicy{Policy: limits, others: others}
	n.initPort(0, spec.Port, spec.Flow)
	n.ports[0].sched = spec.Scheduler
	if spec.Checks != nil && n.flows.given == nil {
		n.flows.given = make([]units.Bytes, len(n.flows.Flow))
	}
	n.receive = newReceiver(n, &spec.Receive, spec.Flow)
	n.armStart()
	n.attach(probedNIC{probedNode{&n.node}, n})
	return n, nil
}

// Start begins the run.
func (n *NIC) Start(now units.Time) {
	if n.receive != nil {
		n.receive.start()
	}
	n.wakes.dirty = true
	n.endEvent(now)
}

func (n *NIC) armStart() {
	at, flow := n.later.next(), uint32(0)
	if at != units.Never {
		flow = uint32(n.later.items[0].id)
	}
	if len(n.starts) > 0 && n.flows.Flow[n.starts[0]].Start <= at {
		at, flow = n.flows.Flow[n.starts[0]].Start, n.starts[0]
	}
	n.drv.ArmStart(at, flow)
}

// StartFlows opens a queue pair for each flow that starts now.
func (n *NIC) StartFlows(now units.Time) {
	n.tick(now)
	for len(n.starts) > 0 && n.flows.Flow[n.starts[0]].Start <= now {
		n.open(now, n.starts[0])
		n.starts = n.starts[1:]
		if n.scan != nil {
			break // it looks after each
		}
	}
	n.startReleased(now)
	n.armStart()
	n.kick(now)
}

// tick opens an event.
func (n *NIC) tick(now units.Time) {
	if n.watched && n.checks != nil {
		n.checks.event(now, nil)
	}
}

// kick sends if the wire is free, and ends the event.
func (n *NIC) kick(now units.Time) {
	if n.scan != nil {
		n.scanKick(now)
		return
	}
	// Not by way of node.serveOrWait, which does not know what it calls.
	switch p := &n.ports[0]; {
	case !p.wants():
	case p.busy > now:
		p.txPending = 1
		n.drv.ArmTx(0, p.busy)
	default:
		n.serveNIC(now, p)
	}
	n.endEvent(now)
}

// Pace follows the send time of one or more queue pairs.
func (n *NIC) Pace(now units.Time) {
	n.tick(now)
	if n.scan != nil {
		n.scan.wake = units.Never
		n.scanKick(now)
		return
	}
	for n.paceHeap.next() <= now {
		at := n.paceHeap.next()
		i := n.paceHeap.pop()
		q := &n.qps[i]
		if at != q.paceAt {
			continue // an earlier entry took its place
		}
		q.paceAt = units.Never
		switch {
		case q.done:
			n.free(i, q)
		case q.nextAt > now:
			n.pushPace(i, q) // its send time has moved
		default:
			n.makeReady(i, q)
		}
	}
	n.drv.ArmPace(n.paceHeap.next())
	n.kick(now)
}

// TxDone follows the last bit of a frame when more was waiting. It returns whether another
// one is pending.
func (n *NIC) TxDone(now units.Time, _ int) bool {
	n.tick(now)
	p := &n.ports[0]
	p.txPending = 0
	if n.scan != nil {
		n.serveScan(now, p)
	} else {
		n.serveNIC(now, p)
	}
	n.endEvent(now)
	return p.txPending != 0
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
			class = int(reply.Lowest())
		} else {
			class = p.sched.Pick(eligible)
		}
		bit := packet.MaskOf(uint8(class))
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
	if p.pending() != 0 {
		p.txPending = 1
		n.drv.ArmTx(0, p.busy)
	}
}

// may asks the meter of the gate, if the class has one. With ClassMask.Has it is too large to
// be inlined.
func (n *NIC) may(now units.Time, p *port, class int, size uint16) bool {
	return p.metered&(1<<(class&7)) == 0 || p.meter.May(now, uint8(class), units.Bytes(size))
}

func (n *NIC) sendReply(now units.Time, p *port, class int) bool {
	r := &n.replies[class&7]
	f := r.front()
	if !n.may(now, p, class, f.Size) {
		return false
	}
	r.pop()
	if r.empty() {
		n.waiting &^= 1 << (class & 7)
		if n.ready[class&7].head == 0 {
			p.nonEmpty &^= 1 << (class & 7)
		}
	}
	ext := packet.Ext(nil)
	if f.Flags&packet.Extended != 0 {
		ext = n.answers[class&7].pop()
	}
	n.leave(now, p, f, ext, int(f.Class()))
	return true
}

// sendData sends a packet of the next queue pair of a class that may send.
func (n *NIC) sendData(now units.Time, p *port, class int) bool {
	ready := &n.ready[class&7]
	for ready.head != 0 {
		i := ready.head
		q := &n.qps[i]
		switch {
		case q.done:
			n.popReady(class)
			n.free(i, q)
			continue
		case !q.hasMore():
			n.popReady(class)
			q.state = qpIdle
			continue
		case q.full():
			n.popReady(class)
			q.state = qpFull
			continue
		case q.way.moves && q.nextAt > now:
			n.popReady(class)
			n.queue(now, i, q)
			continue
		}
		seq := q.nextPacket()
		size := q.sizeOf(seq)
		if !n.may(now, p, class, size) {
			return false
		}
		n.popReady(class)
		n.sendPacket(now, p, i, q, seq, size)
		return true
	}
	return false
}

// leave puts a data packet or reply on the wire and into the books.
func (n *NIC) leave(now units.Time, p *port, f *packet.Packet, ext packet.Ext, class int) {
	if n.watched || p.metered != 0 {
		n.account(now, p, f, class)
	}
	p.count(f)
	p.busy = now + p.txTime(f.Size)
	n.drv.Transmit(0, f, ext, p.busy)
}

// account tells the checks, the meter and the probe of a frame that leaves.
func (n *NIC) account(now units.Time, p *port, f *packet.Packet, class int) {
	if n.checks != nil {
		n.checks.leaves(now, p, f)
	}
	if p.metered.Has(uint8(class)) {
		p.meter.Sent(now, uint8(class), units.Bytes(f.Size))
	}
	n.depart(now, p, f)
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
	n.wakes.each(now, func(id int) {
		switch id {
		case softWake:
			n.softTimers(now)
		case rxWake:
			n.receive.takeNext(now)
		case stormWake:
			n.receive.turn(now)
		default:
			n.wakeEnd(now, id)
		}
	})
	n.wakes.dirty = true
	n.kick(now)
}

// Arrive takes a frame whose last bit has arrived. The packet is read-only.
func (n *NIC) Arrive(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	if n.watched {
		n.observe(now, in, p, ext)
	}
	switch {
	case p.Control():
		n.control(now, in, p, ext)
		n.endEvent(now)
		return
	case n.receive != nil:
		n.receive.arrive(now, p, ext)
	default:
		n.accept(now, p, ext)
	}
	n.kick(now)
}

// observe reports an arrival to the probe and the checks.
func (n *NIC) observe(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	n.came(now, in, p, ext)
	n.tick(now)
}

// accept hands a frame to its queue pair, sending or receiving.
func (n *NIC) accept(now units.Time, p *packet.Packet, ext packet.Ext) {
	if n.watched && n.flowEnds != nil {
		n.flowEnds.Taken(now, p)
	}
	switch p.Kind() {
	case packet.Data:
		n.data(now, p, ext)
	case packet.CNP:
		if i := n.flows.slot[p.Flow]; i != 0 {
			q := &n.qps[i]
			before := n.rateOf(now, q)
			q.ctl.OnCNP(now)
			n.reacted(now, i, q, before)
		}
	case packet.Barrier, packet.Foreign: // strayed: it belongs to no flow
	default:
		n.acknowledged(now, p, ext)
	}
}
