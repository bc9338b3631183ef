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

// port is one port of a switch or NIC: its wire, its flow control, and the masks
// that say what could be sent.
type port struct {
	busy       units.Time       // until when the wire is taken
	perByte    units.Time       // serialization of a byte; 0 when it is no whole number
	nonEmpty   packet.ClassMask // classes with frames waiting
	blocked    packet.ClassMask // classes that may not be sent: pauses.gated, with the handler's overrides
	metered    packet.ClassMask // classes for which the meter is asked
	speaking   uint8            // ends that have control frames to send, see speak*
	armedIn    packet.ClassMask // ingress classes that a deadlock handler armed
	handledOut packet.ClassMask // egress classes that a deadlock handler armed or opens
	txPending  uint8            // 1: a TxDone is pending
	fastIn     packet.ClassMask // ingress classes that the fast path admits
	fastOut    packet.ClassMask // ingress classes that the fast path releases: fastOutOn, but for those that are OFF
	counted    packet.ClassMask // ingress classes whose frames someone wants to see even when they only pass
	ecn        packet.ClassMask // classes that are marked
	everyEnd   uint8            // not 0: the end of every frame is an event (link.Port.EveryEnd)
	overhead   uint16           // wire overhead of a frame, in bytes
	index      uint16
	arriver    flowctl.Arriver // nil: nobody
	sched      sched.Scheduler

	// What is above fills a cache line, the queues of a switch the next one; what
	// is below is used less.
	queues [mmu.Classes]fifo
	sent   [mmu.Classes]uint64 // bytes that took the wire, see PortStats.Sent

	marker    mark.Marker
	floor     units.Bytes               // of the marker, or the lowest of markers
	markers   *[mmu.Classes]mark.Marker // where classes have markers of their own; else nil
	recv      flowctl.Receiver
	gate      flowctl.Gate
	meter     flowctl.Meter
	pausing   flowctl.Pausing // nil unless recv has queues that are ON or OFF
	spec      link.Port
	reserved  units.Bytes      // headroom set aside by the flow control
	pools     bool             // it is shared with other ports
	listed    bool             // in node.visits
	armedOut  packet.ClassMask // egress classes that the handler armed
	fastOutOn packet.ClassMask // ingress classes that the fast path releases while they are ON
	loop      []loopFrame      // control frames pushed by a handler or relayed
	pauses    pauseState

	stats PortStats
	tally units.Bytes // what telemetry counts; see stamps
	_     [8]byte
}

// The size of a port is an odd number of cache lines: those that are used most then
// spread over all sets of a cache.
var _ = [1]struct{}{}[unsafe.Sizeof(port{})%128-64]

// Ends that can have control frames to send.
const (
	speakReceiver uint8 = 1 << iota
	speakGate
	speakLoop
)

type loopFrame struct {
	p   packet.Packet
	ext packet.Ext
}

// PortStats counts what happened at a port.
type PortStats struct {
	Sent        [mmu.Classes]uint64     // bytes that left, wire overhead included
	SentControl uint64                  // the same of control frames of the link
	Pauses      [mmu.Classes]uint64     // PAUSE sent for a class that was not paused
	Resumes     [mmu.Classes]uint64     // RESUME sent
	Refreshes   uint64                  // frames that only repeated a pause
	HeaderBytes uint64                  // of headers that rode on PFC frames
	Blocked     [mmu.Classes]units.Time // time during which the class could not be sent
	Forced      uint64                  // frames sent in spite of a pause, by a deadlock handler
	Marks       [mmu.Classes]uint64
	Drops       [mmu.Classes][probe.NumReasons]uint32 // of frames that came in here
	Broken      uint64                                // of the lossless drops, those that broke a promise
}

// lost counts a lossless frame that was dropped and reports whether that broke a
// promise.
func (p *port) lost(now units.Time) bool {
	if p.spec.Excused != 0 && p.spec.Excused <= now {
		return false
	}
	p.stats.Broken++
	return true
}

// count adds a frame that takes the wire to what was sent.
func (p *port) count(f *packet.Packet) { p.sent[f.Class()] += uint64(f.Size) + uint64(p.overhead) }

// txTime returns how long a frame occupies the wire.
func (p *port) txTime(size uint16) units.Time {
	b := units.Time(size) + units.Time(p.overhead)
	if p.perByte == 0 {
		return p.spec.TxTime(p.spec.Rate, units.Bytes(b))
	}
	return b * p.perByte
}

// end is the flowctl.Port of a receiver or a gate.
type end struct {
	n      *node
	p      *port
	bits   uint8
	timers []int // their numbers among the wakes of the node
}

// Timer 0 of a receiver and of a gate, among the wakes of their node.
func (p *port) receiverWake() int { return 2 * int(p.index) }
func (p *port) gateWake() int     { return 2*int(p.index) + 1 }

func (e *end) Index() int            { return int(e.p.index) }
func (e *end) Spec() *link.Port      { return &e.p.spec }
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
	e.p.turned()
	e.p.speaking |= e.bits
	e.n.look(e.p)
}

func (e *end) NewTimer() int {
	id := e.n.wakes.add()
	e.n.timers = append(e.n.timers, endTimer{e.p, e.bits, len(e.timers)})
	e.timers = append(e.timers, id)
	return len(e.timers) - 1
}

func (e *end) WakeAt(timer int, at units.Time) { e.n.wakes.set(e.timers[timer], at) }

func (e *end) Block(now units.Time, mask packet.ClassMask) {
	from := e.p.pauses.gated
	e.p.pauses.gated = mask
	e.n.reblock(now, e.p)
	if from&^mask != 0 {
		e.n.look(e.p) // also of a class that was open, but out of budget
	}
	if from != mask && e.n.handler != nil {
		e.n.handler.Gated(now, int(e.p.index), from, mask)
	}
}

func (e *end) Meter(mask packet.ClassMask) { e.p.metered = mask }

func (e *end) Reserve(b units.Bytes) {
	if !e.p.spec.Host { // what a NIC reserves is within the shared segment
		e.n.ledger.Grow(e.p.reserved - b)
	}
	e.p.reserved = b
}

func (e *end) Pool() (held, size units.Bytes) {
	size = e.n.sparePool
	for i := range e.n.ports {
		if p := &e.n.ports[i]; p.pools {
			held, size = held+e.n.view.PortIn(i, mmu.Headroom), size+p.reserved
		}
	}
	return held, size
}

func (e *end) Report(now units.Time, event string, class int, number int64) {
	e.n.reported(now, probe.FlowControl, event, int(e.p.index), class, number)
}

func (e *end) Kick(units.Time) { e.n.look(e.p) }

func (e *end) Relay(_ units.Time, port int, f *packet.Packet, ext packet.Ext) {
	e.n.passedOn(&e.n.ports[port], e.p.index, f)
	e.n.queueControl(&e.n.ports[port], f, ext)
}
