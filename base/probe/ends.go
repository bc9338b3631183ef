package probe

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Ends is a sink that also observes the ends of flows: what hosts receive, and why they do not
// send. Packets are only valid during the call.
type Ends interface {
	// Taken is called when the host processes a frame: on arrival, or later if it
	// waited in the receive buffer. Events caused by the frame come before the next Taken.
	Taken(now units.Time, p *packet.Packet)
	// Answered is called when a reply to the last frame taken joins a queue of the host; a
	// pause of that class blocks it. The replies of a flow leave in this order.
	Answered(reply *packet.Packet, queue uint8)
	// Sends is called before Depart of a data packet. Pacing allowed it from the time paced.
	Sends(flow uint32, paced units.Time)
	// MaySend reports whether a flow has a packet to send and its window allows it. It is
	// called after every possible change, often with an unchanged value. A new flow may send.
	MaySend(now units.Time, flow uint32, may bool)
	// Lost is called when a source considers packets lost.
	Lost(now units.Time, flow uint32)
}

// Buffered is a node that lists the frames in its buffer.
type Buffered interface {
	// EachBuffered calls use for every stored frame, with its egress port.
	EachBuffered(use func(out int, p *packet.Packet))
}

// ends forwards events to several Ends.
type ends []Ends

// EndsOf returns s as an Ends, or nil if neither s nor a part of it is one.
func EndsOf(s Sink) Ends {
	switch all := partsOf[Ends](s); len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return ends(all)
	}
}

// partsOf returns the parts of a sink that implement T.
func partsOf[T any](s Sink) []T {
	if list, ok := s.(Fan); ok {
		var all []T
		for _, part := range list {
			all = append(all, partsOf[T](part)...)
		}
		return all
	}
	if x, ok := s.(T); ok {
		return []T{x}
	}
	return nil
}

// Taken implements Ends.
func (l ends) Taken(now units.Time, p *packet.Packet) {
	for _, e := range l {
		e.Taken(now, p)
	}
}

// Answered implements Ends.
func (l ends) Answered(reply *packet.Packet, queue uint8) {
	for _, e := range l {
		e.Answered(reply, queue)
	}
}

// Sends implements Ends.
func (l ends) Sends(flow uint32, paced units.Time) {
	for _, e := range l {
		e.Sends(flow, paced)
	}
}

// MaySend implements Ends.
func (l ends) MaySend(now units.Time, flow uint32, may bool) {
	for _, e := range l {
		e.MaySend(now, flow, may)
	}
}

// Lost implements Ends.
func (l ends) Lost(now units.Time, flow uint32) {
	for _, e := range l {
		e.Lost(now, flow)
	}
}
