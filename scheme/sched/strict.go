package sched

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// strict serves the lowest class number first.
type strict struct{ before packet.ClassMask } // classes served before all others

func newStrict(_ any, env Env) (Scheduler, error) { return strict{env.Strict}, nil }

// Pick implements Scheduler.
func (s strict) Pick(eligible packet.ClassMask) int {
	if m := eligible & s.before; m != 0 {
		return int(m.Lowest())
	}
	return int(eligible.Lowest())
}

// Sent implements Scheduler.
func (strict) Sent(int, units.Bytes, bool) {}
