package cc

import (
	"cmp"
	"fmt"

	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// HPCCParams are the parameters of HPCC.
type HPCCParams struct {
	Preset    string     `yaml:"preset" doc:"named set of parameters; other keys override it"`
	Eta       float64    `yaml:"eta" doc:"target utilisation"`
	MaxStage  int        `yaml:"max_stage" doc:"consecutive additive steps before the rate follows the load again"`
	AI        units.Rate `yaml:"rai" doc:"additive step, as a rate: W_AI / T"`
	MinRate   units.Rate `yaml:"min_rate" doc:"lowest rate of a flow"`
	Telemetry string     `yaml:"telemetry" doc:"format of records: exact or hpcc"`
	MaxAge    units.Time `yaml:"max_age" doc:"do not compare records that are further apart or from another path; 0s: always compare"`
}

var hpccPresets = presets[HPCCParams]{
	// Li et al. 2019, section 5.1: eta 0.95, maxStage 5, W_AI 80 B at T 13 us, which
	// is 49 Mbps.
	"paper": {
		Preset: "paper", Eta: 0.95, MaxStage: 5, AI: 50 * units.Mbps, MinRate: 100 * units.Mbps,
		Telemetry: "exact", MaxAge: 50 * units.Millisecond,
	},
	// The public simulator: the same control with records of 64 bits.
	"hpcc-sim": {
		Preset: "hpcc-sim", Eta: 0.95, MaxStage: 5, AI: 50 * units.Mbps, MinRate: 100 * units.Mbps,
		Telemetry: "hpcc",
	},
}

// ApplyPreset sets the parameters to a named set.
func (p *HPCCParams) ApplyPreset(name string) error { return hpccPresets.apply(p, name) }

// Presets returns the names of the sets.
func (p *HPCCParams) Presets() []string { return hpccPresets.names() }

func newHPCC(params any) (Factory, error) {
	p := *params.(*HPCCParams)
	switch {
	case !(p.Eta > 0 && p.Eta <= 1):
		return nil, fmt.Errorf("eta is %v (expected more than 0, at most 1)", p.Eta)
	case p.MaxStage < 0:
		return nil, fmt.Errorf("max_stage is %d (expected 0 or more)", p.MaxStage)
	}
	if err := cmp.Or(positive("rai", p.AI), positive("min_rate", p.MinRate)); err != nil {
		return nil, err
	}
	spec, err := telemetrySpec(p.Telemetry, telemetry.Sent.String(), p.MaxAge)
	if err != nil {
		return nil, err
	}
	return func() Control {
		return &hpcc{params: &p, spec: spec, tick: spec.Format.Tick().Seconds()}
	}, nil
}

// hpcc is the sender of HPCC, Algorithm 1 of the paper. Its window is stored as a rate: W = R
// x T, and W_AI = rai x T.
type hpcc struct {
	rounds
	params *HPCCParams
	spec   telemetry.Spec
	tick   float64 // seconds
	w0     units.Bytes
	window units.Bytes
	stage  int // additive steps since the rate last followed the load
	hops   hops
}

// NeedsTelemetry implements Telemetry.
func (h *hpcc) NeedsTelemetry() telemetry.Spec { return h.spec }

// Repaces implements Repacer.
func (h *hpcc) Repaces() {}

// Start implements Control.
func (h *hpcc) Start(_ units.Time, f *Flow) {
	h.rounds = startRounds(f, h.params.MinRate, h.spec.Format.Tick())
	h.w0 = max(1, f.Line.In(f.BaseRTT))
	h.window, h.stage, h.hops = h.w0, 0, hops{}
}

// OnAck implements Control: NewAck of the paper.
func (h *hpcc) OnAck(now units.Time, a *Ack) {
	if len(a.Telemetry) == 0 {
		return
	}
	if h.last == 0 {
		h.last = a.Next
		h.hops.keep(now, a.Telemetry)
		return
	}
	full := a.Seq > h.last
	if h.hops.fresh(now, h.spec.Format, a.Telemetry, h.params.MaxAge) {
		h.blend(h.load(a))
		h.react(full, a.Next)
	}
	h.hops.keep(now, a.Telemetry)
}

// load is MeasureInflight of the paper for this ACK alone. It returns the largest load of the
// hops and the time over which it was measured.
func (h *hpcc) load(a *Ack) (float64, int64) {
	most := zeroLoad // zero load is not a measurement
	format, records, before := h.spec.Format, a.Telemetry, h.hops.words[:]
	line, w0 := float64(h.line), float64(h.w0)
	for i := range format.Hops(records) {
		ticks := format.Ticks(records, before, i)
		if ticks == 0 {
			continue // an unchanged record
		}
		b := float64(format.Rate(records, i))
		sent := float64(format.Bytes(records, before, i)*8) / float64(float64(ticks)*h.tick)
		u := sent / b
		if q := min(format.Queue(records, i), format.Queue(before, i)); q > 0 { // mostly empty: saves two divisions
			u += float64(float64(q)*line) / b / w0
		}
		most = most.or(u, ticks)
	}
	return most.value()
}

// react is ComputeWind of the paper.
func (h *hpcc) react(full bool, next uint32) {
	rate, stage := h.cur, h.stage+1
	if c := h.u / h.params.Eta; c >= 1 || h.stage >= h.params.MaxStage {
		rate, stage = h.over(c), 0
	}
	h.set(rate+h.params.AI, full, next)
	if full {
		h.stage = stage
	}
	h.window = h.share(h.w0)
}

// Rate implements Control.
func (h *hpcc) Rate(units.Time) units.Rate { return h.rate }

// Window implements Control.
func (h *hpcc) Window(units.Time) units.Bytes { return h.window }

// OnSend implements Control.
func (h *hpcc) OnSend(units.Time, units.Bytes) {}

// OnCNP implements Control: telemetry already has the information of marks.
func (h *hpcc) OnCNP(units.Time) {}

// OnLoss implements Control: the NIC recovers from losses.
func (h *hpcc) OnLoss(units.Time, bool) {}
