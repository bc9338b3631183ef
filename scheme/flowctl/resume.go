package flowctl

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Resuming is a receiver that can predict whether it would resume its upstream if less were
// stored. Only the deadlock search calls it (see docs/deadlock.md), never a scheme. A receiver
// that is not Resuming is never found in a deadlock.
type Resuming interface {
	// Resumes reports whether the upstream of a class would be resumed, sooner or later, if only
	// the bytes in r were stored. It is also true if the upstream is not paused now. Fewer stored
	// bytes must never turn true into false.
	Resumes(now units.Time, r *Rest) bool
	// Quiet returns the last time at which a frame of an OFF queue left, so that the receiver
	// checked its state.
	Quiet(class uint8) units.Time
}

// Rest is a buffer that contains only the bytes that are stuck.
type Rest struct {
	// View shows the buffer of the node. If frames may still be in flight to the port in
	// question, its bytes are arranged in its favour: private first, then shared, none in
	// headroom.
	View  mmu.View
	Class uint8
	// Moves are the classes of the port from which frames still leave, or to which some may still
	// come. A receiver that checks a queue only when one of its frames leaves would otherwise not
	// notice that thresholds have risen.
	Moves packet.ClassMask
	Next  units.Bytes // size of the frame that the upstream would send
}

// quiet keeps the time of the last departure of each OFF queue.
type quiet [mmu.Classes]units.Time

// Quiet implements Resuming.
func (q *quiet) Quiet(class uint8) units.Time { return q[class&7] }
