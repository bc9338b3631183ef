// Package headroom answers how much buffer lossless classes take: for a queue,
// for a switch, for the chips that one can buy. The formulas of a queue are those
// of flowctl; here they are put together into a budget.
package headroom

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
)

// Link is all that decides how much headroom a queue needs.
type Link struct {
	Rate     units.Rate
	Delay    units.Time  // one way: cable, PHY and FEC
	MTU      units.Bytes // largest frame, in both directions
	MinFrame units.Bytes // smallest frame of the class; matters with cells only
	Overhead units.Bytes // preamble and gap per frame
	Cell     units.Bytes // unit of storage; 0 or 1: bytes
	// Processing is from the arrival of a PAUSE to its effect; negative: all that
	// the standard allows, link.ProcessingCap of line time.
	Processing units.Time
}

// port describes the link as flowctl wants it.
func (l *Link) port() *link.Port {
	processing := l.Processing
	if processing < 0 {
		processing = l.Rate.TxTime(link.ProcessingCap)
	}
	return &link.Port{
		Rate: l.Rate, DelayIn: l.Delay, DelayOut: l.Delay, MTU: l.MTU, MinFrame: l.MinFrame, WireOverhead: l.Overhead, Cell: l.Cell,
		Lossless: 1, PFC: link.PFC{Processing: processing},
	}
}

// Eq1 is PHI of DSH eq. 1: 2 (C D + MTU) + 3840 B. It knows neither the link's
// processing time nor its overhead.
func (l *Link) Eq1() units.Bytes {
	return link.Headroom{Rule: link.RuleEq1}.Of(l.port())
}

// Exact is PHI*, all that can arrive for a queue from the frame on that turns it
// OFF (link.Exact). A queue with less can lose frames.
func (l *Link) Exact() units.Bytes {
	return link.Headroom{Rule: link.RuleExact}.Of(l.port())
}

// Ports are alike ports of a switch, by the headroom of one queue.
type Ports struct {
	Count int
	PHI   units.Bytes
}

// SIH is DSH eq. 3: every lossless queue of every port has its own headroom.
func SIH(classes int, ports ...Ports) units.Bytes {
	return units.Bytes(classes) * DSH(ports...)
}

// DSH is DSH eq. 9: the insurance of every port is that of one queue.
func DSH(ports ...Ports) units.Bytes {
	sum := units.Bytes(0)
	for _, p := range ports {
		sum += units.Bytes(p.Count) * p.PHI
	}
	return sum
}

// Split is a buffer divided in two. Footroom is all that is not headroom (DSH
// section III-A); it is negative when the headroom does not fit.
type Split struct {
	Headroom units.Bytes `json:"headroom_bytes"`
	Footroom units.Bytes `json:"footroom_bytes"`
	Share    float64     `json:"headroom_share"` // of the buffer
}

// Divide takes headroom from a buffer.
func Divide(buffer, headroom units.Bytes) Split {
	return Split{headroom, buffer - headroom, float64(headroom) / float64(buffer)}
}
