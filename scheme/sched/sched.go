// Package sched holds egress schedulers: which class of a port sends next. One
// file per scheme.
package sched

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Scheduler chooses among the classes of one port. A frame that finds its port
// idle and its queue empty is sent without asking.
type Scheduler interface {
	// Pick returns one of the classes in eligible, which is never empty. Classes
	// that are paused are not eligible and keep their state.
	Pick(eligible packet.ClassMask) int
	// Sent follows the dequeue of a frame; emptied says that it was the last.
	Sent(class int, b units.Bytes, emptied bool)
}

// Weighted is a scheduler whose backlogged classes share the port in the ratio of their
// quanta. A class that goes before the others has none. Promising Proportion takes one,
// and that the ratio is one of bytes, whatever the frames.
type Weighted interface {
	Quantum(class int) units.Bytes
}

// Quanta returns those of all classes; 0 where a scheduler says nothing about a class.
func Quanta(s Scheduler) (q [mmu.Classes]units.Bytes) {
	if w, ok := s.(Weighted); ok {
		for c := range q {
			q[c] = w.Quantum(c)
		}
	}
	return q
}

// Env is what a scheduler knows about its port when it is built.
type Env struct {
	Strict packet.ClassMask // mask: classes that go first, the lowest number before the next
	Served packet.ClassMask // mask: the others, among which the scheme divides what is left
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

// after returns the first class of mask at or after from, going round. Without a
// branch: whether it goes round is mispredicted.
func after(mask packet.ClassMask, from uint8) int {
	return (int(from) + bits.TrailingZeros8(bits.RotateLeft8(uint8(mask), -int(from)))) & 7
}
