package cc

import (
	"cmp"
	"fmt"

	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// PowerParams are the parameters of PowerTCP with telemetry.
type PowerParams struct {
	Preset     string     `yaml:"preset" doc:"named set of parameters; other keys override it"`
	Gamma      float64    `yaml:"gamma" doc:"weight of the new window in its moving average"`
	AI         units.Rate `yaml:"rai" doc:"additive step, as a rate: beta / tau"`
	Eta        float64    `yaml:"eta" doc:"target utilisation"`
	MinRate    units.Rate `yaml:"min_rate" doc:"lowest rate of a flow"`
	MinCurrent float64    `yaml:"min_current" doc:"lower limit of the measured arrival rate, as a fraction of the port rate"`
	Smooth     string     `yaml:"smooth" doc:"average with the window of the last ACK (current) or of the last round trip (reference)"`
	FirstAck   string     `yaml:"first_ack" doc:"store the first ACK, or compare it with records of zero: store or zero"`
	Telemetry  string     `yaml:"telemetry" doc:"format of records: exact or hpcc"`
	Counter    string     `yaml:"counter" doc:"bytes that records count: sent or queued"`
	MaxAge     units.Time `yaml:"max_age" doc:"do not compare records that are further apart or from another path; 0s: always compare"`
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

// ApplyPreset sets the parameters to a named set.
func (p *PowerParams) ApplyPreset(name string) error { return powerPresets.apply(p, name) }

func newPowerTCP(params any) (Factory, error) {
	p := *params.(*PowerParams)
	switch {
	case !(p.Eta > 0 && p.Eta <= 1):
		return nil, fmt.Errorf("eta is %v (expected more than 0, at most 1)", p.Eta)
	case !(p.MinCurrent >= 0 && p.MinCurrent <= 1):
		return nil, fmt.Errorf("min_current is %v (expected 0 to 1)", p.MinCurrent)
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

// powerStep is the window update of both versions of PowerTCP (UpdateWindow of their
// algorithms), applied to rates.
type powerStep struct {
	gamma, rest float64
	ai          units.Rate
	reference   bool // average with the reference, not with the current rate
}

func newPowerStep(gamma float64, ai, lowest units.Rate, smooth string) (powerStep, error) {
	if !(gamma > 0 && gamma <= 1) {
		return powerStep{}, fmt.Errorf("gamma is %v (expected more than 0, at most 1)", gamma)
	}
	if err := cmp.Or(positive("rai", ai), positive("min_rate", lowest)); err != nil {
		return powerStep{}, err
	}
	which, err := oneOf("smooth", smooth, "current", "reference")
	return powerStep{gamma: gamma, rest: complement(gamma), ai: ai, reference: which == 1}, err
}

// rate returns the rate for a power of c times the target.
func (s *powerStep) rate(r *rounds, c float64) units.Rate {
	old := r.rate
	if s.reference {
		old = r.cur
	}
	return units.Rate(float64(r.over(c)+s.ai)*s.gamma) + units.Rate(float64(old)*s.rest)
}

// powerTCP is the sender of PowerTCP, Algorithm 1 of the paper. Its window is stored as a
// rate: cwnd = R x tau.
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

// link has values that depend on the rate of a hop. Hops of a path mostly have the same rate,
// so the values are recomputed only when it changes.
type link struct {
	rate  units.Rate
	least float64 // lower limit of the current, in bits per second
	full  float64 // bits in a round trip
	base  float64 // power of a full link without a queue
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

// power is NormPower of the paper for this ACK alone: the largest power of the hops relative
// to a full link without a queue. Power is current (the arrival rate) times voltage (the
// bytes of a full link and its queue). An interval without arrivals counts too: the
// average over a round trip needs its zero.
func (p *powerTCP) power(a *Ack) (float64, int64) {
	var most largest
	format, records, before := p.spec.Format, a.Telemetry, p.hops.words[:]
	for i := range format.Hops(records) {
		ticks := format.Ticks(records, before, i)
		if ticks == 0 {
			continue // an unchanged record
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
		if current < p.link.least { // max on floats adds branches for NaN
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

// OnCNP implements Control. It ignores CNPs: telemetry already reports congestion.
func (p *powerTCP) OnCNP(units.Time) {}

// OnLoss implements Control: the NIC recovers from losses.
func (p *powerTCP) OnLoss(units.Time, bool) {}
