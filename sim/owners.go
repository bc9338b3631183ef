package sim

import (
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

// runQueue is the range of Fast.active that a worker has yet to run: the first index, and in
// the low 32 bits the index after the last. It fills its own cache lines.
type runQueue struct {
	_      [64]byte
	bounds atomic.Uint64
	_      [56]byte
}

// share fills the queues of all workers for the current window.
func (f *Fast) share() {
	first := 0
	for _, w := range f.workers {
		n, _ := slices.BinarySearch(f.active[first:], w.end)
		w.queue.bounds.Store(uint64(first)<<32 | uint64(first+n))
		first += n
	}
}

// take removes the next node from the queue of the worker or, if that is empty, the last one
// from the queue of another. It returns an index in Fast.active, or -1 if all are empty.
func (w *worker) take() int {
	node := w.queue.first()
	for i := 1; i < len(w.all) && node < 0; i++ {
		node = w.all[(w.index+i)%len(w.all)].queue.last()
	}
	return node
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
