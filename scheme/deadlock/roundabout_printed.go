package deadlock

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// This file is detection by Algorithm 1 as printed, for form printed: a Printed per ingress queue
// decides what pauses carry and which queues are candidates. Route accumulation and everything
// after it are the same in both forms.

// raPrinted is the printed form at one ingress queue.
type raPrinted struct {
	Printed
	last Tuple // tuple of its RESUME
}

func newPrinted(node uint16, queues int) []raPrinted {
	list := make([]raPrinted, queues)
	for i := range list {
		list[i].Sid, list[i].Qid = node, uint16(i)
	}
	return list
}

// printedPaused follows a change of an ingress queue between OFF and ON.
func (h *roundabout) printedPaused(port int, class uint8, off bool) {
	e, p := &h.at(port, class).e, &h.printed[port*mmu.Classes+int(class)]
	if !off {
		p.last = p.SendResume().Resume
		return
	}
	p.SendPause(uint32(h.s.Rand().Uint64()))
	e.Off, e.Init, e.Adv = true, p.Init, p.Curr
}

// printedReceived passes a message that arrived at an egress to its causal ingress queues, which
// have frames in it.
func (h *roundabout) printedReceived(now units.Time, out int, class uint8, hear func(*Printed) PrintedActions) {
	for in := range h.off {
		if h.s.View().Pair(in, out, class).Packets == 0 {
			continue
		}
		q, p := h.at(in, class), &h.printed[in*mmu.Classes+int(class)]
		say := hear(&p.Printed)
		if say.Invalid.Valid && !h.s.ToHost(in) {
			h.send(now, in, &Header{Op: OpInvalid, Class: class, T: say.Invalid})
		}
		if !p.Off {
			continue
		}
		q.e.Adv = p.Curr
		if say.Pause.Valid && !h.s.ToHost(in) {
			h.s.Repeat(now, in, 1<<class)
		}
		if p.Found && !q.e.Candidate {
			q.e.Candidate = true
			h.act(now, in, class, q.e.Retry())
		}
	}
}

// printedProbe takes the tuple of a PAUSE or RESUME.
func (h *roundabout) printedProbe(now units.Time, port int, f *packet.Packet, hdr *Header) {
	_, pause, _ := f.PFC()
	h.printedReceived(now, port, hdr.Class, func(p *Printed) PrintedActions {
		if pause.Has(hdr.Class) {
			return p.PeerGetPause(hdr.T)
		}
		return p.PeerGetResume(hdr.T)
	})
}

// printedInvalid takes an OpInvalid.
func (h *roundabout) printedInvalid(now units.Time, port int, hdr *Header) {
	if h.printed != nil {
		h.printedReceived(now, port, hdr.Class, func(p *Printed) PrintedActions { return p.PeerGetInvalid(hdr.T) })
	}
}

// printedOnPFC appends the tuples of a RESUME.
func (h *roundabout) printedOnPFC(port int, resume packet.ClassMask, ext packet.Ext) packet.Ext {
	for class := range (resume & h.lossless).All() {
		if t := h.printed[port*mmu.Classes+int(class)].last; t != (Tuple{}) {
			ext = (&Header{Op: OpProbe, Class: class, T: t}).Append(ext)
		}
	}
	return ext
}
