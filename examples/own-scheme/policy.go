package main

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

func init() {
	buffer.Policies.Register(registry.Entry[buffer.New]{
		Name: "fair", Doc: "divides the shared segment equally among active queues",
		Promises: registry.Bounded, Colour: "green",
		Gauges: []registry.Export{{Name: "active_queues", Doc: "lossless ingress queues that store bytes"}},
		Params: func() any { return &FairParams{Spare: 1} }, New: newFair,
	})
}

// FairParams are the parameters of the policy; yaml tags are keys of scenarios.
type FairParams struct {
	Spare int `yaml:"spare" doc:"spare shares, kept free for queues that become active next"`
}

// fair gives each of n active queues 1 / (n + spare) of the shared segment.
type fair struct {
	spare  int
	active int
}

func newFair(params any, _ buffer.Env) (buffer.Policy, error) {
	p := params.(*FairParams)
	if p.Spare < 1 {
		return nil, fmt.Errorf("spare is %d (expected 1 or more)", p.Spare)
	}
	return &fair{spare: p.Spare}, nil
}

// limit returns the bytes that a queue may store.
func (f *fair) limit(v mmu.View) units.Bytes {
	return v.SharedSize() / units.Bytes(f.active+f.spare)
}

// Fits implements buffer.Policy. It compares the ingress queue of a lossless frame, and the
// egress queue of a lossy frame, with the limit.
func (f *fair) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	q := v.Egress(a.Out, a.Class)
	if a.Kind == mmu.Lossless {
		q = v.In(a.In, a.Class, mmu.Shared)
	}
	return q+a.Bytes <= f.limit(v) && a.Bytes <= v.SharedFree()
}

// Level implements buffer.Policy.
func (f *fair) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), f.limit(v)
}

// Enqueued implements buffer.Observer. The view already counts the frame.
func (f *fair) Enqueued(_ units.Time, v mmu.View, a *mmu.Arrival) {
	if q := v.Ingress(a.In, a.Class); a.Kind == mmu.Lossless && q.Total() == a.Bytes {
		f.active++
	}
}

// Dequeued implements buffer.Observer.
func (f *fair) Dequeued(_ units.Time, v mmu.View, a *mmu.Arrival) {
	if q := v.Ingress(a.In, a.Class); a.Kind == mmu.Lossless && q.Total() == 0 {
		f.active--
	}
}

// NodeGauges implements probe.NodeGauged: one gauge for the whole switch.
func (f *fair) NodeGauges() []string { return []string{"active_queues"} }

// MeasureNode implements probe.NodeGauged.
func (f *fair) MeasureNode(_ units.Time, values []float64) bool {
	values[0] = float64(f.active)
	return true
}
