// Package probe is what can be watched in a running node, and the probes that
// watch it: one file per kind.
//
// A node reports events to a Sink; a node without one pays one nil check per
// event. A probe is a sink, or looks at its node from time to time, and writes
// rows; it changes nothing and draws no random number, so a run with probes is
// the run without them.
package probe

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
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
	Expelled               // a policy took it back from a lossy queue
	NumReasons
)

var reasonNames = [NumReasons]string{"no route", "overflow", "lossless overflow", "deadlock handler", "link", "expelled"}

func (r Reason) String() string { return reasonNames[r] }

// FlowEvent is a turn in the life of a flow, as one of its hosts sees it.
type FlowEvent uint8

// Turns of a flow.
const (
	FlowStarts    FlowEvent = iota // the source opens it
	FlowDelivered                  // the destination has all of it, in order
	FlowAcked                      // the source knows that: the flow is complete
	FlowTimeout                    // the source sends again for want of progress
	FlowGap                        // the destination misses a packet and says so (NACK)
	numFlowEvents
)

var flowEventNames = [numFlowEvents]string{"start", "delivered", "acked", "timeout", "nack"}

func (e FlowEvent) String() string { return flowEventNames[e] }

// Sink receives the events of one node, in the order in which they happen there.
// Packets are only valid during the call. What a probe reads of the node in a
// call is the state right after the event, except in Arrive: a frame arrives
// before anything is done with it.
type Sink interface {
	// Depart: the first bit of a frame leaves. Data and replies have left the
	// buffer; Packet.Port is where they came in.
	Depart(now units.Time, port int, p *packet.Packet)
	// Arrive: the last bit of a frame has arrived.
	Arrive(now units.Time, port int, p *packet.Packet)
	// Queued: a switch stored a frame in a segment of its buffer. What passes
	// straight through an idle port is not stored.
	Queued(now units.Time, in, out int, p *packet.Packet, s mmu.Segment)
	// Marked: a frame got the congestion mark by the queue of an egress.
	Marked(now units.Time, port int, p *packet.Packet)
	// Drop: a frame that came in by that port is given up.
	Drop(now units.Time, port int, p *packet.Packet, why Reason)
	// Blocked: the classes of an egress that may not send changed.
	Blocked(now units.Time, port int, from, to packet.ClassMask)
	// Off: the ingress queues of a port that want their upstream to hold changed.
	Off(now units.Time, port int, from, to packet.ClassMask)
	// Paused: the upstream of a port was told so; a frame leaves.
	Paused(now units.Time, port int, from, to packet.ClassMask)
	// Flow: something happened to a flow at one of its hosts.
	Flow(now units.Time, flow uint32, what FlowEvent)
	// Reported: a scheme of the node reports something of its own.
	Reported(now units.Time, e *Event)
}

// Node is what a probe may look at. Nothing of it may be changed.
type Node interface {
	Ports() int
	// View is the buffer of a switch, or the receive buffer of a NIC.
	View() mmu.View
	// Level is the occupancy of a lossless ingress queue as the policy measures
	// it, and its threshold.
	Level(now units.Time, port int, class uint8) (q, xoff units.Bytes)
	// Headroom is what the flow control of a port set aside for it.
	Headroom(port int) units.Bytes
	// LosslessClasses of a port.
	LosslessClasses(port int) packet.ClassMask
	// BlockedClasses of an egress may not send now.
	BlockedClasses(port int) packet.ClassMask
	// OffClasses are the ingress queues of a port that want their upstream to
	// hold now.
	OffClasses(port int) packet.ClassMask
	// PauseDepth is the depth of the last PAUSE that a port sent for a class.
	PauseDepth(port int, class uint8) int
	// Rate of a port's wire.
	Rate(port int) units.Rate
	// EachFlow calls use for every open flow of a host, in order of their ids.
	EachFlow(now units.Time, use func(FlowState))
	// EachGauged calls use for every scheme of the node that shows numbers of itself.
	EachGauged(use func(Gauges))
}

// Causes is a node that knows why it paused.
type Causes interface {
	// PauseCause returns the egress queue in which frames of a queue waited, held by the
	// deepest pause, when the last PAUSE was sent for it; false: nothing held them.
	PauseCause(port int, class uint8) (by int, byClass uint8, ok bool)
}

// Refuser is a node that knows what a frame for which there was no room was held against.
type Refuser interface {
	// Refused returns the egress of the lossy frame that Drop tells of, for the reason
	// Overflow, its queue as the policy measures it, and the threshold. It is valid during that
	// call; false: the policy does not say.
	Refused(now units.Time) (out int, q, limit units.Bytes, ok bool)
}

// FlowState is an open flow at its source.
type FlowState struct {
	Flow     uint32
	Rate     units.Rate
	Window   units.Bytes
	InFlight units.Bytes
}

// Source is a plug point of a node whose schemes show numbers and report events.
type Source uint8

// Sources.
const (
	Policy Source = iota
	FlowControl
	Deadlock
	CC
	numSources
)

var sourceNames = [numSources]string{"policy", "flow_control", "deadlock", "cc"}

func (s Source) String() string { return sourceNames[s] }

// Gauged is a scheme that shows numbers of itself: a policy, an end of a flow control,
// a deadlock handler, a congestion control. Looking changes nothing.
type Gauged interface {
	// Gauges returns the names of the numbers, always the same ones.
	Gauges() []string
	// Measure fills in their values as of now. Policies and handlers are asked for each
	// port and class, an end of a flow control for each class of its port, a
	// congestion control once, with whatever port and class. False: there is nothing to
	// show here.
	Measure(now units.Time, port int, class uint8, values []float64) bool
}

// NodeGauged is a policy or deadlock handler that shows numbers of its whole node, with
// or without being Gauged as well. Looking changes nothing.
type NodeGauged interface {
	// NodeGauges returns the names of the numbers, always the same ones.
	NodeGauges() []string
	// MeasureNode fills in their values as of now. False: there is nothing to show.
	MeasureNode(now units.Time, values []float64) bool
}

// Gauges are those of one scheme of a node.
type Gauges struct {
	Of     Source
	Scheme Gauged     // nil: it shows no numbers of ports, classes or flows
	Whole  NodeGauged // nil: it shows no numbers of the node
	Port   int        // of a flow control
	Flow   uint32     // of a congestion control
}

// Event is what a scheme reports. Port, class, flow and number mean what the scheme
// says they do; -1 is none.
type Event struct {
	Of     Source
	Name   string
	Port   int
	Class  int
	Flow   int64
	Number int64
}

// Attached is a sink that looks at its node. Attach is called once, before the
// run.
type Attached interface{ Attach(n Node) }

// Wire is a sink that also sees what travels beside frames. An extension is only valid
// during the call, and empty for a frame that has none.
type Wire interface {
	// Sent follows Depart of the same frame.
	Sent(port int, p *packet.Packet, ext packet.Ext)
	// Came precedes Arrive of the same frame.
	Came(port int, p *packet.Packet, ext packet.Ext)
}

// Watcher is a probe at one node.
type Watcher interface {
	Sink
	// Sample is called at every multiple of the probe's period, before whatever
	// else happens at that time.
	Sample(now units.Time)
	// Finish ends the run.
	Finish(now units.Time)
}

// Ignore ignores everything. Probes embed it and define what they watch.
type Ignore struct{}

// Depart implements Sink.
func (Ignore) Depart(units.Time, int, *packet.Packet) {}

// Arrive implements Sink.
func (Ignore) Arrive(units.Time, int, *packet.Packet) {}

// Queued implements Sink.
func (Ignore) Queued(units.Time, int, int, *packet.Packet, mmu.Segment) {}

// Marked implements Sink.
func (Ignore) Marked(units.Time, int, *packet.Packet) {}

// Drop implements Sink.
func (Ignore) Drop(units.Time, int, *packet.Packet, Reason) {}

// Blocked implements Sink.
func (Ignore) Blocked(units.Time, int, packet.ClassMask, packet.ClassMask) {}

// Off implements Sink.
func (Ignore) Off(units.Time, int, packet.ClassMask, packet.ClassMask) {}

// Paused implements Sink.
func (Ignore) Paused(units.Time, int, packet.ClassMask, packet.ClassMask) {}

// Flow implements Sink.
func (Ignore) Flow(units.Time, uint32, FlowEvent) {}

// Reported implements Sink.
func (Ignore) Reported(units.Time, *Event) {}

// Sample implements Watcher.
func (Ignore) Sample(units.Time) {}

// Finish implements Watcher.
func (Ignore) Finish(units.Time) {}
