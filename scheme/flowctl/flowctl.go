// Package flowctl holds hop-by-hop flow control: what a port tells its upstream
// so that nothing is lost, and what the upstream makes of it. One file per
// scheme.
//
// A scheme has two ends on every hop. The Receiver sits where frames arrive and
// decides where a lossless frame is stored and what the upstream should do. The
// Gate sits where frames leave and decides what may be sent now. Switch ports
// and NIC ports have both; each port chooses its scheme.
package flowctl

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// Receiver is the end at which frames arrive. Calls come in the order of events
// at the node; now never decreases. None of them may keep a pointer it is given.
type Receiver interface {
	// Place decides where a lossless frame goes: Private, Shared, Headroom,
	// Reserve, or Drop. The node charges exactly what Place returns.
	Place(now units.Time, a *mmu.Arrival) mmu.Segment
	// Charged follows the charge of a lossless frame, with the counters as they
	// are after it (not called for a dropped frame).
	Charged(now units.Time, a *mmu.Arrival, s mmu.Segment)
	// Released follows the release of a lossless frame that had come in here.
	Released(now units.Time, a *mmu.Arrival)
	// Control takes a Request frame from the peer's gate.
	Control(now units.Time, f *packet.Packet, ext packet.Ext)
	// Frame builds the next control frame for the peer from the state of this
	// moment, called when the wire is free after Port.Request. It returns false
	// when there is nothing (more) to say. Words appended to ext travel along.
	Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool)
	// Wake is called at the time given to Port.WakeAt for a timer, or later.
	Wake(now units.Time, timer int)
	// Reset follows a change of the link, down or up: the peer forgot what it
	// was told.
	Reset(now units.Time, up bool)
}

// Quick is a receiver that need not hear of every frame.
type Quick interface{ Shortcuts() Shortcuts }

// Shortcuts is the contract of the fast path: which calls a switch may leave out
// because they would make no difference to the receiver. The receiver says so once,
// when it is built; the switch alone decides frame by frame
// (dataplane/switch_fastpath.go). The zero value leaves out nothing.
//
// T is the policy's threshold where that is a share of what is free
// (buffer.Proportional). With another policy only Passing counts: T cannot be known
// without asking. A queue is ON or OFF by Pausing, which a receiver with Admit or
// Release must be; every change of it comes with a Port.Request.
type Shortcuts struct {
	// Passing: only what is stored matters. A frame that the private or the shared
	// segment takes and that passes straight through an idle port is placed, but
	// neither charged nor released.
	Passing bool
	// Admit: the shared segment takes every frame with which its queue stays within T,
	// and storing it changes nothing: for these neither Place nor Charged is called.
	Admit bool
	// Arrived is asked, where Admit does not hold, before Place; true means the same.
	// Nil: there is no such question.
	Arrived Arriver
	// Release: nothing changes when a frame leaves while its queue is ON and stays
	// Margin below T, and all queues of the port together hold no more than Levels
	// times T (0: however much they hold): then Released is not called.
	Release bool
	Margin  units.Bytes
	Levels  int64
}

// Arriver is a receiver that sees every frame, but can be brief about most: Arrived
// follows the arrival of a frame and reports whether the shared segment takes it and
// nothing changes by that. If not, Place does the same at greater length.
type Arriver interface {
	Arrived(now units.Time, class uint8, b units.Bytes) bool
}

// Pausing is a receiver whose queues are ON or OFF. Paused returns the classes
// that are OFF; each change comes with a Port.Request.
type Pausing interface{ Paused() packet.ClassMask }

// Repeater is a receiver that can say again which classes it wants paused: a header that
// rides on the frame has changed.
type Repeater interface {
	Repeat(now units.Time, mask packet.ClassMask)
}

// Whole is a receiver that can hold its upstream for what all classes of the port store
// together. WholePort reports whether it does.
type Whole interface{ WholePort() bool }

// Gate is the end from which frames leave.
type Gate interface {
	// Control takes a PFC or Feedback frame from the peer's receiver.
	Control(now units.Time, f *packet.Packet, ext packet.Ext)
	// Frame is as for Receiver; it speaks to the peer's receiver.
	Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool)
	// Wake is as for Receiver.
	Wake(now units.Time, timer int)
	// Reset follows a change of the link, down or up.
	Reset(now units.Time, up bool)
}

// Meter is a gate that counts bytes (credits, tokens). The node asks it for each
// frame of a class in the metered mask (Port.Meter) that is about to leave.
type Meter interface {
	// May reports whether the class may send that many bytes now. A class that
	// may not is skipped until the gate calls Port.Kick.
	May(now units.Time, class uint8, b units.Bytes) bool
	// Sent follows the start of a transmission.
	Sent(now units.Time, class uint8, b units.Bytes)
}

// Port is what an end may see and do at its node. Each end has its own.
type Port interface {
	Index() int
	Spec() *link.Port
	View() mmu.View
	Policy() buffer.Policy
	// Waiting returns the bytes that wait to leave by this port. A NIC makes a
	// frame when it leaves: there it is one MTU for a class that has anything.
	Waiting(class uint8) units.Bytes
	// Request asks for Frame as soon as the wire is free: after the frame that
	// is being sent and before everything else.
	Request(now units.Time)
	// NewTimer adds a timer to those of this end and returns its number. Number 0 is
	// there from the start.
	NewTimer() int
	// WakeAt arms a timer, strictly after now; units.Never disarms it. The last call
	// for a timer counts.
	WakeAt(timer int, at units.Time)
	// Block sets the classes that may not leave (gate only).
	Block(now units.Time, mask packet.ClassMask)
	// Meter sets the classes for which the gate's May is asked (gate only).
	Meter(mask packet.ClassMask)
	// Reserve changes what the port takes from the shared segment of a switch, to at
	// most what Scheme.Reserve said (receiver only).
	Reserve(b units.Bytes)
	// Pool returns what the ports of schemes that pool hold in headroom at this node, and
	// what they reserved together (Properties.Pools).
	Pool() (held, size units.Bytes)
	// Kick tells the node that something may have become sendable (gate only).
	Kick(now units.Time)
	// Report tells probe events of something that the scheme says in its entry; class
	// -1 is none. Nothing depends on it.
	Report(now units.Time, event string, class int, number int64)
	// Relay sends a control frame out of another port of the node (SWING).
	Relay(now units.Time, port int, f *packet.Packet, ext packet.Ext)
}

// Scheme is a flow control with its parameters. It builds the ends of ports; ports that are
// set up alike share it, also ports of different nodes. State belongs to the ends.
type Scheme interface {
	// Reserve returns the bytes that this port takes from the shared segment.
	Reserve(p *link.Port) units.Bytes
	Receiver(p Port) Receiver
	Gate(p Port) Gate
	// Properties describes the scheme to validation, checks and nodes.
	Properties() Properties
}

// Properties describe a scheme with its parameters. The zero value describes a scheme that
// pauses with PFC frames, fits every port and keeps the promises of its registry entry.
type Properties struct {
	// Dialect is the language of both ends. The two ports of a link must have the same.
	Dialect Dialect
	// Breaks are promises of the registry entry that these parameters do not keep.
	Breaks registry.Promise
	// Pools: the ports of a node share what they reserved; see Port.Pool.
	Pools bool
	// AtHosts: the receiver of a NIC must see every frame, as for credits. Otherwise only
	// the receiver of a slow or stuck host does.
	AtHosts bool
	// Profile sets what the switch leaves to the lossless ingress queues of a port.
	Profile buffer.Profile
	// Sizing is the headroom of a scheme that sets headroom aside. The zero value exempts
	// a scheme from checks of headroom.
	Sizing Sizing
	// Check returns why the scheme cannot run on a port, and what is allowed. The message
	// begins with the parameter that it is about, if there is one. It is called for every
	// port that runs the scheme before a run is built; a scheme at the port of a switch
	// runs at the host behind it, too. Nil: it fits every port.
	Check func(p *link.Port) error
	// Advise returns what `xoff check` should note about a port, and what would be better.
	// Both are empty when the scheme fits well. Nil: it always does.
	Advise func(p *link.Port) (what, better string)
}

// Sizing describes the headroom that a scheme sets aside at a port.
type Sizing struct {
	// Queue returns how much headroom one queue of a port can count on, from the frame
	// that turns it OFF. With less than link.Exact it can lose frames. Nil: the scheme
	// sets no headroom aside.
	Queue func(p *link.Port) units.Bytes
	// Enough are the parameters with which Queue returns link.Exact, as in a scenario.
	Enough string
	// Port returns the headroom of a port with these parameters.
	Port func(p *link.Port) units.Bytes
}

// Dialect names the frames that the two ends of a link exchange.
type Dialect string

// PFC is the dialect of schemes that pause with PFC frames and obey them (PauseGate), as
// every port can.
const PFC Dialect = ""

// String returns the name of the dialect.
func (d Dialect) String() string {
	if d == PFC {
		return "PFC"
	}
	return string(d)
}

// perQueue is the Sizing of a scheme whose queues have headroom of their own.
func perQueue(queue func(*link.Port) units.Bytes, enough string) Sizing {
	return Sizing{queue, enough, func(p *link.Port) units.Bytes { return p.Queues() * link.Needed(p) }}
}

// headroomExact is Enough where nothing but the size of headroom matters.
const headroomExact = "headroom: exact"

// New builds a scheme from its parameters.
type New = func(params any) (Scheme, error)

// Schemes is the table of all flow-control schemes.
var Schemes = registry.NewTable("flow_control",
	registry.Entry[New]{
		Name: "pfc", Colour: "vermillion", Alias: []string{"sih"}, Doc: "PFC with static, independent headroom per queue (SIH)",
		Paper: "IEEE 802.1Qbb; DSH section II", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: func() any { return &SIHParams{Headroom: link.Headroom{Rule: link.RuleExact}} }, New: newSIH,
	},
	registry.Entry[New]{
		Name: "sonic", Colour: "sky", Doc: "PFC with static headroom, admission and resume rule as in SONiC and the public simulators",
		Paper: "Reverie section 2.2.1", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: func() any {
			return &SONiCParams{Headroom: link.Headroom{Rule: link.RuleExact}, Xon: 1248, Offset: 2496}
		}, New: newSONiC,
	},
	registry.Entry[New]{
		Name: "adaptive", Colour: "green", Doc: "PFC with static headroom per queue, sized by the measured delay of each link",
		Paper: "IEEE 802.1Qdt; DSH section V-B", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: func() any { return &AdaptiveParams{Headroom: link.Headroom{Rule: link.RuleExact}, Rule: "exact"} }, New: newAdaptive,
	},
	registry.Entry[New]{
		Name: "oversubscribed", Colour: "purple", Alias: []string{"oversubscription"}, Doc: "PFC with less headroom than can be needed: what does not fit is dropped",
		Paper: "Bai et al., NSDI 2023; DSH sections III-C, V-B", Promises: registry.InOrder | registry.Bounded,
		Params: func() any {
			return &OversubscribedParams{Headroom: link.Headroom{Rule: link.RuleExact}, Ratio: units.Ratio{Num: 4, Den: 5}, Limit: "per_queue"}
		}, New: newOversubscribed,
	},
	registry.Entry[New]{
		Name: "dsh", Colour: "blue", Gauges: dshGauges, Doc: "Dynamic and Shared Headroom: an insurance per port, pauses of queues and of ports",
		Paper: "DSH section IV", Promises: registry.Lossless | registry.InOrder | registry.Bounded, Traits: registry.PausesPorts,
		Params: defaultDSH, New: newDSH,
	},
	registry.Entry[New]{
		Name: "bifrost", Colour: "blue", Gauges: bifrostGauges, Doc: "pauses of computed length in every slot, by what is stored and may still arrive: for long cables between switches",
		Paper: "Bifrost section IV", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultBifrost, New: newBifrost,
	},
	registry.Entry[New]{
		Name: "bifrostx", Colour: "sky", Gauges: bifrostXGauges, Doc: "Bifrost for several classes: tokens for the link and for each class, in feedback frames",
		Paper: "Bifrost section IV-E", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultBifrostX, New: newBifrostX,
	},
	registry.Entry[New]{
		Name: "cbfc", Colour: "green", Gauges: cbfcGauges, Doc: "credits instead of pauses, on every link and at hosts: InfiniBand, Ultra Ethernet",
		Paper: "InfiniBand Architecture Specification 7.9; Ultra Ethernet 1.0 link layer; Bifrost section II-B", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultCBFC, New: newCBFC,
	},
	registry.Entry[New]{
		Name: "swing", Colour: "orange", Doc: "PFC relays at both ends of a long cable, which pass pauses on and store what is in flight",
		Paper: "Chen et al.: Swing, TPDS 2023; Bifrost section II-B", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultSwing, New: newSwing,
	},
	registry.Entry[New]{
		Name: "none", Colour: "grey", Traits: registry.NeverHolds, Doc: "no flow control: a lossless class has no headroom and is never paused",
		Promises: registry.InOrder, New: newNone,
	},
)
