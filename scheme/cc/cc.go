// Package cc provides the congestion controls by which NICs decide how fast a flow may send.
// There is one file per algorithm. The NIC handles reliability and pacing; an algorithm only
// decides rate and window.
package cc

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// Control is the congestion control of one flow. Calls are in the order of events; now never
// decreases. An object is reused for later flows: Start resets all state.
type Control interface {
	// Start begins a flow.
	Start(now units.Time, f *Flow)
	// OnSend follows the transmission of a data packet, new or retransmitted. b is its size
	// with headers.
	OnSend(now units.Time, b units.Bytes)
	// OnAck follows the arrival of an ACK or NACK, even if it acknowledges nothing new. The
	// Ack and its telemetry belong to the caller. If the frame also signals a loss or carries
	// a CNP, OnLoss and OnCNP are called first.
	OnAck(now units.Time, a *Ack)
	// OnCNP follows the arrival of a congestion notification.
	OnCNP(now units.Time)
	// OnLoss follows the detection of a loss, before any retransmission. If timeout is false,
	// a gap was found (a NACK, or the third duplicate or selective ACK). There is one such call
	// per recovery, which lasts until everything sent before the call is acknowledged. Packets
	// sent before a timeout cause no further calls. If timeout is true, the retransmission
	// timer expired; there is one call per expiry.
	OnLoss(now units.Time, timeout bool)
	// Rate returns the pacing rate; it is called after each packet. A rate change does not
	// move a send time that is already computed, unless the algorithm is a Repacer.
	Rate(now units.Time) units.Rate
	// Window returns how many payload bytes may be in flight. The NIC sends while its estimate
	// of the bytes in flight is below the window. With go-back-N the estimate is everything
	// sent and not acknowledged. With selective ACKs it excludes selectively acknowledged and
	// lost packets (the pipe of RFC 6675). With plain duplicate ACKs it is reduced by one
	// packet per duplicate since recovery began. The last two replace the inflated window of
	// RFC 6582: algorithms never inflate. The window changes only in OnAck, OnCNP, OnLoss and
	// OnTimer; the NIC reads it after these.
	Window(now units.Time) units.Bytes
}

// Timed is an algorithm with its own timer. NextTimer is called after every other call, and
// OnTimer at the time it returned. Algorithms that can catch up lazily in Rate should do that
// instead.
type Timed interface {
	NextTimer() units.Time
	OnTimer(now units.Time)
}

// Repacer is an algorithm whose rate changes move a send time that is already computed (HPCC,
// PowerTCP): the spacing after the last packet is recomputed with the new rate.
type Repacer interface{ Repaces() }

// Clocked is an algorithm that reads Ack.RTT. For others it is not measured.
type Clocked interface{ NeedsRTT() }

// Steady is an algorithm whose rate and window stay as Start set them. The ideal completion
// time of a flow takes them into account; for other algorithms it assumes line rate and no
// window.
type Steady interface{ Steady() }

// Telemetry is an algorithm that reads per-hop records from ACKs. All switches of the fabric
// write the records it requests; the request depends on its parameters only. It is an input
// error if two algorithms in one fabric request different records. So are ports whose rate
// the format cannot encode, and paths longer than telemetry.MaxHops.
type Telemetry interface{ NeedsTelemetry() telemetry.Spec }

// Flow describes a flow to its algorithm.
type Flow struct {
	Line    units.Rate  // line rate of the NIC
	MTU     units.Bytes // largest packet, with headers
	MSS     units.Bytes // payload of the largest packet; 0: MTU
	BaseRTT units.Time  // base RTT of the longest path of the fabric
	ID      uint32      // id of the flow, for Events
	Events  Events      // receives reports; nil: no probe listens
}

// Events passes the events of an algorithm (listed in its entry) to probes. It has no effect
// on the run.
type Events interface {
	Report(now units.Time, flow uint32, event string, number int64)
}

// Ack is the feedback of one ACK or NACK.
type Ack struct {
	// Seq is the next packet that the receiver expects: all before it have arrived.
	Seq uint32
	// Next is the next packet that the sender will send, after processing this ACK. After a
	// NACK it is the packet to go back to. With selective recovery it is the next packet never
	// sent.
	Next uint32
	// Bytes is the payload that this ACK is the first to acknowledge, cumulatively or
	// selectively.
	Bytes units.Bytes
	// Flight is the NIC's estimate of the payload in flight after this ACK (see Window).
	Flight units.Bytes
	// RTT is the round-trip time of the packet that caused this ACK, for a Clocked algorithm:
	// from the packet's first bit on the wire to the last bit of the ACK. It is 0 if not
	// measured, as for retransmissions of selective recovery (Karn's rule). With go-back-N,
	// retransmissions carry their send time, unless the algorithm also reads telemetry.
	RTT units.Time
	// CE reports that the acknowledged packets were marked. A receiver that acknowledges
	// several packets at once sends an early ACK when the mark changes (RFC 8257, section
	// 3.2), so CE applies to all of Bytes.
	CE   bool
	Nack bool
	// Telemetry has the records of the packet that caused this ACK. It is empty if the
	// algorithm requests none.
	Telemetry packet.Ext
}

// New builds the factory of an algorithm from its parameters.
type New = func(params any) (Factory, error)

// Factory makes the control of one flow.
type Factory = func() Control

// Unlimited is a window that never limits a flow.
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
		Name: "powertcp", Colour: "blue", Doc: "window and rate from the power of each hop, measured by telemetry", Promises: registry.Reactive,
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
		Name: "dctcp", Colour: "orange", Traits: registry.NeedsMarks, Doc: "TCP that reduces its window by the fraction of marked bytes",
		Promises: registry.Reactive, Paper: "RFC 8257",
		Params: func() any { return &DCTCPParams{InitialSegments: 10, G: 1.0 / 16, InitialAlpha: 1} }, New: newDCTCP,
	},
)
