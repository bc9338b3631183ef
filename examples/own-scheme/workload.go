package main

import (
	"fmt"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/workload"
)

func init() {
	workload.Generators.Register(registry.Entry[workload.New]{
		Name: "neighbours", Doc: "every host sends a flow to the next host, all at the same time",
		Params: func() any { return &Neighbours{Size: 100 * units.KB} },
		New:    func(params any) workload.Generator { return params.(workload.Generator) },
	})
}

// Neighbours is the generator together with its parameters.
type Neighbours struct {
	Size units.Bytes `yaml:"size" doc:"size of a flow"`
}

// Uses implements workload.Generator.
func (n *Neighbours) Uses() workload.Uses { return workload.Uses{From: true, Start: true} }

// Check implements workload.Generator.
func (n *Neighbours) Check(e *workload.Env) (float64, error) {
	switch {
	case n.Size < 1 || n.Size > e.MaxSize:
		return 0, &workload.KeyError{Key: "size", Err: fmt.Errorf("%s is not a flow size (expected 1B to %s)", n.Size, e.MaxSize)}
	case len(e.From) < 2:
		return 0, &workload.KeyError{Key: "from", Err: fmt.Errorf("pattern matches too few hosts: %d (expected 2 or more)", len(e.From))}
	}
	return float64(len(e.From)), nil
}

// Generate implements workload.Generator.
func (n *Neighbours) Generate(e *workload.Env) (*workload.Plan, error) {
	plan := &workload.Plan{}
	for i, src := range e.From {
		plan.Flows = append(plan.Flows, workload.Flow{
			Start: e.Start, Size: n.Size, Src: src, Dst: e.From[(i+1)%len(e.From)], Class: e.Classes.Next(), Hash: e.Hashes.Uint32(), Group: -1,
		})
	}
	return plan, nil
}
