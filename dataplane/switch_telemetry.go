package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
)

// stamps is the part of a switch that writes telemetry: a record for each data
// packet that asks, when it leaves its queue. port.tally is the counter that the
// records show; frames that ports speak (PFC) count when they leave.
type stamps struct {
	queued  bool            // the counter is of what joined a queue, not of what was sent
	hops    []telemetry.Hop // by port
	passing packet.Packet   // scratch, as is the next
	ext     [telemetry.MaxWords]uint64
}

// tagMask is what records have room for.
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

// joins counts a frame that is stored or passes.
func (t *stamps) joins(op *port, p *packet.Packet) {
	if t.queued {
		op.tally += units.Bytes(p.Size)
	}
}

// leaves counts a frame that is sent, after its record was written.
func (t *stamps) leaves(op *port, p *packet.Packet) {
	if !t.queued {
		op.tally += units.Bytes(p.Size)
	}
}

// stampStored writes the record of a packet of the memory that leaves.
//
//go:noinline
func (s *Switch) stampStored(now units.Time, op *port, f *packet.Packet, slot uint32) {
	if f.Flags&packet.Telemetry != 0 {
		f.Flags |= packet.Extended
		s.memory.ext[slot] = s.stamp(now, op, s.memory.ext[slot])
	}
	s.stamps.leaves(op, f)
}

// passStamped does the same for a packet that is not stored, and sends it. What
// arrived is read-only: the packet is copied.
//
//go:noinline
func (s *Switch) passStamped(now units.Time, op *port, p *packet.Packet, ext packet.Ext) {
	t := s.stamps
	t.joins(op, p)
	if p.Flags&packet.Telemetry != 0 {
		t.passing = *p
		t.passing.Flags |= packet.Extended
		// Word by word: there are few, and memmove's branch on how many is mispredicted.
		for i, w := range ext {
			t.ext[i%telemetry.MaxWords] = w
		}
		p, ext = &t.passing, s.stamp(now, op, t.ext[:len(ext)])
	}
	t.leaves(op, p)
	s.drv.Transmit(int(op.index), p, ext, op.busy)
}

func (s *Switch) stamp(now units.Time, op *port, ext packet.Ext) packet.Ext {
	return s.stamps.hops[op.index].Append(ext, now, s.view.EgressPort(int(op.index)), op.tally)
}
