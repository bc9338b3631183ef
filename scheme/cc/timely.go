package cc

import (
	"cmp"
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// TimelyParams are the parameters of TIMELY.
type TimelyParams struct {
	Preset  string     `yaml:"preset" doc:"named set of parameters; other keys override it"`
	Alpha   float64    `yaml:"alpha" doc:"weight of a new difference of round-trip times in its moving average"`
	Beta    float64    `yaml:"beta" doc:"factor of the decrease"`
	TLow    units.Time `yaml:"t_low" doc:"round-trip time below which the rate always increases"`
	THigh   units.Time `yaml:"t_high" doc:"round-trip time above which the rate always decreases"`
	MinRTT  units.Time `yaml:"min_rtt" doc:"round-trip time that normalises the gradient"`
	Stages  int        `yaml:"stages" doc:"consecutive increases before hyper-additive ones"`
	LowHAI  bool       `yaml:"low_hai" doc:"increases below t_low also count as stages and become hyper-additive"`
	AI      units.Rate `yaml:"rai" doc:"additive increase"`
	HAI     units.Rate `yaml:"rhai" doc:"hyper-additive increase"`
	MinRate units.Rate `yaml:"min_rate" doc:"lowest rate of a flow"`
	Clock   units.Time `yaml:"clock" doc:"resolution of the clock that measures round-trip times"`
}

var timelyPresets = presets[TimelyParams]{
	// The public simulator, with the additive steps of its DCQCN.
	"hpcc-sim": {
		Preset: "hpcc-sim", Alpha: 0.875, Beta: 0.8, TLow: 50 * units.Microsecond, THigh: 500 * units.Microsecond, MinRTT: 20 * units.Microsecond,
		Stages: 5, LowHAI: true, AI: 50 * units.Mbps, HAI: 100 * units.Mbps, MinRate: 100 * units.Mbps, Clock: units.Nanosecond,
	},
	// Mittal et al. 2015, Algorithm 1 and section 5: delta 10 Mbps, five times that
	// after five increases; below t_low plain additive steps.
	"paper": {
		Preset: "paper", Alpha: 0.875, Beta: 0.8, TLow: 50 * units.Microsecond, THigh: 500 * units.Microsecond, MinRTT: 20 * units.Microsecond,
		Stages: 5, AI: 10 * units.Mbps, HAI: 50 * units.Mbps, MinRate: 10 * units.Mbps, Clock: units.Picosecond,
	},
}

// ApplyPreset sets the parameters to a named set.
func (p *TimelyParams) ApplyPreset(name string) error { return timelyPresets.apply(p, name) }

// Presets returns the names of the sets.
func (p *TimelyParams) Presets() []string { return timelyPresets.names() }

func newTimely(params any) (Factory, error) {
	p := *params.(*TimelyParams)
	switch {
	case !(p.Alpha > 0 && p.Alpha <= 1):
		return nil, fmt.Errorf("alpha is %v (expected more than 0, at most 1)", p.Alpha)
	case !(p.Beta > 0 && p.Beta <= 1):
		return nil, fmt.Errorf("beta is %v (expected more than 0, at most 1)", p.Beta)
	case p.TLow < 0:
		return nil, fmt.Errorf("t_low is %s (expected 0s or more)", p.TLow)
	case p.THigh < p.TLow:
		return nil, fmt.Errorf("t_high is %s (expected t_low, %s, or more)", p.THigh, p.TLow)
	case p.Stages < 0:
		return nil, fmt.Errorf("stages is %d (expected 0 or more)", p.Stages)
	case p.Clock < units.Picosecond || p.Clock > units.Microsecond:
		return nil, fmt.Errorf("clock is %s (expected 1ps to 1us)", p.Clock)
	}
	if err := cmp.Or(positive("min_rtt", p.MinRTT), positive("rai", p.AI), positive("rhai", p.HAI),
		positive("min_rate", p.MinRate)); err != nil {
		return nil, err
	}
	return func() Control { return &timely{params: &p} }, nil
}

// timely is the sender of TIMELY, Algorithm 1 of the paper, run once per round trip.
type timely struct {
	params *TimelyParams
	line   units.Rate
	rate   units.Rate
	diff   float64    // average difference between round-trip times, in ticks of the clock
	rtt    units.Time // round-trip time of the last update; 0 before the first
	last   uint32     // packets before this one were sent before the last update
	stage  int        // consecutive increases
}

// NeedsRTT implements Clocked.
func (t *timely) NeedsRTT() {}

// Start implements Control.
func (t *timely) Start(_ units.Time, f *Flow) {
	*t = timely{params: t.params, line: f.Line, rate: f.Line}
}

// OnAck implements Control. There is one update per round trip, on the first ACK of a packet
// sent after the last update. After going back, all retransmissions count as sent after it.
func (t *timely) OnAck(_ units.Time, a *Ack) {
	t.last = min(t.last, a.Next)
	if a.RTT <= 0 || t.rtt != 0 && a.Seq <= t.last {
		return
	}
	if t.rtt != 0 {
		t.update(a.RTT)
	}
	t.rtt, t.last = a.RTT, max(t.last, a.Next)
}

func (t *timely) update(rtt units.Time) {
	p := t.params
	change := float64(rtt/p.Clock - t.rtt/p.Clock)
	t.diff = float64((1-p.Alpha)*t.diff) + float64(p.Alpha*change)
	gradient := t.diff / float64(p.MinRTT/p.Clock)
	switch {
	case rtt < p.TLow:
		t.increase(p.LowHAI)
	case rtt > p.THigh:
		t.decrease(p.Beta * (1 - float64(p.THigh/p.Clock)/float64(rtt/p.Clock)))
	case gradient <= 0:
		t.increase(true)
	default:
		t.decrease(p.Beta * gradient)
	}
}

// increase adds a step, a larger one after enough counted increases.
func (t *timely) increase(counts bool) {
	step := t.params.AI
	if counts {
		if t.stage >= t.params.Stages {
			step = t.params.HAI
		}
		t.stage++
	}
	t.rate = min(t.rate+step, t.line)
}

// decrease lowers the rate by a fraction, at most to MinRate.
func (t *timely) decrease(share float64) {
	t.stage = 0
	keep := max(0, 1-float64(share))
	t.rate = min(max(t.params.MinRate, units.Rate(float64(t.rate)*keep)), t.line)
}

// Rate implements Control.
func (t *timely) Rate(units.Time) units.Rate { return t.rate }

// Window implements Control: TIMELY has no window.
func (t *timely) Window(units.Time) units.Bytes { return Unlimited }

// OnSend implements Control.
func (t *timely) OnSend(units.Time, units.Bytes) {}

// OnCNP implements Control: TIMELY reacts to round-trip times only.
func (t *timely) OnCNP(units.Time) {}

// OnLoss implements Control.
func (t *timely) OnLoss(units.Time, bool) {}
