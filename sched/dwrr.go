package sched

import (
	"math/bits"

	"github.com/xoff-net/xoff/mmu"
	"github.com/xoff-net/xoff/units"
)

// dwrr is deficit weighted round robin. A class sends while its deficit is
// positive and pays for each frame afterwards, so its deficit may go below zero
// by less than a frame; a new round adds one quantum. Over time the bytes of
// backlogged classes stand in the ratio of their quanta, whatever the frames.
type dwrr struct {
	deficit [mmu.Classes]int32
	quantum *[mmu.Classes]int32 // apart: it is read only when a turn ends
	strict  uint8
	at      uint8    // class whose turn it is
	_       [14]byte // to a whole cache line: ports are served one after another
}

// maxQuantum keeps deficits within 32 bits.
const maxQuantum = units.GiB

func newDWRR(p Params) Scheduler {
	s := &dwrr{strict: p.Strict, quantum: new([mmu.Classes]int32)}
	for c := range s.quantum {
		s.quantum[c] = int32(min(max(1, p.Quantum[c]), maxQuantum))
	}
	return s
}

// Pick implements Scheduler.
func (s *dwrr) Pick(eligible uint8) int {
	if m := eligible & s.strict; m != 0 {
		return bits.TrailingZeros8(m)
	}
	for {
		c := after(eligible, int(s.at))
		if s.deficit[c&7] > 0 {
			s.at = uint8(c)
			return c
		}
		s.deficit[c&7] += s.quantum[c&7]
		s.at = uint8(c+1) & 7
	}
}

// Sent implements Scheduler.
func (s *dwrr) Sent(class int, b units.Bytes, emptied bool) {
	if emptied {
		s.deficit[class&7] = 0
		return
	}
	s.deficit[class&7] -= int32(b)
}
