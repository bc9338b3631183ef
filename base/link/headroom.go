package link

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Rule says how the headroom of a queue is sized.
type Rule uint8

// Rules of sizing.
const (
	RuleExact Rule = iota // everything that can be in flight in this model
	RuleEq1               // DSH eq. 1
	RuleBytes             // a number
)

// Headroom is a size of headroom per queue: `exact`, `eq1` or a number of bytes.
type Headroom struct {
	Rule  Rule
	Bytes units.Bytes
}

// UnmarshalText reads "exact", "eq1" or a size.
func (h *Headroom) UnmarshalText(text []byte) error {
	switch s := string(text); s {
	case "exact":
		*h = Headroom{Rule: RuleExact}
	case "eq1":
		*h = Headroom{Rule: RuleEq1}
	default:
		b, err := units.ParseBytes(s)
		if err != nil {
			return fmt.Errorf("%q is not a headroom; allowed: exact, eq1, or a size such as 60000B", s)
		}
		if b < 0 || b > mmu.MaxBuffer {
			return fmt.Errorf("headroom is %s; allowed: 0B to %dB", b, int64(mmu.MaxBuffer))
		}
		*h = Headroom{Rule: RuleBytes, Bytes: b}
	}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (h Headroom) MarshalText() ([]byte, error) {
	switch h.Rule {
	case RuleExact:
		return []byte("exact"), nil
	case RuleEq1:
		return []byte("eq1"), nil
	default:
		return []byte(h.Bytes.String()), nil
	}
}

// Of returns the headroom of one queue of a port.
func (h Headroom) Of(p *Port) units.Bytes {
	switch h.Rule {
	case RuleExact:
		return p.Cells(Exact(p))
	case RuleEq1:
		return p.Cells(Eq1(p.Rate, p.DelayIn, p.mtuOut()))
	default:
		return h.Bytes
	}
}

// Needed is what a queue of a port must be able to count on: Exact, in the cells of
// its buffer.
func Needed(p *Port) units.Bytes { return Headroom{Rule: RuleExact}.Of(p) }

// ProcessingCap is the line time that the standard allows a device for acting
// on a PAUSE (IEEE 802.1Qbb; DSH eq. 1).
const ProcessingCap units.Bytes = 3840

// Eq1 is DSH eq. 1: PHI = 2 (C D + MTU) + 3840 B. It forgets the frame that
// crosses the threshold and the line time of the PAUSE frame, and so falls short
// of Exact when the upstream really takes the full 3840 B of processing.
func Eq1(rate units.Rate, delay units.Time, mtu units.Bytes) units.Bytes {
	return 2*(rate.In(delay)+mtu) + ProcessingCap
}

// Exact is the largest number of bytes that can arrive for one queue from the
// frame that turns it OFF on: that frame; what leaves the upstream while the
// PAUSE waits for the frame being sent and for PFC frames before it, is sent
// itself, travels and is processed; the frame that the upstream has begun; and
// what is on the wire.
func Exact(p *Port) units.Bytes {
	frame, pauses := p.MTU+p.WireOverhead, units.Bytes(p.PauseFrames())
	travel := p.DelayIn + p.DelayOut + p.PeerPFC().Processing
	if p.Tick > 1 {
		late := p.TxTime(p.Rate, p.mtuOut()+p.WireOverhead) + units.Time(pauses)*p.TxTime(p.Rate, p.pfcFrame())
		return min(mmu.MaxBuffer, p.inTicks(travel+late)+2*frame)
	}
	return roundUp(p.Rate, travel) + 2*frame + pauses*p.pfcFrame() + p.mtuOut() + p.WireOverhead
}

// inTicks returns the most bytes that arrive in t where the times of frames are cut to
// ticks: a frame of k ticks has less than k+1 of them worth of bytes, and the smallest
// ones gain most. Frames that take no time at all are without limit.
func (p *Port) inTicks(t units.Time) units.Bytes {
	k := int64(p.TxTime(p.Rate, max(1, p.MinFrame)+p.WireOverhead) / p.Tick)
	if k == 0 {
		return mmu.MaxBuffer
	}
	b := roundUp(p.Rate, t)
	return b + (b+units.Bytes(k)-1)/units.Bytes(k)
}

// pfcFrame is what a PFC frame of this port takes of the wire.
func (p *Port) pfcFrame() units.Bytes {
	size := units.Bytes(p.PFC.Size)
	if size == 0 {
		size = packet.PFCSize
	}
	return size + p.WireOverhead
}

// mtuOut is the largest frame that leaves: a PAUSE may have to wait for it.
func (p *Port) mtuOut() units.Bytes { return max(p.MTU, p.MTUOut) }

// PauseFrames is how many PFC frames can be due at once. A frame tells the state
// of all classes, so one is enough, unless each change must be sent: then an OFF
// and an ON of every class may wait. What changes beyond that while they do is
// told by the last of them.
func (p *Port) PauseFrames() int {
	if !p.PFC.Ordered {
		return 1
	}
	return 2 * max(1, p.Lossless.Count())
}

// MinQuanta is the shortest pause time that can be kept alive: a refresh is due
// at half-life and may have to wait for the longest frame; and it must leave room
// for that frame, or refreshes would take all of the wire.
func (p *Port) MinQuanta() int {
	const half = packet.QuantumBits / 8 / 2
	return int((p.mtuOut() + p.WireOverhead + p.pfcFrame() + half - 1) / half)
}

// roundUp returns the bytes that pass in t, with a started byte counted.
func roundUp(r units.Rate, t units.Time) units.Bytes {
	b := r.In(t)
	if r.TxTime(b) < t {
		b++
	}
	return b
}

// RoundTrip is from the moment at which a control frame has left to that at which what
// the peer sends because of it arrives.
func (p *Port) RoundTrip() units.Time { return p.DelayIn + p.DelayOut + p.PeerPFC().Processing }

// BDP is what can arrive in a round trip, DELTA of Bifrost (section IV): what is on the
// wire, the line time of a control frame, the frame that the peer has begun, and the one
// that the control frame waits for.
func BDP(p *Port) units.Bytes {
	return roundUp(p.Rate, p.RoundTrip()) + packet.PFCSize + 3*p.WireOverhead + p.MTU + p.mtuOut()
}

// Worst returns the size of frames that take most of a buffer of cells for their bytes,
// and what one takes, with the price of a packet: the smallest, or one byte more than
// fills whole cells, if that wastes more.
func (p *Port) Worst() (frame, cost units.Bytes) {
	if p.Cell <= 1 && p.PerPacket == 0 {
		return 1, 1
	}
	cell := max(1, p.Cell)
	frame = max(1, p.MinFrame)
	full := (frame + cell - 1) / cell * cell
	cost = full + p.PerPacket
	if next := full + 1; next <= p.MTU && (cost+cell)*frame > cost*next {
		return next, cost + cell
	}
	return frame, cost
}

// Cells grows a number of bytes on the wire to what they can cost in a buffer of cells,
// all in frames of the worst size.
func (p *Port) Cells(b units.Bytes) units.Bytes {
	frame, cost := p.Worst()
	return (b + frame - 1) / frame * cost
}

// Pattern is a regular expression of what UnmarshalText reads, for editors.
func (Headroom) Pattern() string { return `^(exact|eq1|` + units.BytesPattern + `)$` }
