package sim

import (
	"math/rand/v2"
	"sort"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// faults decides which frames are lost on one direction of a cable. The receiving node
// owns it and calls it in the order of arrival.
type faults struct {
	cable *Cable
	delay units.Time
	rand  *rand.PCG
	lost  uint64
}

// newFaults returns the faults of a direction, or nil if the cable has none.
func newFaults(c *Cable, delay units.Time, seed, direction uint64) *faults {
	if len(c.Down) == 0 && len(c.Corrupt) == 0 {
		return nil
	}
	return &faults{cable: c, delay: delay, rand: rand.NewPCG(seed, direction)}
}

// damages reports whether a frame is lost: the link was down between its first and last
// bit, or the frame was corrupted.
func (f *faults) damages(p *packet.Packet) bool {
	first := p.At - f.delay - f.cable.Rate.TxTime(units.Bytes(p.Size)+f.cable.Overhead)
	bad := false
	for _, d := range f.cable.Down {
		if first < d.To && d.From <= p.At {
			bad = true
		}
	}
	for _, c := range f.cable.Corrupt {
		if c.From <= p.At && p.At < c.To {
			// Exactly one draw per frame and fault.
			if hit := float64(f.rand.Uint64()>>11) < float64(c.Rate*(1<<53)); hit {
				bad = true
			}
		}
	}
	if bad {
		f.lost++
	}
	return bad
}

// sortChanges sorts the timed changes of a node: by time, then routes before links, then
// by port.
func sortChanges(list []change) {
	sort.SliceStable(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		if a.at != b.at {
			return a.at < b.at
		}
		if (a.table != nil) != (b.table != nil) {
			return a.table != nil
		}
		return a.port < b.port
	})
}
