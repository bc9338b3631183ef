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
	Form   string     `yaml:"form" allowed:"window,clamped,printed" doc:"bytes that may still arrive: window (grants of a round trip), printed (Algorithm 1, can drop), clamped (printed, >= 0)"`
	Slot   units.Time `yaml:"slot" doc:"T: interval of grants to the upstream; more than 1us, less than the one-way delay of the cable"`
	Buffer SlotBuffer `yaml:"buffer" doc:"H, buffer for all lossless classes of a port: bdp+N (a bandwidth-delay product and N slots at line rate) or a size"`
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

// bifrost is Bifrost (section IV). In every slot the downstream computes how much it can take a
// round trip later, from stored bytes and earlier grants, and encodes it in the length of a PFC
// pause. The upstream uses plain PFC. docs/interdc.md lists what the paper leaves open.
type bifrost struct {
	slotRules
	form string
}

func newBifrost(params any) (Scheme, error) {
	p := params.(*BifrostParams)
	if p.Form != formWindow && p.Form != formClamped && p.Form != formPrinted {
		return nil, fmt.Errorf("form is %q (allowed: %s, %s, %s)", p.Form, formWindow, formClamped, formPrinted)
	}
	rules, err := newSlotRules(p.Slot, p.Buffer)
	return &bifrost{rules, p.Form}, err
}

// maxQuanta is the longest pause of a PFC frame.
const maxQuanta = 65535

// quantum is the number of bytes that pass in a pause quantum.
const quantum units.Bytes = packet.QuantumBits / 8

// Properties implements Scheme. Unless the form is window, F can fall below the bytes in flight.
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
		return fmt.Errorf("pauses must expire by themselves (expected switch.pfc.hold: timed)")
	case p.Tick > 1:
		return fmt.Errorf("pauses are computed from exact line times, which compat.tick rounds (expected compat.tick: 0s)")
	case s.full(p) >= longest:
		return fmt.Errorf("slot is %s, longer than a pause of %d quanta minus one frame (expected less than %s)", s.slot, maxQuanta, p.Rate.TxTime(longest))
	}
	return s.slotRules.check(p)
}

// Gate implements Scheme.
func (s *bifrost) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *bifrost) Receiver(p Port) Receiver {
	r := &bifrostReceiver{slotState: s.state(p), form: s.form, most: link.BDP(p.Spec()) + s.full(p.Spec())}
	r.virtual = r.most
	return r
}

type bifrostReceiver struct {
	slotState
	form    string
	granted units.Bytes // c^ of this slot
	quanta  uint16      // p of this slot
	due     bool        // the frame of this slot has not been sent
	pausing bool        // the last frame was a PAUSE
	virtual units.Bytes // F, for the forms printed and clamped
	most    units.Bytes // bound of F, DELTA + R_s T
	arrived units.Bytes // r, bytes stored in this slot
}

// Charged implements Receiver.
func (r *bifrostReceiver) Charged(_ units.Time, a *mmu.Arrival, _ mmu.Segment) { r.arrived += a.Bytes }

// Wake implements Receiver: a slot begins (Algorithm 1).
func (r *bifrostReceiver) Wake(now units.Time, _ int) {
	r.turn(now)
	if r.form == formWindow {
		r.decide()
	} else {
		r.decideByRecurrence()
	}
	if r.quanta > 0 || r.pausing {
		r.due = true
		r.port.Request(now)
	}
}

// decide grants what fits in addition to stored bytes and the grants of the last N slots. Bytes
// that leaked make L + F exceed H; nothing is granted until they are gone (line 13). If nothing
// is granted, the pause lasts two slots, so that a late frame leaks nothing.
//
// A gate that opens for w bytes of line time lets up to w and one frame pass: a frame that has
// started is sent to its end. So for c bytes the gate opens for one frame less. Frames of full
// size use the grant up if c is whole frames plus a little; the rest stays for the next slot.
func (r *bifrostReceiver) decide() {
	spec := r.port.Spec()
	frame := spec.MTU + spec.WireOverhead
	c := min(r.full, r.room()-r.flight)
	switch {
	case c < frame+openSlack:
		c = 0
		r.quanta = quantaFor(2 * r.full)
	case c < r.full:
		c = (c-openSlack)/frame*frame + openSlack
		r.quanta = quantaFor(r.full - (c - frame))
	default:
		r.quanta = 0
	}
	r.grant(c)
	r.granted = c
}

// decideByRecurrence is Algorithm 1, lines 10 to 15: F <- F - r + c. Bytes that arrive beyond
// their grant lower F by as much as they raise L, so the excess goes unnoticed. Line 13 is read
// as removing an excess of L + F over H, never as adding to F.
func (r *bifrostReceiver) decideByRecurrence() {
	c := min(r.full, r.room()-r.virtual)
	if r.form == formClamped {
		c = max(0, c)
	}
	r.granted = max(0, c)
	r.quanta = quantaFor(r.full - r.granted)
	r.virtual = min(r.most, r.virtual-r.onWire(r.arrived)+c)
	if r.form == formClamped {
		r.virtual = max(0, r.virtual)
	}
	r.arrived = 0
}

// openSlack keeps the gate open a little longer when the last frame starts: both the length of a
// pause and its end are rounded to whole quanta.
const openSlack = 2 * quantum

// quantaFor returns the pause for b bytes of line time, rounded up.
func quantaFor(b units.Bytes) uint16 { return uint16(min(maxQuanta, (b+quantum-1)/quantum)) }

// Frame implements Receiver: all lossless classes pause together.
func (r *bifrostReceiver) Frame(_ units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if !r.due {
		return ext, false
	}
	spec := r.port.Spec()
	r.due, r.pausing = false, r.quanta > 0
	pause := spec.Lossless
	if !r.pausing {
		pause = 0
	}
	f.SetPFC(spec.Lossless, pause, r.quanta)
	if spec.PFC.Size != 0 {
		f.Size = spec.PFC.Size
	}
	return ext, true
}

// Reset implements Receiver: until the next frame arrives, the peer sends at line rate.
func (r *bifrostReceiver) Reset(now units.Time, up bool) {
	r.fill(r.full)
	r.virtual, r.arrived = r.most, 0
	r.due, r.pausing = false, false
	if up {
		r.next = now
		r.Wake(now, 0)
	}
}

var bifrostGauges = []registry.Export{
	{Name: "stored_bytes", Doc: "stored bytes of the port's lossless classes, L"},
	{Name: "virtual_bytes", Doc: "bytes that earlier slots still allow to arrive, F"},
	{Name: "granted_bytes", Doc: "bytes granted by the last slot, c^"},
	{Name: "limit_bytes", Doc: "buffer of the port, H: the limit of L + F"},
}

var bifrostGaugeNames = registry.NamesOf(bifrostGauges)

// Gauges implements probe.Gauged.
func (r *bifrostReceiver) Gauges() []string { return bifrostGaugeNames }

// Measure implements probe.Gauged. The lowest lossless class has the values of the port.
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
