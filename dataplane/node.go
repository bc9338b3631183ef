package dataplane

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// node is what a switch and a NIC have in common.
type node struct {
	// What every event asks for is in one cache line: up to wakes.dirty.
	ports         []port
	visits        []uint16 // ports to look at before the current event ends
	watched       bool     // there is a sink, or there are checks
	tallies       bool     // ports count what they send, for telemetry
	wakes         wakes
	drv           Driver
	view          mmu.View
	policy        buffer.Policy
	pauseObserver buffer.PauseObserver
	handler       deadlock.Handler
	sink          probe.Sink
	checks        *Checks
	serve         func(now units.Time, p *port)
	// beyond returns the deepest pause that holds frames which came in by a port;
	// nil at a host.
	beyond    func(p *port, class uint8) pauseCause
	ledger    *mmu.Ledger // the books behind view
	sparePool units.Bytes // of unconnected ports, what belongs to the pool of headroom
	depths    Depths
	log       *PauseLog // nil: pauses are not kept
	// resumedAt is when the last bit of the last RESUME left, by port and class; nil at
	// a host.
	resumedAt []units.Time
	fixed     int                   // number of the first wake that is in timers
	renewal   int                   // of a switch: number of the wake that repeats held pauses
	timers    []endTimer            // beyond the first of each end
	observer  buffer.Observer       // of what is stored; nil: nobody
	egress    buffer.EgressLimiting // asked before all others; nil: nobody
	frame     packet.Packet         // scratch for control frames
	ext       packet.Ext            // scratch for their extensions
	event     probe.Event           // scratch for what schemes report
	probed    probe.Node            // what probes read
	causes    []pauseCause          // by port and class: why it was paused last; nil: nobody asks
	words     probe.Wire            // what of sink sees extensions; nil: nothing does
}

// initPort wires a port to its flow control.
func (n *node) initPort(i int, spec link.Port, scheme flowctl.Scheme) {
	p := &n.ports[i]
	p.index, p.spec, p.overhead = uint16(i), spec, uint16(spec.WireOverhead)
	if b, whole := spec.Rate.PerByte(); whole && spec.Tick <= 1 {
		p.perByte = b
	}
	if spec.EveryEnd {
		p.everyEnd = 1
	}
	p.recv = scheme.Receiver(&end{n, p, speakReceiver, []int{p.receiverWake()}})
	p.pausing, _ = p.recv.(flowctl.Pausing)
	p.gate = scheme.Gate(&end{n, p, speakGate, []int{p.gateWake()}})
	p.reserved, p.pools = scheme.Reserve(&p.spec), scheme.Properties().Pools
	p.meter, _ = p.gate.(flowctl.Meter)
}

// queueControl queues a ready-made control frame.
func (n *node) queueControl(p *port, f *packet.Packet, ext packet.Ext) {
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

// flush serves the ports that changed and arms the timer of the node anew.
func (n *node) flush(now units.Time) {
	for i := 0; i < len(n.visits); i++ {
		p := &n.ports[n.visits[i]]
		p.listed = false
		if p.wants() {
			n.serveOrWait(now, p)
		}
	}
	n.visits = n.visits[:0]
	if n.wakes.dirty {
		n.wakes.dirty = false
		n.drv.ArmWake(n.wakes.next())
	}
}

// endEvent ends an event. Nearly always nothing is left to do.
func (n *node) endEvent(now units.Time) {
	if len(n.visits) != 0 || n.wakes.dirty {
		n.flush(now)
	}
}

// pending is not 0 when a port has something to send: control frames, or frames of
// classes that are not blocked.
func (p *port) pending() uint8 { return p.speaking | uint8(p.nonEmpty&^p.blocked) }

// wants reports whether a port has something to send and does not wait for its
// wire already.
func (p *port) wants() bool { return p.pending()&(p.txPending-1) != 0 }

// serveOrWait serves a port that has something to send now, or when its wire becomes free.
func (n *node) serveOrWait(now units.Time, p *port) {
	if p.busy > now {
		p.txPending = 1
		n.drv.ArmTx(int(p.index), p.busy)
		return
	}
	n.serve(now, p)
}

// endTimer is a timer of an end of flow control.
type endTimer struct {
	p     *port // nil: a timer of the deadlock handler
	bits  uint8
	timer int
}

// wakeEnd wakes an end of flow control, or the handler by one of its further timers.
func (n *node) wakeEnd(now units.Time, id int) {
	t := endTimer{bits: speakReceiver}
	if id < 2*len(n.ports) {
		t.p = &n.ports[id/2]
		if id == t.p.gateWake() {
			t.bits = speakGate
		}
	} else {
		t = n.timers[id-n.fixed]
	}
	switch {
	case t.p == nil:
		n.handler.Wake(now, t.timer)
	case t.bits == speakReceiver:
		t.p.recv.Wake(now, t.timer)
	default:
		t.p.gate.Wake(now, t.timer)
	}
}

// control dispatches a link-local frame.
func (n *node) control(now units.Time, in int, f *packet.Packet, ext packet.Ext) {
	p := &n.ports[in]
	switch f.Kind() {
	case packet.PFC:
		p.pauses.received(f)
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
				ext, ok = n.resumeFrame(now, p, f, ext)
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
				if f.Kind() == packet.PFC {
					p.stats.HeaderBytes += uint64(8 * len(ext))
				}
			}
			p.busy = now + p.txTime(f.Size)
			p.stats.SentControl += uint64(f.Size) + uint64(p.overhead)
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
	n.ask(now, p, 0)
	if n.log != nil {
		n.log.reset(now, p)
	}
	p.pauses.sent = 0
	p.gate.Reset(now, up)
	p.recv.Reset(now, up)
	n.endEvent(now)
}

// PortStats returns the counters of a port, with blocked times up to now.
func (n *node) PortStats(port int, now units.Time) PortStats {
	p := &n.ports[port]
	s := p.stats
	s.Sent = p.sent
	for c := range p.blocked.All() {
		s.Blocked[c] += now - p.pauses.since[c]
	}
	return s
}
