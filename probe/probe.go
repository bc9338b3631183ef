// Package probe defines the events that a running node reports. A node without
// a sink pays one nil check per event.
package probe

import (
	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/units"
)

// Reason says why a frame was dropped.
type Reason uint8

// Reasons.
const (
	NoRoute  Reason = iota // the destination cannot be reached
	Overflow               // no room, or over the threshold of a lossy queue
	Lossless               // no room for a frame of a lossless class
	Handler                // a deadlock handler gave it up
	Corrupt                // the link damaged it, or was down
	NumReasons
)

var reasonNames = [NumReasons]string{"no route", "overflow", "lossless overflow", "deadlock handler", "link"}

func (r Reason) String() string { return reasonNames[r] }

// Sink receives the events of one node, in the order in which they happen there.
// Packets are only valid during the call.
type Sink interface {
	// Depart: the first bit of a frame leaves.
	Depart(now units.Time, port int, p *packet.Packet)
	// Arrive: the last bit of a frame has arrived.
	Arrive(now units.Time, port int, p *packet.Packet)
	// Drop: a frame is given up.
	Drop(now units.Time, port int, p *packet.Packet, why Reason)
	// Blocked: the classes of an egress that may not send changed.
	Blocked(now units.Time, port int, from, to uint8)
	// Paused: the classes that an ingress asks its upstream to hold changed.
	Paused(now units.Time, port int, from, to uint8)
}
