// Package dataplane builds the switch and the NIC from buffer policies, flow
// control, schedulers, markers, routers, deadlock handlers and congestion
// control.
//
// It is pure: time and frames come in as arguments, frames and timers go out
// through a Driver. Nothing here reads a clock, does I/O, starts a goroutine or
// uses a global source of random numbers, so a simulator and a live switch can
// drive the same code.
//
// The names of files say the room: switch_*, nic_*, port_*, and node_* for what
// switches and NICs have in common.
package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Driver carries out what a node decides. Timers fire as calls of the node's
// method of the same name.
//
// Time. The now of a call is never less than that of the call before it. A timer
// fires at the time that was asked for, or later, never before; a time that has
// passed means now. A driver that is late, as one with a real clock is, changes how
// long things take, but not what they mean: frames leave in the order in which they
// would have, nothing is sent on a wire before the last frame has left it, counters
// and books stay exact, and a component that is behind its schedule is woken once for
// each time that it asked for. Frames may come in bursts, several at one time.
//
// What a late driver costs is headroom. From the frame on that turns a queue OFF until
// its upstream stops, a PAUSE waits for a wire that is reported free late, both the
// PAUSE and the data of that time may be handed over late, and a processing time at the
// upstream ends late: a queue needs the sum of these times the rate of its link on top
// of link.Exact. TestLateTimers shows that this is enough, TestLatePause that less is not.
type Driver interface {
	// Transmit takes a frame whose first bit leaves now and whose last bit
	// leaves at done. The driver must copy p and, if the packet has the flag
	// Extended, ext.
	Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time)
	// ArmTx asks for TxDone. A port has at most one pending.
	ArmTx(port int, at units.Time)
	// ArmWake asks for Wake. There is one per node: the last call counts, Never
	// disarms.
	ArmWake(at units.Time)
}
