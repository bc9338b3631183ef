package dataplane

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/job"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/sched"
)

// NICDriver is the driver of a NIC, which has two more timers than a switch.
type NICDriver interface {
	Driver
	// ArmPace requests Pace. The last call replaces earlier ones; Never disarms the timer.
	ArmPace(at units.Time)
	// ArmStart requests StartFlows, like ArmPace. flow is the first flow that will start; some
	// drivers use it to order simultaneous starts of different hosts.
	ArmStart(at units.Time, flow uint32)
}

// Notifier is a driver that passes notices of jobs between hosts. Every Noticed must come
// before the notice takes effect.
type Notifier interface {
	Notify(from *job.Host, m job.Notice)
}

// Transport describes how a group of flows is carried.
type Transport struct {
	Control    cc.Factory
	Payload    units.Bytes // payload of a full packet
	Header     units.Bytes // header bytes of every data packet
	First      units.Bytes // payload bytes at the start of a flow that are marked as unscheduled; 0: one bandwidth-delay product
	AckSize    units.Bytes
	AckEvery   int   // packets per ACK
	AckClass   uint8 // class of ACK, NACK and CNP, or ClassOfData
	AckQueue   uint8 // host queue of the replies, named by the class that can pause it; ClassOfData: the data's queue
	CNP        CNPMode
	CNPEvery   units.Time // minimum time between two CNPs of a flow
	NackEvery  units.Time // minimum time between two NACKs for the same gap
	Timeout    units.Time // time without progress after which everything is retransmitted
	MaxTimeout units.Time // limit of the doubling after each timeout

	Recovery   Recovery
	Window     uint32     // SACK, IRN: packets that may be sent, counted from the first unacknowledged one
	MinTimeout units.Time // SACK: minimum timeout computed from round-trip times; Timeout applies before the first sample
	LowTimeout units.Time // IRN: timeout while fewer than LowPackets are in flight
	LowPackets uint32

	index     uint8 // in NICSpec.Transports
	clocked   bool  // round-trip times are measured
	stamped   bool  // retransmissions carry their send time
	records   bool  // packets collect telemetry
	selective bool  // selective repeat: Recovery is not GoBackN
	timed     bool  // Control has timers (cc.Timed)
	repaces   bool  // rate changes move send times (cc.Repacer)
	plain     bool  // see nic_plain.go
}

// ClassOfData as AckClass or AckQueue means the class of the acknowledged data.
const ClassOfData uint8 = mmu.Classes

// queue returns the host queue for replies of a class.
func (t *Transport) queue(class uint8) uint8 {
	if t.AckQueue == ClassOfData {
		return class
	}
	return t.AckQueue
}

// Recovery selects what is retransmitted after a loss.
type Recovery uint8

// Recovery modes.
const (
	GoBackN Recovery = iota // everything from the lost packet on
	SACK                    // packets that selective ACKs show to be missing (RFC 6675)
	IRN                     // like SACK, but at the first sign of a loss (Mittal et al. 2018)
)

// threshold is the number of later packets that must arrive before a packet counts as lost.
func (r Recovery) threshold() int {
	if r == IRN {
		return 1
	}
	return dupThreshold
}

// CNPMode selects how marks are returned to the sender.
type CNPMode uint8

// CNP modes.
const (
	CNPFrame CNPMode = iota // a CNP frame, at most one per flow in each CNPEvery
	CNPInAck                // echoed in the ACK of the marked packet
)

// NICSpec describes a host's NIC.
type NICSpec struct {
	Name       string
	Node       uint32
	Port       link.Port
	Flow       flowctl.Scheme
	Scheduler  sched.Scheduler
	Kinds      [mmu.Classes]mmu.Kind
	Transports []Transport // NewNIC fills in unexported fields; hosts may share the slice
	BaseRTT    units.Time  // base RTT of the longest path, for windows and unscheduled marks
	Receive    ReceiveSpec
	Flows      *Flows
	Starts     []uint32 // flows of this host that do not wait for others, by start time
	Jobs       []*job.Host
	Sink       probe.Sink
	Checks     *Checks
	Log        *PauseLog
	Scan       bool // choose queue pairs like the public simulators (see scanner)
	// NoShortcuts handles every frame on the general path. Results do not change, so it is for
	// tests.
	NoShortcuts bool
}

// NIC is a host: queue pairs that send flows, and the receiving end of other hosts' flows.
type NIC struct {
	// There are many hosts, and each does little per window. The fields needed by packets
	// fill as few cache lines as possible.
	drv        NICDriver
	flows      *Flows
	transports []Transport
	receive    *receiver
	scan       *scanner // nil: ready lists are used

	qps      []qp
	paceHeap timerHeap // queue pairs waiting for their send time
	bdp      units.Bytes
	waiting  packet.ClassMask // classes with queued replies
	plain    bool             // see nic_plain.go
	_        [6]byte

	ready [mmu.Classes]flowList

	out  packet.Packet // scratch
	wire wire
	_    [8]byte

	ack cc.Ack // scratch
	node
	replies     [mmu.Classes]ring // ACKs, NACKs and CNPs waiting to leave
	softHeap    timerHeap         // queue pairs with a retransmission timeout or a timer of their congestion control
	freeQPs     [][]int32         // free queue pairs, by transport
	id          uint32
	kinds       [mmu.Classes]mmu.Kind
	rtt         units.Time
	starts      []uint32  // flows that have not started, by start time
	released    timerHeap // flows that waited for others and may start now
	jobs        []*job.Host
	notices     Notifier                // of jobs; nil: the driver has none
	replyExts   *[mmu.Classes]wordQueue // extensions of queued replies; nil until a reply has one
	more        []recvMore              // indexed by RecvResult.more; 0 is unused and stays empty
	reorder     []reorder               // reorder buffers, indexed by recvMore.reorder; 0 is unused
	freeReorder []int32                 // free reorder buffers
	sack        packet.Ext              // scratch, as are flowInfo and stamp
	flowInfo    cc.Flow
	stamp       [1]uint64  // extension of a packet that carries its send time
	flowEnds    probe.Ends // sink as a probe.Ends; nil: it does not want flow events
	Stats       NICStats
}

// wire has the properties of the port that pacing needs for every packet.
type wire struct {
	rate     units.Rate
	overhead units.Bytes
	tick     units.Time
}

// spacing returns the serialization time of a frame at a rate.
func (w *wire) spacing(r units.Rate, size uint16) units.Time {
	return link.TxTime(r, units.Bytes(size)+w.overhead, w.tick)
}

// NICStats are the counters of a host.
type NICStats struct {
	Finished uint64 // flows whose last ACK arrived
	Resent   uint64 // retransmitted data packets
	Timeouts uint64
	Nacks    uint64 // NACKs sent
	CNPs     uint64 // CNPs sent, or marks echoed
}

// NewNIC builds a NIC.
func NewNIC(spec *NICSpec, drv NICDriver) (*NIC, error) {
	notices, _ := drv.(Notifier)
	wireSink := probe.WireOf(spec.Sink)
	if wireSink != nil {
		drv = &nicTap{drv, wireSink}
	}
	n := &NIC{
		drv: drv, id: spec.Node, kinds: spec.Kinds, transports: spec.Transports, rtt: spec.BaseRTT, flows: spec.Flows,
		starts: spec.Starts, jobs: spec.Jobs, notices: notices, freeQPs: make([][]int32, len(spec.Transports)), bdp: spec.Port.Rate.In(spec.BaseRTT),
		wire: wire{spec.Port.Rate, spec.Port.WireOverhead, spec.Port.Tick}, flowEnds: probe.EndsOf(spec.Sink),
	}
	n.node = node{drv: drv, ports: make([]port, 1), wakes: newWakes(components), fixed: components, sink: spec.Sink,
		checks: spec.Checks, watched: spec.Sink != nil || spec.Checks != nil, serve: n.serveNIC, log: spec.Log, wireSink: wireSink}
	if spec.Scan {
		n.scan, n.serve = &scanner{wake: units.Never}, n.serveScan
	}
	n.qps = make([]qp, 1) // queue pair 0 means none
	n.more, n.reorder = make([]recvMore, 1), make([]reorder, 1)
	for i := range n.transports {
		tr := &n.transports[i]
		tr.index = uint8(i)
		control := tr.Control()
		_, tr.clocked = control.(cc.Clocked)
		_, tr.records = control.(cc.Telemetry)
		tr.stamped = tr.clocked && tr.Recovery == GoBackN && !tr.records
		tr.clocked = tr.clocked || tr.Recovery != GoBackN
		tr.selective = tr.Recovery != GoBackN
		_, tr.timed = control.(cc.Timed)
		_, tr.repaces = control.(cc.Repacer)
		tr.plain = tr.isPlain()
	}
	// The receive buffer is a switch with one port: a static limit per class, and headroom.
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
	n.initPort(0, &spec.Port, spec.Flow)
	n.ports[0].sched = spec.Scheduler
	if spec.Checks != nil && n.flows.delivered == nil {
		n.flows.delivered = make([]units.Bytes, len(n.flows.Flow))
	}
	n.receive = newReceiver(n, &spec.Receive, spec.Flow)
	n.plain = n.isPlain(spec)
	n.armStart()
	n.attach(probedNIC{probedNode{&n.node}, n})
	return n, nil
}

// Start starts the NIC at the beginning of a run.
func (n *NIC) Start(now units.Time) {
	if n.receive != nil {
		n.receive.start()
	}
	n.wakes.dirty = true
	n.endEvent(now)
}

func (n *NIC) armStart() {
	at, flow := n.released.next(), uint32(0)
	if at != units.Never {
		flow = uint32(n.released.items[0].id)
	}
	if len(n.starts) > 0 && n.flows.Flow[n.starts[0]].Start <= at {
		at, flow = n.flows.Flow[n.starts[0]].Start, n.starts[0]
	}
	for _, j := range n.jobs {
		at = min(at, j.Next())
	}
	n.drv.ArmStart(at, flow)
}

// StartFlows opens a queue pair for each flow that is due.
func (n *NIC) StartFlows(now units.Time) {
	n.beginEvent(now)
	for len(n.starts) > 0 && n.flows.Flow[n.starts[0]].Start <= now {
		n.open(now, n.starts[0])
		n.starts = n.starts[1:]
		if n.scan != nil {
			break // the scanner looks for work after each start
		}
	}
	n.runJobs(now)
	n.startReleased(now)
	n.armStart()
	n.kick(now)
}

// beginEvent starts an event.
func (n *NIC) beginEvent(now units.Time) {
	if n.watched && n.checks != nil {
		n.checks.event(now, nil)
	}
}

// kick sends a frame if the wire is free, and ends the event.
func (n *NIC) kick(now units.Time) {
	if n.scan != nil {
		n.scanKick(now)
		return
	}
	// A direct call instead of node.serveOrWait, which calls through a function value.
	switch p := &n.ports[0]; {
	case !p.wants():
	case p.busy > now:
		p.txPending = 1
		n.drv.ArmTx(0, p.busy)
	case n.servesPlain(p):
		n.servePlain(now, p)
	default:
		n.serveNIC(now, p)
	}
	n.endEvent(now)
}

// Pace serves the queue pairs whose send time has come.
func (n *NIC) Pace(now units.Time) {
	n.beginEvent(now)
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
			continue // replaced by an earlier entry
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

// TxDone sends the next frame when the last bit of the one before has left. It returns
// whether another TxDone is pending.
func (n *NIC) TxDone(now units.Time, _ int) bool {
	n.beginEvent(now)
	p := &n.ports[0]
	p.txPending = 0
	switch {
	case n.servesPlain(p):
		n.servePlain(now, p)
	case n.scan != nil:
		n.serveScan(now, p)
	default:
		n.serveNIC(now, p)
	}
	n.endEvent(now)
	return p.txPending != 0
}

// serveNIC sends the next frame: control frames first, then replies, then data.
func (n *NIC) serveNIC(now units.Time, p *port) {
	if p.ctlPending != 0 && n.sendControl(now, p) {
		n.rearmTx(p)
		return
	}
	n.serveClasses(now, p, p.nonEmpty&^p.blocked, -1)
}

// serveClasses sends the next reply or data packet of the eligible classes. picked is the class
// that the scheduler has picked, or -1.
func (n *NIC) serveClasses(now units.Time, p *port, eligible packet.ClassMask, picked int) {
	for eligible != 0 {
		reply := eligible & n.waiting
		class := picked
		switch {
		case reply != 0:
			class = int(reply.Lowest())
		case picked < 0:
			class = p.sched.Pick(eligible)
		}
		picked = -1
		bit := packet.MaskOf(uint8(class))
		sent := false
		if reply != 0 {
			sent = n.sendReply(now, p, class)
		} else {
			sent = n.sendData(now, p, class)
		}
		if sent {
			n.rearmTx(p)
			return
		}
		eligible &^= bit
		if reply == 0 {
			eligible &= p.nonEmpty
		}
	}
}

func (n *NIC) rearmTx(p *port) {
	if p.pending() != 0 {
		p.txPending = 1
		n.drv.ArmTx(0, p.busy)
	}
}

// may asks the meter whether a class may send. ClassMask.Has would make it too large to inline.
func (n *NIC) may(now units.Time, p *port, class int, size uint16) bool {
	return p.metered&(1<<(class&7)) == 0 || p.meter.May(now, uint8(class), units.Bytes(size))
}

func (n *NIC) sendReply(now units.Time, p *port, class int) bool {
	r := &n.replies[class&7]
	f := r.front()
	if !n.may(now, p, class, f.Size) {
		return false
	}
	n.popReply(p, class)
	ext := packet.Ext(nil)
	if f.Flags&packet.Extended != 0 {
		ext = n.replyExts[class&7].pop()
	}
	n.transmit(now, p, f, ext, int(f.Class()))
	return true
}

// popReply removes the first reply of a class.
func (n *NIC) popReply(p *port, class int) {
	r := &n.replies[class&7]
	r.pop()
	if r.empty() {
		n.waiting &^= 1 << (class & 7)
		if n.ready[class&7].head == 0 {
			p.nonEmpty &^= 1 << (class & 7)
		}
	}
}

// sendData sends a packet of the next ready queue pair of a class.
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
		case q.tr.repaces && q.nextAt > now:
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

// transmit sends a data packet or a reply.
func (n *NIC) transmit(now units.Time, p *port, f *packet.Packet, ext packet.Ext, class int) {
	if n.watched || p.metered != 0 {
		n.account(now, p, f, class)
	}
	p.count(f)
	p.busy = now + p.txTime(f.Size)
	n.drv.Transmit(0, f, ext, p.busy)
}

// account reports a departing frame to the checks, the meter and the probe.
func (n *NIC) account(now units.Time, p *port, f *packet.Packet, class int) {
	if n.checks != nil {
		n.checks.sends(now, p, f)
	}
	if p.metered.Has(uint8(class)) {
		p.meter.Sent(now, uint8(class), units.Bytes(f.Size))
	}
	n.depart(now, p, f)
}

// Wake ids of a NIC. The receiver and the gate of its port have 0 and 1.
const (
	softWake  = 2 + iota // timers of queue pairs
	rxWake               // the receive buffer
	stormWake            // starts and ends of stuck intervals
	components
)

// Wake wakes the components whose timers are due.
func (n *NIC) Wake(now units.Time) {
	n.beginEvent(now)
	n.wakes.each(now, func(id int) {
		switch id {
		case softWake:
			n.softTimers(now)
		case rxWake:
			n.receive.takeNext(now)
		case stormWake:
			n.receive.updateStuck(now)
		default:
			n.wakeEnd(now, id)
		}
	})
	n.wakes.dirty = true
	n.kick(now)
}

// Arrive handles a frame whose last bit has arrived. The packet is read-only.
func (n *NIC) Arrive(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	if n.plain && p.Flags&packet.Extended == 0 && n.arrivePlain(now, p) {
		return
	}
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

// observe reports an arriving frame to the probe and the checks.
func (n *NIC) observe(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	n.reportArrival(now, in, p, ext)
	n.beginEvent(now)
}

// accept passes a frame to the sending or receiving end of its flow.
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
	case packet.Barrier, packet.Foreign: // stray: belongs to no flow
	default:
		n.acknowledged(now, p, ext)
	}
}
