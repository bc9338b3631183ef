// Package probe records what happens in a node: nodes report events to it, and runs, live
// switches and analyses attach its probes (one file per kind).
//
// A node reports events to a Sink; a node without a sink pays one nil check per event. A
// probe is a sink, or samples its node periodically, and writes rows. It changes no state
// and draws no random numbers, so probes do not change the results of a run.
package probe

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Reason is why a frame was dropped.
type Reason uint8

// Reasons.
const (
	NoRoute  Reason = iota // the destination cannot be reached
	Overflow               // no room, or over the threshold of a lossy queue
	Lossless               // no room for a frame of a lossless class
	Handler                // dropped by a deadlock handler
	Corrupt                // corrupted by the link, or the link was down
	Expelled               // expelled from a lossy queue by a policy
	NumReasons
)

var reasonNames = [NumReasons]string{"no route", "overflow", "lossless overflow", "deadlock handler", "link", "expelled"}

func (r Reason) String() string { return reasonNames[r] }

// FlowEvent is an event in the life of a flow, as seen by one of its hosts.
type FlowEvent uint8

// Events of a flow.
const (
	FlowStarts    FlowEvent = iota // the source opens it
	FlowDelivered                  // the destination has received all of it, in order
	FlowAcked                      // the source has received the last ACK: the flow is complete
	FlowTimeout                    // the source retransmits after a timeout
	FlowGap                        // the destination reports a missing packet (NACK)
	numFlowEvents
)

var flowEventNames = [numFlowEvents]string{"start", "delivered", "acked", "timeout", "nack"}

func (e FlowEvent) String() string { return flowEventNames[e] }

// Sink receives the events of one node in the order in which they happen. Packets are only
// valid during the call. During a call the node is in its state right after the event,
// except in Arrive, which comes before the frame is processed.
type Sink interface {
	// Depart: the first bit of a frame leaves. Data and replies have already left the
	// buffer; Packet.Port is their ingress port.
	Depart(now units.Time, port int, p *packet.Packet)
	// Arrive: the last bit of a frame has arrived.
	Arrive(now units.Time, port int, p *packet.Packet)
	// Queued: a switch stored a frame in a segment of its buffer. Frames that pass straight
	// through an idle port are not stored.
	Queued(now units.Time, in, out int, p *packet.Packet, s mmu.Segment)
	// Marked: a frame was ECN-marked because of its egress queue.
	Marked(now units.Time, port int, p *packet.Packet)
	// Drop: a frame that arrived by that port is dropped.
	Drop(now units.Time, port int, p *packet.Packet, why Reason)
	// Blocked: the set of blocked classes of an egress port changed.
	Blocked(now units.Time, port int, from, to packet.ClassMask)
	// Off: the set of ingress queues of a port that are OFF changed.
	Off(now units.Time, port int, from, to packet.ClassMask)
	// Paused: the classes that a port asks its upstream to pause changed; a frame leaves.
	Paused(now units.Time, port int, from, to packet.ClassMask)
	// Flow: something happened to a flow at one of its hosts.
	Flow(now units.Time, flow uint32, what FlowEvent)
	// Reported: a scheme of the node reports an event.
	Reported(now units.Time, e *Event)
}

// Node is read access to a node, for probes.
type Node interface {
	Ports() int
	// View returns the buffer of a switch, or the receive buffer of a NIC.
	View() mmu.View
	// Level returns the occupancy of a lossless ingress queue as the policy measures it, and
	// its threshold.
	Level(now units.Time, port int, class uint8) (q, xoff units.Bytes)
	// Headroom returns the headroom that flow control reserved for a port, or the size of the
	// headroom pool that the port uses.
	Headroom(port int) units.Bytes
	// LosslessClasses returns the lossless classes of a port.
	LosslessClasses(port int) packet.ClassMask
	// BlockedClasses returns the blocked classes of an egress port.
	BlockedClasses(port int) packet.ClassMask
	// OffClasses returns the classes of a port whose ingress queues are OFF: they want their
	// upstream to pause.
	OffClasses(port int) packet.ClassMask
	// PauseDepth returns the depth of the last PAUSE that a port sent for a class.
	PauseDepth(port int, class uint8) int
	// Rate returns the link rate of a port.
	Rate(port int) units.Rate
	// EachFlow calls use for every open flow of a host, in order of their ids.
	EachFlow(now units.Time, use func(FlowState))
	// EachGauged calls use for every scheme of the node that exports gauges.
	EachGauged(use func(Gauges))
}

// Causes is a node that reports why it paused.
type Causes interface {
	// PauseCause returns the egress queue that blocked frames of a queue when its last PAUSE
	// was sent. If several did, it is the one with the deepest pause. It returns false if
	// none did.
	PauseCause(port int, class uint8) (by int, byClass uint8, ok bool)
}

// Refuser is a node that reports which threshold rejected a lossy frame.
type Refuser interface {
	// Refused describes the lossy frame of a Drop with reason Overflow: its egress port, its
	// queue length as the policy measures it, and the threshold. It is valid during that
	// call only. It returns false if the policy does not report a threshold.
	Refused(now units.Time) (out int, q, limit units.Bytes, ok bool)
}

// FlowState is an open flow at its source.
type FlowState struct {
	Flow     uint32
	Rate     units.Rate
	Window   units.Bytes
	InFlight units.Bytes
}

// Source is a plug point of a node whose schemes export gauges and report events.
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

// Gauged is a scheme that exports gauges: a policy, one end of a flow control, a deadlock
// handler or a congestion control. Reading gauges changes no state.
type Gauged interface {
	// Gauges returns the names of the gauges, which never change.
	Gauges() []string
	// Measure stores the current values. It is called for each port and class of policies and
	// handlers, for each class of a flow control's port, and once for a congestion control,
	// which ignores port and class. It returns false if there are no values.
	Measure(now units.Time, port int, class uint8, values []float64) bool
}

// NodeGauged is a policy or deadlock handler that exports gauges for the whole node. It may
// be Gauged as well. Reading gauges changes no state.
type NodeGauged interface {
	// NodeGauges returns the names of the gauges, which never change.
	NodeGauges() []string
	// MeasureNode stores the current values. It returns false if there are none.
	MeasureNode(now units.Time, values []float64) bool
}

// Gauges are the gauges of one scheme of a node.
type Gauges struct {
	Of     Source
	Scheme Gauged     // nil: no gauges for ports, classes or flows
	Whole  NodeGauged // nil: no gauges for the whole node
	Port   int        // port of a flow control
	Flow   uint32     // flow of a congestion control
}

// Event is an event that a scheme reports. The scheme defines the meaning of port, class,
// flow and number; -1 means none.
type Event struct {
	Of     Source
	Name   string
	Port   int
	Class  int
	Flow   int64
	Number int64
}

// Attached is a sink that reads its node. Attach is called once, before the run.
type Attached interface{ Attach(n Node) }

// Wire is a sink that also sees the extensions of frames. An extension is only valid during
// the call, and empty for a frame without one.
type Wire interface {
	// Sent follows Depart of the same frame.
	Sent(port int, p *packet.Packet, ext packet.Ext)
	// Received precedes Arrive of the same frame.
	Received(port int, p *packet.Packet, ext packet.Ext)
}

// Watcher is a probe at one node.
type Watcher interface {
	Sink
	// Sample is called at every multiple of the probe's period, before any event at that
	// time.
	Sample(now units.Time)
	// Finish is called once, at the end of the run.
	Finish(now units.Time)
}

// Ignore is a Watcher that does nothing. Probes embed it and override what they need.
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
