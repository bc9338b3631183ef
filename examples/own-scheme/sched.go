package main

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/sched"
)

func init() {
	sched.Schedulers.Register(registry.Entry[sched.New]{
		Name: "highest", Doc: "strict priority, the highest class number first", Promises: registry.InOrder,
		New: func(_ any, env sched.Env) (sched.Scheduler, error) { return highest{env.Strict}, nil },
	})
}

// highest always serves the strict classes of the scenario first.
type highest struct{ strict packet.ClassMask }

// Pick implements sched.Scheduler.
func (h highest) Pick(eligible packet.ClassMask) int {
	if m := eligible & h.strict; m != 0 {
		return int(m.Lowest())
	}
	return bits.Len8(uint8(eligible)) - 1
}

// Sent implements sched.Scheduler.
func (highest) Sent(int, units.Bytes, bool) {}
