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

// Kinds returns all plug points with their schemes.
func Kinds() []Kind {
	return []Kind{
		kindOf(topo.Topologies), kindOf(buffer.Policies), kindOf(flowctl.Schemes), kindOf(deadlock.Handlers), kindOf(sched.Schedulers),
		kindOf(mark.Markers), kindOf(route.Routers), kindOf(cc.Algorithms), kindOf(workload.Generators), kindOf(probe.Kinds), sizesKind(),
	}
}

// sizesKind returns the tables of flow sizes.
func sizesKind() Kind {
	k := Kind{Name: "sizes"}
	for i := range workload.CDFs {
		c := &workload.CDFs[i]
		last := c.Points[len(c.Points)-1].Size
		k.Schemes = append(k.Schemes, Scheme{Name: c.Name,
			Doc: fmt.Sprintf("flow sizes: mean %.0f bytes, maximum %s", c.Mean(), last), Paper: c.Source})
	}
	return k
}

func kindOf[N any](t *registry.Table[N]) Kind {
	k := Kind{Name: t.Kind}
	for _, e := range t.All() {
		k.Schemes = append(k.Schemes, Scheme{Name: e.Name, Doc: e.Doc, Paper: e.Paper, Promises: e.Promises, Traits: e.Traits, Needs: e.Needs,
			Gauges: e.Gauges, Events: e.Events, Colour: e.Colour, Alias: e.Alias, Params: e.Params})
	}
	return k
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
