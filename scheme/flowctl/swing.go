package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// SwingParams are the parameters of SWING.
type SwingParams struct {
	Side   string      `yaml:"side" allowed:"short,long" doc:"where the port leads: short (to the relay's own switch) or long (to the other relay)"`
	Xoff   units.Bytes `yaml:"xoff" doc:"side short: the switch is paused while a class stores more than this"`
	Buffer units.Bytes `yaml:"buffer" doc:"side long: buffer of each lossless class; 0: a bandwidth-delay product and 1 MiB"`
}

func defaultSwing() any { return &SwingParams{Side: sideShort, Xoff: 198 * units.KB} }

// Sides of a relay.
const (
	sideShort = "short"
	sideLong  = "long"
)

// swing is a PFC relay (SWING; Bifrost section II-B): a two-port node at each end of a long
// cable. It obeys the pauses of its own switch and forwards every PFC frame to the other relay,
// which passes it to its switch. So that switch stops and resumes like the far switch, one
// one-way delay later. The buffer of the relay takes the bytes in flight meanwhile.
type swing struct{ params SwingParams }

func newSwing(params any) (Scheme, error) {
	p := params.(*SwingParams)
	switch {
	case p.Side != sideShort && p.Side != sideLong:
		return nil, fmt.Errorf("side is %q (allowed: %s, %s)", p.Side, sideShort, sideLong)
	case p.Xoff < 1 || p.Xoff > mmu.MaxBuffer:
		return nil, fmt.Errorf("xoff is %s (expected 1B to %dB)", p.Xoff, int64(mmu.MaxBuffer))
	case p.Buffer < 0 || p.Buffer > mmu.MaxBuffer:
		return nil, fmt.Errorf("buffer is %s (expected 0B to %dB)", p.Buffer, int64(mmu.MaxBuffer))
	}
	return &swing{*p}, nil
}

// queue returns the bytes that a class may store.
func (s *swing) queue(p *link.Port) units.Bytes {
	switch {
	case s.params.Side == sideShort:
		return s.params.Xoff + link.Needed(p)
	case s.params.Buffer != 0:
		return s.params.Buffer
	}
	return p.Cells(link.BDP(p)) + units.MiB
}

// inFlight returns the bytes that arrive on the long side after a pause is forwarded there, until
// the switch behind the other relay has stopped.
func inFlight(p *link.Port) units.Bytes { return p.Cells(link.BDP(p) + p.Rate.In(p.Beyond)) }

// relayPorts is the number of ports of a relay.
const relayPorts = 2

// Properties implements Scheme.
func (s *swing) Properties() Properties { return Properties{Check: s.check} }

// check is Properties.Check.
func (s *swing) check(p *link.Port) error {
	switch all := p.Queues() * s.queue(p); {
	case p.Host:
		return fmt.Errorf("a relay works between switches, and this is the port of a host (expected a two-port node, such as relay0 of two-dc with relay_link)")
	case p.Ports != relayPorts:
		return fmt.Errorf("a relay has two ports, and this switch has %d (expected a two-port node, such as relay0 of two-dc with relay_link)", p.Ports)
	case s.params.Side == sideLong && p.PeerPorts != 0 && p.PeerPorts != relayPorts:
		return fmt.Errorf("side is long, but the switch at the other end has %d ports and is not a relay, so its pauses would be ignored (allowed: short)", p.PeerPorts)
	case s.params.Side == sideShort && p.Through != 0 && p.Rate > p.Through:
		// The relay would have to pause its switch itself, and its RESUME would end a forwarded
		// pause.
		return fmt.Errorf("the cable to the switch runs at %s, faster than the long cable at %s (expected a cable to the switch that is not faster)", p.Rate, p.Through)
	case s.params.Side == sideLong && s.queue(p) < inFlight(p):
		return fmt.Errorf("buffer is %d bytes (expected at least a bandwidth-delay product up to the switch behind the other relay, %d bytes)", int64(s.queue(p)), int64(inFlight(p)))
	case all > mmu.MaxBuffer:
		return fmt.Errorf("buffer is %d bytes for all classes of a port (expected at most %d)", int64(all), int64(mmu.MaxBuffer))
	}
	return nil
}

// Reserve implements Scheme: a buffer for every class of a port.
func (s *swing) Reserve(p *link.Port) units.Bytes { return p.Queues() * s.queue(p) }

// Gate implements Scheme.
func (s *swing) Gate(p Port) Gate {
	return &swingGate{PauseGate: NewPauseGate(p), obeys: s.params.Side == sideShort, passes: p.Spec().Ports == relayPorts}
}

// Receiver implements Scheme.
func (s *swing) Receiver(p Port) Receiver {
	r := &swingReceiver{PauseSender: NewPauseSender(p), view: p.View(), index: p.Index(), most: s.queue(p.Spec()), xoff: s.params.Xoff}
	if s.params.Side == sideLong {
		r.xoff = mmu.MaxBuffer // the far switch decides when to stop
	}
	return r
}

type swingGate struct {
	*PauseGate
	obeys  bool
	passes bool
	passed packet.ClassMask // classes whose pause was forwarded and not yet ended
}

// Control implements Gate.
func (g *swingGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if g.obeys {
		g.PauseGate.Control(now, f, ext)
	}
	if g.passes && f.Kind() == packet.PFC {
		enable, pause, _ := f.PFC()
		g.passed = g.passed&^enable | pause
		g.pass(now, f, ext)
	}
}

func (g *swingGate) pass(now units.Time, f *packet.Packet, ext packet.Ext) {
	g.port.Relay(now, relayPorts-1-g.port.Index(), f, ext)
}

// Reset implements Gate. A cable that changed state has no pauses; forwarded pauses that came
// over it must be ended here.
func (g *swingGate) Reset(now units.Time, up bool) {
	g.PauseGate.Reset(now, up)
	if g.passed == 0 {
		return
	}
	var f packet.Packet
	f.SetPFC(g.passed, 0, 0)
	if size := g.port.Spec().PFC.Size; size != 0 {
		f.Size = size
	}
	g.passed = 0
	g.pass(now, &f, nil)
}

type swingReceiver struct {
	PauseSender
	view  mmu.View
	index int
	most  units.Bytes // bytes that a class may store
	xoff  units.Bytes
	quiet
}

// Place implements Receiver.
func (r *swingReceiver) Place(_ units.Time, a *mmu.Arrival) mmu.Segment {
	if r.view.In(r.index, a.Class, mmu.Headroom)+a.Bytes <= r.most {
		return mmu.Headroom
	}
	return mmu.Drop
}

// Charged implements Receiver.
func (r *swingReceiver) Charged(now units.Time, a *mmu.Arrival, _ mmu.Segment) {
	if r.view.In(r.index, a.Class, mmu.Headroom) > r.xoff {
		r.Want(now, r.want|1<<a.Class)
	}
}

// Released implements Receiver.
func (r *swingReceiver) Released(now units.Time, a *mmu.Arrival) {
	if r.want.Has(a.Class) {
		r.quiet[a.Class&7] = now
		if r.view.In(r.index, a.Class, mmu.Headroom) <= r.xoff {
			r.Want(now, r.want&^(1<<a.Class))
		}
	}
}

// Resumes implements Resuming.
func (r *swingReceiver) Resumes(_ units.Time, rest *Rest) bool {
	in := rest.View.Ingress(r.index, rest.Class)
	return !r.pauses(rest.Class) || rest.Moves.Has(rest.Class) && in.Total() <= r.xoff
}
