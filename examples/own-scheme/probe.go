package main

import (
	"fmt"
	"math"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

func init() {
	probe.Kinds.Register(registry.Entry[probe.New]{
		Name: "fill", Doc: "samples: fraction of the buffer in use",
		Params: func() any { return &FillParams{Every: 10 * units.Microsecond} }, New: newFill,
	})
}

// FillParams are the parameters of the fill probe.
type FillParams struct {
	Every units.Time `yaml:"every" doc:"sampling period"`
}

func newFill(params any) (*probe.Kind, error) {
	p := params.(*FillParams)
	if p.Every < units.Nanosecond {
		return nil, fmt.Errorf("every is %s (expected 1ns or more)", p.Every)
	}
	return &probe.Kind{
		Columns: []probe.Column{{Name: "share", Type: probe.Float, Doc: "fraction of the buffer in use, 0 to 1"}},
		Every:   p.Every, At: probe.Switches,
		Watch: func(at *probe.Target) probe.Watcher { return &fill{Target: at} },
	}, nil
}

// fill samples the fraction of the buffer of one switch that is in use.
type fill struct {
	probe.Ignore
	*probe.Target
}

// Sample implements probe.Watcher. A Float column stores the bits of the number.
func (f *fill) Sample(now units.Time) {
	v := f.Node.View()
	f.Out.Add(now, int64(math.Float64bits(float64(v.Stored())/float64(v.Size()))))
}
