package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
)

// stamps writes telemetry: a record for each data packet that requests one, when it leaves its
// queue. The records show port.tally. PFC and other control frames are counted when they leave.
type stamps struct {
	queued  bool            // tally counts queued bytes, not sent bytes
	hops    []telemetry.Hop // by port
	passing packet.Packet   // scratch, as is ext
	ext     [telemetry.MaxWords]uint64
}

// tagMask keeps the tag bits that fit into a record.
const tagMask = 1<<telemetry.TagBits - 1

func newStamps(spec *SwitchSpec) *stamps {
	if spec.Telemetry == nil {
		return nil
	}
	t := &stamps{queued: spec.Telemetry.Counter == telemetry.Queued}
	for i := range spec.Ports {
		tag := route.Mix(uint32(spec.Node)<<16|uint32(i)) & tagMask
		t.hops = append(t.hops, spec.Telemetry.Format.Hop(spec.Ports[i].Rate, tag))
	}
	return t
}

// countQueued counts a frame that is stored or passes straight through.
func (t *stamps) countQueued(op *port, p *packet.Packet) {
	if t.queued {
		op.tally += units.Bytes(p.Size)
	}
}

// countSent counts a sent frame, after its record was written.
func (t *stamps) countSent(op *port, p *packet.Packet) {
	if !t.queued {
		op.tally += units.Bytes(p.Size)
	}
}

// stampStored writes the record of a stored packet that leaves.
//
//go:noinline
func (s *Switch) stampStored(now units.Time, op *port, f *packet.Packet, slot uint32) {
	if f.Flags&packet.Telemetry != 0 {
		f.Flags |= packet.Extended
		s.memory.ext[slot] = s.stamp(now, op, s.memory.ext[slot])
	}
	s.stamps.countSent(op, f)
}

// passStamped writes the record of a packet that passes straight through, and sends it. The
// packet is copied because arriving frames are read-only.
//
//go:noinline
func (s *Switch) passStamped(now units.Time, op *port, p *packet.Packet, ext packet.Ext) {
	t := s.stamps
	t.countQueued(op, p)
	if p.Flags&packet.Telemetry != 0 {
		t.passing = *p
		t.passing.Flags |= packet.Extended
		// Word by word: there are few, and the length branch in memmove would be mispredicted.
		for i, w := range ext {
			t.ext[i%telemetry.MaxWords] = w
		}
		p, ext = &t.passing, s.stamp(now, op, t.ext[:len(ext)])
	}
	t.countSent(op, p)
	s.drv.Transmit(int(op.index), p, ext, op.busy)
}

func (s *Switch) stamp(now units.Time, op *port, ext packet.Ext) packet.Ext {
	return s.stamps.hops[op.index].Append(ext, now, s.view.EgressPort(int(op.index)), op.tally)
}
