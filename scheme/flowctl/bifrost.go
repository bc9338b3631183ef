package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// BifrostParams are the parameters of Bifrost.
type BifrostParams struct {
	Form   string     `yaml:"form" allowed:"window,clamped,printed" doc:"what may still arrive: window (the grants of the last round trip), printed (Algorithm 1, which can lose frames), clamped (the same, never below zero)"`
	Slot   units.Time `yaml:"slot" doc:"T: how often the upstream is told; more than 1us, less than the cable takes one way"`
	Buffer SlotBuffer `yaml:"buffer" doc:"H, for all lossless classes of a port: bdp+N (a bandwidth-delay product and N slots at line rate) or a size"`
}

func defaultBifrost() any {
	return &BifrostParams{Form: formWindow, Slot: 10 * units.Microsecond, Buffer: SlotBuffer{Slots: 3}}
}

// Forms of F, the virtual incoming bytes.
const (
	formWindow  = "window"
	formClamped = "clamped"
	formPrinted = "printed"
)

// bifrost is Bifrost (section IV): in every slot the downstream works out how much it can
// take a round trip later, from what is stored and what earlier pauses still allow, and
// says it by the length of a PFC pause. Upstream is PFC as it is. docs/interdc.md has what
// the paper leaves open.
type bifrost struct {
	slotRules
	form string
}

func newBifrost(params any) (Scheme, error) {
	p := params.(*BifrostParams)
	if p.Form != formWindow && p.Form != formClamped && p.Form != formPrinted {
		return nil, fmt.Errorf("form cannot be %q; allowed: %s, %s, %s", p.Form, formWindow, formClamped, formPrinted)
	}
	rules, err := newSlotRules(p.Slot, p.Buffer)
	return &bifrost{rules, p.Form}, err
}

// maxQuanta is the longest pause that a PFC frame can ask for.
const maxQuanta = 65535

// quantum is a pause quantum in bytes of line time.
const quantum units.Bytes = packet.QuantumBits / 8

// Properties implements Scheme. Unless the form is window, F can fall below what is in
// flight.
func (s *bifrost) Properties() Properties {
	p := Properties{Check: s.check, Advise: s.advise}
	if s.form != formWindow {
		p.Breaks = registry.Lossless
	}
	return p
}

// check is Properties.Check.
func (s *bifrost) check(p *link.Port) error {
	// While nothing is granted, a pause must last until the next one, which may be late.
	longest := maxQuanta*quantum - max(p.MTU, p.MTUOut) - p.WireOverhead
	switch {
	case p.PFC.Indefinite:
		return fmt.Errorf("pauses must run out by themselves; allowed: switch.pfc.hold: timed")
	case p.Tick > 1:
		return fmt.Errorf("a pause stands for what passes meanwhile, and with compat.tick more does; allowed: compat.tick: 0s")
	case s.full(p) >= longest:
		return fmt.Errorf("slot is %s, longer than the %d quanta of a pause less a frame that the next one may wait for; allowed: less than %s", s.slot, maxQuanta, p.Rate.TxTime(longest))
	}
	return s.slotRules.check(p)
}

// Gate implements Scheme.
func (s *bifrost) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *bifrost) Receiver(p Port) Receiver {
	r := &bifrostReceiver{slotBooks: s.books(p), form: s.form, most: link.BDP(p.Spec()) + s.full(p.Spec())}
	r.virtual = r.most
	return r
}

type bifrostReceiver struct {
	slotBooks
	form    string
	granted units.Bytes // c^ of this slot
	quanta  uint16      // p of this slot
	due     bool        // the frame of this slot has not left
	holding bool        // the last frame asked for a pause
	virtual units.Bytes // F of the forms printed and clamped
	most    units.Bytes // its bound, DELTA + R_s T
	came    units.Bytes // r, received in this slot, as stored
}

// Charged implements Receiver.
func (r *bifrostReceiver) Charged(_ units.Time, a *mmu.Arrival, _ mmu.Segment) { r.came += a.Bytes }

// Wake implements Receiver: a slot begins (Algorithm 1).
func (r *bifrostReceiver) Wake(now units.Time, _ int) {
	r.turn(now)
	if r.form == formWindow {
		r.decide()
	} else {
		r.decideByRecurrence()
	}
	if r.quanta > 0 || r.holding {
		r.due = true
		r.port.Request(now)
	}
}

// decide grants what fits beside what is stored and what the last N slots granted. Bytes
// that leaked make L + F exceed H; nothing is granted until they are gone (line 13). Two
// slots of pause are asked for when nothing is granted, so that a frame which comes late
// leaks nothing.
//
// A gate that opens for w bytes of line time lets less than w and a frame pass: the frame
// that is begun last is sent. So for c bytes it opens for a frame less. Frames of full size
// use that up if c is whole frames and a little; what is more stays for the next slot.
func (r *bifrostReceiver) decide() {
	spec := r.port.Spec()
	frame := spec.MTU + spec.WireOverhead
	c := min(r.full, r.room()-r.flight)
	switch {
	case c < frame+ajar:
		c = 0
		r.quanta = quantaFor(2 * r.full)
	case c < r.full:
		c = (c-ajar)/frame*frame + ajar
		r.quanta = quantaFor(r.full - (c - frame))
	default:
		r.quanta = 0
	}
	r.grant(c)
	r.granted = c
}

// decideByRecurrence is Algorithm 1, lines 10 to 15: F <- F - r + c. What arrives beyond
// its grant lowers F by as much as it raises L, so that nobody notices it. Line 13 is read
// as taking away an excess of L + F over H, never as adding what lacks.
func (r *bifrostReceiver) decideByRecurrence() {
	c := min(r.full, r.room()-r.virtual)
	if r.form == formClamped {
		c = max(0, c)
	}
	r.granted = max(0, c)
	r.quanta = quantaFor(r.full - r.granted)
	r.virtual = min(r.most, r.virtual-r.onWire(r.came)+c)
	if r.form == formClamped {
		r.virtual = max(0, r.virtual)
	}
	r.came = 0
}

// ajar is for how long the gate stays open when the last frame is to begin: a pause is
// rounded to whole quanta, and so is the time at which it ends.
const ajar = 2 * quantum

// quantaFor is the pause of so many bytes of line time, rounded up.
func quantaFor(b units.Bytes) uint16 { return uint16(min(maxQuanta, (b+quantum-1)/quantum)) }

// Frame implements Receiver: all lossless classes pause together.
func (r *bifrostReceiver) Frame(_ units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if !r.due {
		return ext, false
	}
	spec := r.port.Spec()
	r.due, r.holding = false, r.quanta > 0
	pause := spec.Lossless
	if !r.holding {
		pause = 0
	}
	f.SetPFC(spec.Lossless, pause, r.quanta)
	if spec.PFC.Size != 0 {
		f.Size = spec.PFC.Size
	}
	return ext, true
}

// Reset implements Receiver: until the next frame arrives, the peer sends as it likes.
func (r *bifrostReceiver) Reset(now units.Time, up bool) {
	r.fill(r.full)
	r.virtual, r.came = r.most, 0
	r.due, r.holding = false, false
	if up {
		r.next = now
		r.Wake(now, 0)
	}
}

var bifrostGauges = []registry.Shown{
	{Name: "stored_bytes", Doc: "what the lossless classes of the port hold, L"},
	{Name: "virtual_bytes", Doc: "what may still arrive because earlier slots allowed it, F"},
	{Name: "granted_bytes", Doc: "what the last slot allowed, c^"},
	{Name: "limit_bytes", Doc: "the buffer that L and F are held against, H"},
}

var bifrostGaugeNames = registry.NamesOf(bifrostGauges)

// Gauges implements probe.Gauged.
func (r *bifrostReceiver) Gauges() []string { return bifrostGaugeNames }

// Measure implements probe.Gauged: the numbers of a port, at its lowest lossless class.
func (r *bifrostReceiver) Measure(_ units.Time, _ int, class uint8, values []float64) bool {
	if all := r.port.Spec().Lossless; all&-all != 1<<(class&7) {
		return false
	}
	virtual := r.flight
	if r.form != formWindow {
		virtual = r.virtual
	}
	for i, b := range [...]units.Bytes{r.stored(), virtual, r.granted, r.limit} {
		values[i] = float64(b)
	}
	return true
}
