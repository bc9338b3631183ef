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

// This file is the common part of Bifrost and BifrostX: time slots, a buffer shared by all
// lossless classes of a port, and the bytes that earlier grants still allow to arrive.

// SlotBuffer is H, the buffer of a port: `bdp+N`, a bandwidth-delay product and N slots at line
// rate, or a number of bytes.
type SlotBuffer struct {
	Slots int // 0: Bytes is used
	Bytes units.Bytes
}

const maxSlots = 1000

// UnmarshalText reads "bdp+3" or a size.
func (h *SlotBuffer) UnmarshalText(text []byte) error {
	if n, ok := strings.CutPrefix(string(text), "bdp+"); ok {
		slots, err := strconv.Atoi(n)
		if err != nil || slots < 1 || slots > maxSlots {
			return fmt.Errorf("invalid buffer %q (expected bdp+1 to bdp+%d, or a size such as 300MB)", text, maxSlots)
		}
		*h = SlotBuffer{Slots: slots}
		return nil
	}
	b, err := units.ParseBytes(string(text))
	if err != nil {
		return fmt.Errorf("invalid buffer %q (expected bdp+N with a number of slots, such as bdp+3, or a size such as 300MB)", text)
	}
	if b < 1 || b > mmu.MaxBuffer {
		return fmt.Errorf("buffer is %s (expected 1B to %dB)", b, int64(mmu.MaxBuffer))
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

// Pattern returns a regular expression for the texts that UnmarshalText reads, used by editors.
func (SlotBuffer) Pattern() string { return `^(bdp\+[1-9][0-9]{0,3}|` + units.BytesPattern + `)$` }

// slotRules are the parameters of a scheme that works in slots.
type slotRules struct {
	slot   units.Time
	buffer SlotBuffer
}

// newSlotRules checks the parameters that do not depend on a port.
func newSlotRules(slot units.Time, buffer SlotBuffer) (slotRules, error) {
	if slot <= minSlot || slot > units.Second {
		return slotRules{}, fmt.Errorf("slot is %s (expected more than %s, and less than the one-way delay of the cable)", slot, minSlot)
	}
	return slotRules{slot, buffer}, nil
}

// minSlot is the time that a switch needs to compute a grant (Bifrost section V).
const minSlot = units.Microsecond

// full returns R_s T, the bytes that arrive in a slot at line rate.
func (s *slotRules) full(p *link.Port) units.Bytes { return p.Rate.In(s.slot) }

// limit returns H in bytes on the wire.
func (s *slotRules) limit(p *link.Port) units.Bytes {
	if s.buffer.Slots > 0 {
		return link.BDP(p) + units.Bytes(s.buffer.Slots)*s.full(p)
	}
	return s.buffer.Bytes
}

// window returns N, the number of slots whose grants may still be in flight when the next one is
// made: the slots of a round trip, and one for the slot itself.
func (s *slotRules) window(p *link.Port) int {
	return int((p.RoundTrip()+s.slot-1)/s.slot) + 1
}

// steady returns the smallest H with which a link runs at line rate: N slots of grants in flight,
// one more, and the part of BDP that is not on the wire (store and forward).
func (s *slotRules) steady(p *link.Port) units.Bytes {
	return units.Bytes(s.window(p)+1)*s.full(p) + link.BDP(p) - p.Rate.In(p.RoundTrip())
}

// reserve returns H and four frames for leaks: a frame that the peer has started when its pause
// arrives, and late control frames. In a buffer of cells both grow.
func (s *slotRules) reserve(p *link.Port) units.Bytes {
	return p.Cells(s.limit(p)) + p.Cells(leaks*p.MTU)
}

const leaks = 4

// Reserve implements Scheme: one buffer for all lossless classes of a port.
func (s *slotRules) Reserve(p *link.Port) units.Bytes {
	if p.Lossless == 0 {
		return 0
	}
	return s.reserve(p)
}

// check rejects ports on which no slotted scheme works.
func (s *slotRules) check(p *link.Port) error {
	full, bdp, h := s.full(p), link.BDP(p), s.limit(p)
	switch delay := min(p.DelayIn, p.DelayOut); {
	case p.Host:
		return fmt.Errorf("works only between switches, and this port leads to a host (expected switch.overrides for the ports between switches, such as match: \"dci*.to-dci*\")")
	case delay <= minSlot:
		return fmt.Errorf("one-way delay of the cable is %s (expected more than %s, the shortest slot)", delay, minSlot)
	case s.slot >= delay:
		return fmt.Errorf("slot is %s, but the one-way delay of the cable is %s (expected more than %s and less than %s)", s.slot, delay, minSlot, delay)
	case full < 2*(p.MTU+p.WireOverhead):
		return fmt.Errorf("slot is %s, which is %d bytes at line rate: less than two frames, so the gate would never open (expected %s or more)",
			s.slot, int64(full), p.Rate.TxTime(2*(p.MTU+p.WireOverhead)))
	case h < bdp+full:
		return fmt.Errorf("buffer is %d bytes (expected at least a bandwidth-delay product and a slot, %d bytes; bdp+3 is %d)", int64(h), int64(bdp+full), int64(bdp+3*full))
	case s.reserve(p) > mmu.MaxBuffer:
		return fmt.Errorf("buffer is %d bytes including leaks (expected at most %d)", int64(s.reserve(p)), int64(mmu.MaxBuffer))
	}
	return nil
}

// advise implements Properties.Advise.
func (s *slotRules) advise(p *link.Port) (what, better string) {
	h, steady := s.limit(p), s.steady(p)
	if h >= steady {
		return "", ""
	}
	return fmt.Sprintf("the buffer is %d B, but the link needs %d B to run at line rate (%s, %s each way, slots of %s)", h, steady, p.Rate, p.DelayOut, s.slot),
		fmt.Sprintf("flow_control: {buffer: %dB}, or bdp+3", steady)
}

// slotState is the state of a receiver that grants by slots.
type slotState struct {
	port    Port
	slot    units.Time
	next    units.Time    // start of the next slot
	full    units.Bytes   // R_s T
	limit   units.Bytes   // H, in buffer bytes
	reserve units.Bytes   // buffer bytes, including leaks
	frame   units.Bytes   // frame with the worst cost
	cost    units.Bytes   // its buffer bytes
	grants  []units.Bytes // of the last N slots
	oldest  int
	flight  units.Bytes // F, the sum of grants
}

func (s *slotRules) state(p Port) slotState {
	spec := p.Spec()
	b := slotState{
		port: p, slot: s.slot, next: s.slot, full: s.full(spec), limit: spec.Cells(s.limit(spec)), reserve: s.reserve(spec),
		grants: make([]units.Bytes, s.window(spec)),
	}
	b.frame, b.cost = spec.Worst()
	b.fill(b.full)
	p.WakeAt(0, b.next)
	return b
}

// fill sets the grants of the last N slots.
func (b *slotState) fill(grant units.Bytes) {
	for i := range b.grants {
		b.grants[i] = grant
	}
	b.flight = units.Bytes(len(b.grants)) * grant
}

// turn begins the next slot.
func (b *slotState) turn(now units.Time) {
	if b.next += b.slot; b.next <= now {
		b.next = now + b.slot // the timer was late
	}
	b.port.WakeAt(0, b.next)
}

// stored returns L.
func (b *slotState) stored() units.Bytes { return b.port.View().PortIn(b.port.Index(), mmu.Headroom) }

// room returns H - L in bytes on the wire.
func (b *slotState) room() units.Bytes { return b.onWire(b.limit - b.stored()) }

// onWire returns the smallest number of wire bytes that can fill the given buffer bytes.
func (b *slotState) onWire(stored units.Bytes) units.Bytes { return stored * b.frame / b.cost }

// grant records the grant of a slot; the oldest grant expires, used or not.
func (b *slotState) grant(c units.Bytes) {
	b.flight += c - b.grants[b.oldest]
	b.grants[b.oldest] = c
	if b.oldest++; b.oldest == len(b.grants) {
		b.oldest = 0
	}
}

// Place implements Receiver: all frames go to headroom.
func (b *slotState) Place(_ units.Time, a *mmu.Arrival) mmu.Segment {
	if b.stored()+a.Bytes <= b.reserve {
		return mmu.Headroom
	}
	return mmu.Drop
}

// Released implements Receiver: departures are counted in the next slot.
func (b *slotState) Released(units.Time, *mmu.Arrival) {}

// Control implements Receiver: the peer sends nothing.
func (b *slotState) Control(units.Time, *packet.Packet, packet.Ext) {}

// Resumes implements Resuming. Grants expire, so there will be one for the next frame if H has
// room for the smallest grant.
func (b *slotState) Resumes(_ units.Time, rest *Rest) bool {
	port := rest.View.IngressPort(b.port.Index(), b.port.Spec().Lossless)
	return b.onWire(b.limit-port.Total()) >= rest.Next+b.port.Spec().MTU+b.port.Spec().WireOverhead
}

// Quiet implements Resuming: the queues are checked in every slot.
func (b *slotState) Quiet(uint8) units.Time { return 0 }
