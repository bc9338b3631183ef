package engine

import (
	"fmt"
	"maps"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
)

// Report is how late a run was, and what that means for its results.
type Report struct {
	Events uint64     `json:"events"`
	P50    units.Time `json:"p50_ps"`
	P99    units.Time `json:"p99_ps"`
	Worst  units.Time `json:"worst_ps"`
	// The worst of each kind: a wire that was reported free, a frame that was handed over,
	// any other timer.
	Wire  units.Time `json:"worst_wire_ps"`
	Frame units.Time `json:"worst_frame_ps"`
	Timer units.Time `json:"worst_timer_ps"`
	// HalfFrame is half the time of a full frame, where it is shortest.
	HalfFrame units.Time `json:"half_frame_ps"`
	// Behind is for how long, of Ran, something waited that was late by more than that.
	Behind units.Time `json:"behind_ps"`
	Ran    units.Time `json:"ran_ps"`
	// Costs is for how long an upstream can have gone on because of lateness; Spare is for
	// how long the headroom of every queue would have been enough.
	Costs units.Time `json:"headroom_costs_ps"`
	Spare units.Time `json:"headroom_spare_ps"`
	// Strange counts frames that came from elsewhere and were not taken, by reason; nil
	// where there are none.
	Strange map[string]uint64 `json:"not_taken,omitempty"`
}

// halfFrame returns half the time of a full frame, where it is shortest.
func (e *Engine) halfFrame() units.Time {
	half := units.Never
	for i, n := range e.nodes {
		for port := range n.wires {
			if p, w := e.net.Port(i, port), e.net.Wire(i, port); n.here && w.Rate != 0 {
				half = min(half, w.Rate.TxTime(max(p.MTU, p.MTUOut)+p.WireOverhead)/2)
			}
		}
	}
	return half
}

// Report sums a run up.
func (e *Engine) Report() *Report {
	l := &e.late
	r := &Report{
		Events: l.Events(), P50: l.Quantile(0.5), P99: l.Quantile(0.99), Worst: l.Worst(),
		Wire: l.worst[LateWire], Frame: l.worst[LateFrame], Timer: l.worst[LateTimer],
		HalfFrame: l.slack, Behind: l.Behind(), Ran: e.now, Costs: l.Costs(), Spare: units.MaxTime,
	}
	for i, n := range e.nodes {
		if !n.here {
			continue
		}
		for port := range n.wires {
			p, w := e.net.Port(i, port), e.net.Wire(i, port)
			if w.Rate == 0 {
				continue
			}
			if sw := e.net.Switch(i); sw != nil && p.Lossless != 0 {
				spare := max(0, sw.Headroom(port)/p.Queues()-link.Exact(p))
				r.Spare = min(r.Spare, w.Rate.TxTime(spare))
			}
		}
	}
	if c, ok := e.opts.Wires.(interface{ Strange() map[string]uint64 }); ok {
		r.Strange = c.Strange()
	}
	if e.bridge != nil {
		r.Strange = e.bridge.addTo(r.Strange)
	}
	if e.never > 0 {
		r.Strange = maps.Clone(r.Strange)
		if r.Strange == nil {
			r.Strange = make(map[string]uint64)
		}
		r.Strange["live: answers what was never sent, or says what cannot be"] = e.never
	}
	return r
}

// Decides says what of a run with so many broken promises of losslessness lateness can
// have decided; empty: nothing.
func (r *Report) Decides(broken uint64) string {
	if broken > 0 && r.Costs > r.Spare {
		return fmt.Sprintf("%d frames of lossless classes were dropped, but events were so late (worst %s) that an upstream can have gone on for %s more, "+
			"and queues have headroom for %s more than they need: the drops can be the machine's", broken, r.Worst.Human(), r.Costs.Human(), r.Spare.Human())
	}
	if r.P99 > r.HalfFrame {
		return fmt.Sprintf("1 of 100 events came more than %s late, and half a frame takes %s: times can be the machine's; "+
			"leave it more to itself, or lower the rates", r.P99.Human(), r.HalfFrame.Human())
	}
	if r.Behind > r.Ran/100 {
		return fmt.Sprintf("for %s of %s something waited that was late by more than half a frame, %s: times can be the machine's; "+
			"leave it more to itself, or lower the rates", r.Behind.Human(), r.Ran.Human(), r.HalfFrame.Human())
	}
	return ""
}
