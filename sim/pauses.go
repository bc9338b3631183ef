package sim

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Pause is one pause of one class, from PAUSE to RESUME, and its position in a tree of
// pauses that caused each other.
type Pause struct {
	End         // ingress port that sent it
	Class uint8 // paused class
	Peer  End   // paused egress port
	Sent  units.Time
	Ended units.Time // Never if it lasts to the end of the run
	Depth int        // depth of the pause; see docs/glossary.md
	// Parent is the index of the pause that caused this one: it blocked the egress queue
	// in which frames of this ingress queue wait. -1 for the root of a tree.
	Parent int
	Root   int // index of the root of the tree
}

// pauses returns the pauses that all nodes have logged, sorted by time and node, with their
// causes.
func pauses(x *deadlockSearch, nics []*dataplane.NIC, switches []*dataplane.Switch) []Pause {
	var all []Pause
	var records []dataplane.PauseRecord
	add := func(node int, log *dataplane.PauseLog) {
		for _, r := range log.Pauses {
			all = append(all, Pause{
				End: End{node, int(r.Port)}, Class: r.Class, Peer: x.peers[node][r.Port],
				Sent: r.Sent, Ended: r.Ended, Depth: int(r.Depth), Parent: len(records),
			})
			records = append(records, r)
		}
	}
	for i, n := range nics {
		add(i, n.PauseLog())
	}
	for i, s := range switches {
		add(len(nics)+i, s.PauseLog())
	}
	slices.SortStableFunc(all, func(a, b Pause) int { return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Node, b.Node)) })

	type source struct {
		End
		class uint8
	}
	sent := make(map[source][]int) // by ingress queue: indices of its pauses so far
	for i := range all {
		p, r := &all[i], &records[all[i].Parent]
		p.Parent, p.Root = -1, i
		if r.Caused {
			from := x.peers[p.Node][r.ByPort]
			p.Parent = parent(all, sent[source{from, r.ByClass}], x.delays[from.Node][from.Port], r.Since)
		}
		if p.Parent >= 0 {
			p.Root = all[p.Parent].Root
		}
		sent[source{p.End, p.Class}] = append(sent[source{p.End, p.Class}], i)
	}
	return all
}

// parent returns the last pause in sent whose frame reached the peer by the given time,
// or -1. Sent + delay is the earliest arrival, so later pauses arrived after that time.
func parent(all []Pause, sent []int, delay, arrived units.Time) int {
	n, _ := slices.BinarySearchFunc(sent, arrived, func(i int, t units.Time) int { return cmp.Compare(all[i].Sent+delay, t) })
	if n == 0 {
		return -1
	}
	return sent[n-1]
}
