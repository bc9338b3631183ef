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
	FaultDown    FaultKind = iota // a link carries nothing
	FaultCorrupt                  // a link damages frames
	FaultStuck                    // a host takes nothing
	numFaults
)

var faultNames = [numFaults]string{"down", "corrupt", "stuck"}

// FaultNames lists the names of all kinds, by number.
func FaultNames() []string { return faultNames[:] }

// Fault is something that a run suffers from.
type Fault struct {
	units.Interval
	What  FaultKind
	Node  int     // the host, or one end of the link
	Cable int     // the link; -1: none
	Rate  float64 // FaultCorrupt: share of the frames
}

// Faults lists those of a run by the time at which they begin.
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
