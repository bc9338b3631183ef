package cc

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// FixedParams are the parameters of the fixed algorithm.
type FixedParams struct {
	Rate   units.Rate  `yaml:"rate" doc:"rate of a flow; 0bps: line rate"`
	Window units.Bytes `yaml:"window" doc:"unacknowledged bytes of a flow; 0B: no limit"`
}

// fixed sends at a fixed rate within a fixed window.
type fixed struct {
	params FixedParams
	rate   units.Rate
	window units.Bytes
}

func newNone(any) (Factory, error) { return newFixed(&FixedParams{}) }

func newFixed(params any) (Factory, error) {
	p := *params.(*FixedParams)
	switch {
	case p.Rate < 0:
		return nil, fmt.Errorf("rate is %s (expected 0bps for line rate, or more)", p.Rate)
	case p.Window < 0:
		return nil, fmt.Errorf("window is %s (expected 0B for no window, or more)", p.Window)
	}
	return func() Control { return &fixed{params: p} }, nil
}

// Start implements Control.
func (f *fixed) Start(_ units.Time, flow *Flow) {
	f.rate, f.window = flow.Line, Unlimited
	if f.params.Rate != 0 {
		f.rate = min(f.params.Rate, flow.Line)
	}
	if f.params.Window != 0 {
		f.window = f.params.Window
	}
}

func (f *fixed) OnSend(units.Time, units.Bytes) {}
func (f *fixed) OnAck(units.Time, *Ack)         {}
func (f *fixed) OnCNP(units.Time)               {}
func (f *fixed) OnLoss(units.Time, bool)        {}
func (f *fixed) Rate(units.Time) units.Rate     { return f.rate }
func (f *fixed) Window(units.Time) units.Bytes  { return f.window }

// Steady implements Steady.
func (f *fixed) Steady() {}
