package probe

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Ends is a sink that also sees what flows wait for at their hosts. Packets are only
// valid during the call.
type Ends interface {
	// Taken: the host takes a frame, when it arrives or when its receive buffer comes to
	// it; what the frame leads to follows before the next one is taken.
	Taken(now units.Time, p *packet.Packet)
	// Answered: a reply to the frame that was taken last joins a queue of the host, which
	// a pause of that class holds. The replies of a flow leave in this order.
	Answered(reply *packet.Packet, queue uint8)
	// Sends precedes Depart of a data packet: pacing allows it since a time.
	Sends(flow uint32, paced units.Time)
	// May: whether a flow has a packet to send, and a window for it. It is told after
	// everything that could change that, mostly without a change. A flow that starts may.
	May(now units.Time, flow uint32, may bool)
	// Lost: a source takes packets for lost.
	Lost(now units.Time, flow uint32)
}

// Buffered is a node that shows the frames in its buffer.
type Buffered interface {
	// EachBuffered calls use for every frame that waits for an egress.
	EachBuffered(use func(out int, p *packet.Packet))
}

// ends are several of them.
type ends []Ends

// EndsOf returns what of a sink sees the ends of flows; nil: nothing does.
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

// partsOf returns the parts of a sink that are of a kind.
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

// May implements Ends.
func (l ends) May(now units.Time, flow uint32, may bool) {
	for _, e := range l {
		e.May(now, flow, may)
	}
}

// Lost implements Ends.
func (l ends) Lost(now units.Time, flow uint32) {
	for _, e := range l {
		e.Lost(now, flow)
	}
}
