package main

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

func init() {
	flowctl.Schemes.Register(registry.Entry[flowctl.New]{
		Name: "early", Doc: "PFC that pauses at a fraction of the threshold, before headroom is used",
		Promises: registry.Lossless | registry.InOrder | registry.Bounded, Colour: "purple",
		Params: func() any { return &EarlyParams{At: units.Ratio{Num: 1, Den: 2}} }, New: newEarly,
	})
}

// EarlyParams are the parameters of the flow control.
type EarlyParams struct {
	At units.Ratio `yaml:"at" doc:"fraction of the policy's threshold above which a queue is paused"`
}

type early struct{ at units.Ratio }

func newEarly(params any) (flowctl.Scheme, error) {
	p := params.(*EarlyParams)
	if p.At.Num > p.At.Den {
		return nil, fmt.Errorf("at is above 1 (expected at most 1)")
	}
	return &early{p.At}, nil
}

// Reserve implements flowctl.Scheme: headroom for everything in flight, for every queue.
func (e *early) Reserve(p *link.Port) units.Bytes { return p.Queues() * link.Needed(p) }

// Properties implements flowctl.Scheme. The zero value means ordinary PFC on every port.
func (e *early) Properties() flowctl.Properties { return flowctl.Properties{} }

// Gate implements flowctl.Scheme: the upstream obeys ordinary PFC.
func (e *early) Gate(p flowctl.Port) flowctl.Gate { return flowctl.NewPauseGate(p) }

// Receiver implements flowctl.Scheme.
func (e *early) Receiver(p flowctl.Port) flowctl.Receiver {
	return &earlyReceiver{PauseSender: flowctl.NewPauseSender(p), port: p, at: e.at, headroom: link.Needed(p.Spec())}
}

type earlyReceiver struct {
	flowctl.PauseSender
	port     flowctl.Port
	at       units.Ratio
	headroom units.Bytes
}

// Place implements flowctl.Receiver: it tries private, shared and headroom, then drops.
func (r *earlyReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	v := r.port.View()
	switch {
	case v.In(a.In, a.Class, mmu.Private)+a.Bytes <= v.PrivateSize():
		return mmu.Private
	case r.port.Policy().Fits(now, v, a):
		return mmu.Shared
	case v.In(a.In, a.Class, mmu.Headroom)+a.Bytes <= r.headroom:
		return mmu.Headroom
	}
	return mmu.Drop
}

// over reports whether a queue must be paused.
func (r *earlyReceiver) over(now units.Time, v mmu.View, class uint8) bool {
	q, xoff := r.port.Policy().Level(now, v, r.port.Index(), class)
	in := v.Ingress(r.port.Index(), class)
	return in.Headroom > 0 || q > r.at.Of(xoff) && in.Total() > 0
}

// update pauses or resumes a class after its queue has changed.
func (r *earlyReceiver) update(now units.Time, class uint8) {
	want := r.Paused().Without(class)
	if r.over(now, r.port.View(), class) {
		want = want.With(class)
	}
	if want != r.Paused() {
		r.Want(now, want)
	}
}

// Charged implements flowctl.Receiver.
func (r *earlyReceiver) Charged(now units.Time, a *mmu.Arrival, _ mmu.Segment) {
	r.update(now, a.Class)
}

// Released implements flowctl.Receiver.
func (r *earlyReceiver) Released(now units.Time, a *mmu.Arrival) { r.update(now, a.Class) }
