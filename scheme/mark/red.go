package mark

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/units"
)

// REDParams are the parameters of RED on the instantaneous queue.
type REDParams struct {
	KMin units.Bytes `yaml:"kmin" doc:"queue length up to which no frame is marked"`
	KMax units.Bytes `yaml:"kmax" doc:"queue length above which every frame is marked"`
	PMax float64     `yaml:"pmax" doc:"marking probability at kmax"`
	Per  units.Rate  `yaml:"per" doc:"port rate that kmin and kmax apply to; 0bps: do not scale (the default if kmin or kmax is given)"`
}

// Stated records a key of the scenario: thresholds that a scenario sets are not
// scaled to the port rate, unless it sets per as well.
func (p *REDParams) Stated(key string) {
	if key == "kmin" || key == "kmax" {
		p.Per = 0
	}
}

// one is 1 in the fixed-point format of probabilities: 31 bits, so that the product with a
// 32-bit queue length fits.
const one = 1 << 31

// maxQueue is the longest queue for which the product of probability and length fits.
const maxQueue = 4 * units.GiB

type red struct {
	kmin, kmax units.Bytes
	pmax       uint64 // in units of 1 / one
}

func newRED(params any, rate units.Rate) (Marker, error) {
	p := params.(*REDParams)
	if err := checkThreshold("kmin", p.KMin); err != nil {
		return nil, err
	}
	if err := checkThreshold("kmax", p.KMax); err != nil {
		return nil, err
	}
	if p.KMin > p.KMax {
		return nil, fmt.Errorf("kmin %s is above kmax %s (expected kmin at most kmax)", p.KMin, p.KMax)
	}
	if !(p.PMax > 0 && p.PMax <= 1) {
		return nil, fmt.Errorf("pmax is %v (expected more than 0, at most 1)", p.PMax)
	}
	if p.Per < 0 || p.Per != 0 && p.Per < units.Mbps {
		return nil, fmt.Errorf("per is %s (expected 0bps for no scaling, or at least 1Mbps)", p.Per)
	}
	kmin, kmax := scale(p.KMin, p.Per, rate), scale(p.KMax, p.Per, rate)
	if kmax > maxQueue {
		return nil, fmt.Errorf("kmax %s for %s is %s at %s (expected at most %s)", p.KMax, p.Per, kmax, rate, maxQueue)
	}
	return &red{kmin: kmin, kmax: kmax, pmax: uint64(p.PMax * one)}, nil
}

// Floor implements Marker.
func (m *red) Floor() units.Bytes { return m.kmin }

// Ceiling implements Certain.
func (m *red) Ceiling() units.Bytes { return m.kmax }

// Mark implements Marker. It compares in integers: p < pmax (q - kmin) / (kmax - kmin) with p
// uniform in [0, 1).
func (m *red) Mark(q units.Bytes, r *rand.PCG) bool {
	if q <= m.kmin {
		return false
	}
	if q > m.kmax {
		return true
	}
	p := r.Uint64() >> 33
	return p*uint64(m.kmax-m.kmin) < m.pmax*uint64(q-m.kmin)
}
