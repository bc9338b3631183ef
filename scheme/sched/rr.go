package sched

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// rr is round robin by frames.
type rr struct {
	strict packet.ClassMask
	next   uint8
}

func newRR(_ any, env Env) (Scheduler, error) { return &rr{strict: env.Strict}, nil }

// Quantum implements Weighted: with frames of one size all classes get equal shares.
func (s *rr) Quantum(class int) units.Bytes { return units.Bytes(^s.strict >> (class & 7) & 1) }

// Pick implements Scheduler.
func (s *rr) Pick(eligible packet.ClassMask) int {
	if m := eligible & s.strict; m != 0 {
		return int(m.Lowest())
	}
	return after(eligible, s.next)
}

// Sent implements Scheduler.
func (s *rr) Sent(class int, _ units.Bytes, _ bool) {
	if !s.strict.Has(uint8(class)) {
		s.next = uint8(class+1) & 7
	}
}
