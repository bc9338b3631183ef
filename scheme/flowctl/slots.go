package flowctl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// This file is what Bifrost and BifrostX have in common: time in slots, a buffer that
// all lossless classes of a port share, and how much may still arrive of what earlier
// slots granted.

// SlotBuffer is H, the buffer of a port: `bdp+N`, a bandwidth-delay product and N slots
// at line rate, or a number of bytes.
type SlotBuffer struct {
	Slots int // 0: Bytes
	Bytes units.Bytes
}

const maxSlots = 1000

// UnmarshalText reads "bdp+3" or a size.
func (h *SlotBuffer) UnmarshalText(text []byte) error {
	if n, ok := strings.CutPrefix(string(text), "bdp+"); ok {
		slots, err := strconv.Atoi(n)
		if err != nil || slots < 1 || slots > maxSlots {
			return fmt.Errorf("%q is not a buffer; allowed: bdp+1 to bdp+%d, or a size such as 300MB", text, maxSlots)
		}
		*h = SlotBuffer{Slots: slots}
		return nil
	}
	b, err := units.ParseBytes(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a buffer; allowed: bdp+N with a number of slots, such as bdp+3, or a size such as 300MB", text)
	}
	if b < 1 || b > mmu.MaxBuffer {
		return fmt.Errorf("buffer is %s; allowed: 1B to %dB", b, int64(mmu.MaxBuffer))
	}
	*h = SlotBuffer{Bytes: b}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (h SlotBuffer) MarshalText() ([]byte, error) {
	if h.Slots > 0 {
		return fmt.Appendf(nil, "bdp+%d", h.Slots), nil
	}
	return []byte(h.Bytes.String()), nil
}

// Pattern is a regular expression of what UnmarshalText reads, for editors.
func (SlotBuffer) Pattern() string { return `^(bdp\+[1-9][0-9]{0,3}|` + units.BytesPattern + `)$` }

// slotRules are the parameters of a scheme that works in slots.
type slotRules struct {
	slot   units.Time
	buffer SlotBuffer
}

// newSlotRules checks what needs no port.
func newSlotRules(slot units.Time, buffer SlotBuffer) (slotRules, error) {
	if slot <= minSlot || slot > units.Second {
		return slotRules{}, fmt.Errorf("slot is %s; allowed: more than %s, and less than the cable takes one way", slot, minSlot)
	}
	return slotRules{slot, buffer}, nil
}

// minSlot is how long a switch needs to work out what to say (Bifrost section V).
const minSlot = units.Microsecond

// full is R_s T, what arrives in a slot at line rate.
func (s *slotRules) full(p *link.Port) units.Bytes { return p.Rate.In(s.slot) }

// limit is H as bytes on the wire.
func (s *slotRules) limit(p *link.Port) units.Bytes {
	if s.buffer.Slots > 0 {
		return link.BDP(p) + units.Bytes(s.buffer.Slots)*s.full(p)
	}
	return s.buffer.Bytes
}

// window is N, the number of slots whose grants may still be on their way when the next
// one is made: those of a round trip, and one for the slot itself.
func (s *slotRules) window(p *link.Port) int {
	return int((p.RoundTrip()+s.slot-1)/s.slot) + 1
}

// steady is the least H with which a link runs at line rate: N slots of grants on their
// way, one more, and what is being stored and forwarded, which BDP has beside the wire.
func (s *slotRules) steady(p *link.Port) units.Bytes {
	return units.Bytes(s.window(p)+1)*s.full(p) + link.BDP(p) - p.Rate.In(p.RoundTrip())
}

// reserve is H and four frames for what leaks: one that the peer has begun when it is
// told to wait, and control frames that come late. In a buffer of cells both grow.
func (s *slotRules) reserve(p *link.Port) units.Bytes {
	return p.Cells(s.limit(p)) + p.Cells(leaks*p.MTU)
}

const leaks = 4

// Reserve implements Scheme: once for all lossless classes of a port.
func (s *slotRules) Reserve(p *link.Port) units.Bytes {
	if p.Lossless == 0 {
		return 0
	}
	return s.reserve(p)
}

// check finds what no scheme in slots can work with.
func (s *slotRules) check(p *link.Port) error {
	full, bdp, h := s.full(p), link.BDP(p), s.limit(p)
	switch delay := min(p.DelayIn, p.DelayOut); {
	case p.Host:
		return fmt.Errorf("it holds links between switches, and this is one of a host; allowed: switch.overrides for the ports between switches, such as match: \"dci*.to-dci*\"")
	case delay <= minSlot:
		return fmt.Errorf("the cable takes %s one way, and a slot is shorter than that and longer than %s; allowed: cables that take more than %s one way", delay, minSlot, minSlot)
	case s.slot >= delay:
		return fmt.Errorf("slot is %s, but the cable takes %s one way; allowed: more than %s, less than %s", s.slot, delay, minSlot, delay)
	case full < 2*(p.MTU+p.WireOverhead):
		return fmt.Errorf("slot is %s, in which %d bytes pass: less than two frames, so that no grant would ever open the gate; allowed: %s or more",
			s.slot, int64(full), p.Rate.TxTime(2*(p.MTU+p.WireOverhead)))
	case h < bdp+full:
		return fmt.Errorf("buffer is %d bytes; allowed: a bandwidth-delay product and a slot, %d bytes, or more (bdp+3 is %d)", int64(h), int64(bdp+full), int64(bdp+3*full))
	case s.reserve(p) > mmu.MaxBuffer:
		return fmt.Errorf("buffer is %d bytes with what can leak; allowed: at most %d", int64(s.reserve(p)), int64(mmu.MaxBuffer))
	}
	return nil
}

// advise is Properties.Advise.
func (s *slotRules) advise(p *link.Port) (what, better string) {
	h, steady := s.limit(p), s.steady(p)
	if h >= steady {
		return "", ""
	}
	return fmt.Sprintf("a buffer of %d B, but only from %d B on the link runs at line rate (%s, %s each way, slots of %s)", h, steady, p.Rate, p.DelayOut, s.slot),
		fmt.Sprintf("flow_control: {buffer: %dB}, or bdp+3", steady)
}

// slotBooks are the books of a receiver that grants by slots.
type slotBooks struct {
	port    Port
	slot    units.Time
	next    units.Time  // when the next slot begins
	full    units.Bytes // R_s T
	limit   units.Bytes // H, in the buffer
	reserve units.Bytes // of the buffer, with what can leak
	frame   units.Bytes // frames of this size ..
	cost    units.Bytes // .. take so much of the buffer
	grants  []units.Bytes
	oldest  int
	flight  units.Bytes // F, their sum
}

func (s *slotRules) books(p Port) slotBooks {
	spec := p.Spec()
	b := slotBooks{
		port: p, slot: s.slot, next: s.slot, full: s.full(spec), limit: spec.Cells(s.limit(spec)), reserve: s.reserve(spec),
		grants: make([]units.Bytes, s.window(spec)),
	}
	b.frame, b.cost = spec.Worst()
	b.fill(b.full)
	p.WakeAt(0, b.next)
	return b
}

// fill makes the last N slots grant the same.
func (b *slotBooks) fill(grant units.Bytes) {
	for i := range b.grants {
		b.grants[i] = grant
	}
	b.flight = units.Bytes(len(b.grants)) * grant
}

// turn begins the next slot.
func (b *slotBooks) turn(now units.Time) {
	if b.next += b.slot; b.next <= now {
		b.next = now + b.slot // the timer was late
	}
	b.port.WakeAt(0, b.next)
}

// stored is L.
func (b *slotBooks) stored() units.Bytes { return b.port.View().PortIn(b.port.Index(), mmu.Headroom) }

// room is H - L, in bytes on the wire.
func (b *slotBooks) room() units.Bytes { return b.onWire(b.limit - b.stored()) }

// onWire is what so much of a buffer of cells surely was on the wire.
func (b *slotBooks) onWire(stored units.Bytes) units.Bytes { return stored * b.frame / b.cost }

// grant records what is granted for a slot; the oldest grant expires, whether it was
// used or not.
func (b *slotBooks) grant(c units.Bytes) {
	b.flight += c - b.grants[b.oldest]
	b.grants[b.oldest] = c
	if b.oldest++; b.oldest == len(b.grants) {
		b.oldest = 0
	}
}

// Place implements Receiver: everything is in headroom.
func (b *slotBooks) Place(_ units.Time, a *mmu.Arrival) mmu.Segment {
	if b.stored()+a.Bytes <= b.reserve {
		return mmu.Headroom
	}
	return mmu.Drop
}

// Released implements Receiver: what has left shows in the next slot.
func (b *slotBooks) Released(units.Time, *mmu.Arrival) {}

// Control implements Receiver: the peer has nothing to say.
func (b *slotBooks) Control(units.Time, *packet.Packet, packet.Ext) {}

// Resumes implements Resuming: grants expire, so there will be one for the next frame
// when H has room for the least that is granted.
func (b *slotBooks) Resumes(_ units.Time, rest *Rest) bool {
	port := rest.View.IngressPort(b.port.Index(), b.port.Spec().Lossless)
	return b.onWire(b.limit-port.Total()) >= rest.Next+b.port.Spec().MTU+b.port.Spec().WireOverhead
}

// Quiet implements Resuming: every slot looks at the queues.
func (b *slotBooks) Quiet(uint8) units.Time { return 0 }
