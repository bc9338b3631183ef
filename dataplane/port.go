// Package dataplane builds the switch and the NIC from buffer policies, flow
// control, schedulers, markers, routers, deadlock handlers and congestion
// control.
//
// It is pure: time and frames come in as arguments, frames and timers go out
// through a Driver. Nothing here reads a clock, does I/O, starts a goroutine or
// uses a global source of random numbers, so a simulator and a live switch can
// drive the same code.
package dataplane

import (
	"math/bits"
	"unsafe"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/sched"
)

// Driver carries out what a node decides. Timers fire as calls of the node's
// method of the same name at exactly that time.
type Driver interface {
	// Transmit takes a frame whose first bit leaves now and whose last bit
	// leaves at done. The driver must copy p and, if the packet has the flag
	// Extended, ext.
	Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time)
	// ArmTx asks for TxDone. A port has at most one pending.
	ArmTx(port int, at units.Time)
	// ArmWake asks for Wake. There is one per node: the last call counts, Never
	// disarms.
	ArmWake(at units.Time)
}

// port is one port of a switch or NIC: its wire, its flow control, and the masks
// that say what could be sent.
type port struct {
	busy     units.Time // until when the wire is taken
	perByte  units.Time // serialization of a byte; 0 when it is no whole number
	nonEmpty uint8      // classes with frames waiting
	blocked  uint8      // classes that may not be sent: gate, with the handler's overrides
	metered  uint8      // classes for which the meter is asked
	speaking uint8      // ends that have control frames to send, see speak*
	hookIn   uint8      // ingress classes that a deadlock handler armed
	hookOut  uint8      // egress classes that a deadlock handler armed or opens
	armed    uint8      // 1: a TxDone is pending
	sure     uint8      // ingress classes whose frames are taken within Switch.share without asking
	calm     uint8      // of these, and of steady ones, the ones that are ON
	counted  uint8      // ingress classes whose frames someone wants to see even when they only pass
	ecn      uint8      // classes that are marked
	ends     uint8      // not 0: the end of every frame is an event (PortSpec.EveryEnd)
	overhead uint16     // wire overhead of a frame, in bytes
	index    uint16
	brief    flowctl.Brief // nil unless recv is
	sched    sched.Scheduler

	// What is above fills a cache line, the queues of a switch the next one; what
	// is below is used less.
	queues [mmu.Classes]fifo

	marker   mark.Marker
	floor    units.Bytes // of the marker
	recv     flowctl.Receiver
	gate     flowctl.Gate
	meter    flowctl.Meter
	spec     link.Port
	reserved units.Bytes // headroom set aside by the flow control
	pools    bool        // it is shared with other ports
	loop     []loopFrame // control frames pushed by a handler or relayed

	gateSays  uint8 // classes that the gate blocks
	forceOpen uint8 // classes that the handler opens
	forceShut uint8 // classes that the handler shuts
	armedOut  uint8 // classes that the handler armed
	budget    [mmu.Classes]units.Bytes
	listed    bool  // in node.visits
	told      uint8 // what the receiver last asked the upstream to hold
	sent      uint8 // what the upstream was last told
	holding   uint8 // classes whose RESUME a handler keeps back
	off       uint8 // classes that were OFF when the probe was last told
	steady    uint8 // lossless classes, if recv is flowctl.Steady

	sentDepth [mmu.Classes]uint8 // of the last PAUSE that was sent
	heldDepth [mmu.Classes]uint8 // of the last PAUSE that was received
	pausing   flowctl.Pausing    // nil unless recv has queues that are ON or OFF

	Stats PortStats
	since [mmu.Classes]units.Time // start of the current block, per class; of a metered one also its last departure
	tally units.Bytes             // what telemetry counts; see stamps
	_     [80]byte
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
	Pauses      [mmu.Classes]uint64 // PAUSE sent for a class that was not paused
	Resumes     [mmu.Classes]uint64 // RESUME sent
	Refreshes   uint64              // frames that only repeated a pause
	PFCReceived uint64
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
	p.Stats.Broken++
	return true
}

// txTime returns how long a frame occupies the wire.
func (p *port) txTime(size uint16) units.Time {
	b := units.Time(size) + units.Time(p.overhead)
	if p.perByte == 0 {
		return p.spec.TxTime(p.spec.Rate, units.Bytes(b))
	}
	return b * p.perByte
}

// node is what a switch and a NIC have in common.
type node struct {
	// What every event asks for is in one cache line: up to wakes.dirty.
	ports   []port
	visits  []uint16 // ports to look at before the current event ends
	watched bool     // there is a sink, or there are checks
	tallies bool     // ports count what they send, for telemetry
	wakes   wakes
	drv     Driver
	view    mmu.View
	policy  buffer.Policy
	pauses  buffer.PauseObserver
	handler deadlock.Handler
	sink    probe.Sink
	checks  *Checks
	serve   func(now units.Time, p *port)
	// beyond returns the deepest pause that holds frames which came in by a port;
	// nil at a host.
	beyond func(p *port, class uint8) heldBy
	ledger *mmu.Ledger // the books behind view
	spare  units.Bytes // of unconnected ports, what belongs to the pool of headroom
	depths Depths
	log    *PauseLog // nil: pauses are not kept
	// resumed is when the last bit of the last RESUME left, by port and class; nil at
	// a host.
	resumed []units.Time
	frame   packet.Packet // scratch for control frames
	ext     packet.Ext    // scratch for their extensions
}

// initPort wires a port to its flow control.
func (n *node) initPort(i int, spec link.Port, scheme flowctl.Scheme) {
	p := &n.ports[i]
	p.index, p.spec, p.overhead = uint16(i), spec, uint16(spec.WireOverhead)
	if b, whole := spec.Rate.PerByte(); whole && spec.Tick <= 1 {
		p.perByte = b
	}
	if spec.EveryEnd {
		p.ends = 1
	}
	p.recv = scheme.Receiver(&end{n, p, speakReceiver})
	p.pausing, _ = p.recv.(flowctl.Pausing)
	if r, ok := p.recv.(flowctl.Brief); ok && r.Brief() {
		p.brief = r
	}
	p.gate = scheme.Gate(&end{n, p, speakGate})
	p.reserved, p.pools = scheme.Reserve(&p.spec), flowctl.Pools(scheme)
	p.meter, _ = p.gate.(flowctl.Meter)
}

// end is the flowctl.Port of a receiver or a gate.
type end struct {
	n    *node
	p    *port
	bits uint8
}

func (e *end) Index() int            { return int(e.p.index) }
func (e *end) Spec() *link.Port      { return &e.p.spec }
func (e *end) View() mmu.View        { return e.n.view }
func (e *end) Policy() buffer.Policy { return e.n.policy }

func (e *end) Waiting(class uint8) units.Bytes {
	if !e.p.spec.Host {
		return e.n.view.Egress(int(e.p.index), class)
	}
	if e.p.nonEmpty&(1<<class) != 0 {
		return e.p.spec.MTU
	}
	return 0
}

func (e *end) Request(now units.Time) {
	if e.n.sink != nil {
		e.n.reportOff(now, e.p)
	}
	e.p.changed()
	e.p.speaking |= e.bits
	e.n.look(e.p)
}

// changed looks which classes are ON, where that saves asking about every frame.
func (p *port) changed() {
	if p.pausing != nil {
		p.calm = (p.sure | p.steady) &^ p.pausing.Paused()
	}
}

func (e *end) WakeAt(at units.Time) {
	id := 2 * int(e.p.index)
	if e.bits == speakGate {
		id++
	}
	e.n.wakes.set(id, at)
}

func (e *end) Block(now units.Time, mask uint8) {
	from := e.p.gateSays
	e.p.gateSays = mask
	e.n.reblock(now, e.p)
	if from&^mask != 0 {
		e.n.look(e.p) // also of a class that was open, but out of budget
	}
	if from != mask && e.n.handler != nil {
		e.n.handler.Blocked(now, int(e.p.index), from, mask)
	}
}

func (e *end) Meter(mask uint8) { e.p.metered = mask }

func (e *end) Reserve(b units.Bytes) {
	if !e.p.spec.Host { // what a NIC reserves is within the shared segment
		e.n.ledger.Grow(e.p.reserved - b)
	}
	e.p.reserved = b
}

func (e *end) Pool() (held, size units.Bytes) {
	size = e.n.spare
	for i := range e.n.ports {
		if p := &e.n.ports[i]; p.pools {
			held, size = held+e.n.view.PortIn(i, mmu.Headroom), size+p.reserved
		}
	}
	return held, size
}

func (e *end) Kick(units.Time) { e.n.look(e.p) }

func (e *end) Relay(_ units.Time, port int, f *packet.Packet, ext packet.Ext) {
	e.n.push(&e.n.ports[port], f, ext)
}

// push queues a ready-made control frame.
func (n *node) push(p *port, f *packet.Packet, ext packet.Ext) {
	lf := loopFrame{p: *f}
	if len(ext) > 0 {
		lf.ext = append(packet.Ext(nil), ext...)
	}
	p.loop = append(p.loop, lf)
	p.speaking |= speakLoop
	n.look(p)
}

// look makes the node serve a port, if its wire is free, before the current
// event ends. Components never send from inside a call: counters would be seen
// half changed.
func (n *node) look(p *port) {
	if !p.listed {
		p.listed = true
		n.visits = append(n.visits, p.index)
	}
}

// settle ends an event: ports that changed are served, timers are armed anew.
func (n *node) settle(now units.Time) {
	for i := 0; i < len(n.visits); i++ {
		p := &n.ports[n.visits[i]]
		p.listed = false
		if p.wants() {
			n.start(now, p)
		}
	}
	n.visits = n.visits[:0]
	if n.wakes.dirty {
		n.wakes.dirty = false
		n.drv.ArmWake(n.wakes.next())
	}
}

// ends is settle for events after which there is seldom anything to do.
func (n *node) ends(now units.Time) {
	if len(n.visits) != 0 || n.wakes.dirty {
		n.settle(now)
	}
}

// wants reports whether a port has something to send and does not wait for its
// wire already.
func (p *port) wants() bool { return (p.speaking|p.nonEmpty&^p.blocked)&(p.armed-1) != 0 }

// start serves a port that wants it now, or when its wire becomes free.
func (n *node) start(now units.Time, p *port) {
	if p.busy > now {
		p.armed = 1
		n.drv.ArmTx(int(p.index), p.busy)
		return
	}
	n.serve(now, p)
}

// wake runs the components whose time has come.
func (n *node) wake(now units.Time, id int) {
	p := &n.ports[id/2]
	if id&1 == 0 {
		p.recv.Wake(now)
	} else {
		p.gate.Wake(now)
	}
}

// reblock recomputes what a port may not send after its gate or a deadlock
// handler changed its mind.
func (n *node) reblock(now units.Time, p *port) {
	from := p.blocked
	to := p.gateSays&^p.forceOpen | p.forceShut
	if from == to {
		return
	}
	p.blocked = to
	for m := from ^ to; m != 0; m &= m - 1 {
		c := uint8(bits.TrailingZeros8(m))
		on := to&(1<<c) != 0
		if on {
			p.since[c] = now
		} else {
			p.Stats.Blocked[c] += now - p.since[c]
		}
		if n.pauses != nil {
			n.pauses.EgressPaused(now, int(p.index), c, on)
		}
	}
	if n.sink != nil {
		n.sink.Blocked(now, int(p.index), from, to)
	}
	if from&^to != 0 {
		n.look(p)
	}
}

// control dispatches a link-local frame.
func (n *node) control(now units.Time, in int, f *packet.Packet, ext packet.Ext) {
	p := &n.ports[in]
	switch f.Kind() {
	case packet.PFC:
		p.Stats.PFCReceived++
		p.noteDepths(f)
		if n.log != nil {
			n.log.received(now, p, f)
		}
		if n.handler != nil && len(ext) > 0 {
			n.handler.Control(now, in, f, ext)
		}
		p.gate.Control(now, f, ext)
	case packet.Feedback:
		p.gate.Control(now, f, ext)
	case packet.Request:
		p.recv.Control(now, f, ext)
	case packet.Loop:
		if n.handler != nil {
			n.handler.Control(now, in, f, ext)
		}
	}
}

// speak sends the next control frame of a port whose wire is free. It returns
// false when nobody had anything to say.
func (n *node) speak(now units.Time, p *port) bool {
	for p.speaking != 0 {
		f := &n.frame
		ext, ok := n.ext[:0], false
		switch {
		case p.speaking&speakReceiver != 0:
			if ext, ok = p.recv.Frame(now, f, ext); ok && f.Kind() == packet.PFC {
				ext, ok = n.pfcLeaves(now, p, f, ext)
			} else if !ok {
				p.speaking &^= speakReceiver
				ext, ok = n.heldResume(now, p, f, ext)
			}
		case p.speaking&speakGate != 0:
			if ext, ok = p.gate.Frame(now, f, ext); !ok {
				p.speaking &^= speakGate
			}
		default:
			if len(p.loop) == 0 {
				p.speaking &^= speakLoop
				continue
			}
			*f, ext, ok = p.loop[0].p, append(ext, p.loop[0].ext...), true
			p.loop = append(p.loop[:0], p.loop[1:]...)
		}
		n.ext = ext[:0]
		if ok {
			if len(ext) > 0 {
				f.Flags |= packet.Extended
			}
			p.busy = now + p.txTime(f.Size)
			if n.tallies {
				p.tally += units.Bytes(f.Size)
			}
			n.depart(now, p, f)
			n.drv.Transmit(int(p.index), f, ext, p.busy)
			return true
		}
	}
	return false
}

// pfcLeaves does the accounting of a PFC frame and applies a handler's hold.
func (n *node) pfcLeaves(now units.Time, p *port, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	enable, pause, quanta := f.PFC()
	n.tell(now, p, p.told&^enable|pause)
	if held := enable &^ pause & p.holding; held != 0 {
		enable &^= held
		if enable == 0 {
			return ext, false
		}
		f.SetPFC(enable, pause, quanta)
	}
	n.countPFC(now, p, f, enable, pause)
	if n.handler != nil {
		ext = n.handler.OnPFC(now, int(p.index), f, ext)
	}
	return ext, true
}

// heldResume builds the RESUME of classes whose hold has ended.
func (n *node) heldResume(now units.Time, p *port, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	free := p.sent &^ p.told &^ p.holding
	if free == 0 {
		return ext, false
	}
	f.SetPFC(free, 0, 0)
	n.countPFC(now, p, f, free, 0)
	if n.handler != nil {
		ext = n.handler.OnPFC(now, int(p.index), f, ext)
	}
	return ext, true
}

func (n *node) countPFC(now units.Time, p *port, f *packet.Packet, enable, pause uint8) {
	fresh, resumed := pause&^p.sent, enable&^pause&p.sent
	if fresh|resumed == 0 {
		p.Stats.Refreshes++
	}
	for m := fresh; m != 0; m &= m - 1 {
		c := uint8(bits.TrailingZeros8(m))
		p.Stats.Pauses[c]++
		n.deepen(now, p, c)
	}
	for m := pause; m != 0; m &= m - 1 {
		c := uint8(bits.TrailingZeros8(m))
		f.SetPauseDepth(c, int(p.sentDepth[c]))
	}
	for m := resumed; m != 0; m &= m - 1 {
		c := uint8(bits.TrailingZeros8(m))
		p.Stats.Resumes[c]++
		if n.resumed != nil {
			n.resumed[p.queueID(c)] = now + p.txTime(f.Size)
		}
	}
	if n.log != nil {
		n.log.resumed(now, p, resumed)
	}
	p.sent = p.sent&^enable | pause
}

// tell records what an ingress asks its upstream to hold.
func (n *node) tell(now units.Time, p *port, mask uint8) {
	if mask == p.told {
		return
	}
	from := p.told
	p.told = mask
	if n.sink != nil {
		n.sink.Paused(now, int(p.index), from, mask)
	}
	if n.handler != nil {
		n.handler.Paused(now, int(p.index), from, mask)
	}
}

// depart tells the probe that the first bit of a frame leaves.
func (n *node) depart(now units.Time, p *port, f *packet.Packet) {
	if n.sink != nil {
		n.sink.Depart(now, int(p.index), f)
	}
}

// LinkChanged tells a port that its link went down or came up: both ends forget
// what the peer said.
func (n *node) LinkChanged(now units.Time, port int, up bool) {
	p := &n.ports[port]
	n.tell(now, p, 0)
	if n.log != nil {
		n.log.reset(now, p)
	}
	p.sent = 0
	p.gate.Reset(now, up)
	p.recv.Reset(now, up)
	n.settle(now)
}

// PortStats returns the counters of a port, with blocked times up to now.
func (n *node) PortStats(port int, now units.Time) PortStats {
	p := &n.ports[port]
	s := p.Stats
	for m := p.blocked; m != 0; m &= m - 1 {
		c := bits.TrailingZeros8(m)
		s.Blocked[c] += now - p.since[c]
	}
	return s
}
