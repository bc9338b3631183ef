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

// node is the common part of a switch and a NIC.
type node struct {
	// Fields that every event needs, up to wakes.dirty, share one cache line.
	ports         []port
	visits        []uint16 // ports to serve before the current event ends
	watched       bool     // there is a sink or there are checks
	tallies       bool     // ports count what they send, for telemetry
	wakes         wakes
	drv           Driver
	view          mmu.View
	policy        buffer.Policy
	pauseObserver buffer.PauseObserver
	handler       deadlock.Handler
	handled       []handledQueue // by egress queue; nil without a handler
	sink          probe.Sink
	checks        *Checks
	serve         func(now units.Time, p *port)
	// causeOf returns the deepest pause that blocks frames that arrived on a port and class;
	// nil at a host.
	causeOf   func(p *port, class uint8) pauseCause
	ledger    *mmu.Ledger // owns the counters of view
	sparePool units.Bytes // part of the headroom pool that belongs to unconnected ports
	depths    *Depths     // nil until the node sends a pause
	log       *PauseLog   // nil: pauses are not logged
	// resumedAt is when the last bit of the last RESUME left, by port and class; nil at a
	// host.
	resumedAt []units.Time
	fixed     int                   // index of the first wake that belongs to timers
	renewal   int                   // switch: index of the wake that renews pauses whose RESUME is withheld
	timers    []endTimer            // timers of receivers, gates and the handler, except the first of each
	observer  buffer.Observer       // told about stored frames; nil: none
	egress    buffer.EgressLimiting // asked before all others; nil: no egress limit
	frame     packet.Packet         // scratch for control frames
	ext       packet.Ext            // scratch for their extensions
	event     probe.Event           // scratch for reports of schemes
	probed    probe.Node            // the view of this node for probes
	causes    []pauseCause          // by port and class: cause of the last pause sent; nil: not recorded
	wireSink  probe.Wire            // sink as a probe.Wire; nil: it does not want extensions
}

// initPort connects a port to its flow control. It keeps spec.
func (n *node) initPort(i int, spec *link.Port, scheme flowctl.Scheme) {
	p := &n.ports[i]
	p.index, p.spec, p.overhead = uint16(i), spec, uint16(spec.WireOverhead)
	if b, whole := spec.Rate.PerByte(); whole && spec.Tick <= 1 {
		p.perByte = b
	} else {
		p.txTimes = &txTimes{}
	}
	if spec.EveryEnd {
		p.everyEnd = 1
	}
	p.recv = scheme.Receiver(&end{n, p, ctlReceiver, []int{p.receiverWake()}})
	p.pausing, _ = p.recv.(flowctl.Pausing)
	p.gate = scheme.Gate(&end{n, p, ctlGate, []int{p.gateWake()}})
	p.reserved, p.pools = scheme.Reserve(p.spec), scheme.Properties().Pools
	p.meter, _ = p.gate.(flowctl.Meter)
}

// queueControl queues a complete control frame.
func (n *node) queueControl(p *port, f *packet.Packet, ext packet.Ext) {
	c := controlFrame{p: *f}
	if len(ext) > 0 {
		c.ext = append(packet.Ext(nil), ext...)
	}
	p.queued = append(p.queued, c)
	p.ctlPending |= ctlQueued
	n.revisit(p)
}

// revisit makes the node serve a port before the current event ends, if its wire is free.
// Components never send during a call, because counters may be inconsistent then.
func (n *node) revisit(p *port) {
	if !p.listed {
		p.listed = true
		n.visits = append(n.visits, p.index)
	}
}

// flush serves the ports that changed and rearms the node's timer.
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

// endEvent ends an event. There is nearly always nothing left to do.
func (n *node) endEvent(now units.Time) {
	if len(n.visits) != 0 || n.wakes.dirty {
		n.flush(now)
	}
}

// pending is not 0 if a port has something to send: control frames, or frames of classes that
// are not blocked.
func (p *port) pending() uint8 { return p.ctlPending | uint8(p.nonEmpty&^p.blocked) }

// wants reports whether a port has something to send and is not already waiting for its wire.
func (p *port) wants() bool { return p.pending()&(p.txPending-1) != 0 }

// serveOrWait serves a port now, or when its wire becomes free.
func (n *node) serveOrWait(now units.Time, p *port) {
	if p.busy > now {
		p.txPending = 1
		n.drv.ArmTx(int(p.index), p.busy)
		return
	}
	n.serve(now, p)
}

// endTimer is an additional timer of a receiver, a gate or the deadlock handler.
type endTimer struct {
	p     *port // nil: a timer of the deadlock handler
	side  uint8
	timer int
}

// wakeEnd wakes a receiver, a gate, or the handler by one of its additional timers.
func (n *node) wakeEnd(now units.Time, id int) {
	t := endTimer{side: ctlReceiver}
	if id < 2*len(n.ports) {
		t.p = &n.ports[id/2]
		if id == t.p.gateWake() {
			t.side = ctlGate
		}
	} else {
		t = n.timers[id-n.fixed]
	}
	switch {
	case t.p == nil:
		n.handler.Wake(now, t.timer)
	case t.side == ctlReceiver:
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

// sendControl sends the next control frame of a port whose wire is free. It returns false if
// there was none.
func (n *node) sendControl(now units.Time, p *port) bool {
	for p.ctlPending != 0 {
		f := &n.frame
		ext, ok := n.ext[:0], false
		switch {
		case p.ctlPending&ctlReceiver != 0:
			if ext, ok = p.recv.Frame(now, f, ext); ok && f.Kind() == packet.PFC {
				ext, ok = n.filterPFC(now, p, f, ext)
			} else if !ok {
				p.ctlPending &^= ctlReceiver
				ext, ok = n.resumeFrame(now, p, f, ext)
			}
		case p.ctlPending&ctlGate != 0:
			if ext, ok = p.gate.Frame(now, f, ext); !ok {
				p.ctlPending &^= ctlGate
			}
		default:
			if len(p.queued) == 0 {
				p.ctlPending &^= ctlQueued
				continue
			}
			*f, ext, ok = p.queued[0].p, append(ext, p.queued[0].ext...), true
			p.queued = append(p.queued[:0], p.queued[1:]...)
		}
		n.ext = ext[:0]
		if ok {
			if len(ext) > 0 {
				f.Flags |= packet.Extended
				if f.Kind() == packet.PFC {
					p.rare().HeaderBytes += uint64(8 * len(ext))
				}
			}
			p.busy = now + p.txTime(f.Size)
			p.rare().SentControl += uint64(f.Size) + uint64(p.overhead)
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

// depart reports to the probe that the first bit of a frame leaves.
func (n *node) depart(now units.Time, p *port, f *packet.Packet) {
	if n.sink != nil {
		n.sink.Depart(now, int(p.index), f)
	}
}

// LinkChanged tells a port that its link went down or came up. Its receiver and gate reset
// their state.
func (n *node) LinkChanged(now units.Time, port int, up bool) {
	p := &n.ports[port]
	n.setRequested(now, p, 0)
	if n.log != nil {
		n.log.reset(now, p)
	}
	p.pauses.sent = 0
	p.gate.Reset(now, up)
	p.recv.Reset(now, up)
	n.endEvent(now)
}

// PortStats returns the counters of a port. Blocked times include time up to now.
func (n *node) PortStats(port int, now units.Time) PortStats {
	p := &n.ports[port]
	s := PortStats{Sent: p.sent}
	if p.stats != nil {
		s.RarePortStats = *p.stats
	}
	for c := range p.blocked.All() {
		s.Blocked[c] += now - p.pauses.since[c]
	}
	return s
}
