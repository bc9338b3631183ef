package main

import (
	"fmt"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/cc"
)

func init() {
	cc.Algorithms.Register(registry.Entry[cc.New]{
		Name: "aimd", Doc: "a window that grows by a packet per round trip and halves on a mark or a loss",
		Promises: registry.Reactive, Traits: registry.NeedsMarks, Colour: "orange",
		Params: func() any { return &AIMDParams{Packets: 16} }, New: newAIMD,
	})
}

// AIMDParams are the parameters of the congestion control.
type AIMDParams struct {
	Packets int `yaml:"packets" doc:"initial window, in packets"`
}

func newAIMD(params any) (cc.Factory, error) {
	p := *params.(*AIMDParams)
	if p.Packets < 1 {
		return nil, fmt.Errorf("packets is %d (expected 1 or more)", p.Packets)
	}
	return func() cc.Control { return &aimd{params: p} }, nil
}

type aimd struct {
	params AIMDParams
	flow   cc.Flow
	window units.Bytes
	acked  units.Bytes // bytes acknowledged since the window last grew
	next   uint32      // marks on packets before this one do not cut again
}

// Start implements cc.Control.
func (a *aimd) Start(_ units.Time, f *cc.Flow) {
	*a = aimd{params: a.params, flow: *f, window: units.Bytes(a.params.Packets) * f.MTU}
}

// OnAck implements cc.Control.
func (a *aimd) OnAck(_ units.Time, ack *cc.Ack) {
	if ack.CE && ack.Seq >= a.next {
		a.cut()
		a.next = ack.Next
		return
	}
	if a.acked += ack.Bytes; a.acked >= a.window {
		a.acked, a.window = 0, a.window+a.flow.MTU
	}
}

func (a *aimd) cut() { a.window, a.acked = max(a.flow.MTU, a.window/2), 0 }

// OnLoss implements cc.Control.
func (a *aimd) OnLoss(units.Time, bool) { a.cut() }

// OnCNP implements cc.Control. Receivers that echo marks in ACKs send no CNPs.
func (a *aimd) OnCNP(units.Time) { a.cut() }

// OnSend implements cc.Control.
func (a *aimd) OnSend(units.Time, units.Bytes) {}

// Rate implements cc.Control.
func (a *aimd) Rate(units.Time) units.Rate { return a.flow.Line }

// Window implements cc.Control.
func (a *aimd) Window(units.Time) units.Bytes { return a.window }
