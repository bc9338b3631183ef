package cc

import (
	"cmp"
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// DCQCNParams are the parameters of DCQCN's reaction point.
type DCQCNParams struct {
	Preset        string      `yaml:"preset" doc:"named set of parameters; other keys override it"`
	G             float64     `yaml:"g" doc:"gain of alpha"`
	AlphaInterval units.Time  `yaml:"alpha_interval" doc:"alpha decays after this time without a CNP"`
	CutInterval   units.Time  `yaml:"cut_interval" doc:"shortest time between decreases"`
	RiseInterval  units.Time  `yaml:"rise_interval" doc:"period of the increase timer"`
	RiseBytes     units.Bytes `yaml:"rise_bytes" doc:"bytes per increase of the byte counter; 0B: no byte counter"`
	FastRecovery  int         `yaml:"fast_recovery" doc:"increase steps before the target rises"`
	AI            units.Rate  `yaml:"rai" doc:"additive increase of the target"`
	HAI           units.Rate  `yaml:"rhai" doc:"hyper-additive increase of the target"`
	MinRate       units.Rate  `yaml:"min_rate" doc:"lowest rate of a flow"`
	ClampTarget   bool        `yaml:"clamp_target" doc:"set the target to the current rate at every decrease"`
	Window        string      `yaml:"window" since:"0.3" allowed:"none,bdp" doc:"bytes in flight: none (no limit) or bdp (rate times base RTT: one BDP at line rate)"`
	RiseFirst     bool        `yaml:"rise_first" doc:"apply an increase that is due at the same time as a decrease first, instead of losing it"`
	// The following parameters give bit-exact agreement with the public simulator, see
	// docs/cc/dcqcn.md.
	FirstCutDelay units.Time `yaml:"first_cut_delay" doc:"additional delay of the first decrease"`
	AlphaDelay    units.Time `yaml:"alpha_delay" doc:"additional delay of updates of alpha"`
	Truncate      bool       `yaml:"truncate" doc:"round down as the simulator does: the rate may stay 1 bit/s below its target, and alpha decays below 1e-13"`
}

// Values of DCQCNParams.Window.
const (
	windowNone = "none"
	windowBDP  = "bdp"
)

// DefaultPreset is the default parameter set.
const DefaultPreset = "hpcc-sim"

// dcqcnPresets are published parameter sets.
var dcqcnPresets = presets[DCQCNParams]{
	// Values of the public simulators.
	"hpcc-sim": {
		Preset: "hpcc-sim", G: 1.0 / 256, AlphaInterval: units.Microsecond, CutInterval: 4 * units.Microsecond,
		RiseInterval: 900 * units.Microsecond, FastRecovery: 1, AI: 50 * units.Mbps, HAI: 100 * units.Mbps,
		MinRate: 100 * units.Mbps, RiseFirst: true, Window: windowNone,
	},
	// Zhu et al. 2015, section 5.
	"paper": {
		Preset: "paper", G: 1.0 / 256, AlphaInterval: 55 * units.Microsecond, CutInterval: 50 * units.Microsecond,
		RiseInterval: 55 * units.Microsecond, RiseBytes: 10 * units.MB, FastRecovery: 5, AI: 40 * units.Mbps, HAI: 400 * units.Mbps,
		MinRate: 40 * units.Mbps, ClampTarget: true, RiseFirst: true, Window: windowNone,
	},
}

// ApplyPreset sets the parameters to a named set. Scenario decoding calls it before it reads
// the other keys, which override the set.
func (p *DCQCNParams) ApplyPreset(name string) error { return dcqcnPresets.apply(p, name) }

// Presets returns the names of the sets.
func (p *DCQCNParams) Presets() []string { return dcqcnPresets.names() }

func (p *DCQCNParams) validate() error {
	switch {
	case !(p.G > 0 && p.G <= 1):
		return fmt.Errorf("g is %v (expected more than 0, at most 1)", p.G)
	case p.FirstCutDelay < 0:
		return fmt.Errorf("first_cut_delay is %s (expected 0s or more)", p.FirstCutDelay)
	case p.AlphaDelay < 0:
		return fmt.Errorf("alpha_delay is %s (expected 0s or more)", p.AlphaDelay)
	case p.RiseBytes < 0:
		return fmt.Errorf("rise_bytes is %s (expected 0B for no byte counter, or more)", p.RiseBytes)
	case p.FastRecovery < 1:
		return fmt.Errorf("fast_recovery is %d (expected 1 or more)", p.FastRecovery)
	}
	if _, err := oneOf("window", p.Window, windowNone, windowBDP); err != nil {
		return err
	}
	return cmp.Or(
		positive("alpha_interval", p.AlphaInterval), positive("cut_interval", p.CutInterval), positive("rise_interval", p.RiseInterval),
		positive("rai", p.AI), positive("rhai", p.HAI), positive("min_rate", p.MinRate),
	)
}

// CheckLine returns an error if the lowest rate exceeds the line rate of a host.
func (p *DCQCNParams) CheckLine(line units.Rate) error {
	if p.MinRate > line {
		return fmt.Errorf("min_rate is %s on hosts with a line rate of %s (expected at most the line rate)", p.MinRate, line)
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

// dcqcn is the reaction point of DCQCN. Its three clocks (decay of alpha, increase, decrease)
// are evaluated lazily and in order, on every event and read of the rate. The rates are the same
// as with timers, and an idle flow needs no events.
type dcqcn struct {
	// Fields read for every packet come first, in one cache line.
	params   *DCQCNParams
	rate     units.Rate  // R_C
	cutAt    units.Time  // end of the current decrease interval; Never before the first CNP
	alphaAt  units.Time  // next update of alpha
	riseAt   units.Time  // next timer increase; Never before the first decrease
	sent     units.Bytes // bytes since the last byte step
	alpha    float64
	cutCNP   bool // a CNP arrived in the current decrease interval
	alphaCNP bool // a CNP arrived in the current alpha interval

	target units.Rate // R_T
	line   units.Rate
	full   units.Bytes // window at line rate; 0: no window
	window units.Bytes

	timerSteps, byteSteps int
	_                     [16]byte // pads to whole cache lines
}

// Start implements Control.
func (d *dcqcn) Start(_ units.Time, f *Flow) {
	*d = dcqcn{params: d.params, line: f.Line, rate: f.Line, target: f.Line, alpha: 1, cutAt: units.Never, alphaAt: units.Never,
		riseAt: units.Never, window: Unlimited}
	if d.params.Window == windowBDP {
		d.full = max(1, f.Line.In(f.BaseRTT))
		d.window = d.full
	}
}

// OnCNP implements Control. The first CNP starts the clocks. From then on, the rate decreases
// at the end of every interval with a CNP.
func (d *dcqcn) OnCNP(now units.Time) {
	d.advance(now)
	if d.cutAt == units.Never {
		d.cutAt = now + d.params.CutInterval + d.params.FirstCutDelay
		d.alphaAt = now + d.params.AlphaInterval + d.params.AlphaDelay
		d.cutCNP = true
		return
	}
	d.cutCNP, d.alphaCNP = true, true
}

// advance processes all clock ticks up to now, in order of time.
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
			if d.cutCNP {
				d.cutCNP = false
				d.cut(t)
			} else if d.cutAt <= now {
				// No CNP arrived: skip the empty intervals.
				d.cutAt += (now - d.cutAt) / d.params.CutInterval * d.params.CutInterval
			}
		default:
			d.riseAt += d.params.RiseInterval
			d.timerSteps++
			d.rise()
		}
	}
}

// updateAlpha applies eq. 2 of the paper: alpha moves towards 1 with a CNP, towards 0 without.
func (d *dcqcn) updateAlpha(now units.Time) {
	g := d.params.G
	decayed := float64((1 - g) * d.alpha)
	if d.alphaCNP {
		decayed += g
	}
	d.alpha, d.alphaCNP = decayed, false
	d.alphaAt += d.params.AlphaInterval
	tiny := tinyAlpha
	if d.params.Truncate {
		tiny = 0
	}
	if d.alpha <= tiny && d.alphaAt <= now {
		d.alphaAt += (now - d.alphaAt) / d.params.AlphaInterval * d.params.AlphaInterval
	}
}

// tinyAlpha is the alpha below which a rate changes by less than one bit per second. Intervals
// without a CNP are then skipped.
const tinyAlpha = 1e-13

// cut applies eq. 1: the rate becomes the target and decreases by the fraction alpha / 2.
func (d *dcqcn) cut(at units.Time) {
	if d.params.ClampTarget || d.timerSteps > 0 || d.byteSteps > 0 || d.riseAt == units.Never {
		d.target = d.rate
	}
	d.rate = max(d.params.MinRate, units.Rate(float64(float64(d.rate)*float64(1-float64(d.alpha/2)))))
	d.timerSteps, d.byteSteps, d.sent = 0, 0, 0
	d.riseAt = at + d.params.RiseInterval
}

// rise moves the rate halfway to the target. The target rises once fast recovery is over
// (additive), and faster when both clocks are past it (hyper).
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
		d.rate = d.target // halving integers never quite reaches the target
	}
}

// OnSend implements Control. It counts bytes for the increase by bytes sent.
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

// Window implements Control.
func (d *dcqcn) Window(units.Time) units.Bytes { return d.window }

// OnAck implements Control: the window follows the rate, which only CNPs and time change.
func (d *dcqcn) OnAck(now units.Time, _ *Ack) {
	if d.full > 0 {
		d.window = windowShare(d.full, d.Rate(now), d.line)
	}
}

// OnLoss implements Control.
func (d *dcqcn) OnLoss(units.Time, bool) {}
