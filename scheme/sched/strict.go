package sched

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/units"
)

// strict serves the lowest class number first.
type strict struct{}

func newStrict(Params) Scheduler { return strict{} }

// Pick implements Scheduler.
func (strict) Pick(eligible uint8) int { return bits.TrailingZeros8(eligible) }

// Sent implements Scheduler.
func (strict) Sent(int, units.Bytes, bool) {}
