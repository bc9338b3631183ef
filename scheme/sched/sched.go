// Package sched provides the egress schedulers by which switches and NICs choose the class that
// sends next. There is one file per scheme.
package sched

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Scheduler selects among the classes of one port. It is not consulted for a frame that finds
// its port idle and its queue empty.
type Scheduler interface {
	// Pick returns one of the classes in eligible, which is never empty. Paused classes are
	// not eligible and keep their state.
	Pick(eligible packet.ClassMask) int
	// Sent follows the dequeue of a frame; emptied reports that it was the last.
	Sent(class int, b units.Bytes, emptied bool)
}

// Weighted is a scheduler whose backlogged classes share the port in the ratio of their
// quanta. Classes with strict priority have quantum 0. A scheme that promises Proportion must
// implement it, with a ratio of bytes whatever the frame sizes.
type Weighted interface {
	Quantum(class int) units.Bytes
}

// Quanta returns the quanta of all classes, 0 where a scheduler has none.
func Quanta(s Scheduler) (q [mmu.Classes]units.Bytes) {
	if w, ok := s.(Weighted); ok {
		for c := range q {
			q[c] = w.Quantum(c)
		}
	}
	return q
}

// Env describes a port to its scheduler.
type Env struct {
	Strict packet.ClassMask // classes with strict priority, lowest number first
	Served packet.ClassMask // other classes, which share the remaining bandwidth
	Rate   units.Rate
}

// New builds the scheduler of one port from its parameters.
type New = func(params any, env Env) (Scheduler, error)

// Schedulers is the table of all schedulers.
var Schedulers = registry.NewTable("scheduler",
	registry.Entry[New]{
		Name: "dwrr", Doc: "deficit weighted round robin by bytes", Promises: registry.InOrder | registry.Proportion,
		Paper:  "Shreedhar and Varghese 1995",
		Params: func() any { return &DWRRParams{Quantum: DefaultQuantum} }, New: newDWRR,
	},
	registry.Entry[New]{
		Name: "rr", Doc: "round robin by frames", Promises: registry.InOrder, New: newRR,
	},
	registry.Entry[New]{
		Name: "strict", Doc: "strict priority, the lowest class number first", Promises: registry.InOrder, New: newStrict,
	},
)

// after returns the first class of mask at or after from, with wraparound. It has no branch,
// because the wraparound would be mispredicted.
func after(mask packet.ClassMask, from uint8) int {
	return (int(from) + bits.TrailingZeros8(bits.RotateLeft8(uint8(mask), -int(from)))) & 7
}
