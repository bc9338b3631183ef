package workload

import (
	"github.com/xoff-net/xoff/base/units"
)

// Poisson makes flows with exponential gaps that offer the load on average.
type Poisson struct {
	Sizes  string `yaml:"sizes" doc:"a size, a table by name, or a file"`
	AtOnce int    `yaml:"at_once" doc:"flows that a host starts at each arrival"`
}

// Uses implements Generator.
func (g *Poisson) Uses() Uses {
	return Uses{Load: true, From: true, Pairs: "any", Start: true, Stop: true, Clock: true}
}

// File implements FileUser.
func (g *Poisson) File() *string { return fileOf(&g.Sizes) }

// Check implements Generator.
func (g *Poisson) Check(e *Env) (float64, error) {
	sizes, err := e.sizes("sizes", g.Sizes)
	if err != nil {
		return 0, err
	}
	return e.Load * e.seconds() / sizes.Mean(), first(checkCount("at_once", g.AtOnce, 1, maxRepeat), e.checkLoad())
}

// Generate implements Generator. Flows are ordered by start.
func (g *Poisson) Generate(e *Env) (*Plan, error) {
	sizes, err := e.sizes("sizes", g.Sizes)
	if err != nil {
		return nil, err
	}
	perSecond := e.Load / sizes.Mean()
	p := &Plan{Flows: make([]Flow, 0, capacity(perSecond*e.seconds()))}
	e.arrivals(perSecond/float64(g.AtOnce), func(at units.Time) {
		src := e.Pairs.Source(e.Rand)
		for range g.AtOnce {
			p.add(Flow{
				Start: at, Src: src, Dst: e.Pairs.Destination(e.Rand, src), Size: sizes.Draw(e.Rand),
				Class: e.Classes.Next(), Group: -1, Hash: e.hash(),
			})
		}
	})
	return p, nil
}
