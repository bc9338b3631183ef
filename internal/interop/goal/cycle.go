package goal

import (
	"cmp"
	"fmt"
	"slices"
)

// maxCycleOps limits the operations and dependencies of schedules in which FindCycle looks:
// it takes up to 40 bytes for each.
const maxCycleOps = 4 << 20

// FindCycle returns an error if ranks wait for each other through messages, so that a recv
// never completes. searched is false if messages do not match one by one, which includes
// wildcards, or if the schedule is too large.
func FindCycle(s Source, r *Report) (searched bool, cycle, err error) {
	ops := r.Ops[Send] + r.Ops[Recv] + r.Ops[Calc]
	if r.Wildcards > 0 || ops+r.Edges > maxCycleOps {
		return false, nil, nil
	}
	const missing = 1 << 31 // the message of a recv has not arrived
	type end struct {
		key
		op uint32
	}
	var (
		sends = make([]end, 0, r.Ops[Send])
		recvs = make([]end, 0, r.Ops[Recv])
		left  = make([]uint32, 0, ops) // dependencies that are not met, and missing
		first = make([]uint32, 0, ops+1)
		edges = make([]Edge, 0, r.Edges)
		ranks = make([]uint32, 0, s.Ranks()+1) // first operation
	)
	for rank := range s.Ranks() {
		g, err := s.Rank(rank)
		if err != nil {
			return false, nil, err
		}
		base := uint32(len(left))
		ranks = append(ranks, base)
		for k, op := range g.Ops {
			first = append(first, uint32(len(edges)))
			for _, e := range g.Edges(k) {
				edges = append(edges, Edge(base)+e)
			}
			need := op.Deps
			if op.Kind != Calc {
				k, _ := message(uint32(rank), op)
				list := &sends
				if op.Kind == Recv {
					list = &recvs
					need |= missing
				}
				*list = append(*list, end{k, uint32(len(left))})
			}
			left = append(left, need)
		}
	}
	first = append(first, uint32(len(edges)))
	order := func(a, b end) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.tag, b.tag), cmp.Compare(a.op, b.op))
	}
	slices.SortFunc(sends, order)
	slices.SortFunc(recvs, order)
	if len(sends) != len(recvs) {
		return false, nil, nil
	}
	const none = 1<<32 - 1
	target := make([]uint32, len(left)) // the recv of a send
	for k := range target {
		target[k] = none
	}
	for i := range sends {
		if sends[i].key != recvs[i].key || sends[i].tag == Any {
			return false, nil, nil
		}
		target[sends[i].op] = recvs[i].op
	}
	var ready []uint32
	for k, n := range left {
		if n&^missing == 0 {
			ready = append(ready, uint32(k))
		}
	}
	follow := func(k uint32, started bool) {
		for _, e := range edges[first[k]:first[k+1]] {
			if to := e.Op(); e.AtStart() == started {
				if left[to]--; left[to]&^missing == 0 {
					ready = append(ready, uint32(to))
				}
			}
		}
	}
	posted := make([]bool, len(left))
	for len(ready) > 0 {
		k := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		posted[k] = true
		follow(k, true)
		if left[k] == 0 { // not a recv without its message
			follow(k, false)
		}
		if recv := target[k]; recv != none {
			if left[recv] &^= missing; left[recv] == 0 && posted[recv] {
				follow(recv, false)
			}
		}
	}
	slices.SortFunc(recvs, func(a, b end) int { return cmp.Compare(a.op, b.op) })
	for _, m := range recvs {
		if left[m.op] > 0 {
			return true, fmt.Errorf("rank %d, operation %d: recv from rank %s with tag %s never completes: it waits for a message that waits for it, through other ranks",
				m.to, m.op-ranks[m.to], number(m.from), number(m.tag)), nil
		}
	}
	return true, nil, nil
}
