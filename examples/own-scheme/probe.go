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
		Name: "fill", Doc: "samples: how full the buffer is",
		Params: func() any { return &FillParams{Every: 10 * units.Microsecond} }, New: newFill,
	})
}

// FillParams are the parameters of the probe.
type FillParams struct {
	Every units.Time `yaml:"every" doc:"period"`
}

func newFill(params any) (*probe.Kind, error) {
	p := params.(*FillParams)
	if p.Every < units.Nanosecond {
		return nil, fmt.Errorf("every is %s; allowed: 1ns or more", p.Every)
	}
	return &probe.Kind{
		Columns: []probe.Column{{Name: "share", Type: probe.Float, Doc: "of the buffer that is used, 0 to 1"}},
		Every:   p.Every, At: probe.Switches,
		Watch: func(at *probe.Place) probe.Watcher { return &fill{Place: at} },
	}, nil
}

type fill struct {
	probe.Ignore
	*probe.Place
}

// Sample implements probe.Watcher.
func (f *fill) Sample(now units.Time) {
	v := f.Node.View()
	f.Out.Add(now, int64(math.Float64bits(float64(v.Stored())/float64(v.Size()))))
}
