// Package cc holds congestion control: how fast a flow may send. One file per
// algorithm. The NIC owns reliability and pacing; an algorithm only decides
// speed.
package cc

import (
	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/registry"
	"github.com/xoff-net/xoff/units"
)

// Control is the congestion control of one flow. Calls come in the order of
// events; now never decreases. An object is used again for a later flow: Start
// sets all state anew.
type Control interface {
	// Start begins a flow.
	Start(now units.Time, f *Flow)
	// OnSend follows the transmission of a data packet of that many bytes.
	OnSend(now units.Time, b units.Bytes)
	// OnAck follows the arrival of an ACK or NACK.
	OnAck(now units.Time, a *Ack)
	// OnCNP follows the arrival of a congestion notification.
	OnCNP(now units.Time)
	// OnLoss follows the detection of a loss.
	OnLoss(now units.Time, timeout bool)
	// Rate returns the pacing rate, asked when a packet has been sent. A rate
	// change does not move a send time that was computed already, unless the
	// algorithm is a Repacer.
	Rate(now units.Time) units.Rate
	// Window returns how many bytes may be unacknowledged.
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
// already (HPCC, PowerTCP).
type Repacer interface{ Repaces() }

// Telemetry is an algorithm that reads per-hop records from ACKs.
type Telemetry interface{ NeedsTelemetry() }

// Flow is what an algorithm knows about its flow.
type Flow struct {
	Line    units.Rate  // of the NIC
	MTU     units.Bytes // largest packet, headers included
	BaseRTT units.Time  // of the longest path of the fabric, empty
}

// Ack is the feedback of one ACK or NACK.
type Ack struct {
	Seq       uint32      // next packet expected by the receiver
	Next      uint32      // next packet that the sender will send
	Bytes     units.Bytes // newly acknowledged, headers included
	RTT       units.Time  // of the packet that caused it; 0 when not measured
	CE        bool        // the packet was marked
	Nack      bool
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
		Name: "none", Doc: "line rate, no reaction", New: newNone,
	},
	registry.Entry[New]{
		Name: "fixed", Doc: "a fixed rate and a fixed window",
		Params: func() any { return &FixedParams{} }, New: newFixed,
	},
	registry.Entry[New]{
		Name: "dcqcn", Doc: "rate-based control from ECN marks", Promises: registry.Reactive,
		Paper:  "Zhu et al., SIGCOMM 2015",
		Params: func() any { return dcqcnPreset(DefaultPreset) }, New: newDCQCN,
	},
)
