// Package flowctl provides the hop-by-hop flow control of switch and NIC ports: how a port keeps
// its upstream from sending more than the port can store, and how the upstream reacts. There is
// one file per scheme.
//
// A scheme has two ends on every hop. The Receiver sits where frames arrive; it chooses the
// segment of each lossless frame and tells the upstream what to do. The Gate sits where frames
// leave; it decides what may be sent now. Switch ports and NIC ports have both; each port chooses
// its scheme.
package flowctl

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// Receiver is the end at which frames arrive. Calls come in the order of events at the node; now
// never decreases. No method may keep a pointer it is given.
type Receiver interface {
	// Place chooses the segment of a lossless frame: Private, Shared, Headroom, Reserve, or Drop.
	// The node charges the frame to this segment.
	Place(now units.Time, a *mmu.Arrival) mmu.Segment
	// Charged is called after a lossless frame was charged to s; the counters include it. It is
	// not called for a dropped frame.
	Charged(now units.Time, a *mmu.Arrival, s mmu.Segment)
	// Released is called after a lossless frame that arrived at this port was released.
	Released(now units.Time, a *mmu.Arrival)
	// Control processes a Request frame from the peer's gate.
	Control(now units.Time, f *packet.Packet, ext packet.Ext)
	// Frame builds the next control frame for the peer from the current state. It is called when
	// the wire is free after Port.Request, and returns false if there is nothing more to send.
	// Words appended to ext travel with the frame.
	Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool)
	// Wake is called at the time given to Port.WakeAt for a timer, or later.
	Wake(now units.Time, timer int)
	// Reset is called after the link went down or up. The peer has lost all flow control state.
	Reset(now units.Time, up bool)
}

// Shortcutter is a receiver that does not need a call for every frame.
type Shortcutter interface{ Shortcuts() Shortcuts }

// Shortcuts is the contract of the fast path: calls that a switch may skip because they would not
// change the receiver. The receiver returns it once, when it is built; the switch decides frame
// by frame (dataplane/switch_fastpath.go). The zero value skips nothing.
//
// T is the policy's threshold if that is a share of the free bytes (buffer.Proportional). With
// any other policy only Passing applies, because T is then known only to the policy. A queue is
// ON or OFF as reported by Pausing, which a receiver with Admit or Release must implement; every
// change comes with a Port.Request.
type Shortcuts struct {
	// Passing: only stored bytes matter. A frame that the private or shared segment takes and
	// that passes straight through an idle port is placed, but neither charged nor released.
	Passing bool
	// Admit: the shared segment takes every frame that keeps its queue within T, and storing it
	// does not change the receiver. Neither Place nor Charged is called for such a frame.
	Admit bool
	// Arrived is called before Place if Admit does not apply. If it returns true, neither Place
	// nor Charged is called. Nil: not supported.
	Arrived Arriver
	// Release: the receiver does not change when a frame leaves while its queue is ON and stays
	// Margin below T. All queues of the port together must store at most Levels times T (0: any
	// amount). Released is not called then.
	Release bool
	Margin  units.Bytes
	Levels  int64
}

// Arriver is a receiver that sees every frame but has a fast path for most of them. Arrived is
// called when a frame arrives. It reports whether the shared segment takes the frame without any
// other change. If not, Place is called and decides.
type Arriver interface {
	Arrived(now units.Time, class uint8, b units.Bytes) bool
}

// Pausing is a receiver whose queues are ON or OFF. Paused returns the classes that are OFF; each
// change comes with a Port.Request.
type Pausing interface{ Paused() packet.ClassMask }

// Repeater is a receiver that can repeat the PAUSE of some classes, because a header that travels
// with the frame has changed.
type Repeater interface {
	Repeat(now units.Time, mask packet.ClassMask)
}

// PortPauser is a receiver that can pause its upstream because of the bytes that all classes of
// the port store together. WholePort reports whether it does so now.
type PortPauser interface{ WholePort() bool }

// Gate is the end from which frames leave.
type Gate interface {
	// Control processes a PFC or Feedback frame from the peer's receiver.
	Control(now units.Time, f *packet.Packet, ext packet.Ext)
	// Frame works as in Receiver; the frame goes to the peer's receiver.
	Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool)
	// Wake works as in Receiver.
	Wake(now units.Time, timer int)
	// Reset is called after the link went down or up.
	Reset(now units.Time, up bool)
}

// Meter is a gate that counts bytes (credits, tokens). The node calls May for each frame that is
// about to leave in a class of the metered mask (Port.Meter).
type Meter interface {
	// May reports whether the class may send b bytes now. A class that may not is skipped until
	// the gate calls Port.Kick.
	May(now units.Time, class uint8, b units.Bytes) bool
	// Sent is called after a transmission of b bytes started.
	Sent(now units.Time, class uint8, b units.Bytes)
}

// Port gives a Receiver or a Gate access to its node. Each of them has its own.
type Port interface {
	Index() int
	Spec() *link.Port
	View() mmu.View
	Policy() buffer.Policy
	// Waiting returns the bytes of a class queued at this egress port. A NIC creates frames when
	// they leave, so it returns one MTU for a class with anything to send.
	Waiting(class uint8) units.Bytes
	// Request makes the node call Frame as soon as the wire is free: after the frame in
	// transmission and before everything else.
	Request(now units.Time)
	// NewTimer adds a timer to this end and returns its number. Timer 0 always exists.
	NewTimer() int
	// WakeAt arms a timer, strictly after now; units.Never disarms it. A later call replaces an
	// earlier one.
	WakeAt(timer int, at units.Time)
	// Block sets the classes that may not send (gate only).
	Block(now units.Time, mask packet.ClassMask)
	// Meter sets the classes for which the gate's May is called (gate only).
	Meter(mask packet.ClassMask)
	// Reserve sets the bytes that the port takes from the shared segment of a switch (receiver
	// only). It is at most the value of Scheme.Reserve.
	Reserve(b units.Bytes)
	// Pool returns the headroom bytes in use, and the total reserved, of all ports at this node
	// whose scheme pools headroom (Properties.Pools).
	Pool() (used, size units.Bytes)
	// Kick tells the node that something may have become sendable (gate only).
	Kick(now units.Time)
	// Report passes an event listed in the scheme's registry entry to probes. Class -1 means
	// none. It has no effect on the run.
	Report(now units.Time, event string, class int, number int64)
	// Relay sends a control frame out of another port of the node (SWING).
	Relay(now units.Time, port int, f *packet.Packet, ext packet.Ext)
}

// Scheme is a flow control with its parameters. It builds receivers and gates. Ports with identical
// settings share it, even on different nodes, so state belongs to receivers and gates.
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
	// Dialect names the frames that both ends use. The two ports of a link must have the same.
	Dialect Dialect
	// Breaks lists the promises of the registry entry that these parameters do not keep.
	Breaks registry.Promise
	// Pools: the ports of a node share the headroom that they reserved; see Port.Pool.
	Pools bool
	// AtHosts: the receiver of a NIC must see every frame, as for credits. Otherwise only
	// the receiver of a slow or stuck host does.
	AtHosts bool
	// Grant returns the bytes of each lossless class that the receiver of a port grants
	// when its link comes up, before traffic starts (link.Port.PeerGrant of the peer).
	// Nil: nothing.
	Grant func(p *link.Port) units.Bytes
	// Profile contains settings for the lossless ingress queues of a port.
	Profile buffer.Profile
	// Sizing is the headroom of a scheme that reserves headroom. The zero value exempts a scheme
	// from headroom checks.
	Sizing Sizing
	// Check returns an error if the scheme cannot run on a port. The message starts with the
	// parameter that causes it, if there is one, and says what is expected. It is called for
	// every port that uses the scheme before a run is built; a scheme at a switch port also runs
	// at the attached host. Nil: the scheme fits every port.
	Check func(p *link.Port) error
	// Advise returns a note for `xoff check` about a port, and a better setting. Both are empty if
	// the scheme suits the port. Nil: no advice.
	Advise func(p *link.Port) (note, better string)
}

// Sizing describes the headroom that a scheme reserves at a port.
type Sizing struct {
	// Queue returns the headroom guaranteed to one queue of a port, from the frame that turns it
	// OFF. With less than link.Exact the queue can drop frames. Nil: the scheme reserves no
	// headroom.
	Queue func(p *link.Port) units.Bytes
	// Enough lists the parameters with which Queue returns link.Exact, as written in a scenario.
	Enough string
	// Port returns the headroom of a port with these parameters.
	Port func(p *link.Port) units.Bytes
	// Usable returns the headroom that one queue can use while the other queues of its port use
	// none. Nil: Queue.
	Usable func(p *link.Port) units.Bytes
	// Least returns the headroom below which `xoff check` reports a problem; between Least and
	// link.Exact it reports a note. Nil: link.Exact.
	Least func(p *link.Port) units.Bytes
}

// Dialect names the frames that the two ends of a link exchange.
type Dialect string

// PFC is the dialect of schemes that pause with PFC frames and obey them (PauseGate). Every port
// supports it.
const PFC Dialect = ""

// String returns the name of the dialect.
func (d Dialect) String() string {
	if d == PFC {
		return "PFC"
	}
	return string(d)
}

// perQueue returns the Sizing of a scheme whose queues have their own headroom.
func perQueue(queue func(*link.Port) units.Bytes, enough string) Sizing {
	return Sizing{
		Queue: queue, Enough: enough,
		Port: func(p *link.Port) units.Bytes { return p.Queues() * link.Needed(p) },
	}
}

// headroomExact is the Sizing.Enough of schemes whose losses depend only on the headroom size.
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
		Name: "adaptive", Colour: "green", Doc: "PFC with static headroom per queue, sized from the measured delay of each link",
		Paper: "IEEE 802.1Qdt; DSH section V-B", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: func() any { return &AdaptiveParams{Headroom: link.Headroom{Rule: link.RuleExact}, Rule: "exact"} }, New: newAdaptive,
	},
	registry.Entry[New]{
		Name: "oversubscribed", Colour: "purple", Alias: []string{"oversubscription"}, Doc: "PFC with less headroom than the worst case needs: frames that do not fit are dropped",
		Paper: "Bai et al., NSDI 2023; DSH sections III-C, V-B", Promises: registry.InOrder | registry.Bounded,
		Params: func() any {
			return &OversubscribedParams{Headroom: link.Headroom{Rule: link.RuleExact}, Ratio: units.Ratio{Num: 4, Den: 5}, Limit: "per_queue"}
		}, New: newOversubscribed,
	},
	registry.Entry[New]{
		Name: "dsh", Colour: "blue", Gauges: dshGauges, Doc: "Dynamic and Shared Headroom: an insurance per port; pauses queues and whole ports",
		Paper: "DSH section IV", Promises: registry.Lossless | registry.InOrder | registry.Bounded, Traits: registry.PausesPorts,
		Params: defaultDSH, New: newDSH,
	},
	registry.Entry[New]{
		Name: "bifrost", Colour: "blue", Gauges: bifrostGauges, Doc: "a pause in every slot, with a length computed from stored and expected bytes; for long cables between switches",
		Paper: "Bifrost section IV", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultBifrost, New: newBifrost,
	},
	registry.Entry[New]{
		Name: "bifrostx", Colour: "sky", Gauges: bifrostXGauges, Doc: "Bifrost for several classes: feedback frames carry tokens for the link and for each class",
		Paper: "Bifrost section IV-E", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultBifrostX, New: newBifrostX,
	},
	registry.Entry[New]{
		Name: "cbfc", Colour: "green", Gauges: cbfcGauges, Doc: "credits instead of pauses, on every link and at hosts: InfiniBand, Ultra Ethernet",
		Paper: "InfiniBand Architecture Specification 7.9; Ultra Ethernet 1.0 link layer; Bifrost section II-B", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultCBFC, New: newCBFC,
	},
	registry.Entry[New]{
		Name: "swing", Colour: "orange", Doc: "PFC relays at both ends of a long cable, which forward pauses and store frames in flight",
		Paper: "Chen et al.: Swing, TPDS 2023; Bifrost section II-B", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		Params: defaultSwing, New: newSwing,
	},
	registry.Entry[New]{
		Name: "none", Colour: "grey", Traits: registry.NeverBlocks, Doc: "no flow control: a lossless class has no headroom and is never paused",
		Promises: registry.InOrder, New: newNone,
	},
)
