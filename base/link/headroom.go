package link

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Rule selects how the headroom of a queue is sized.
type Rule uint8

// Sizing rules.
const (
	RuleExact Rule = iota // everything that can be in flight in this model
	RuleEq1               // DSH eq. 1
	RuleBytes             // a given number of bytes
)

// Headroom is the headroom of a queue in a scenario: `exact`, `eq1` or a number of bytes.
type Headroom struct {
	Rule  Rule
	Bytes units.Bytes
}

// UnmarshalText parses "exact", "eq1" or a size.
func (h *Headroom) UnmarshalText(text []byte) error {
	switch s := string(text); s {
	case "exact":
		*h = Headroom{Rule: RuleExact}
	case "eq1":
		*h = Headroom{Rule: RuleEq1}
	default:
		b, err := units.ParseBytes(s)
		if err != nil {
			return fmt.Errorf("invalid headroom %q (expected exact, eq1, or a size such as 60000B)", s)
		}
		if b < 0 || b > mmu.MaxBuffer {
			return fmt.Errorf("headroom is %s (expected 0B to %dB)", b, int64(mmu.MaxBuffer))
		}
		*h = Headroom{Rule: RuleBytes, Bytes: b}
	}
	return nil
}

// MarshalText formats h so that UnmarshalText can parse it.
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

// Needed returns the headroom that a queue of a port needs in the worst case: Exact, in
// cells of its buffer.
func Needed(p *Port) units.Bytes { return Headroom{Rule: RuleExact}.Of(p) }

// ProcessingCap is the line time that the standard grants a device for acting on a PAUSE
// (IEEE 802.1Qbb; DSH eq. 1).
const ProcessingCap units.Bytes = 3840

// Eq1 returns the headroom of DSH eq. 1: PHI = 2 (C D + MTU) + 3840 B. It leaves out the
// frame that crosses the threshold and the line time of the PAUSE frame. So it falls short
// of Exact when the upstream uses the full 3840 B of processing.
func Eq1(rate units.Rate, delay units.Time, mtu units.Bytes) units.Bytes {
	return 2*(rate.In(delay)+mtu) + ProcessingCap
}

// Exact returns the largest number of bytes that can arrive for one queue, starting with
// the frame that turns it OFF. It is the sum of that frame; the bytes that the upstream
// sends while the PAUSE waits for the current frame and earlier PFC frames, is sent, travels
// and is processed; the frame that the upstream has begun; and the bytes on the wire.
func Exact(p *Port) units.Bytes {
	frame, pauses := p.MTU+p.WireOverhead, units.Bytes(p.PauseFrames())
	travel := p.DelayIn + p.DelayOut + p.PeerPFC().Processing
	if p.Tick > 1 {
		late := p.TxTime(p.Rate, p.mtuOut()+p.WireOverhead) + units.Time(pauses)*p.TxTime(p.Rate, p.pfcFrame())
		return min(mmu.MaxBuffer, p.inTicks(travel+late)+2*frame)
	}
	return roundUp(p.Rate, travel) + 2*frame + pauses*p.pfcFrame() + p.mtuOut() + p.WireOverhead
}

// Least returns the bytes that arrive for one queue after it turns OFF even in the best case:
// the bytes on the wire in both directions, and the frame that the upstream has begun. The
// upstream acts on the PAUSE at once, the PAUSE waits for nothing, and cells waste nothing. A
// queue with less headroom drops frames at line rate, whatever its peer is.
func Least(p *Port) units.Bytes { return roundUp(p.Rate, p.DelayIn+p.DelayOut) + p.MTU }

// inTicks returns the most bytes that arrive in t if frame times are cut to ticks. A frame of
// k ticks has less than k+1 ticks worth of bytes, and the smallest frames gain most. If the
// smallest frame takes no time, there is no limit.
func (p *Port) inTicks(t units.Time) units.Bytes {
	k := int64(p.TxTime(p.Rate, max(1, p.MinFrame)+p.WireOverhead) / p.Tick)
	if k == 0 {
		return mmu.MaxBuffer
	}
	b := roundUp(p.Rate, t)
	return b + (b+units.Bytes(k)-1)/units.Bytes(k)
}

// pfcFrame returns the wire size of a PFC frame of this port.
func (p *Port) pfcFrame() units.Bytes {
	size := units.Bytes(p.PFC.Size)
	if size == 0 {
		size = packet.PFCSize
	}
	return size + p.WireOverhead
}

// mtuOut returns the largest frame that leaves: a PAUSE may have to wait for it.
func (p *Port) mtuOut() units.Bytes { return max(p.MTU, p.MTUOut) }

// PauseFrames returns how many PFC frames can be pending at once. A frame has the state of
// all classes, so one is enough unless each change must be sent in order. Then an OFF and an
// ON of every class may be pending; the last frame includes further changes.
func (p *Port) PauseFrames() int {
	if !p.PFC.Ordered {
		return 1
	}
	return 2 * max(1, p.Lossless.Count())
}

// MinQuanta returns the shortest pause time that refreshes can keep alive. A refresh is due
// at half-life and may have to wait for the longest frame. It must leave time for that
// frame, or refreshes would use the whole link.
func (p *Port) MinQuanta() int {
	const half = packet.QuantumBits / 8 / 2
	return int((p.mtuOut() + p.WireOverhead + p.pfcFrame() + half - 1) / half)
}

// roundUp returns the bytes sent in t, including a started one.
func roundUp(r units.Rate, t units.Time) units.Bytes {
	b := r.In(t)
	if r.TxTime(b) < t {
		b++
	}
	return b
}

// RoundTrip returns the time from the end of a control frame to the arrival of the first
// frame that the peer sends in response.
func (p *Port) RoundTrip() units.Time { return p.DelayIn + p.DelayOut + p.PeerPFC().Processing }

// BDP returns the bytes that can arrive in a round trip, DELTA of Bifrost (section IV): the
// bytes on the wire, the line time of a control frame, the frame that the peer has begun,
// and the frame that the control frame waits for.
func BDP(p *Port) units.Bytes {
	return roundUp(p.Rate, p.RoundTrip()) + packet.PFCSize + 3*p.WireOverhead + p.MTU + p.mtuOut()
}

// Worst returns the frame size with the highest buffer cost per byte, and the cost of one
// such frame. It is the smallest frame, or one byte more than whole cells if that wastes
// more.
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

// Cells returns the largest buffer cost of b bytes on the wire: all of them in frames of the
// worst size.
func (p *Port) Cells(b units.Bytes) units.Bytes {
	frame, cost := p.Worst()
	return (b + frame - 1) / frame * cost
}

// Pattern returns a regular expression that matches headroom values, for the JSON schema.
func (Headroom) Pattern() string { return `^(exact|eq1|` + units.BytesPattern + `)$` }
