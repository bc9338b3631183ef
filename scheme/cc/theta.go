package cc

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// ThetaParams are the parameters of theta-PowerTCP.
type ThetaParams struct {
	Preset     string     `yaml:"preset" doc:"named set that fills the others"`
	Gamma      float64    `yaml:"gamma" doc:"weight of the new window against the old"`
	AI         units.Rate `yaml:"rai" doc:"additive step, as a rate: beta / tau"`
	MinRate    units.Rate `yaml:"min_rate" doc:"a flow never sends slower"`
	MinCurrent float64    `yaml:"min_current" doc:"least 1 + gradient to reckon with"`
	Target     float64    `yaml:"target" doc:"round-trip time to aim at, in base round-trip times"`
	Learn      bool       `yaml:"learn" doc:"take the smallest round-trip time seen for the base, where it is less"`
	Every      string     `yaml:"every" doc:"the window moves with every ack or once per trip"`
	Smooth     string     `yaml:"smooth" doc:"the old window is that of the last ACK (current) or of the last round trip (reference)"`
	FirstAck   string     `yaml:"first_ack" doc:"the first ACK is stored, or compared with a round-trip time of zero at time zero: store or zero"`
	Clock      units.Time `yaml:"clock" doc:"resolution of the clock that takes round-trip times"`
}

var thetaPresets = presets[ThetaParams]{
	// Addanki et al. 2022, Algorithm 2.
	"paper": {
		Preset: "paper", Gamma: 0.9, AI: 150 * units.Mbps, MinRate: 100 * units.Mbps, Target: 1, Learn: true,
		Every: "trip", Smooth: "current", FirstAck: "store", Clock: units.Picosecond,
	},
	// The public simulator.
	"hpcc-sim": {
		Preset: "hpcc-sim", Gamma: 0.7, AI: 150 * units.Mbps, MinRate: 100 * units.Mbps, MinCurrent: 0.5, Target: 1.05, Learn: true,
		Every: "ack", Smooth: "reference", FirstAck: "zero", Clock: units.Nanosecond,
	},
}

// ApplyPreset fills the parameters of a named set.
func (p *ThetaParams) ApplyPreset(name string) error { return thetaPresets.apply(p, name) }

// Presets returns the names of the sets.
func (p *ThetaParams) Presets() []string { return thetaPresets.names() }

func newTheta(params any) (Factory, error) {
	p := *params.(*ThetaParams)
	switch {
	case !(p.MinCurrent >= 0 && p.MinCurrent <= 1):
		return nil, fmt.Errorf("min_current is %v; allowed: 0 to 1", p.MinCurrent)
	case !(p.Target >= 1):
		return nil, fmt.Errorf("target is %v; allowed: 1 or more", p.Target)
	case p.Clock < units.Picosecond || p.Clock > units.Microsecond:
		return nil, fmt.Errorf("clock is %s; allowed: 1ps to 1us", p.Clock)
	}
	step, err := newPowerStep(p.Gamma, p.AI, p.MinRate, p.Smooth)
	if err != nil {
		return nil, err
	}
	zero, err := oneOf("first_ack", p.FirstAck, "store", "zero")
	if err != nil {
		return nil, err
	}
	trip, err := oneOf("every", p.Every, "ack", "trip")
	if err != nil {
		return nil, err
	}
	return func() Control {
		return &theta{params: &p, tick: p.Clock.Seconds(), step: step, zero: zero == 1, trip: trip == 1}
	}, nil
}

// theta is the sender of theta-PowerTCP, Algorithm 2 of the paper: where there is
// no telemetry, round-trip times tell the power of the bottleneck. Its window is
// kept as a rate: cwnd = R x tau.
type theta struct {
	rounds
	params *ThetaParams
	step   powerStep
	tick   float64 // seconds
	zero   bool    // compare the first ACK with zero
	trip   bool    // one reaction per round trip
	seen   bool    // an ACK with a round-trip time came
	rtt    int64   // of the last ACK, in ticks
	at     int64   // time of the last ACK, in ticks
	window units.Bytes
}

// Repaces implements Repacer.
func (p *theta) Repaces() {}

// NeedsRTT implements Clocked.
func (p *theta) NeedsRTT() {}

// Start implements Control.
func (p *theta) Start(_ units.Time, f *Flow) {
	p.rounds = startRounds(f, p.params.MinRate, p.params.Clock)
	p.window, p.seen, p.rtt, p.at = p.inTrip(p.tick), p.zero, 0, 0
}

// OnAck implements Control: NewAck of the paper.
func (p *theta) OnAck(now units.Time, a *Ack) {
	if a.RTT <= 0 {
		return
	}
	rtt, at := int64(a.RTT/p.params.Clock), int64(now/p.params.Clock)
	full := a.Seq > p.last
	if p.params.Learn {
		p.t = max(1, min(p.t, rtt))
	}
	switch {
	case !p.seen:
		p.seen, p.last = true, a.Next
	case at > p.at:
		dt := at - p.at
		gradient := (float64(rtt) - float64(p.rtt)) / float64(dt)
		current := max(gradient+1, p.params.MinCurrent)
		p.blend(float64(current*float64(rtt))/float64(p.params.Target*float64(p.t)), dt)
		if full || !p.trip {
			p.set(p.step.rate(&p.rounds, p.u), full, a.Next)
		}
		p.window = p.inTrip(p.tick)
	}
	p.rtt, p.at = rtt, at
}

// Rate implements Control.
func (p *theta) Rate(units.Time) units.Rate { return p.rate }

// Window implements Control.
func (p *theta) Window(units.Time) units.Bytes { return p.window }

// OnSend implements Control.
func (p *theta) OnSend(units.Time, units.Bytes) {}

// OnCNP implements Control.
func (p *theta) OnCNP(units.Time) {}

// OnLoss implements Control: losses are left to the reliability of the NIC.
func (p *theta) OnLoss(units.Time, bool) {}
