package conformance

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// flowWatch wraps a flow control and checks every call from the node: the wake contract, the
// reserved headroom, and which end blocks which classes.
type flowWatch struct {
	faults
	bounded bool
}

// wrap returns a scheme that behaves like s and is checked.
func (w *flowWatch) wrap(s flowctl.Scheme) flowctl.Scheme { return watchedScheme{w, s} }

type watchedScheme struct {
	w *flowWatch
	s flowctl.Scheme
}

func (s watchedScheme) Properties() flowctl.Properties { return s.s.Properties() }

func (s watchedScheme) Reserve(p *link.Port) units.Bytes {
	b := s.s.Reserve(p)
	if b < 0 {
		s.w.add("Reserve returns %d B (expected 0 or more)", b)
	}
	return b
}

func (s watchedScheme) Receiver(p flowctl.Port) flowctl.Receiver {
	port := &watchedPort{Port: p, w: s.w, wakes: timerRules{arm: p.WakeAt, bad: &s.w.faults, who: "receiver"}}
	r := &watchedReceiver{port: port, reserve: s.s.Reserve(p.Spec())}
	r.r = s.s.Receiver(port)
	port.done(0)
	return r
}

func (s watchedScheme) Gate(p flowctl.Port) flowctl.Gate {
	port := &watchedPort{Port: p, w: s.w, gate: true, wakes: timerRules{arm: p.WakeAt, bad: &s.w.faults, who: "gate"}}
	g := &watchedGate{port: port}
	g.g = s.s.Gate(port)
	g.m, _ = g.g.(flowctl.Meter)
	port.meter = g.m != nil
	port.done(0)
	return g
}

// watchedPort records the requests of a receiver or gate; the last wake of a call counts.
type watchedPort struct {
	flowctl.Port
	w       *flowWatch
	wakes   timerRules
	gate    bool
	meter   bool
	metered packet.ClassMask
	blocked packet.ClassMask
}

func (p *watchedPort) WakeAt(timer int, at units.Time) { p.wakes.request(timer, at) }

func (p *watchedPort) Block(now units.Time, mask packet.ClassMask) {
	if !p.gate {
		p.w.add("a receiver blocks classes %08b (expected only from a gate)", mask)
	}
	if extra := mask &^ p.Spec().Lossless; extra != 0 {
		p.w.add("classes %08b are blocked, but are not lossless", extra)
	}
	p.blocked = mask
	p.Port.Block(now, mask)
}

func (p *watchedPort) Meter(mask packet.ClassMask) {
	p.metered = mask
	p.Port.Meter(mask)
}

// done ends a call into a receiver or gate.
func (p *watchedPort) done(now units.Time) {
	p.wakes.done(now)
	if p.gate && p.metered != 0 && !p.meter {
		p.w.add("classes %08b are metered, but the gate does not implement flowctl.Meter", p.metered)
		p.Port.Meter(0)
	}
}

type watchedReceiver struct {
	port    *watchedPort
	r       flowctl.Receiver
	reserve units.Bytes
}

func (r *watchedReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	s := r.r.Place(now, a)
	v := r.port.View()
	switch {
	case s == mmu.Reserve && v.Reserved() < a.Bytes:
		r.port.w.add("at %s a frame is placed in the reserve, which is too small", now)
	case s == mmu.Private && v.In(a.In, a.Class, mmu.Private)+a.Bytes > v.PrivateSize():
		r.port.w.add("at %s a private segment overflows", now)
	case s == mmu.Shared && a.Bytes > v.SharedFree():
		r.port.w.add("at %s the shared segment overflows", now)
	}
	r.port.done(now)
	return s
}

func (r *watchedReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	if h := r.port.View().IngressPort(a.In, 0xff).Headroom; r.port.w.bounded && !r.port.Spec().Host && h > r.reserve {
		r.port.w.add("bounded: port %d uses %d B of headroom (expected at most %d B, as reserved)", a.In, h, r.reserve)
	}
	r.r.Charged(now, a, s)
	r.port.done(now)
}

func (r *watchedReceiver) Released(now units.Time, a *mmu.Arrival) {
	r.r.Released(now, a)
	r.port.done(now)
}

func (r *watchedReceiver) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	r.r.Control(now, f, ext)
	r.port.done(now)
}

func (r *watchedReceiver) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	ext, ok := r.r.Frame(now, f, ext)
	if ok && f.Kind() != packet.PFC && f.Kind() != packet.Feedback {
		r.port.w.add("a receiver sends a %s frame", f.Kind())
	}
	r.port.checkFrame(f, ok)
	r.port.done(now)
	return ext, ok
}

// checkFrame checks that a scheme has set a valid size for its control frame.
func (p *watchedPort) checkFrame(f *packet.Packet, ok bool) {
	if ok && (f.Size < uint16(packet.PFCSize) || units.Bytes(f.Size) > p.Spec().MTU) {
		p.w.add("a control frame has %d B (expected 64 B to one MTU)", f.Size)
	}
}

func (r *watchedReceiver) Wake(now units.Time, timer int) {
	r.port.wakes.fired(timer)
	r.r.Wake(now, timer)
	r.port.done(now)
}

func (r *watchedReceiver) Reset(now units.Time, up bool) {
	r.r.Reset(now, up)
	r.port.done(now)
}

// Storm implements dataplane.Storming.
func (r *watchedReceiver) Storm(now units.Time, mask packet.ClassMask) {
	if s, ok := r.r.(dataplane.Storming); ok {
		s.Storm(now, mask)
	}
	r.port.done(now)
}

type watchedGate struct {
	port *watchedPort
	g    flowctl.Gate
	m    flowctl.Meter
}

func (g *watchedGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	g.g.Control(now, f, ext)
	g.port.done(now)
}

func (g *watchedGate) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	ext, ok := g.g.Frame(now, f, ext)
	if ok && f.Kind() != packet.Request {
		g.port.w.add("a gate sends a %s frame", f.Kind())
	}
	g.port.checkFrame(f, ok)
	g.port.done(now)
	return ext, ok
}

func (g *watchedGate) Wake(now units.Time, timer int) {
	g.port.wakes.fired(timer)
	g.g.Wake(now, timer)
	g.port.done(now)
}

func (g *watchedGate) Reset(now units.Time, up bool) {
	g.g.Reset(now, up)
	g.port.done(now)
}

func (g *watchedGate) May(now units.Time, class uint8, b units.Bytes) bool {
	may := g.m.May(now, class, b)
	g.port.done(now)
	return may
}

func (g *watchedGate) Sent(now units.Time, class uint8, b units.Bytes) {
	g.m.Sent(now, class, b)
	g.port.done(now)
}
