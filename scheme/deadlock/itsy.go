package deadlock

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// ITSYParams are the parameters of ITSY.
type ITSYParams struct {
	Resolve string     `yaml:"resolve" allowed:"drop,buffer,nothing" doc:"for the queue that started a deadlock: drop its frames, largest flow first; give it free shared buffer; or nothing"`
	Retry   units.Time `yaml:"retry" doc:"with buffer: interval between attempts while the loop remains"`
}

func defaultITSY() any { return &ITSYParams{Resolve: "drop", Retry: 100 * units.Microsecond} }

// itsyQueue is the state of a class at an ingress and an egress port. Tag 0 means none.
type itsyQueue struct {
	tag      uint64 // ingress: tag in its pause
	own      bool   // ingress: it is an initial trigger
	received uint64 // egress: tag in the pause of its peer
	looped   bool   // ingress: a deadlock that it started was found
	tries    int
	by       int // ingress: egress by which its tag returned
}

// itsy is ITSY (Wu and Ng, INFOCOM 2022). A queue that pauses its upstream without being blocked
// itself is an initial trigger and tags its PAUSE. Queues that pause because of it forward the
// tag upstream; if it returns to the trigger, the loop is closed. A trigger takes no tag of
// another. If several triggers close a loop together, each drops the tags of the others and the
// loop is missed (Roundabout section II-B, Fig. 3).
type itsy struct {
	credits
	params ITSYParams
	queues []itsyQueue
	serial uint64
}

func newITSY(params any, s Switch) (Handler, error) {
	p := params.(*ITSYParams)
	switch {
	case p.Resolve != "drop" && p.Resolve != "buffer" && p.Resolve != "nothing":
		return nil, fmt.Errorf("resolve is %q (allowed: drop, buffer, nothing)", p.Resolve)
	}
	if err := checkTimer("retry", p.Retry); err != nil {
		return nil, err
	}
	if p.Resolve == "buffer" {
		if err := requireUnpartitioned(s, "resolve: buffer"); err != nil {
			return nil, err
		}
	}
	return &itsy{credits: newCredits(s), params: *p, queues: make([]itsyQueue, s.Ports()*mmu.Classes)}, nil
}

// NeedsPairs implements Pairs: which ingress waits for which egress.
func (*itsy) NeedsPairs() {}

func (h *itsy) at(port int, class uint8) *itsyQueue { return &h.queues[port*mmu.Classes+int(class)] }

// waits reports whether frames of an ingress queue wait behind a pause.
func (h *itsy) waits(in, out int, class uint8) bool {
	return h.s.GatedClasses(out).Has(class) && h.s.View().Pair(in, out, class).Packets > 0
}

// Paused implements Handler: a queue turns OFF or ON.
func (h *itsy) Paused(now units.Time, port int, from, to packet.ClassMask) {
	for class := range (from ^ to).All() {
		*h.at(port, class) = itsyQueue{received: h.at(port, class).received}
		if to.Has(class) {
			h.tag(now, port, class)
		}
	}
	h.paused(port, to)
}

// tag sets the tag of a pause to its cause: the tag that blocks the queue, or its own.
func (h *itsy) tag(now units.Time, in int, class uint8) {
	q := h.at(in, class)
	for out := range h.s.Ports() {
		if t := h.at(out, class).received; t != 0 && h.waits(in, out, class) {
			if q.tag, q.own = t, t>>32 == h.name(in, class); q.own {
				h.spread(now, out, class)
			}
			return
		}
	}
	h.serial++
	q.tag, q.own = h.name(in, class)<<32|h.serial&(1<<32-1), true
	h.s.Report(now, Suspected, in, int(class), 0)
}

// name returns the part of a tag that identifies its queue.
func (h *itsy) name(in int, class uint8) uint64 {
	return uint64(h.s.ID())<<16 | uint64(in*mmu.Classes+int(class))
}

// OnPFC implements Handler: the tag of each paused class, lowest first.
func (h *itsy) OnPFC(_ units.Time, port int, f *packet.Packet, ext packet.Ext) packet.Ext {
	_, pause, _ := f.PFC()
	for class := range pause.All() {
		ext = append(ext, h.at(port, class).tag)
	}
	return ext
}

// Control implements Handler.
func (h *itsy) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if f.Kind() != packet.PFC {
		h.take(now, port, ext)
		return
	}
	_, pause, _ := f.PFC()
	if len(ext) != pause.Count() {
		return
	}
	for class := range pause.All() {
		h.at(port, class).received, ext = ext[0], ext[1:]
		if h.s.GatedClasses(port).Has(class) {
			h.spread(now, port, class)
		}
	}
}

// Gated implements Handler: a pause takes effect, or ends.
func (h *itsy) Gated(now units.Time, port int, from, to packet.ClassMask) {
	for class := range (from ^ to).All() {
		if !to.Has(class) {
			h.at(port, class).received = 0
		} else {
			h.spread(now, port, class)
		}
	}
	h.blocked(now, port, to)
}

// spread passes the tag of a paused egress queue to the ingress queues that wait for it.
func (h *itsy) spread(now units.Time, out int, class uint8) {
	t := h.at(out, class).received
	if t == 0 {
		return
	}
	for in := range h.s.Ports() {
		q := h.at(in, class)
		if q.tag == 0 || !h.waits(in, out, class) {
			continue
		}
		switch {
		case q.own && t>>32 == h.name(in, class):
			if !q.looped {
				q.looped, q.by = true, out
				h.s.Report(now, Detected, in, int(class), 0)
				h.resolve(now, in, class)
			}
		case !q.own:
			// The next refresh of the queue's PAUSE carries it. If it were sent at once, two tags
			// whose triggers are gone would chase each other around a loop for ever.
			q.tag = t
		}
	}
}

// resolve breaks a loop at the queue that started it.
func (h *itsy) resolve(now units.Time, in int, class uint8) {
	q := h.at(in, class)
	switch h.params.Resolve {
	case "drop":
		h.s.Report(now, RoundBegun, in, int(class), 0)
		h.s.Report(now, RoundEnded, in, int(class), h.drop(now, in, q.by, class))
	case "buffer":
		h.s.Report(now, RoundBegun, in, int(class), 0)
		waiting := h.s.View().Pair(in, q.by, class).Bytes
		if b := h.grow(now, in, class, waiting); b == 0 || q.tries >= maxTries {
			h.s.Report(now, GivenUp, in, int(class), int64(q.tries))
			return
		}
		q.tries++
		h.s.WakeAt(0, now+h.params.Retry)
	}
}

// maxTries limits the attempts to grow a buffer during one pause.
const maxTries = 1000

// drop drops frames of an ingress queue that wait for an egress, largest flow first, until the
// queue is below its threshold. It returns their number.
func (h *itsy) drop(now units.Time, in, out int, class uint8) (dropped int64) {
	type flow struct {
		id    uint32
		bytes units.Bytes
	}
	var flows []flow
	h.s.DropWhere(now, out, class, func(p *packet.Packet) bool {
		if p.Port() == in {
			i := slices.IndexFunc(flows, func(f flow) bool { return f.id == p.Flow })
			if i < 0 {
				i, flows = len(flows), append(flows, flow{id: p.Flow})
			}
			flows[i].bytes += units.Bytes(p.Size)
		}
		return false
	})
	slices.SortFunc(flows, func(a, b flow) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.id, b.id)) })
	for _, f := range flows {
		if !h.s.PausedClasses(in).Has(class) || h.below(now, in, class) {
			break
		}
		dropped += int64(h.s.DropWhere(now, out, class, func(p *packet.Packet) bool { return p.Port() == in && p.Flow == f.id }))
	}
	return dropped
}

// below reports whether a queue would be resumed.
func (h *itsy) below(now units.Time, in int, class uint8) bool {
	q, xoff := h.s.Level(now, in, class)
	return h.s.View().In(in, class, mmu.Headroom) == 0 && q < xoff
}

// Wake implements Handler: it tries again for loops that remain.
func (h *itsy) Wake(now units.Time, _ int) {
	for i := range h.queues {
		q := &h.queues[i]
		in, class := i/mmu.Classes, uint8(i%mmu.Classes)
		if q.looped && q.own && h.at(q.by, class).received>>32 == h.name(in, class) && h.waits(in, q.by, class) {
			h.resolve(now, in, class)
		}
	}
}
