package cc

import (
	"cmp"
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// DCQCNParams are the parameters of DCQCN's reaction point.
type DCQCNParams struct {
	Preset        string      `yaml:"preset" doc:"named set that fills the others"`
	G             float64     `yaml:"g" doc:"gain of alpha"`
	AlphaInterval units.Time  `yaml:"alpha_interval" doc:"alpha decays when no CNP came for so long"`
	CutInterval   units.Time  `yaml:"cut_interval" doc:"at most one decrease in this time"`
	RiseInterval  units.Time  `yaml:"rise_interval" doc:"timer of the increase"`
	RiseBytes     units.Bytes `yaml:"rise_bytes" doc:"byte counter of the increase; 0B: none"`
	FastRecovery  int         `yaml:"fast_recovery" doc:"increase steps before the target moves"`
	AI            units.Rate  `yaml:"rai" doc:"additive step of the target"`
	HAI           units.Rate  `yaml:"rhai" doc:"hyper-additive step"`
	MinRate       units.Rate  `yaml:"min_rate" doc:"a flow never sends slower"`
	ClampTarget   bool        `yaml:"clamp_target" doc:"every cut moves the target"`
	RiseFirst     bool        `yaml:"rise_first" doc:"an increase due with a decrease comes before it, not never: its time has passed"`
	// The rest is for agreement with the public simulator to the bit, see
	// docs/cc/dcqcn.md.
	FirstCutDelay units.Time `yaml:"first_cut_delay" doc:"the first decrease is checked so much later"`
	AlphaDelay    units.Time `yaml:"alpha_delay" doc:"updates of alpha are so much later"`
	Truncate      bool       `yaml:"truncate" doc:"keep what rounding down loses: half a bit per second, and alpha below 1e-13"`
}

// DefaultPreset is the parameter set used unless a scenario names another.
const DefaultPreset = "hpcc-sim"

// dcqcnPresets are published parameter sets.
var dcqcnPresets = presets[DCQCNParams]{
	// The values of the public simulators.
	"hpcc-sim": {
		Preset: "hpcc-sim", G: 1.0 / 256, AlphaInterval: units.Microsecond, CutInterval: 4 * units.Microsecond,
		RiseInterval: 900 * units.Microsecond, FastRecovery: 1, AI: 50 * units.Mbps, HAI: 100 * units.Mbps,
		MinRate: 100 * units.Mbps, RiseFirst: true,
	},
	// Zhu et al. 2015, section 5.
	"paper": {
		Preset: "paper", G: 1.0 / 256, AlphaInterval: 55 * units.Microsecond, CutInterval: 50 * units.Microsecond,
		RiseInterval: 55 * units.Microsecond, RiseBytes: 10 * units.MB, FastRecovery: 5, AI: 40 * units.Mbps, HAI: 400 * units.Mbps,
		MinRate: 40 * units.Mbps, ClampTarget: true, RiseFirst: true,
	},
}

// ApplyPreset fills the parameters of a named set. Scenario decoding calls it
// before the other keys are read, which then override it.
func (p *DCQCNParams) ApplyPreset(name string) error { return dcqcnPresets.apply(p, name) }

// Presets returns the names of the sets.
func (p *DCQCNParams) Presets() []string { return dcqcnPresets.names() }

func (p *DCQCNParams) validate() error {
	switch {
	case !(p.G > 0 && p.G <= 1):
		return fmt.Errorf("g is %v; allowed: more than 0, at most 1", p.G)
	case p.FirstCutDelay < 0:
		return fmt.Errorf("first_cut_delay is %s; allowed: 0s or more", p.FirstCutDelay)
	case p.AlphaDelay < 0:
		return fmt.Errorf("alpha_delay is %s; allowed: 0s or more", p.AlphaDelay)
	case p.RiseBytes < 0:
		return fmt.Errorf("rise_bytes is %s; allowed: 0B (no byte counter) or more", p.RiseBytes)
	case p.FastRecovery < 1:
		return fmt.Errorf("fast_recovery is %d; allowed: 1 or more", p.FastRecovery)
	}
	return cmp.Or(
		positive("alpha_interval", p.AlphaInterval), positive("cut_interval", p.CutInterval), positive("rise_interval", p.RiseInterval),
		positive("rai", p.AI), positive("rhai", p.HAI), positive("min_rate", p.MinRate),
	)
}

// CheckLine checks that a host of a line rate can send as slowly as it must.
func (p *DCQCNParams) CheckLine(line units.Rate) error {
	if p.MinRate > line {
		return fmt.Errorf("min_rate is %s on hosts of %s; allowed: at most their line rate", p.MinRate, line)
	}
	return nil
}

func newDCQCN(params any) (Factory, error) {
	p := *params.(*DCQCNParams)
	if err := p.validate(); err != nil {
		return nil, err
	}
	return func() Control { return &dcqcn{params: &p} }, nil
}

// dcqcn is the reaction point of DCQCN. Its three clocks (decay of alpha,
// increase, decrease) are evaluated lazily, in their order, whenever something
// happens or the rate is asked for: nothing outside can tell the difference, and
// an idle flow costs no events.
type dcqcn struct {
	// What every packet asks comes first: it is in one cache line.
	params  *DCQCNParams
	rate    units.Rate  // R_C
	cutAt   units.Time  // end of the current decrease interval; Never before the first CNP
	alphaAt units.Time  // next update of alpha
	riseAt  units.Time  // next timer increase; Never before the first decrease
	sent    units.Bytes // since the last byte step
	alpha   float64
	cnp     bool // a CNP came in the current decrease interval
	cnpA    bool // a CNP came in the current alpha interval

	target units.Rate // R_T
	line   units.Rate

	timerSteps, byteSteps int
	_                     [32]byte // to whole cache lines
}

// Start implements Control.
func (d *dcqcn) Start(_ units.Time, f *Flow) {
	*d = dcqcn{params: d.params, line: f.Line, rate: f.Line, target: f.Line, alpha: 1, cutAt: units.Never, alphaAt: units.Never,
		riseAt: units.Never}
}

// OnCNP implements Control. The first CNP starts the clocks; from then the
// decrease is checked at the end of every interval in which a CNP came.
func (d *dcqcn) OnCNP(now units.Time) {
	d.advance(now)
	if d.cutAt == units.Never {
		d.cutAt = now + d.params.CutInterval + d.params.FirstCutDelay
		d.alphaAt = now + d.params.AlphaInterval + d.params.AlphaDelay
		d.cnp = true
		return
	}
	d.cnp, d.cnpA = true, true
}

// advance runs every clock tick up to now, earliest first.
func (d *dcqcn) advance(now units.Time) {
	for {
		t := min(d.cutAt, d.alphaAt, d.riseAt)
		if t > now {
			return
		}
		switch {
		case t == d.alphaAt:
			d.updateAlpha(now)
		case t == d.cutAt && !(d.params.RiseFirst && t == d.riseAt):
			d.cutAt += d.params.CutInterval
			if d.cnp {
				d.cnp = false
				d.cut(t)
			} else if d.cutAt <= now {
				// No CNP came meanwhile: skip the empty intervals.
				d.cutAt += (now - d.cutAt) / d.params.CutInterval * d.params.CutInterval
			}
		default:
			d.riseAt += d.params.RiseInterval
			d.timerSteps++
			d.rise()
		}
	}
}

// updateAlpha is eq. 2 of the paper: towards 1 with a CNP, towards 0 without.
func (d *dcqcn) updateAlpha(now units.Time) {
	g := d.params.G
	decayed := float64((1 - g) * d.alpha)
	if d.cnpA {
		decayed += g
	}
	d.alpha, d.cnpA = decayed, false
	d.alphaAt += d.params.AlphaInterval
	tiny := tinyAlpha
	if d.params.Truncate {
		tiny = 0
	}
	if d.alpha <= tiny && d.alphaAt <= now {
		d.alphaAt += (now - d.alphaAt) / d.params.AlphaInterval * d.params.AlphaInterval
	}
}

// tinyAlpha is where alpha no longer changes a rate by one bit per second:
// below it, whole stretches without a CNP are skipped.
const tinyAlpha = 1e-13

// cut is eq. 1: remember the rate as target, lower it by alpha / 2.
func (d *dcqcn) cut(at units.Time) {
	if d.params.ClampTarget || d.timerSteps > 0 || d.byteSteps > 0 || d.riseAt == units.Never {
		d.target = d.rate
	}
	d.rate = max(d.params.MinRate, units.Rate(float64(float64(d.rate)*float64(1-float64(d.alpha/2)))))
	d.timerSteps, d.byteSteps, d.sent = 0, 0, 0
	d.riseAt = at + d.params.RiseInterval
}

// rise is the increase: halfway to the target, which itself moves up once fast
// recovery is over (additive), and faster when both clocks are past it (hyper).
func (d *dcqcn) rise() {
	lead, lag := max(d.timerSteps, d.byteSteps), min(d.timerSteps, d.byteSteps)
	if d.params.RiseBytes == 0 {
		lag = lead - 1 // one clock: hyper increase one step after additive
	}
	switch f := d.params.FastRecovery; {
	case lag > f:
		d.target += d.params.HAI
	case lead > f:
		d.target += d.params.AI
	}
	d.target = min(d.target, d.line)
	d.rate = min(d.rate/2+d.target/2, d.line)
	if d.target-d.rate <= 1 && !d.params.Truncate {
		d.rate = d.target // halving integers never quite gets there
	}
}

// OnSend implements Control: the byte counter of the increase.
func (d *dcqcn) OnSend(now units.Time, b units.Bytes) {
	if d.params.RiseBytes == 0 || d.riseAt == units.Never {
		return
	}
	d.sent += b
	if d.sent >= d.params.RiseBytes {
		d.advance(now)
		d.sent -= d.params.RiseBytes
		d.byteSteps++
		d.rise()
	}
}

// Rate implements Control.
func (d *dcqcn) Rate(now units.Time) units.Rate {
	d.advance(now)
	return d.rate
}

// Window implements Control: DCQCN has none.
func (d *dcqcn) Window(units.Time) units.Bytes { return Unlimited }

// OnAck implements Control: DCQCN listens to CNPs only.
func (d *dcqcn) OnAck(units.Time, *Ack) {}

// OnLoss implements Control.
func (d *dcqcn) OnLoss(units.Time, bool) {}
