// Package deadlock provides the handlers by which switches detect a loop of paused queues and
// break it. There is one file per scheme.
package deadlock

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Handler watches one switch. Calls come in the order of events; now never decreases. A handler
// acts only through the Switch it was built with.
type Handler interface {
	// Gated follows a change of the classes that the gate of an egress blocks on request of its
	// peer, even while the handler overrides the gate.
	Gated(now units.Time, port int, from, to packet.ClassMask)
	// Paused follows a change of the classes that an ingress wants its upstream to pause.
	Paused(now units.Time, port int, from, to packet.ClassMask)
	// OnPFC is called for each PFC frame before it leaves and may append a header.
	OnPFC(now units.Time, port int, f *packet.Packet, ext packet.Ext) packet.Ext
	// Control takes a Loop frame, or the header that came with a PFC frame.
	Control(now units.Time, port int, f *packet.Packet, ext packet.Ext)
	// Wake is called at the time given to Switch.WakeAt for a timer, or later.
	Wake(now units.Time, timer int)
}

// Verdict tells the switch what to do with a frame.
type Verdict uint8

// Verdicts.
const (
	Normal  Verdict = iota
	DropIt          // drop the frame; the handler is the reason
	Aside           // arrivals: store in the side FIFO of the egress queue
	InLoop          // arrivals: store in the reserve, without checking thresholds
	HoldOff         // departures: leave it at the head and send nothing of this class now
	Consume         // the frame is for the handler and is removed; this is not a loss
)

// Hook is a handler that inspects single frames, in the queues that it armed.
type Hook interface {
	// Arriving is called for each frame of an armed ingress queue before it is stored. It may
	// change the egress and set packet flags.
	Arriving(now units.Time, p *packet.Packet, out *int) Verdict
	// Departing is called for each frame of an armed egress queue before it leaves; Departed is
	// called after it has left.
	Departing(now units.Time, port int, p *packet.Packet) Verdict
	Departed(now units.Time, port int, p *packet.Packet)
}

// Gate is how an egress class reacts to its pause.
type Gate uint8

// Modes of a gate.
const (
	Obey Gate = iota // as flow control decides
	Open             // send in spite of a pause; counted as forced
	Shut             // send nothing
)

// Switch is the view that a handler has of its switch.
type Switch interface {
	View() mmu.View
	Ports() int
	// ID returns the unique number of the switch, used in headers that travel between switches:
	// the lower 16 bits of its node index.
	ID() uint16
	// Rand returns the random stream of the handler.
	Rand() *rand.PCG
	Rate(port int) units.Rate
	// MTU returns the largest frame that can arrive at a port.
	MTU(port int) units.Bytes

	// ToHost reports whether the peer of a port is a host, which has no handler.
	ToHost(port int) bool

	// GatedClasses returns the classes that the gate of an egress blocks, ignoring overrides by
	// the handler. PausedClasses returns the classes that an ingress wants its upstream to pause.
	GatedClasses(port int) packet.ClassMask
	PausedClasses(port int) packet.ClassMask
	// WholePort reports whether an ingress pauses its upstream for the bytes that all of its
	// classes store together (the port level of DSH).
	WholePort(port int) bool
	// Level returns the occupancy of a lossless ingress queue as the policy measures it, and its
	// threshold, Xoff.
	Level(now units.Time, port int, class uint8) (q, xoff units.Bytes)
	// Headroom returns the bytes that flow control reserved for a port, all classes together.
	Headroom(port int) units.Bytes
	// Choices returns the equal-cost egress ports of a frame, whichever the router chose. The
	// slice is read-only.
	Choices(p *packet.Packet) []uint16
	// Head returns the frame at the head of an egress queue, nil if it is empty.
	Head(port int, class uint8) *packet.Packet

	// NewTimer adds a timer to the handler and returns its number. Timer 0 always exists.
	NewTimer() int
	// WakeAt arms a timer, strictly after now; Never disarms it.
	WakeAt(timer int, at units.Time)
	// Report passes an event listed in the scheme's entry to probes. Port or class -1 means none.
	// It has no effect on the run.
	Report(now units.Time, event string, port, class int, number int64)
	// Send sends a Loop frame to the peer of a port, ahead of all data.
	Send(now units.Time, port int, f *packet.Packet, ext packet.Ext)

	// Repeat sends the PAUSE of these classes again as soon as the wire is free, so that a
	// changed header leaves at once and in order. Classes whose PAUSE is about to leave, or that
	// are not paused, need no repeat.
	Repeat(now units.Time, port int, mask packet.ClassMask)

	// ArmIngress and ArmEgress choose the classes for which the Hook is called. The handler
	// controls an armed egress, so the deadlock search regards it as blocked only if no frame
	// leaves for longer than the handler's Patience. To only watch frames, use ArmIngress.
	ArmIngress(port int, mask packet.ClassMask)
	ArmEgress(port int, mask packet.ClassMask)
	// SetGate overrides the pause of an egress class. A frame is forced out only if the rest of
	// the budget, in bytes of the peer's buffer, covers it (negative: no limit). The port is served
	// again, so SetGate also ends a HoldOff.
	SetGate(now units.Time, port int, class uint8, g Gate, budget units.Bytes)
	// InsertHead stores a frame, which may be a Barrier, at the head of an egress queue, charged
	// to ingress port in. It reports whether the buffer had room.
	InsertHead(now units.Time, in, out int, p *packet.Packet) bool
	// Splice appends the side FIFO of an egress queue to it.
	Splice(now units.Time, port int, class uint8)
	// HoldResume delays RESUMEs of these classes until the mask is cleared; then they are sent.
	// In the meantime the pause is refreshed before it expires.
	HoldResume(now units.Time, port int, mask packet.ClassMask)
	// DropWhere drops the queued frames that match and returns their number.
	DropWhere(now units.Time, port int, class uint8, match func(*packet.Packet) bool) int
	// Requeue moves the queued frames that match to another egress and returns their number.
	Requeue(now units.Time, port int, class uint8, to int, match func(*packet.Packet) bool) int
	// SetRoute overrides the egress of a destination; -1 removes the override.
	SetRoute(dst uint32, port int)

	// SetAside, GiveBack, SetOrder and ResizeShared act on the ledger (see mmu.Ledger).
	SetAside(b units.Bytes, from mmu.Segment) bool
	GiveBack(b units.Bytes)
	// Settle ends the use of a reserve by an ingress queue: its bytes there are counted in the
	// other segments (see mmu.Ledger.Settle; part is the queue's own share of the headroom). Flow
	// control then checks the queue again.
	Settle(now units.Time, port int, class uint8, part, keep units.Bytes)
	SetOrder(port int, class uint8, o mmu.Order)
	ResizeShared(b units.Bytes)
}

// checkTimer rejects a time that is not positive, or longer than any run. Sums of a few valid
// times do not overflow.
func checkTimer(name string, t units.Time) error {
	const most = units.MaxTime / units.Second * units.Second
	if t <= 0 || t > most {
		return fmt.Errorf("%s is %s (expected more than 0s and at most %s)", name, t, most)
	}
	return nil
}

// Pairs is a handler that reads View.Pair.
type Pairs interface{ NeedsPairs() }

// Ordered is a handler that must see each change of a pause. It cannot be used with pfc.coalesce,
// so its entry needs pfc.coalesce: false.
type Ordered interface{ NeedsOrder() }

// Patient is a handler that resolves loops with a delay. Patience returns the longest time until
// a loop is resolved.
type Patient interface{ Patience() units.Time }

// Events that handlers report to probes. The number is the id of the round, the number of dropped
// frames, or as the entry says.
const (
	Suspected  = "suspected"
	Detected   = "detected"
	Confirmed  = "confirmed"
	RoundBegun = "round begun"
	RoundEnded = "round ended"
	GivenUp    = "given up"
	OrderLost  = "order lost"
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
		Name: "watchdog", Colour: "grey", Doc: "PFC watchdog: drops or forwards long-paused traffic",
		Paper: "SONiC; Roundabout section VI-E", Params: defaultWatchdog, New: newWatchdog,
		Events: []registry.Export{
			{Name: Detected, Doc: "a queue is stuck; the number is its paused time in ps"},
			{Name: RoundBegun, Doc: "the action begins; the number is the frames dropped at once"},
			{Name: RoundEnded, Doc: "the action ends: the queue is normal again"},
		},
	},
	registry.Entry[New]{
		Name: "roundabout", Colour: "blue", Doc: "Roundabout: an election along pauses finds a loop, and its switches rotate it using spare headroom",
		Paper: "Lv et al., Roundabout", Promises: registry.Lossless | registry.InOrder | registry.Resolves,
		Params: defaultRoundabout, New: newRoundabout, Needs: []registry.Need{{Key: "pfc.coalesce", Value: "false"}},
		Events: []registry.Export{
			{Name: Detected, Doc: "the tuple of a queue returned: it is a candidate"},
			{Name: Confirmed, Doc: "all queues of the loop are stuck; the number is their count"},
			{Name: RoundBegun, Doc: "the switch takes part in a round; the number is the coordinator's round number"},
			{Name: RoundEnded, Doc: "the round has ended at this switch"},
			{Name: GivenUp, Doc: "a round or a loop is given up and left to others; the number is the round number, or the count of rounds"},
			{Name: OrderLost, Doc: "a round is given up; the number is the frames that missed their exit, whose flows may be reordered"},
			{Name: BadHeader, Doc: "an invalid header arrived; the number is the count so far"},
		},
	},
	registry.Entry[New]{
		Name: "loop-breaker", Colour: "green", Doc: "Loop Breaker: the control plane sends periodic probes; frames of a loop move to other ports",
		Paper: "Shpiner et al., HotNets 2016", Params: defaultBreaker, New: newBreaker(false), Events: breakerEvents,
	},
	registry.Entry[New]{
		Name: "deadlock-breaker", Colour: "purple", Doc: "Deadlock Breaker: the control plane sends periodic probes; buffers of a loop grow",
		Paper: "Shpiner et al., HotNets 2016", Params: defaultBreaker, New: newBreaker(true), Events: breakerEvents,
	},
	registry.Entry[New]{
		Name: "itsy", Colour: "orange", Doc: "ITSY: the tag of the queue that paused first returns to it; its frames are dropped, or its buffer grows",
		Paper: "Wu and Ng, INFOCOM 2022", Params: defaultITSY, New: newITSY,
		Events: []registry.Export{
			{Name: Suspected, Doc: "a queue pauses its upstream without being blocked itself: an initial trigger"},
			{Name: Detected, Doc: "its tag returned: a deadlock"},
			{Name: RoundBegun, Doc: "the resolution begins"},
			{Name: RoundEnded, Doc: "frames were dropped; the number is their count"},
			{Name: GivenUp, Doc: "there was no free buffer; the number is the attempts"},
		},
	},
)

var breakerEvents = []registry.Export{
	{Name: Suspected, Doc: "an egress queue was paused for a period"},
	{Name: Detected, Doc: "the probe of a queue returned; the number is its length in words"},
	{Name: RoundBegun, Doc: "the resolution begins"},
	{Name: RoundEnded, Doc: "the loop is broken; the number is the frames moved, or the queues that grew"},
	{Name: GivenUp, Doc: "no frame had another path, or there was no free buffer"},
}
