package flowctl

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// BifrostXParams are the parameters of BifrostX.
type BifrostXParams struct {
	Slot   units.Time `yaml:"slot" doc:"T: interval of grants to the upstream; more than 1us, less than the one-way delay of the cable"`
	Buffer SlotBuffer `yaml:"buffer" doc:"H, buffer for all lossless classes of a port: bdp+N (a bandwidth-delay product and N slots at line rate) or a size"`
}

func defaultBifrostX() any {
	return &BifrostXParams{Slot: 10 * units.Microsecond, Buffer: SlotBuffer{Slots: 3}}
}

// bifrostX is Bifrost for several classes (section IV-E). In every slot a feedback frame grants
// bytes to all classes together, as in Bifrost, and to each class by the growth of its queue. The
// upstream counts bytes. Both ports should serve classes by strict priority.
type bifrostX struct{ slotRules }

func newBifrostX(params any) (Scheme, error) {
	p := params.(*BifrostXParams)
	rules, err := newSlotRules(p.Slot, p.Buffer)
	return &bifrostX{rules}, err
}

// Properties implements Scheme.
func (s *bifrostX) Properties() Properties {
	return Properties{Dialect: "BifrostX", Check: s.check, Advise: s.advise}
}

// Receiver implements Scheme.
func (s *bifrostX) Receiver(p Port) Receiver { return &bifrostXReceiver{slotState: s.state(p)} }

// Gate implements Scheme.
func (s *bifrostX) Gate(p Port) Gate {
	spec := p.Spec()
	g := &bifrostXGate{port: p, slot: s.slot, full: s.full(spec), frame: spec.MTU + spec.WireOverhead, overhead: spec.WireOverhead}
	p.Meter(spec.Lossless)
	g.refillFull()
	p.WakeAt(0, s.slot)
	return g
}

// feedbackSize is the size of a feedback frame: c_max and eight c_i of four bytes each fit the
// smallest Ethernet frame.
const feedbackSize = 64

// feedbackWords is the length of the extension: c_max, then the c_i.
const feedbackWords = 1 + mmu.Classes

type bifrostXReceiver struct {
	slotState
	granted units.Bytes              // c_max of this slot
	classes [mmu.Classes]units.Bytes // c_i
	last    [mmu.Classes]units.Bytes // L_i at the start of the slot
	due     bool
}

// Charged implements Receiver.
func (r *bifrostXReceiver) Charged(units.Time, *mmu.Arrival, mmu.Segment) {}

// Wake implements Receiver: a slot begins (Algorithm 2).
func (r *bifrostXReceiver) Wake(now units.Time, _ int) {
	r.turn(now)
	r.granted = max(0, min(r.full, r.room()-r.flight))
	r.grant(r.granted)
	view, index := r.port.View(), r.port.Index()
	for c := range (r.port.Spec().Lossless).All() {
		l := view.In(index, c, mmu.Headroom)
		r.classes[c] = max(0, r.full-max(0, l-r.last[c]))
		r.last[c] = l
	}
	r.due = true
	r.port.Request(now)
}

// Frame implements Receiver.
func (r *bifrostXReceiver) Frame(_ units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if !r.due {
		return ext, false
	}
	r.due = false
	*f = packet.Packet{Size: feedbackSize, Meta: packet.MakeMeta(packet.Feedback, 0)}
	ext = append(ext, uint64(r.granted))
	for _, c := range r.classes {
		ext = append(ext, uint64(c))
	}
	return ext, true
}

// Reset implements Receiver: all grants are void, and the gate waits for the next slot.
func (r *bifrostXReceiver) Reset(now units.Time, up bool) {
	r.fill(0)
	r.due = false
	if up {
		r.next = now
		r.Wake(now, 0)
	}
}

// bifrostXGate is Algorithm 3, applied to each frame in the order of the scheduler. Testing the
// queues once per slot would strand frames that come later in it.
type bifrostXGate struct {
	port     Port
	slot     units.Time
	full     units.Bytes
	frame    units.Bytes // longest frame on the wire
	overhead units.Bytes
	left     units.Bytes              // rest of c_max
	classes  [mmu.Classes]units.Bytes // rest of the c_i
	told     bool                     // a feedback frame has arrived
}

// refill adds the tokens of a slot: c_max, and c_i from the second on. What is left of the
// last slot is kept up to a frame: tokens smaller than a frame would never be used.
func (g *bifrostXGate) refill(tokens *[feedbackWords]units.Bytes) {
	g.left = min(g.left, g.frame) + tokens[0]
	for c := range g.classes {
		g.classes[c] = min(g.classes[c], g.frame) + tokens[1+c]
	}
}

// refillFull begins a slot before the first feedback.
func (g *bifrostXGate) refillFull() {
	var tokens [feedbackWords]units.Bytes
	for i := range tokens {
		tokens[i] = g.full
	}
	g.refill(&tokens)
}

// Control implements Gate: a slot begins.
func (g *bifrostXGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if f.Kind() != packet.Feedback || len(ext) < feedbackWords {
		return
	}
	if !g.told {
		g.told = true
		g.left = 0
		clear(g.classes[:])
	}
	var tokens [feedbackWords]units.Bytes
	for i := range tokens {
		tokens[i] = units.Bytes(ext[i])
	}
	g.refill(&tokens)
	g.port.Kick(now)
}

// Frame implements Gate.
func (g *bifrostXGate) Frame(_ units.Time, _ *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	return ext, false
}

// Wake implements Gate: until the first feedback, every slot is a full one.
func (g *bifrostXGate) Wake(now units.Time, _ int) {
	if !g.told {
		g.refillFull()
		g.port.WakeAt(0, now+g.slot)
		g.port.Kick(now)
	}
}

// Reset implements Gate: the peer may be full, so the gate waits for its next feedback.
func (g *bifrostXGate) Reset(units.Time, bool) {
	g.told, g.left = true, 0
	clear(g.classes[:])
	g.port.WakeAt(0, units.Never)
}

// May implements Meter. Bytes that wait in higher classes and have tokens come first (Algorithm
// 3). Otherwise small frames would use up the tokens that a large frame waits for.
func (g *bifrostXGate) May(_ units.Time, class uint8, b units.Bytes) bool {
	b += g.overhead
	left := g.left
	for c := range (g.port.Spec().Lossless & (1<<(class&7) - 1)).All() {
		left -= min(g.port.Waiting(c), g.classes[c])
	}
	return b <= left && b <= g.classes[class&7]
}

// Sent implements Meter.
func (g *bifrostXGate) Sent(_ units.Time, class uint8, b units.Bytes) {
	g.left -= b + g.overhead
	g.classes[class&7] -= b + g.overhead
}

var bifrostXGauges = []registry.Export{
	{Name: "stored_bytes", Doc: "stored bytes of the queue, L_i"},
	{Name: "virtual_bytes", Doc: "bytes that may still arrive for all classes of the port, F"},
	{Name: "granted_bytes", Doc: "bytes granted by the last slot to all classes, c_max"},
	{Name: "class_bytes", Doc: "bytes granted by the last slot to the class, c_i"},
	{Name: "limit_bytes", Doc: "buffer of the port, H"},
}

var bifrostXGaugeNames = registry.NamesOf(bifrostXGauges)

// Gauges implements probe.Gauged.
func (r *bifrostXReceiver) Gauges() []string { return bifrostXGaugeNames }

// Measure implements probe.Gauged.
func (r *bifrostXReceiver) Measure(_ units.Time, _ int, class uint8, values []float64) bool {
	if !r.port.Spec().Lossless.Has(class) {
		return false
	}
	stored := r.port.View().In(r.port.Index(), class, mmu.Headroom)
	for i, b := range [...]units.Bytes{stored, r.flight, r.granted, r.classes[class&7], r.limit} {
		values[i] = float64(b)
	}
	return true
}
