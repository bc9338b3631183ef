package mark

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/units"
)

// StepParams are the parameters of DCTCP's marking.
type StepParams struct {
	K   units.Bytes `yaml:"k" doc:"queue length above which every frame is marked"`
	Per units.Rate  `yaml:"per" doc:"port rate that k applies to; 0bps: do not scale (the default if k is given)"`
}

// Stated records a key of the scenario: a threshold that a scenario sets is not
// scaled to the port rate, unless it sets per as well.
func (p *StepParams) Stated(key string) {
	if key == "k" {
		p.Per = 0
	}
}

type step struct{ k units.Bytes }

func newStep(params any, rate units.Rate) (Marker, error) {
	p := params.(*StepParams)
	if err := checkThreshold("k", p.K); err != nil {
		return nil, err
	}
	if p.Per < 0 || p.Per != 0 && p.Per < units.Mbps {
		return nil, fmt.Errorf("per is %s (expected 0bps for no scaling, or at least 1Mbps)", p.Per)
	}
	return step{scale(p.K, p.Per, rate)}, nil
}

func (m step) Floor() units.Bytes { return m.k }

// Ceiling implements Certain.
func (m step) Ceiling() units.Bytes { return m.k }

func (m step) Mark(q units.Bytes, _ *rand.PCG) bool { return q > m.k }
