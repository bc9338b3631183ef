package sched

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/units"
)

// strict serves the lowest class number first.
type strict struct{ first uint8 }

func newStrict(_ any, env Env) (Scheduler, error) { return strict{env.Strict}, nil }

// Pick implements Scheduler.
func (s strict) Pick(eligible uint8) int {
	if m := eligible & s.first; m != 0 {
		return bits.TrailingZeros8(m)
	}
	return bits.TrailingZeros8(eligible)
}

// Sent implements Scheduler.
func (strict) Sent(int, units.Bytes, bool) {}
