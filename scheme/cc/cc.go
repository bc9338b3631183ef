// Package cc holds congestion control: how fast a flow may send. One file per
// algorithm. The NIC owns reliability and pacing; an algorithm only decides
// speed.
package cc

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// Control is the congestion control of one flow. Calls come in the order of
// events; now never decreases. An object is used again for a later flow: Start
// sets all state anew.
type Control interface {
	// Start begins a flow.
	Start(now units.Time, f *Flow)
	// OnSend follows the transmission of one data packet, new or sent again, of
	// that many bytes, headers included.
	OnSend(now units.Time, b units.Bytes)
	// OnAck follows the arrival of an ACK or NACK, also of one that acknowledges
	// nothing new. The Ack and its telemetry belong to the caller. When the same
	// frame shows a loss or carries a CNP, OnLoss and OnCNP are called before.
	OnAck(now units.Time, a *Ack)
	// OnCNP follows the arrival of a congestion notification.
	OnCNP(now units.Time)
	// OnLoss follows the detection of a loss, before anything is sent again. With
	// timeout false a gap was found (a NACK, or the third duplicate or selective
	// ACK): one call per recovery, which lasts until everything that was sent
	// before the call is acknowledged; after a timeout, of what was sent before it
	// none. With timeout true the retransmission timer ran out: one call each time.
	OnLoss(now units.Time, timeout bool)
	// Rate returns the pacing rate, asked when a packet has been sent. A rate
	// change does not move a send time that was computed already, unless the
	// algorithm is a Repacer.
	Rate(now units.Time) units.Rate
	// Window returns how many bytes of payload may be in the network. The NIC
	// sends while what it believes to be there is less: with go-back-N, what was
	// sent and is not acknowledged; with selective ACKs, the same without what
	// they cover and without what is deemed lost (the pipe of RFC 6675); with plain
	// duplicate ACKs, the same less one packet for each of them since recovery
	// began. The last two take the place of the inflated window of RFC 6582:
	// algorithms never inflate. It changes only in OnAck, OnCNP, OnLoss and
	// OnTimer: the NIC asks after these.
	Window(now units.Time) units.Bytes
}

// Timed is an algorithm with a timer of its own. OnTimer is called at the time
// that NextTimer returned, which is asked after every other call; algorithms
// that can catch up lazily, when asked for their rate, should do that instead.
type Timed interface {
	NextTimer() units.Time
	OnTimer(now units.Time)
}

// Repacer is an algorithm whose rate changes move a send time that was computed
// already (HPCC, PowerTCP): by the difference that the new rate makes to the
// spacing of the last packet sent.
type Repacer interface{ Repaces() }

// Clocked is an algorithm that reads Ack.RTT. For others it is not measured.
type Clocked interface{ NeedsRTT() }

// Steady is an algorithm whose rate and window stay as Start set them. They count
// in the ideal completion time of a flow; of other algorithms it assumes line rate
// and no window.
type Steady interface{ Steady() }

// Telemetry is an algorithm that reads per-hop records from ACKs. All switches
// of the fabric write what it asks for; the answer depends on its parameters
// only. Two algorithms of one fabric that ask for different things are an input
// error, and so are ports whose rate the format cannot name and paths longer than
// telemetry.MaxHops.
type Telemetry interface{ NeedsTelemetry() telemetry.Spec }

// Flow is what an algorithm knows about its flow.
type Flow struct {
	Line    units.Rate  // of the NIC
	MTU     units.Bytes // largest packet, headers included
	MSS     units.Bytes // payload of the largest packet; 0: as large as MTU
	BaseRTT units.Time  // of the longest path of the fabric, empty
	ID      uint32      // of the flow, for Events
	Events  Events      // takes reports; nil: nobody listens
}

// Events tells probe events of something that an algorithm says in its entry. Nothing
// depends on it.
type Events interface {
	Report(now units.Time, flow uint32, event string, number int64)
}

// Ack is the feedback of one ACK or NACK.
type Ack struct {
	// Seq is the next packet expected by the receiver: all before it arrived.
	Seq uint32
	// Next is the next packet that the sender will send, after this ACK was taken
	// into account: after a NACK, the packet to which it goes back. With selective
	// recovery it is the next packet never sent.
	Next uint32
	// Bytes is the payload that this ACK is the first to acknowledge, in order or
	// selectively.
	Bytes units.Bytes
	// Flight is the payload in the network after this ACK, as far as the NIC knows
	// (see Window): without what was selectively acknowledged or is deemed lost.
	Flight units.Bytes
	// RTT is the time from the transmission of the packet that caused this ACK to
	// its arrival, for a Clocked algorithm: from the start of the packet's first bit on
	// the wire to the last bit of the ACK. 0 when not measured, as for packets that
	// selective recovery sent again (Karn's rule); with go-back-N those carry the time
	// at which they left, unless the algorithm also reads telemetry.
	RTT units.Time
	// CE says that the acknowledged packets were marked. A receiver that
	// acknowledges several packets at once sends an ACK early when the mark
	// changes (RFC 8257, section 3.2), so it holds for all of Bytes.
	CE   bool
	Nack bool
	// Telemetry holds the records of the packet that caused this ACK, empty when
	// the algorithm asked for none.
	Telemetry packet.Ext
}

// New builds an algorithm from its parameters.
type New = func(params any) (Factory, error)

// Factory makes the state of one flow.
type Factory = func() Control

// Unlimited is a window that never binds.
const Unlimited units.Bytes = 1 << 62

// Algorithms is the table of all algorithms.
var Algorithms = registry.NewTable("cc",
	registry.Entry[New]{
		Name: "none", Colour: "grey", Doc: "line rate, no reaction", New: newNone,
	},
	registry.Entry[New]{
		Name: "fixed", Doc: "a fixed rate and a fixed window",
		Params: func() any { return &FixedParams{} }, New: newFixed,
	},
	registry.Entry[New]{
		Name: "dcqcn", Colour: "vermillion", Traits: registry.NeedsMarks, Doc: "rate-based control from ECN marks", Promises: registry.Reactive,
		Paper:  "Zhu et al., SIGCOMM 2015",
		Params: func() any { return dcqcnPresets.params(DefaultPreset) }, New: newDCQCN,
	},
	registry.Entry[New]{
		Name: "hpcc", Colour: "green", Doc: "window and rate from per-hop telemetry", Promises: registry.Reactive,
		Paper:  "Li et al., SIGCOMM 2019",
		Params: func() any { return hpccPresets.params("paper") }, New: newHPCC,
	},
	registry.Entry[New]{
		Name: "powertcp", Colour: "blue", Doc: "window and rate from the power of each hop, by telemetry", Promises: registry.Reactive,
		Paper:  "Addanki et al., NSDI 2022",
		Params: func() any { return powerPresets.params("paper") }, New: newPowerTCP,
	},
	registry.Entry[New]{
		Name: "theta-powertcp", Colour: "sky", Doc: "PowerTCP from round-trip times alone", Promises: registry.Reactive,
		Paper:  "Addanki et al., NSDI 2022",
		Params: func() any { return thetaPresets.params("paper") }, New: newTheta,
	},
	registry.Entry[New]{
		Name: "timely", Colour: "purple", Doc: "rate-based control from the gradient of round-trip times", Promises: registry.Reactive,
		Paper:  "Mittal et al., SIGCOMM 2015",
		Params: func() any { return timelyPresets.params("hpcc-sim") }, New: newTimely,
	},
	registry.Entry[New]{
		Name: "newreno", Colour: "purple", Doc: "TCP that halves its window on loss", Promises: registry.Reactive,
		Paper:  "RFC 5681, RFC 6582",
		Params: func() any { return &NewRenoParams{InitialSegments: 10, ECN: true} }, New: newNewReno,
	},
	registry.Entry[New]{
		Name: "cubic", Colour: "sky", Doc: "TCP whose window follows a cubic curve of time", Promises: registry.Reactive,
		Paper:  "RFC 9438",
		Params: func() any { return defaultCubic() }, New: newCubic,
	},
	registry.Entry[New]{
		Name: "dctcp", Colour: "orange", Traits: registry.NeedsMarks, Doc: "TCP that cuts its window by the share of marked bytes",
		Promises: registry.Reactive, Paper: "RFC 8257",
		Params: func() any { return &DCTCPParams{InitialSegments: 10, G: 1.0 / 16, InitialAlpha: 1} }, New: newDCTCP,
	},
)
