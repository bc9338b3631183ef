package sim

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

// With several workers, each node has an owner: the worker that runs it in every window, so
// that its state stays in the cache of one core. A worker without further nodes steals some.

// arrange sorts the nodes such that hosts are next to their switch, and returns for each
// worker the index after the last node that it owns. With several workers, the switches of an
// owner precede its hosts: they take longest, and nodes are stolen from the end.
func (f *Fast) arrange(workers int) []int {
	slices.SortStableFunc(f.nodes, func(a, b *fastNode) int { return a.home() - b.home() })
	if workers == 1 {
		return []int{len(f.nodes)}
	}
	ports := 0
	for _, n := range f.nodes {
		ports += len(n.outputs)
	}
	ends, first, sum := make([]int, workers), 0, 0
	for w := range ends {
		end := first
		for ; end < len(f.nodes) && sum < ports*(w+1)/workers; end++ {
			sum += len(f.nodes[end].outputs)
		}
		slices.SortStableFunc(f.nodes[first:end], func(a, b *fastNode) int { return len(b.outputs) - len(a.outputs) })
		ends[w], first = end, end
	}
	ends[workers-1] = len(f.nodes) // nodes without ports
	return ends
}

// home returns the index of the switch, or of the switch that a host is attached to.
func (n *fastNode) home() int {
	if n.sw != nil || len(n.outputs) == 0 {
		return n.index
	}
	return int(n.outputs[0].to)
}

// word is an atomic word with its own cache line.
type word struct {
	_ [64]byte
	atomic.Uint64
	_ [56]byte
}

// runQueue is the range of Fast.active that a worker has yet to run: the first index, and in
// the low 32 bits the index after the last.
type runQueue struct{ bounds word }

// share fills the queues of all workers for the current window.
func (f *Fast) share() {
	first, set := 0, uint64(0)
	for i, w := range f.workers {
		n, _ := slices.BinarySearch(f.active[first:], w.end)
		w.queue.bounds.Store(uint64(first)<<32 | uint64(first+n))
		if first += n; n > 0 {
			set |= 1 << (i % 64)
		}
		if i%64 == 63 || i == len(f.workers)-1 {
			f.queued[i/64].Store(set)
			set = 0
		}
	}
}

// take removes the next node from the queue of the worker or, if that is empty, the last one
// from the queue of another. It returns an index in Fast.active, or -1 if all are empty.
func (w *worker) take() int {
	if node := w.queue.first(); node >= 0 {
		return node
	}
	queued, from := w.f.queued, w.index%64
	for i := range queued {
		group := (w.index/64 + i) % len(queued)
		set := &queued[group]
		for m := set.Load(); m != 0; m = set.Load() {
			other := (bits.TrailingZeros64(bits.RotateLeft64(m, -from)) + from) % 64
			if node := w.all[group*64+other].queue.last(); node >= 0 {
				return node
			}
			set.And(^(1 << other))
		}
	}
	return -1
}

// first removes the first index. It returns -1 if the queue is empty.
func (q *runQueue) first() int {
	for {
		b := q.bounds.Load()
		first, end := b>>32, b&(1<<32-1)
		if first == end {
			return -1
		}
		if q.bounds.CompareAndSwap(b, b+1<<32) {
			return int(first)
		}
	}
}

// last removes the last index. It returns -1 if the queue is empty.
func (q *runQueue) last() int {
	for {
		b := q.bounds.Load()
		first, end := b>>32, b&(1<<32-1)
		if first == end {
			return -1
		}
		if q.bounds.CompareAndSwap(b, b-1) {
			return int(end) - 1
		}
	}
}
