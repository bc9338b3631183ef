package probe

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Fan is a sink that passes events on to several sinks, in order.
type Fan []Sink

// Attach implements Attached.
func (l Fan) Attach(n Node) {
	for _, s := range l {
		if a, ok := s.(Attached); ok {
			a.Attach(n)
		}
	}
}

// Depart implements Sink.
func (l Fan) Depart(now units.Time, port int, p *packet.Packet) {
	for _, s := range l {
		s.Depart(now, port, p)
	}
}

// Arrive implements Sink.
func (l Fan) Arrive(now units.Time, port int, p *packet.Packet) {
	for _, s := range l {
		s.Arrive(now, port, p)
	}
}

// Queued implements Sink.
func (l Fan) Queued(now units.Time, in, out int, p *packet.Packet, seg mmu.Segment) {
	for _, s := range l {
		s.Queued(now, in, out, p, seg)
	}
}

// Marked implements Sink.
func (l Fan) Marked(now units.Time, port int, p *packet.Packet) {
	for _, s := range l {
		s.Marked(now, port, p)
	}
}

// Drop implements Sink.
func (l Fan) Drop(now units.Time, port int, p *packet.Packet, why Reason) {
	for _, s := range l {
		s.Drop(now, port, p, why)
	}
}

// Blocked implements Sink.
func (l Fan) Blocked(now units.Time, port int, from, to packet.ClassMask) {
	for _, s := range l {
		s.Blocked(now, port, from, to)
	}
}

// Off implements Sink.
func (l Fan) Off(now units.Time, port int, from, to packet.ClassMask) {
	for _, s := range l {
		s.Off(now, port, from, to)
	}
}

// Paused implements Sink.
func (l Fan) Paused(now units.Time, port int, from, to packet.ClassMask) {
	for _, s := range l {
		s.Paused(now, port, from, to)
	}
}

// Flow implements Sink.
func (l Fan) Flow(now units.Time, flow uint32, what FlowEvent) {
	for _, s := range l {
		s.Flow(now, flow, what)
	}
}

// Reported implements Sink.
func (l Fan) Reported(now units.Time, e *Event) {
	for _, s := range l {
		s.Reported(now, e)
	}
}

// wires passes events on to several Wire sinks.
type wires []Wire

// WireOf returns s as a Wire, or nil if neither s nor a part of it is one.
func WireOf(s Sink) Wire {
	switch all := partsOf[Wire](s); len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return wires(all)
	}
}

// Sent implements Wire.
func (l wires) Sent(port int, p *packet.Packet, ext packet.Ext) {
	for _, w := range l {
		w.Sent(port, p, ext)
	}
}

// Received implements Wire.
func (l wires) Received(port int, p *packet.Packet, ext packet.Ext) {
	for _, w := range l {
		w.Received(port, p, ext)
	}
}
