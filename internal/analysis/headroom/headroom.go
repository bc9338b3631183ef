// Package headroom calculates how much buffer lossless classes need: per queue, per switch
// and per chip. It backs `xoff headroom`; the formulas for a single queue are in base/link.
package headroom

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
)

// Link holds everything that determines how much headroom a queue needs.
type Link struct {
	Rate     units.Rate
	Delay    units.Time  // one way: cable, PHY and FEC
	MTU      units.Bytes // largest frame, in both directions
	MinFrame units.Bytes // smallest frame of the class; matters only with cells
	Overhead units.Bytes // preamble and gap per frame
	Cell     units.Bytes // unit of storage; 0 or 1: bytes
	// Processing is the time from the arrival of a PAUSE to its effect. If negative, it is
	// the maximum of the standard: the line time of link.ProcessingCap.
	Processing units.Time
}

// port returns the link as a link.Port with one lossless class.
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

// Eq1 returns PHI by DSH eq. 1: 2 (C D + MTU) + 3840 B. It ignores Processing and Overhead.
func (l *Link) Eq1() units.Bytes {
	return link.Headroom{Rule: link.RuleEq1}.Of(l.port())
}

// Exact returns PHI*, all that can arrive for a queue, starting with the frame that turns it
// OFF (link.Exact). A queue with less headroom can drop frames.
func (l *Link) Exact() units.Bytes {
	return link.Headroom{Rule: link.RuleExact}.Of(l.port())
}

// Ports is a group of identical ports of a switch.
type Ports struct {
	Count int
	PHI   units.Bytes // headroom of one queue
}

// SIH returns the total headroom by DSH eq. 3: every lossless queue of every port has its own.
func SIH(classes int, ports ...Ports) units.Bytes {
	return units.Bytes(classes) * DSH(ports...)
}

// DSH returns the total insurance by DSH eq. 9: every port has the headroom of one queue.
func DSH(ports ...Ports) units.Bytes {
	sum := units.Bytes(0)
	for _, p := range ports {
		sum += units.Bytes(p.Count) * p.PHI
	}
	return sum
}

// Split is a buffer divided into headroom and footroom, the rest (DSH section III-A).
// Footroom is negative if the headroom does not fit.
type Split struct {
	Headroom units.Bytes `json:"headroom_bytes"`
	Footroom units.Bytes `json:"footroom_bytes"`
	Share    float64     `json:"headroom_share"` // of the buffer
}

// Divide splits a buffer into the given headroom and the rest.
func Divide(buffer, headroom units.Bytes) Split {
	return Split{headroom, buffer - headroom, float64(headroom) / float64(buffer)}
}
