// Package mark provides the ECN markers by which switches choose the frames of an egress queue
// that get the congestion-experienced mark. There is one file per scheme.
package mark

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Marker decides which frames of the queues of one port are marked.
type Marker interface {
	// Floor returns the queue length up to which no frame is marked; the switch does not call
	// Mark below it.
	Floor() units.Bytes
	// Mark reports whether to mark a frame, given the length of its egress queue.
	Mark(queue units.Bytes, r *rand.PCG) bool
}

// Certain is a marker that marks every frame above a queue length, its Ceiling.
type Certain interface{ Ceiling() units.Bytes }

// New builds the marker of a port from its parameters and the rate of the port.
type New = func(params any, rate units.Rate) (Marker, error)

// Markers is the table of all markers.
var Markers = registry.NewTable("ecn",
	registry.Entry[New]{
		Name: "none", Doc: "no marking", New: newNone,
	},
	registry.Entry[New]{
		Name: "red", Doc: "mark with a probability that rises from 0 at kmin to pmax at kmax, then 1, by the instantaneous queue",
		Paper: "Floyd and Jacobson 1993; DCQCN, Zhu et al. 2015",
		Params: func() any {
			return &REDParams{KMin: 100 * units.KB, KMax: 400 * units.KB, PMax: 0.2, Per: 25 * units.Gbps}
		},
		New: newRED,
	},
	registry.Entry[New]{
		Name: "step", Doc: "mark every frame above k", Paper: "DCTCP, Alizadeh et al. 2010",
		Params: func() any { return &StepParams{K: 65 * units.KB, Per: 10 * units.Gbps} }, New: newStep,
	},
)

type none struct{}

func newNone(any, units.Rate) (Marker, error) { return none{}, nil }

func (none) Floor() units.Bytes               { return 1 << 62 }
func (none) Mark(units.Bytes, *rand.PCG) bool { return false }

// scale scales a threshold that is given for one rate to another.
func scale(b units.Bytes, per, rate units.Rate) units.Bytes {
	if per == 0 || rate == 0 {
		return b
	}
	return units.Bytes(int64(b) * int64(rate/units.Kbps) / int64(per/units.Kbps))
}

func checkThreshold(name string, b units.Bytes) error {
	if b <= 0 || b > 100*units.MB {
		return fmt.Errorf("%s is %s (expected more than 0B, at most 100MB)", name, b)
	}
	return nil
}
