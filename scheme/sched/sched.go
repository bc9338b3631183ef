// Package sched holds egress schedulers: which class of a port sends next. One
// file per scheme.
package sched

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Scheduler chooses among the classes of one port. A frame that finds its port
// idle and its queue empty is sent without asking.
type Scheduler interface {
	// Pick returns one of the classes in eligible, which is never empty. Classes
	// that are paused are not eligible and keep their state.
	Pick(eligible uint8) int
	// Sent follows the dequeue of a frame; emptied says that it was the last.
	Sent(class int, b units.Bytes, emptied bool)
}

// Params says how classes compete: those in Strict first, the lowest class
// number before the next, then the others.
type Params struct {
	Strict  uint8                    // mask
	Quantum [mmu.Classes]units.Bytes // of the others, for byte-weighted schemes
}

// New builds the scheduler of one port.
type New = func(p Params) Scheduler

// Schedulers is the table of all schedulers.
var Schedulers = registry.NewTable("scheduler",
	registry.Entry[New]{
		Name: "dwrr", Doc: "deficit weighted round robin by bytes", Promises: registry.InOrder | registry.Proportion,
		Paper: "Shreedhar and Varghese 1995", New: newDWRR,
	},
	registry.Entry[New]{
		Name: "rr", Doc: "round robin by frames", Promises: registry.InOrder, New: newRR,
	},
	registry.Entry[New]{
		Name: "strict", Doc: "strict priority, the lowest class number first", Promises: registry.InOrder, New: newStrict,
	},
)

// after returns the first class of mask at or after from, going round. Whether it
// goes round is hard to guess: no branch.
func after(mask, from uint8) int {
	return (int(from) + bits.TrailingZeros8(bits.RotateLeft8(mask, -int(from)))) & 7
}
