package flowctl

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// BifrostXParams are the parameters of BifrostX.
type BifrostXParams struct {
	Slot   units.Time `yaml:"slot" doc:"T: how often the upstream is told; more than 1us, less than the cable takes one way"`
	Buffer SlotBuffer `yaml:"buffer" doc:"H, for all lossless classes of a port: bdp+N (a bandwidth-delay product and N slots at line rate) or a size"`
}

func defaultBifrostX() any {
	return &BifrostXParams{Slot: 10 * units.Microsecond, Buffer: SlotBuffer{Slots: 3}}
}

// bifrostX is Bifrost for several classes (section IV-E): a feedback frame in every slot
// says how much all classes together may send, as Bifrost does, and each class by how its
// queue grew. The upstream counts bytes. Both ports should serve classes by priority.
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
func (s *bifrostX) Receiver(p Port) Receiver { return &bifrostXReceiver{slotBooks: s.books(p)} }

// Gate implements Scheme.
func (s *bifrostX) Gate(p Port) Gate {
	spec := p.Spec()
	g := &bifrostXGate{port: p, slot: s.slot, full: s.full(spec), frame: spec.MTU + spec.WireOverhead, overhead: spec.WireOverhead}
	p.Meter(spec.Lossless)
	g.refill()
	p.WakeAt(0, s.slot)
	return g
}

// feedbackSize is the size of a feedback frame: c_max and eight c_i of four bytes each
// fit an Ethernet frame of the smallest size.
const feedbackSize = 64

// A feedback frame carries c_max in the first word of its extension, then the c_i.
const feedbackWords = 1 + mmu.Classes

type bifrostXReceiver struct {
	slotBooks
	granted units.Bytes              // c_max of this slot
	classes [mmu.Classes]units.Bytes // c_i
	last    [mmu.Classes]units.Bytes // L_i when the slot began
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

// Reset implements Receiver: what was granted is void, and the gate waits for the next slot.
func (r *bifrostXReceiver) Reset(now units.Time, up bool) {
	r.fill(0)
	r.due = false
	if up {
		r.next = now
		r.Wake(now, 0)
	}
}

// bifrostXGate is Algorithm 3, applied to each frame in the order in which the scheduler
// asks: testing the queues once in a slot would strand what comes later in it.
type bifrostXGate struct {
	port     Port
	slot     units.Time
	full     units.Bytes
	frame    units.Bytes // the longest, on the wire
	overhead units.Bytes
	left     units.Bytes              // of c_max
	classes  [mmu.Classes]units.Bytes // of the c_i
	told     bool                     // there was a feedback frame
}

// refill gives every token its full value.
func (g *bifrostXGate) refill() {
	g.left = g.full
	for c := range g.classes {
		g.classes[c] = g.full
	}
}

// Control implements Gate: a slot begins. What is left of the last one is kept up to a
// frame: tokens that are always smaller than that would never be used.
func (g *bifrostXGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if f.Kind() != packet.Feedback || len(ext) < feedbackWords {
		return
	}
	if !g.told {
		g.told = true
		g.left = 0
		clear(g.classes[:])
	}
	g.left = min(g.left, g.frame) + units.Bytes(ext[0])
	for c := range g.classes {
		g.classes[c] = min(g.classes[c], g.frame) + units.Bytes(ext[1+c])
	}
	g.port.Kick(now)
}

// Frame implements Gate.
func (g *bifrostXGate) Frame(_ units.Time, _ *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	return ext, false
}

// Wake implements Gate: until the first feedback every slot is a full one.
func (g *bifrostXGate) Wake(now units.Time, _ int) {
	if !g.told {
		g.refill()
		g.port.WakeAt(0, now+g.slot)
		g.port.Kick(now)
	}
}

// Reset implements Gate: the peer may be full, so its next feedback is waited for.
func (g *bifrostXGate) Reset(units.Time, bool) {
	g.told, g.left = true, 0
	clear(g.classes[:])
	g.port.WakeAt(0, units.Never)
}

// May implements Meter. What waits in classes before this one, and has tokens, comes first
// (Algorithm 3): else small frames would use up what a large one of them waits for.
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

var bifrostXGauges = []registry.Shown{
	{Name: "stored_bytes", Doc: "what the queue holds, L_i"},
	{Name: "virtual_bytes", Doc: "what may still arrive for all classes of the port, F"},
	{Name: "granted_bytes", Doc: "what the last slot allowed to all classes, c_max"},
	{Name: "class_bytes", Doc: "what the last slot allowed to the class, c_i"},
	{Name: "limit_bytes", Doc: "the buffer of the port, H"},
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
