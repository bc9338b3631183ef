package dataplane

import (
	"unsafe"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/sched"
)

// port is a port of a switch or NIC: its wire, its flow control, and class masks that decide
// what may be sent.
type port struct {
	busy       units.Time       // time until which the wire is busy
	perByte    units.Time       // serialization time of a byte; 0: not a whole number
	nonEmpty   packet.ClassMask // classes with queued frames
	blocked    packet.ClassMask // classes that may not send: pauses.gated with the handler's overrides
	metered    packet.ClassMask // classes whose frames need permission from meter
	ctlPending uint8            // ctl* bits of the ends that have control frames to send
	armedIn    packet.ClassMask // ingress classes that a deadlock handler armed
	handledOut packet.ClassMask // egress classes that a deadlock handler armed or forces open
	txPending  uint8            // 1 if a TxDone is pending
	fastIn     packet.ClassMask // ingress classes that the fast path admits
	fastOut    packet.ClassMask // ingress classes that the fast path releases: fastOutOn without classes that are OFF
	counted    packet.ClassMask // ingress classes whose frames are counted even if they pass straight through
	ecn        packet.ClassMask // classes with ECN marking
	everyEnd   uint8            // not 0 if the end of every frame is an event (link.Port.EveryEnd)
	overhead   uint16           // wire overhead of a frame, in bytes
	index      uint16
	arriver    flowctl.Arriver // nil: none
	sched      sched.Scheduler

	// The fields above fill one cache line, the queues of a switch the next; the fields below
	// are used less often.
	queues [mmu.Classes]fifo
	sent   [mmu.Classes]uint64 // bytes sent, see PortStats.Sent

	marker    mark.Marker
	floor     units.Bytes               // Floor of marker, or the lowest Floor in markers
	markers   *[mmu.Classes]mark.Marker // by class, if a class has its own marker; otherwise nil
	recv      flowctl.Receiver
	gate      flowctl.Gate
	meter     flowctl.Meter
	pausing   flowctl.Pausing // nil unless recv has queues that are ON or OFF
	spec      *link.Port
	reserved  units.Bytes      // headroom reserved by the flow control
	pools     bool             // reserved belongs to the headroom pool of the switch
	listed    bool             // in node.visits
	armedOut  packet.ClassMask // egress classes that a deadlock handler armed
	fastOutOn packet.ClassMask // ingress classes that the fast path releases while they are ON
	queued    []controlFrame   // complete control frames to send: from a handler, or relayed
	pauses    pauseState
	txTimes   *txTimes // nil if perByte is not 0

	stats *RarePortStats // nil until one of them is counted
	tally units.Bytes    // byte counter of telemetry; see stamps
	_     [64]byte
}

// rare returns the counters that few frames change.
func (p *port) rare() *RarePortStats {
	if p.stats == nil {
		p.stats = new(RarePortStats)
	}
	return p.stats
}

// The size of a port is an odd number of cache lines, so that the hot first lines of ports
// spread over all cache sets.
var _ = [1]struct{}{}[unsafe.Sizeof(port{})%128-64]

// Sources of control frames.
const (
	ctlReceiver uint8 = 1 << iota
	ctlGate
	ctlQueued
)

// controlFrame is a complete control frame with its extension.
type controlFrame struct {
	p   packet.Packet
	ext packet.Ext
}

// PortStats are the counters of a port.
type PortStats struct {
	Sent [mmu.Classes]uint64 // bytes sent, including wire overhead
	RarePortStats
}

// RarePortStats are the counters of a port that few frames change.
type RarePortStats struct {
	SentControl uint64                  // bytes of control frames sent, including wire overhead
	Pauses      [mmu.Classes]uint64     // PAUSEs sent for a class that was not paused
	Resumes     [mmu.Classes]uint64     // RESUMEs sent
	Refreshes   uint64                  // PFC frames that only repeated a pause
	HeaderBytes uint64                  // bytes of handler headers carried by PFC frames
	Blocked     [mmu.Classes]units.Time // time during which the class could not send
	Forced      uint64                  // frames that a deadlock handler sent despite a pause
	Marks       [mmu.Classes]uint64
	Drops       [mmu.Classes][probe.NumReasons]uint32 // frames that arrived here and were dropped
	Broken      uint64                                // lossless drops that broke a promise
}

// countLosslessDrop counts a dropped lossless frame and reports whether the drop broke a
// promise.
func (p *port) countLosslessDrop(now units.Time) bool {
	if p.spec.Excused != 0 && p.spec.Excused <= now {
		return false
	}
	p.rare().Broken++
	return true
}

// count adds a frame to the bytes sent.
func (p *port) count(f *packet.Packet) { p.sent[f.Class()] += uint64(f.Size) + uint64(p.overhead) }

// txTime returns how long a frame occupies the wire.
func (p *port) txTime(size uint16) units.Time {
	if p.perByte == 0 {
		return p.divided(size)
	}
	return (units.Time(size) + units.Time(p.overhead)) * p.perByte
}

// txTimes remembers the transmission times of the last few sizes, for ports where they need a
// division: with ticks, or at rates where a byte does not last a whole number of picoseconds.
type txTimes [16]struct {
	time units.Time
	size uint16
}

// divided is txTime for a port with txTimes.
//
//go:noinline
func (p *port) divided(size uint16) units.Time {
	e := &p.txTimes[size*40503>>12] // a multiplicative hash
	if e.size != size || e.time == 0 {
		e.size, e.time = size, p.spec.TxTime(p.spec.Rate, units.Bytes(size)+units.Bytes(p.overhead))
	}
	return e.time
}

// end implements flowctl.Port for a receiver or a gate.
type end struct {
	n      *node
	p      *port
	side   uint8 // ctlReceiver or ctlGate
	timers []int // indices of its timers in node.wakes
}

// receiverWake returns the index of the receiver's timer 0 in node.wakes.
func (p *port) receiverWake() int { return 2 * int(p.index) }

// gateWake returns the index of the gate's timer 0 in node.wakes.
func (p *port) gateWake() int { return 2*int(p.index) + 1 }

func (e *end) Index() int            { return int(e.p.index) }
func (e *end) Spec() *link.Port      { return e.p.spec }
func (e *end) View() mmu.View        { return e.n.view }
func (e *end) Policy() buffer.Policy { return e.n.policy }

func (e *end) Waiting(class uint8) units.Bytes {
	if !e.p.spec.Host {
		return e.n.view.Egress(int(e.p.index), class)
	}
	if e.p.nonEmpty.Has(class) {
		return e.p.spec.MTU
	}
	return 0
}

func (e *end) Request(now units.Time) {
	if e.n.sink != nil {
		e.n.reportOff(now, e.p)
	}
	e.p.updateFastOut()
	e.p.ctlPending |= e.side
	e.n.revisit(e.p)
}

func (e *end) NewTimer() int {
	id := e.n.wakes.add()
	e.n.timers = append(e.n.timers, endTimer{e.p, e.side, len(e.timers)})
	e.timers = append(e.timers, id)
	return len(e.timers) - 1
}

func (e *end) WakeAt(timer int, at units.Time) { e.n.wakes.set(e.timers[timer], at) }

func (e *end) Block(now units.Time, mask packet.ClassMask) {
	from := e.p.pauses.gated
	e.p.pauses.gated = mask
	e.n.reblock(now, e.p)
	if from&^mask != 0 {
		e.n.revisit(e.p) // also serves a class whose budget is exhausted
	}
	if from != mask && e.n.handler != nil {
		for c := range (mask &^ from).All() {
			e.n.handled[int(e.p.index)*mmu.Classes+int(c)].gated = now
		}
		e.n.handler.Gated(now, int(e.p.index), from, mask)
	}
}

func (e *end) Meter(mask packet.ClassMask) { e.p.metered = mask }

func (e *end) Reserve(b units.Bytes) {
	if !e.p.spec.Host { // the reservation of a NIC is part of its shared segment
		e.n.ledger.Grow(e.p.reserved - b)
	}
	e.p.reserved = b
}

func (e *end) Pool() (used, size units.Bytes) {
	size = e.n.sparePool
	for i := range e.n.ports {
		if p := &e.n.ports[i]; p.pools {
			used, size = used+e.n.view.PortIn(i, mmu.Headroom), size+p.reserved
		}
	}
	return used, size
}

func (e *end) Report(now units.Time, event string, class int, number int64) {
	e.n.report(now, probe.FlowControl, event, int(e.p.index), class, number)
}

func (e *end) Kick(units.Time) { e.n.revisit(e.p) }

func (e *end) Relay(_ units.Time, port int, f *packet.Packet, ext packet.Ext) {
	e.n.noteRelayed(&e.n.ports[port], e.p.index, f)
	e.n.queueControl(&e.n.ports[port], f, ext)
}
