// Package mark holds ECN markers: which frames of an egress queue get the
// congestion-experienced mark. One file per scheme.
package mark

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Marker decides for the queues of one port.
type Marker interface {
	// Floor is the queue length up to which nothing is ever marked; the switch
	// does not ask below it.
	Floor() units.Bytes
	// Mark decides for one frame, given the length of its egress queue.
	Mark(queue units.Bytes, r *rand.PCG) bool
}

// New builds the marker of a port from parameters that are already scaled to
// the rate of the port.
type New = func(params any, rate units.Rate) (Marker, error)

// Markers is the table of all markers.
var Markers = registry.NewTable("ecn",
	registry.Entry[New]{
		Name: "none", Doc: "no marking", New: newNone,
	},
	registry.Entry[New]{
		Name: "red", Doc: "probability rising from 0 at kmin to pmax at kmax, then 1, on the instantaneous queue",
		Paper: "Floyd and Jacobson 1993; DCQCN, Zhu et al. 2015",
		Params: func() any {
			return &REDParams{KMin: 100 * units.KB, KMax: 400 * units.KB, PMax: 0.2, Per: 25 * units.Gbps}
		},
		New: newRED,
	},
	registry.Entry[New]{
		Name: "step", Doc: "every frame above k", Paper: "DCTCP, Alizadeh et al. 2010",
		Params: func() any { return &StepParams{K: 65 * units.KB, Per: 10 * units.Gbps} }, New: newStep,
	},
)

type none struct{}

func newNone(any, units.Rate) (Marker, error) { return none{}, nil }

func (none) Floor() units.Bytes               { return 1 << 62 }
func (none) Mark(units.Bytes, *rand.PCG) bool { return false }

// scale adapts a threshold that is stated for one rate to another.
func scale(b units.Bytes, per, rate units.Rate) units.Bytes {
	if per == 0 || rate == 0 {
		return b
	}
	return units.Bytes(int64(b) * int64(rate/units.Kbps) / int64(per/units.Kbps))
}

func checkThreshold(name string, b units.Bytes) error {
	if b <= 0 || b > 100*units.MB {
		return fmt.Errorf("%s is %s; allowed: more than 0B, at most 100MB", name, b)
	}
	return nil
}
