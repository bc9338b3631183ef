package sim

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Pause is one pause of one class, from the PAUSE to the RESUME, and its place in
// the tree of pauses that led to it.
type Pause struct {
	End         // the ingress that sent it
	Class uint8 // that is held
	Peer  End   // the egress that is held
	Sent  units.Time
	Ended units.Time // Never: it lasted
	Depth int        // as docs/results.md defines it
	// Parent is the pause because of which this one was sent: the one that held the
	// egress queue behind which its frames wait. -1: none, the tree starts here.
	Parent int
	Root   int // the first of the tree
}

// pauses collects what nodes have logged, in order of time, node and port.
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
	sent := make(map[source][]int) // by ingress queue: its pauses so far
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

// parent returns which of the pauses of a queue came by a frame that arrived at
// the peer at a time; -1 when none did. The next one was sent when the wire was
// free again, so it arrived later.
func parent(all []Pause, sent []int, delay, came units.Time) int {
	n, _ := slices.BinarySearchFunc(sent, came, func(i int, t units.Time) int { return cmp.Compare(all[i].Sent+delay, t) })
	if n == 0 {
		return -1
	}
	return sent[n-1]
}
