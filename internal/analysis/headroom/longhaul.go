package headroom

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// LongHaul is the buffer that a port of a long link needs.
type LongHaul struct {
	BDP units.Bytes `json:"bdp_bytes"`
	// PFC is the buffer with which PFC loses neither frames nor throughput. Each class needs
	// the bytes in flight at a pause above its threshold, and as much below it, to keep
	// sending until traffic arrives again.
	PFC   units.Bytes `json:"pfc_bytes"`
	Needs units.Bytes `json:"needs_bytes"` // buffer that the scheme needs
	Share float64     `json:"share"`       // Needs over PFC
	// Fits is false if the scheme rejects the port; Why is its reason.
	Fits bool   `json:"fits"`
	Why  string `json:"why,omitempty"`
	// Note is the scheme's advice on a port that it accepts.
	Note string `json:"note,omitempty"`
}

// Port returns the port at either end of the link, between two switches, with the given
// number of lossless classes.
func (l *Link) Port(classes int) *link.Port {
	p := l.port()
	p.Lossless = 1<<classes - 1
	p.Ports = 2 // a relay has two ports; other schemes ignore this
	return p
}

// LongHaulOf calculates the buffer that a scheme needs for a link.
func LongHaulOf(l *Link, classes int, s flowctl.Scheme) LongHaul {
	p := l.Port(classes)
	h := LongHaul{BDP: link.BDP(p), PFC: units.Bytes(classes) * 2 * l.Exact(), Needs: s.Reserve(p), Fits: true}
	h.Share = float64(h.Needs) / float64(h.PFC)
	props := s.Properties()
	if props.Check != nil {
		if err := props.Check(p); err != nil {
			h.Fits, h.Why = false, err.Error()
		}
	}
	if props.Advise != nil && h.Fits {
		h.Note, _ = props.Advise(p)
	}
	return h
}
