package cc

import (
	"cmp"
	"fmt"

	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// PowerParams are the parameters of PowerTCP with telemetry.
type PowerParams struct {
	Preset     string     `yaml:"preset" doc:"named set that fills the others"`
	Gamma      float64    `yaml:"gamma" doc:"weight of the new window against the old"`
	AI         units.Rate `yaml:"rai" doc:"additive step, as a rate: beta / tau"`
	Eta        float64    `yaml:"eta" doc:"load to aim at"`
	MinRate    units.Rate `yaml:"min_rate" doc:"a flow never sends slower"`
	MinCurrent float64    `yaml:"min_current" doc:"least arrival rate to reckon with, as a share of the port's rate"`
	Smooth     string     `yaml:"smooth" doc:"the old window is that of the last ACK (current) or of the last round trip (reference)"`
	FirstAck   string     `yaml:"first_ack" doc:"the first ACK is stored, or compared with records of zero: store or zero"`
	Telemetry  string     `yaml:"telemetry" doc:"format of records: exact or hpcc"`
	Counter    string     `yaml:"counter" doc:"what records count: sent or queued"`
	MaxAge     units.Time `yaml:"max_age" doc:"records further apart, or of another path, are not compared; 0s: always"`
}

var powerPresets = presets[PowerParams]{
	// Addanki et al. 2022, Algorithm 1 and section 4.1.
	"paper": {
		Preset: "paper", Gamma: 0.9, AI: 150 * units.Mbps, Eta: 1, MinRate: 100 * units.Mbps, Smooth: "current", FirstAck: "store",
		Telemetry: "exact", Counter: "sent", MaxAge: 50 * units.Millisecond,
	},
	// The public simulator.
	"hpcc-sim": {
		Preset: "hpcc-sim", Gamma: 0.9, AI: 150 * units.Mbps, Eta: 0.95, MinRate: 100 * units.Mbps, MinCurrent: 0.5,
		Smooth: "reference", FirstAck: "zero",
		Telemetry: "hpcc", Counter: "queued",
	},
}

// ApplyPreset fills the parameters of a named set.
func (p *PowerParams) ApplyPreset(name string) error { return powerPresets.apply(p, name) }

func newPowerTCP(params any) (Factory, error) {
	p := *params.(*PowerParams)
	switch {
	case !(p.Eta > 0 && p.Eta <= 1):
		return nil, fmt.Errorf("eta is %v; allowed: more than 0, at most 1", p.Eta)
	case !(p.MinCurrent >= 0 && p.MinCurrent <= 1):
		return nil, fmt.Errorf("min_current is %v; allowed: 0 to 1", p.MinCurrent)
	}
	step, err := newPowerStep(p.Gamma, p.AI, p.MinRate, p.Smooth)
	if err != nil {
		return nil, err
	}
	zero, err := oneOf("first_ack", p.FirstAck, "store", "zero")
	if err != nil {
		return nil, err
	}
	spec, err := telemetrySpec(p.Telemetry, p.Counter, p.MaxAge)
	if err != nil {
		return nil, err
	}
	tick := spec.Format.Tick().Seconds()
	return func() Control {
		return &powerTCP{params: &p, spec: spec, tick: tick, step: step, zero: zero == 1}
	}, nil
}

// powerStep is the update of the window that both versions of PowerTCP share
// (UpdateWindow of their algorithms), on rates.
type powerStep struct {
	gamma, rest float64
	ai          units.Rate
	reference   bool // smooth with the reference, not with the rate in force
}

func newPowerStep(gamma float64, ai, lowest units.Rate, smooth string) (powerStep, error) {
	if !(gamma > 0 && gamma <= 1) {
		return powerStep{}, fmt.Errorf("gamma is %v; allowed: more than 0, at most 1", gamma)
	}
	if err := cmp.Or(positive("rai", ai), positive("min_rate", lowest)); err != nil {
		return powerStep{}, err
	}
	which, err := oneOf("smooth", smooth, "current", "reference")
	return powerStep{gamma: gamma, rest: complement(gamma), ai: ai, reference: which == 1}, err
}

// rate returns the rate for a power that is c times what it should be.
func (s *powerStep) rate(r *rounds, c float64) units.Rate {
	old := r.rate
	if s.reference {
		old = r.cur
	}
	return units.Rate(float64(r.over(c)+s.ai)*s.gamma) + units.Rate(float64(old)*s.rest)
}

// powerTCP is the sender of PowerTCP, Algorithm 1 of the paper. Its window is
// kept as a rate: cwnd = R x tau.
type powerTCP struct {
	rounds
	params *PowerParams
	step   powerStep
	spec   telemetry.Spec
	tick   float64 // seconds
	zero   bool    // compare the first ACK with zero
	window units.Bytes
	link   link
	hops   hops
}

// link is what power needs to know of hops of one rate. Those of a path are most
// often alike: the products are computed when the rate changes.
type link struct {
	rate  units.Rate
	least float64 // current to reckon with, in bits per second
	full  float64 // bits of a round trip
	base  float64 // power of a full link without queue
}

func (p *powerTCP) linkOf(rate units.Rate) link {
	b, t := float64(rate), float64(p.t)
	return link{rate, float64(p.params.MinCurrent * b), float64(b * float64(t*p.tick)), float64(b * float64(float64(b*t)*p.tick))}
}

// NeedsTelemetry implements Telemetry.
func (p *powerTCP) NeedsTelemetry() telemetry.Spec { return p.spec }

// Repaces implements Repacer.
func (p *powerTCP) Repaces() {}

// Start implements Control.
func (p *powerTCP) Start(_ units.Time, f *Flow) {
	p.rounds = startRounds(f, p.params.MinRate, p.spec.Format.Tick())
	p.window, p.link, p.hops = p.inTrip(p.tick), link{}, hops{}
}

// OnAck implements Control: NewAck of the paper.
func (p *powerTCP) OnAck(now units.Time, a *Ack) {
	if len(a.Telemetry) == 0 {
		return
	}
	full := a.Seq > p.last
	switch {
	case p.last == 0 && !p.zero:
		p.last = a.Next
	case p.hops.fresh(now, p.spec.Format, a.Telemetry, p.params.MaxAge):
		p.blend(p.power(a))
		p.set(p.step.rate(&p.rounds, p.u/p.params.Eta), full, a.Next)
		p.window = p.inTrip(p.tick)
	}
	p.hops.keep(now, a.Telemetry)
}

// power is NormPower of the paper for this ACK alone: the largest of the powers
// of the hops, relative to that of a full link without queue. Power is current,
// the rate of arrivals, times voltage, the bytes of a full link and its queue. No
// arrivals are a measurement too: averages over a round trip need the zeros.
func (p *powerTCP) power(a *Ack) (float64, int64) {
	var most largest
	format, records, before := p.spec.Format, a.Telemetry, p.hops.words[:]
	for i := range format.Hops(records) {
		ticks := format.Ticks(records, before, i)
		if ticks == 0 {
			continue // the same record again
		}
		if rate := format.Rate(records, i); rate != p.link.rate {
			p.link = p.linkOf(rate)
		}
		queue := float64(format.Queue(records, i))
		arrived := float64(format.Bytes(records, before, i))
		if p.spec.Counter == telemetry.Sent {
			arrived += queue - float64(format.Queue(before, i))
		}
		current := float64(arrived*8) / float64(float64(ticks)*p.tick)
		if current < p.link.least { // max of floats costs branches for NaN
			current = p.link.least
		}
		voltage := float64(queue*8) + p.link.full
		most = most.or(float64(current*voltage)/p.link.base, ticks)
	}
	return most.value()
}

// Rate implements Control.
func (p *powerTCP) Rate(units.Time) units.Rate { return p.rate }

// Window implements Control.
func (p *powerTCP) Window(units.Time) units.Bytes { return p.window }

// OnSend implements Control.
func (p *powerTCP) OnSend(units.Time, units.Bytes) {}

// OnCNP implements Control: marks say nothing that telemetry does not.
func (p *powerTCP) OnCNP(units.Time) {}

// OnLoss implements Control: losses are left to the reliability of the NIC.
func (p *powerTCP) OnLoss(units.Time, bool) {}
