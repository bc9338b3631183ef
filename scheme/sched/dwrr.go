package sched

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// dwrr is deficit weighted round robin. A class sends while its deficit is positive and pays
// for each frame afterwards, so its deficit may go below zero by less than a frame. A new
// round adds one quantum. Over time the bytes of backlogged classes are in the ratio of their
// quanta, whatever the frame sizes.
type dwrr struct {
	strict  packet.ClassMask
	at      uint8 // class whose turn it is
	classes [mmu.Classes]struct{ deficit, quantum int32 }
	_       [60]byte // pads to whole cache lines; all but the last class use one
}

// DWRRParams are the parameters of deficit weighted round robin.
type DWRRParams struct {
	Quantum units.Bytes         `yaml:"quantum,omitempty" doc:"bytes that a class sends per round"`
	Quanta  map[int]units.Bytes `yaml:"quanta,omitempty" doc:"quantum by class id, instead of quantum"`
}

// DefaultQuantum is more than one frame per round.
const DefaultQuantum = 1600 * units.Byte

// maxQuantum keeps deficits within 32 bits.
const maxQuantum = units.GiB

func newDWRR(params any, env Env) (Scheduler, error) {
	p := params.(*DWRRParams)
	if err := p.check(env); err != nil {
		return nil, err
	}
	s := &dwrr{strict: env.Strict}
	for c := range s.classes {
		s.classes[c].quantum = int32(p.of(c))
	}
	return s, nil
}

// of returns the quantum of a class.
func (p *DWRRParams) of(class int) units.Bytes {
	if q, ok := p.Quanta[class]; ok {
		return q
	}
	return p.Quantum
}

func (p *DWRRParams) check(env Env) error {
	within := func(key string, q units.Bytes) error {
		if q < 1 || q > maxQuantum {
			return fmt.Errorf("%s is %s (expected more than 0B, at most %s)", key, q, maxQuantum)
		}
		return nil
	}
	if err := within("quantum", p.Quantum); err != nil {
		return err
	}
	for _, class := range slices.Sorted(maps.Keys(p.Quanta)) {
		key := fmt.Sprintf("quanta.%d", class)
		if class < 0 || class >= mmu.Classes || !env.Served.Has(uint8(class)) {
			return fmt.Errorf("%s is for a class that dwrr does not serve (expected ids of classes that it serves)", key)
		}
		if err := within(key, p.Quanta[class]); err != nil {
			return err
		}
	}
	return nil
}

// Quantum implements Weighted.
func (s *dwrr) Quantum(class int) units.Bytes {
	if s.strict.Has(uint8(class)) {
		return 0
	}
	return units.Bytes(s.classes[class&7].quantum)
}

// Pick implements Scheduler.
func (s *dwrr) Pick(eligible packet.ClassMask) int {
	if m := eligible & s.strict; m != 0 {
		return int(m.Lowest())
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
	if emptied { // compiled without a branch, which would be mispredicted
		left = 0
	}
	k.deficit = left
}
