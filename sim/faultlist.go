package sim

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// FaultKind is a kind of fault.
type FaultKind uint8

// Kinds of faults.
const (
	FaultDown    FaultKind = iota // a link is down
	FaultCorrupt                  // a link corrupts frames
	FaultStuck                    // a host takes no frames
	numFaults
)

var faultNames = [numFaults]string{"down", "corrupt", "stuck"}

// FaultNames returns the names of all kinds, indexed by FaultKind.
func FaultNames() []string { return faultNames[:] }

// Fault is one fault of a run.
type Fault struct {
	units.Interval
	What  FaultKind
	Node  int     // the host, or one end of the link
	Cable int     // the link; -1 for a host
	Rate  float64 // FaultCorrupt: share of frames that are corrupted
}

// Faults returns the faults of a run, sorted by start time.
func (s *Spec) Faults() []Fault {
	var list []Fault
	for i := range s.Cables {
		c := &s.Cables[i]
		for _, d := range c.Down {
			list = append(list, Fault{Interval: d, What: FaultDown, Node: c.A.Node, Cable: i})
		}
		for _, d := range c.Corrupt {
			list = append(list, Fault{Interval: d.Interval, What: FaultCorrupt, Node: c.A.Node, Cable: i, Rate: d.Rate})
		}
	}
	for i, h := range s.Hosts {
		for _, d := range h.Receive.Stuck {
			list = append(list, Fault{Interval: d, What: FaultStuck, Node: i, Cable: -1})
		}
	}
	slices.SortStableFunc(list, func(a, b Fault) int { return cmp.Compare(a.From, b.From) })
	return list
}
