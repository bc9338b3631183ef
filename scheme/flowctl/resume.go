package flowctl

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Resuming is a receiver that can say whether it would let its upstream go on if
// less were stored. Only the search for deadlock asks (see docs/deadlock.md),
// never a scheme; a receiver that is not Resuming is never found in a deadlock.
type Resuming interface {
	// Resumes reports whether the upstream of a class would be let go on, sooner or
	// later, when what Rest describes is all that is left. True also when nothing
	// holds it now. Less stored must never turn a yes into a no.
	Resumes(now units.Time, r *Rest) bool
	// Quiet returns when a frame of a queue that is OFF last left, so that its
	// state was looked at.
	Quiet(class uint8) units.Time
}

// Rest is a buffer from which all has gone that is not stuck.
type Rest struct {
	// View shows the buffer of the node. Where frames may still be on their way to
	// the port that is asked, its bytes are arranged in its favour: private first,
	// then shared, none in headroom.
	View  mmu.View
	Class uint8
	// Moves are the classes of the port from which frames leave before that, or to
	// which some may still come. A receiver that looks at a queue only when one of
	// its frames leaves does not notice that thresholds have risen when none does.
	Moves packet.ClassMask
	Next  units.Bytes // size of the frame that the upstream would send
}

// quiet remembers when frames of OFF queues last left.
type quiet [mmu.Classes]units.Time

// Quiet implements Resuming.
func (q *quiet) Quiet(class uint8) units.Time { return q[class&7] }
