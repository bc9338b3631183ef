package sched

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// dwrr is deficit weighted round robin. A class sends while its deficit is
// positive and pays for each frame afterwards, so its deficit may go below zero
// by less than a frame; a new round adds one quantum. Over time the bytes of
// backlogged classes stand in the ratio of their quanta, whatever the frames.
type dwrr struct {
	strict  uint8
	at      uint8 // class whose turn it is
	classes [mmu.Classes]struct{ deficit, quantum int32 }
	_       [60]byte // to whole cache lines, of which all but the last class use one
}

// maxQuantum keeps deficits within 32 bits.
const maxQuantum = units.GiB

func newDWRR(p Params) Scheduler {
	s := &dwrr{strict: p.Strict}
	for c := range s.classes {
		s.classes[c].quantum = int32(min(max(1, p.Quantum[c]), maxQuantum))
	}
	return s
}

// Pick implements Scheduler.
func (s *dwrr) Pick(eligible uint8) int {
	if m := eligible & s.strict; m != 0 {
		return bits.TrailingZeros8(m)
	}
	for {
		c := after(eligible, s.at)
		k := &s.classes[c&7]
		if k.deficit > 0 {
			s.at = uint8(c)
			return c
		}
		k.deficit += k.quantum
		s.at = uint8(c+1) & 7
	}
}

// Sent implements Scheduler.
func (s *dwrr) Sent(class int, b units.Bytes, emptied bool) {
	k := &s.classes[class&7]
	left := k.deficit - int32(b)
	if emptied { // no branch: hard to guess
		left = 0
	}
	k.deficit = left
}
