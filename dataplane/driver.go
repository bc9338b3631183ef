// Package dataplane implements the switch and the NIC that the engines of package sim and the
// live switch drive. Both are built from schemes: buffer policies, flow control, schedulers,
// markers, routers, deadlock handlers and congestion control.
//
// The package is pure: time and frames come in as arguments, frames and timers go out
// through a Driver. Nothing here reads a clock, does I/O, starts a goroutine or uses a
// global source of random numbers.
//
// File names start with switch_, nic_ or port_; node_ is common to switches and NICs.
package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Driver sends the frames of a node and runs its timers. When a timer fires, the driver calls
// the node's method of the same name: ArmTx leads to TxDone, ArmWake to Wake. Frames that arrive
// have their time of arrival and ingress port (Packet.At, Packet.SetPort).
//
// The now of a call is never less than the now of the previous call. A timer fires at the
// requested time or later, never earlier; a time in the past means now. Frames may arrive in
// bursts, several at the same time.
//
// A driver with a real clock can be late. Lateness changes how long things take, but frames
// keep their order, no frame overlaps the previous one on a wire, and counters stay exact. A
// component that is behind its schedule is woken once for each time it requested.
//
// A late driver needs more headroom than link.Exact. Between the frame that turns a queue OFF
// and the moment its upstream stops, four things can be late: the wire that the PAUSE waits
// for, the delivery of the PAUSE, the delivery of data, and the end of the processing time at
// the upstream. The queue needs the sum of these times multiplied by the link rate in
// addition. TestLateTimers shows that this is enough, TestLatePause that less is not.
type Driver interface {
	// Transmit sends a frame whose first bit leaves now and whose last bit leaves at done.
	// The driver must copy p and, if the packet has the Extended flag, ext.
	Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time)
	// ArmTx requests TxDone. A port has at most one pending.
	ArmTx(port int, at units.Time)
	// ArmWake requests Wake. There is one timer per node: the last call replaces earlier
	// ones, and Never disarms it.
	ArmWake(at units.Time)
}
