package scenario

import (
	"fmt"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Kind is a plug point with its registered schemes.
type Kind struct {
	Name    string
	Schemes []Scheme
}

// Scheme is a registered scheme.
type Scheme struct {
	Name, Doc, Paper string
	Promises         registry.Promise
	Traits           registry.Trait
	Needs            []registry.Need
	Gauges, Events   []registry.Export
	Colour           string
	Alias            []string
	Params           func() any // returns the default parameters; nil if the scheme has none
}

// plugPoint is the name of a table of schemes and a function that reads the table.
type plugPoint struct {
	name    string
	schemes func() []Scheme
}

var plugPoints = []plugPoint{
	pointOf(topo.Topologies), pointOf(buffer.Policies), pointOf(flowctl.Schemes), pointOf(deadlock.Handlers), pointOf(sched.Schedulers),
	pointOf(mark.Markers), pointOf(route.Routers), pointOf(cc.Algorithms), pointOf(workload.Generators), pointOf(probe.Kinds), {"sizes", sizes},
}

// Kinds returns all plug points with their schemes.
func Kinds() []Kind {
	list := make([]Kind, len(plugPoints))
	for i, p := range plugPoints {
		list[i] = Kind{p.name, p.schemes()}
	}
	return list
}

// SchemesOf returns the schemes of a plug point, or nil if there is no such plug point.
func SchemesOf(kind string) []Scheme {
	for _, p := range plugPoints {
		if p.name == kind {
			return p.schemes()
		}
	}
	return nil
}

// sizes returns the tables of flow sizes.
func sizes() []Scheme {
	var list []Scheme
	for i := range workload.CDFs {
		c := &workload.CDFs[i]
		last := c.Points[len(c.Points)-1].Size
		list = append(list, Scheme{Name: c.Name,
			Doc: fmt.Sprintf("flow sizes: mean %.0f bytes, maximum %s", c.Mean(), last), Paper: c.Source})
	}
	return list
}

func pointOf[N any](t *registry.Table[N]) plugPoint {
	return plugPoint{t.Kind, func() []Scheme {
		list := make([]Scheme, len(t.All()))
		for i, e := range t.All() {
			list[i] = Scheme{Name: e.Name, Doc: e.Doc, Paper: e.Paper, Promises: e.Promises, Traits: e.Traits, Needs: e.Needs,
				Gauges: e.Gauges, Events: e.Events, Colour: e.Colour, Alias: e.Alias, Params: e.Params}
		}
		return list
	}}
}

// paramsOf returns the default parameters of a scheme. It panics if the scheme is unknown.
func paramsOf[N any](t *registry.Table[N], name string) any {
	e, err := t.Get(name)
	if err != nil {
		panic(err)
	}
	if e.Params == nil {
		return nil
	}
	return e.Params()
}
