package cc

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// DCTCPParams are the parameters of DCTCP.
type DCTCPParams struct {
	InitialSegments int     `yaml:"initial_segments" doc:"initial window; 0: one bandwidth-delay product"`
	G               float64 `yaml:"g" doc:"gain of alpha"`
	InitialAlpha    float64 `yaml:"initial_alpha" doc:"initial estimate of the fraction of marked bytes"`
}

func newDCTCP(params any) (Factory, error) {
	p := *params.(*DCTCPParams)
	switch {
	case !(p.G > 0 && p.G <= 1):
		return nil, fmt.Errorf("g is %v (expected more than 0, at most 1)", p.G)
	case !(p.InitialAlpha >= 0 && p.InitialAlpha <= 1):
		return nil, fmt.Errorf("initial_alpha is %v (expected 0 to 1)", p.InitialAlpha)
	}
	if err := checkInitial(p.InitialSegments); err != nil {
		return nil, err
	}
	return func() Control { return &dctcp{params: &p} }, nil
}

// dctcp is the sender of RFC 8257: marks reduce the window by their fraction, losses as in
// NewReno.
type dctcp struct {
	tcp
	params    *DCTCPParams
	alpha     float64     // moving average of the fraction of marked bytes
	acked     units.Bytes // bytes in the current observation window
	marked    units.Bytes // marked bytes among them
	windowEnd uint32      // first packet of the next observation window
}

// Start implements Control.
func (d *dctcp) Start(_ units.Time, f *Flow) {
	*d = dctcp{params: d.params, alpha: d.params.InitialAlpha}
	d.begin(f, d.params.InitialSegments)
}

// OnAck implements Control: section 3.3 of the RFC.
func (d *dctcp) OnAck(_ units.Time, a *Ack) {
	grows := d.take(a, a.CE)
	d.acked += a.Bytes
	if a.CE {
		d.marked += a.Bytes
	}
	if a.Seq > d.windowEnd {
		d.observe(a.Next)
	}
	switch {
	case grows:
		d.grow(a.Bytes)
	case a.CE && d.newMark(a):
		to := max(units.Bytes(float64(d.cwnd)*float64(1-float64(d.alpha/2))), 2*d.mss)
		d.lower(to, to)
	}
}

// observe ends an observation window of a round trip: alpha moves towards the fraction of
// its bytes that were marked (steps 4 to 7).
func (d *dctcp) observe(next uint32) {
	if d.acked > 0 {
		g := d.params.G
		share := float64(d.marked) / float64(d.acked)
		d.alpha = float64((1-g)*d.alpha) + float64(g*share)
	}
	d.acked, d.marked, d.windowEnd = 0, 0, next
}

// OnLoss implements Control: section 3.5. It reacts to a loss even after a mark of the same
// window.
func (d *dctcp) OnLoss(_ units.Time, timeout bool) {
	if timeout {
		d.timeout(d.half())
		return
	}
	d.beginRecovery()
	to := d.half()
	d.lower(to, to)
}
