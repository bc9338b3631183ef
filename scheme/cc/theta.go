package cc

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// ThetaParams are the parameters of theta-PowerTCP.
type ThetaParams struct {
	Preset     string     `yaml:"preset" doc:"named set of parameters; other keys override it"`
	Gamma      float64    `yaml:"gamma" doc:"weight of the new window in its moving average"`
	AI         units.Rate `yaml:"rai" doc:"additive step, as a rate: beta / tau"`
	MinRate    units.Rate `yaml:"min_rate" doc:"lowest rate of a flow"`
	MinCurrent float64    `yaml:"min_current" doc:"lower limit of 1 + gradient"`
	Target     float64    `yaml:"target" doc:"target round-trip time, in base round-trip times"`
	Learn      bool       `yaml:"learn" doc:"use the smallest measured round-trip time as the base if it is less"`
	Every      string     `yaml:"every" doc:"update the window on every ack or once per round trip: ack or trip"`
	Smooth     string     `yaml:"smooth" doc:"average with the window of the last ACK (current) or of the last round trip (reference)"`
	FirstAck   string     `yaml:"first_ack" doc:"store the first ACK, or compare it with a round-trip time of zero at time zero: store or zero"`
	Clock      units.Time `yaml:"clock" doc:"resolution of the clock that measures round-trip times"`
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

// ApplyPreset sets the parameters to a named set.
func (p *ThetaParams) ApplyPreset(name string) error { return thetaPresets.apply(p, name) }

// Presets returns the names of the sets.
func (p *ThetaParams) Presets() []string { return thetaPresets.names() }

func newTheta(params any) (Factory, error) {
	p := *params.(*ThetaParams)
	switch {
	case !(p.MinCurrent >= 0 && p.MinCurrent <= 1):
		return nil, fmt.Errorf("min_current is %v (expected 0 to 1)", p.MinCurrent)
	case !(p.Target >= 1):
		return nil, fmt.Errorf("target is %v (expected 1 or more)", p.Target)
	case p.Clock < units.Picosecond || p.Clock > units.Microsecond:
		return nil, fmt.Errorf("clock is %s (expected 1ps to 1us)", p.Clock)
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

// theta is the sender of theta-PowerTCP, Algorithm 2 of the paper: without telemetry, it
// derives the power of the bottleneck from round-trip times. Its window is stored as a rate:
// cwnd = R x tau.
type theta struct {
	rounds
	params *ThetaParams
	step   powerStep
	tick   float64 // seconds
	zero   bool    // compare the first ACK with zero
	trip   bool    // one reaction per round trip
	seen   bool    // an ACK with a round-trip time has arrived
	rtt    int64   // round-trip time of the last ACK, in ticks
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

// OnLoss implements Control: the NIC recovers from losses.
func (p *theta) OnLoss(units.Time, bool) {}
