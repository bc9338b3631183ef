// Package deadlock holds handlers of PFC deadlock: what detects a loop of paused
// queues and what breaks it. One file per scheme.
package deadlock

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Handler watches one switch. Calls come in the order of events; now never
// decreases. A handler acts only through the Switch it was built with.
type Handler interface {
	// Gated follows a change of the classes that the gate of an egress blocks, because
	// its peer asked for it, also while the handler overrides the gate.
	Gated(now units.Time, port int, from, to packet.ClassMask)
	// Paused: an ingress changed what it asks its upstream to hold.
	Paused(now units.Time, port int, from, to packet.ClassMask)
	// OnPFC sees each PFC frame before it leaves and may append a header.
	OnPFC(now units.Time, port int, f *packet.Packet, ext packet.Ext) packet.Ext
	// Control takes a Loop frame, or the header that rode on a PFC frame.
	Control(now units.Time, port int, f *packet.Packet, ext packet.Ext)
	// Wake is called at the time given to Switch.WakeAt for a timer, or later.
	Wake(now units.Time, timer int)
}

// Verdict is what a Hook wants done with a frame.
type Verdict uint8

// Verdicts.
const (
	Normal  Verdict = iota
	DropIt          // give the frame up; counted as the handler's
	Aside           // arrivals: wait in the side FIFO of the egress queue
	InLoop          // arrivals: store in the reserve, ahead of thresholds
	HoldOff         // departures: leave it at the head, send nothing of this class now
	Consume         // the frame is for the handler and goes no further; no loss
)

// Hook is a handler that looks at single frames, on the queues it armed.
type Hook interface {
	// Arriving is asked for each frame of an armed ingress queue before it is
	// stored. It may change the egress and set packet flags.
	Arriving(now units.Time, p *packet.Packet, out *int) Verdict
	// Departing is asked for each frame of an armed egress queue before it
	// leaves; Departed follows when it has left.
	Departing(now units.Time, port int, p *packet.Packet) Verdict
	Departed(now units.Time, port int, p *packet.Packet)
}

// Gate says how an egress class treats its pause.
type Gate uint8

// Modes of a gate.
const (
	Obey Gate = iota // as the flow control says
	Open             // send in spite of a pause; counted as forced
	Shut             // send nothing
)

// Switch is what a handler may see and do.
type Switch interface {
	View() mmu.View
	Ports() int
	// Node is the number of the switch, unlike that of every other: what a
	// header that travels from switch to switch calls it.
	Node() uint16
	// Rand is the random stream of the handler.
	Rand() *rand.PCG
	Rate(port int) units.Rate

	// ToHost reports whether the peer of a port is a host, which has no handler.
	ToHost(port int) bool

	// GatedClasses returns the classes that the gate of an egress blocks, whatever the
	// handler overrides. PausedClasses returns the classes of an ingress that its upstream
	// was asked to pause.
	GatedClasses(port int) packet.ClassMask
	PausedClasses(port int) packet.ClassMask
	// WholePort reports whether an ingress holds its upstream because of what all of its
	// classes store together (the port level of DSH).
	WholePort(port int) bool
	// Level returns the occupancy of a lossless ingress queue as the policy measures it,
	// and the threshold that it is held against, Xoff.
	Level(now units.Time, port int, class uint8) (q, xoff units.Bytes)
	// Headroom returns what the flow control of a port reserved for it, all classes
	// together.
	Headroom(port int) units.Bytes
	// Choices returns the equally good egress ports of a frame, whatever the router made
	// of them. The slice is read-only.
	Choices(p *packet.Packet) []uint16
	// Head returns the frame at the head of an egress queue, nil when empty.
	Head(port int, class uint8) *packet.Packet

	// NewTimer adds a timer to those of the handler and returns its number. Number 0
	// is there from the start.
	NewTimer() int
	// WakeAt arms a timer, strictly after now; Never disarms it.
	WakeAt(timer int, at units.Time)
	// Report tells probe events of something that the scheme says in its entry; port
	// and class -1 are none. Nothing depends on it.
	Report(now units.Time, event string, port, class int, number int64)
	// Send emits a Loop frame to the peer of a port, ahead of all data.
	Send(now units.Time, port int, f *packet.Packet, ext packet.Ext)

	// Repeat sends the pause of these classes again, as soon as the wire is free, so that a
	// header that has changed leaves at once and in order. Classes whose pause is on its
	// way out, or is not asked for, need nothing.
	Repeat(now units.Time, port int, mask packet.ClassMask)

	// ArmIngress and ArmEgress choose the classes for which the Hook is asked. An armed
	// egress is in the hands of the handler, and no search for deadlock takes it for
	// held: watch by ArmIngress.
	ArmIngress(port int, mask packet.ClassMask)
	ArmEgress(port int, mask packet.ClassMask)
	// SetGate overrides the pause of an egress class. A frame is forced out only
	// when the rest of the budget covers it (negative: no bound). The port is
	// served anew, so it also ends a HoldOff.
	SetGate(now units.Time, port int, class uint8, g Gate, budget units.Bytes)
	// InsertHead stores a frame, which may be a Barrier, at the head of an egress queue, charged to
	// ingress port in. It reports whether the buffer had room.
	InsertHead(now units.Time, in, out int, p *packet.Packet) bool
	// Splice appends the side FIFO of an egress queue to it.
	Splice(now units.Time, port int, class uint8)
	// HoldResume keeps RESUMEs of these classes from leaving; what was held is sent when the
	// hold ends. Until then the pause is repeated before it expires.
	HoldResume(now units.Time, port int, mask packet.ClassMask)
	// DropWhere gives up the queued frames that match; it returns how many.
	DropWhere(now units.Time, port int, class uint8, match func(*packet.Packet) bool) int
	// Requeue moves the queued frames that match to another egress.
	Requeue(now units.Time, port int, class uint8, to int, match func(*packet.Packet) bool) int
	// SetRoute overrides the egress of a destination; -1 removes it.
	SetRoute(dst uint16, port int)

	// SetAside, GiveBack, SetOrder and ResizeShared act on the ledger (see
	// mmu.Ledger).
	SetAside(b units.Bytes, from mmu.Segment) bool
	GiveBack(b units.Bytes)
	// Settle ends the use of a reserve by an ingress queue: what it stored there is
	// counted where it would be without (see mmu.Ledger.Settle; part is its own share of
	// the headroom), and its flow control looks at the queue anew.
	Settle(now units.Time, port int, class uint8, part, keep units.Bytes)
	SetOrder(port int, class uint8, o mmu.Order)
	ResizeShared(b units.Bytes)
}

// timer refuses a time that no timer can have: none, or longer than any run. Sums of a few
// of them are still times.
func timer(name string, t units.Time) error {
	const most = units.MaxTime / units.Second * units.Second
	if t <= 0 || t > most {
		return fmt.Errorf("%s is %s; allowed: more than 0s, at most %s", name, t, most)
	}
	return nil
}

// Pairs is a handler that reads View.Pair.
type Pairs interface{ NeedsPairs() }

// Ordered is a handler that must see each change of a pause: a scenario with
// pfc.coalesce refuses it.
type Ordered interface{ NeedsOrder() }

// Patient is a handler that takes its time. Patience returns how long a loop may stand
// before it is resolved, at most.
type Patient interface{ Patience() units.Time }

// What handlers report, to probe events. The number is the id of the round, the frames
// that were given up, or as the entry says.
const (
	Suspected  = "suspected"
	Detected   = "detected"
	Confirmed  = "confirmed"
	RoundBegun = "round begun"
	RoundEnded = "round ended"
	GivenUp    = "given up"
	BadHeader  = "bad header"
)

// New builds the handler of one switch; it may return nil for "none".
type New = func(params any, s Switch) (Handler, error)

// Handlers is the table of all handlers.
var Handlers = registry.NewTable("deadlock",
	registry.Entry[New]{
		Name: "none", Doc: "no deadlock handling", Promises: registry.Lossless | registry.InOrder,
		New: func(any, Switch) (Handler, error) { return nil, nil },
	},
	registry.Entry[New]{
		Name: "watchdog", Colour: "grey", Doc: "PFC watchdog: gives up, or forwards, what is paused for long",
		Paper: "SONiC; Roundabout section VI-E", Params: defaultWatchdog, New: newWatchdog,
		Events: []registry.Shown{
			{Name: Detected, Doc: "a queue is stuck; the number is for how long it was paused, in ps"},
			{Name: RoundBegun, Doc: "its action begins; the number is the frames that were given up at once"},
			{Name: RoundEnded, Doc: "the queue is as any other again"},
		},
	},
	registry.Entry[New]{
		Name: "roundabout", Colour: "blue", Doc: "Roundabout: an election along pauses finds a loop, and its switches turn it with what headroom they have left",
		Paper: "Lv et al., Roundabout", Promises: registry.Lossless | registry.InOrder | registry.Resolves,
		Params: defaultRoundabout, New: newRoundabout,
		Events: []registry.Shown{
			{Name: Detected, Doc: "the tuple of a queue came back: a candidate"},
			{Name: Confirmed, Doc: "all queues of the loop are stuck; the number is how many"},
			{Name: RoundBegun, Doc: "the switch takes part in a round; the number is that of its coordinator's rounds"},
			{Name: RoundEnded, Doc: "the round is over at this switch"},
			{Name: GivenUp, Doc: "a round, or a loop, is left to others; the number is that of the round, or of the rounds"},
			{Name: BadHeader, Doc: "a header could not be read; the number is how many could not, so far"},
		},
	},
	registry.Entry[New]{
		Name: "loop-breaker", Colour: "green", Doc: "Loop Breaker: periodic probes of the control plane; frames of a loop move to other ports",
		Paper: "Shpiner et al., HotNets 2016", Params: defaultBreaker, New: newBreaker(false), Events: breakerEvents,
	},
	registry.Entry[New]{
		Name: "deadlock-breaker", Colour: "purple", Doc: "Deadlock Breaker: periodic probes of the control plane; buffers of a loop grow",
		Paper: "Shpiner et al., HotNets 2016", Params: defaultBreaker, New: newBreaker(true), Events: breakerEvents,
	},
	registry.Entry[New]{
		Name: "itsy", Colour: "orange", Doc: "ITSY: the tag of the queue that paused first comes back to it; frames are dropped, or its buffer grows",
		Paper: "Wu and Ng, INFOCOM 2022", Params: defaultITSY, New: newITSY,
		Events: []registry.Shown{
			{Name: Suspected, Doc: "a queue pauses its upstream without being held: an initial trigger"},
			{Name: Detected, Doc: "its tag came back: a deadlock"},
			{Name: RoundBegun, Doc: "it is being resolved"},
			{Name: RoundEnded, Doc: "frames were dropped; the number is how many"},
			{Name: GivenUp, Doc: "there was no buffer to grow; the number is the tries"},
		},
	},
)

var breakerEvents = []registry.Shown{
	{Name: Suspected, Doc: "an egress queue was paused for a period"},
	{Name: Detected, Doc: "the probe of a queue came back; the number is its length in words"},
	{Name: RoundBegun, Doc: "the loop is being broken"},
	{Name: RoundEnded, Doc: "it was; the number is the frames that were moved, or the queues that grew"},
	{Name: GivenUp, Doc: "no frame had another way, or there was no buffer"},
}
