package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// AdaptiveParams are the parameters of Adaptive PFC Headroom.
type AdaptiveParams struct {
	Headroom link.Headroom `yaml:"headroom" doc:"headroom per lossless queue until the link delay is measured, and its maximum then: exact, eq1 (DSH eq. 1) or a size"`
	Rule     string        `yaml:"rule" allowed:"exact,eq1" doc:"headroom from the measured delay: exact (all that can be in flight) or eq1 (DSH eq. 1)"`
	Delta    units.Bytes   `yaml:"delta" doc:"a queue resumes this far below its threshold"`
}

// adaptive is SIH whose ports measure the delay of their links when they come up, and give
// unneeded parts of the configured headroom to the shared segment (IEEE 802.1Qdt; DSH section
// V-B).
//
// The measurement uses real control frames. The receiver sends a Feedback frame with its send
// time; the peer's gate returns that time and how long it kept the frame. The rest of the round
// trip, without the line time of both frames, is the delay of both directions. A peer with
// another scheme does not answer; the port then keeps the configured headroom and asks again at
// growing intervals.
type adaptive struct {
	sih  sih
	rule link.Headroom
}

func newAdaptive(params any) (Scheme, error) {
	p := params.(*AdaptiveParams)
	s := &adaptive{sih: sih{params: SIHParams{Headroom: p.Headroom, Delta: p.Delta}}}
	switch {
	case p.Delta < 0:
		return nil, fmt.Errorf("delta is %s (expected 0B or more)", p.Delta)
	case p.Rule == "eq1":
		s.rule.Rule = link.RuleEq1
	case p.Rule != "exact":
		return nil, fmt.Errorf("rule is %q (allowed: exact, eq1)", p.Rule)
	}
	return s, nil
}

// Reserve implements Scheme: the headroom before the delay is measured.
func (s *adaptive) Reserve(p *link.Port) units.Bytes { return s.sih.Reserve(p) }

// Properties implements Scheme.
func (s *adaptive) Properties() Properties {
	enough := headroomExact
	if s.rule.Rule != link.RuleExact {
		enough += ", rule: exact"
	}
	return Properties{Sizing: perQueue(s.queue, enough)}
}

// queue returns the headroom of a queue after the measurement, which is exact for both directions
// together.
func (s *adaptive) queue(p *link.Port) units.Bytes {
	return min(s.sih.params.Headroom.Of(p), s.measured(*p, p.DelayIn+p.DelayOut))
}

// measured returns the headroom of a queue for a given delay of both directions.
func (s *adaptive) measured(spec link.Port, both units.Time) units.Bytes {
	spec.DelayIn, spec.DelayOut = both/2, both-both/2
	return s.rule.Of(&spec)
}

// Gate implements Scheme.
func (s *adaptive) Gate(p Port) Gate { return &adaptiveGate{PauseGate: NewPauseGate(p)} }

// Receiver implements Scheme.
func (s *adaptive) Receiver(p Port) Receiver {
	r := &adaptiveReceiver{sihReceiver: s.sih.receiver(p), answer: p.NewTimer(), scheme: s}
	r.ask(0)
	return r
}

// firstRetry is the time to wait for the first answer before asking again.
const firstRetry = units.Millisecond

type adaptiveReceiver struct {
	sihReceiver
	answer int // timer for a missing answer
	scheme *adaptive
	asking bool        // a question is to be sent
	wait   units.Time  // time to wait for the answer
	next   units.Bytes // measured headroom that cannot be set yet; 0: none
}

// ask starts a measurement of the link delay.
func (r *adaptiveReceiver) ask(now units.Time) {
	r.asking, r.wait = true, max(firstRetry, 2*r.wait)
	r.port.Request(now)
}

// Frame implements Receiver. Pauses go first.
func (r *adaptiveReceiver) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	ext, ok := r.sihReceiver.Frame(now, f, ext)
	if ok || !r.asking {
		return ext, ok
	}
	r.asking = false
	*f = packet.Packet{Size: uint16(packet.PFCSize), Meta: packet.MakeMeta(packet.Feedback, 0)}
	r.port.WakeAt(r.answer, now+r.wait)
	return append(ext, uint64(now)), true
}

// Control implements Receiver: the answer.
func (r *adaptiveReceiver) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if f.Kind() != packet.Request || len(ext) != 2 {
		return
	}
	r.port.WakeAt(r.answer, units.Never)
	spec := r.port.Spec()
	line := spec.TxTime(spec.Rate, packet.PFCSize+spec.WireOverhead)
	both := now - units.Time(ext[0]) - units.Time(ext[1]) - 2*line
	r.next = min(r.headroom, r.scheme.measured(*spec, both))
	r.settle()
}

// settle sets the measured headroom, unless a queue still stores more.
func (r *adaptiveReceiver) settle() {
	if r.next == 0 {
		return
	}
	for c := range uint8(mmu.Classes) {
		if r.view.In(r.index, c, mmu.Headroom) > r.next {
			return
		}
	}
	r.headroom, r.next = r.next, 0
	r.port.Reserve(r.port.Spec().Queues() * r.headroom)
}

// Released implements Receiver.
func (r *adaptiveReceiver) Released(now units.Time, a *mmu.Arrival) {
	r.sihReceiver.Released(now, a)
	r.settle()
}

// Wake implements Receiver.
func (r *adaptiveReceiver) Wake(now units.Time, timer int) {
	if timer == r.answer {
		r.ask(now)
		return
	}
	r.sihReceiver.Wake(now, timer)
}

// Reset implements Receiver: the delay is measured again. The headroom can only shrink: bytes
// given to the shared segment are not taken back.
func (r *adaptiveReceiver) Reset(now units.Time, up bool) {
	r.sihReceiver.Reset(now, up)
	r.asking, r.wait = false, 0
	r.port.WakeAt(r.answer, units.Never)
	if up {
		r.ask(now)
	}
}

// adaptiveGate answers questions about the delay.
type adaptiveGate struct {
	*PauseGate
	asked   bool
	sent    uint64     // time at which the question left
	arrived units.Time // time at which it arrived
}

// Control implements Gate.
func (g *adaptiveGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if f.Kind() == packet.Feedback && len(ext) == 1 {
		g.asked, g.sent, g.arrived = true, ext[0], now
		g.port.Request(now)
		return
	}
	g.PauseGate.Control(now, f, ext)
}

// Frame implements Gate.
func (g *adaptiveGate) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if !g.asked {
		return ext, false
	}
	g.asked = false
	*f = packet.Packet{Size: uint16(packet.PFCSize), Meta: packet.MakeMeta(packet.Request, 0)}
	return append(ext, g.sent, uint64(now-g.arrived)), true
}

// Reset implements Gate.
func (g *adaptiveGate) Reset(now units.Time, up bool) {
	g.asked = false
	g.PauseGate.Reset(now, up)
}
