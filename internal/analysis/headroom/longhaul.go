package headroom

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// LongHaul is what a port of a long link needs.
type LongHaul struct {
	BDP units.Bytes `json:"bdp_bytes"`
	// PFC is what PFC needs to lose nothing and no throughput: what is in flight when a pause
	// is due, above the threshold, and as much below it, to be sent until the flow is back.
	// Every class has its own.
	PFC   units.Bytes `json:"pfc_bytes"`
	Needs units.Bytes `json:"needs_bytes"` // of the scheme
	Share float64     `json:"share"`       // of what PFC needs
	// Fits is false when the scheme refuses such a port, and Why says why; or when the buffer
	// is more than can be simulated.
	Fits bool   `json:"fits"`
	Why  string `json:"why,omitempty"`
	// Note is what the scheme says of a port that it fits, but not well.
	Note string `json:"note,omitempty"`
}

// Port describes the link with so many lossless classes, between two switches.
func (l *Link) Port(classes int) *link.Port {
	p := l.port()
	p.Lossless = 1<<classes - 1
	p.Ports = 2 // as of a relay: the other schemes do not look
	return p
}

// LongHaulOf works out the buffer of a scheme for a link.
func LongHaulOf(l *Link, classes int, s flowctl.Scheme) LongHaul {
	p := l.Port(classes)
	h := LongHaul{BDP: link.BDP(p), PFC: units.Bytes(classes) * 2 * l.Exact(), Needs: s.Reserve(p), Fits: true}
	h.Share = float64(h.Needs) / float64(h.PFC)
	of := s.Properties()
	if of.Check != nil {
		if err := of.Check(p); err != nil {
			h.Fits, h.Why = false, err.Error()
		}
	}
	if of.Advise != nil && h.Fits {
		h.Note, _ = of.Advise(p)
	}
	return h
}
