package sim

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/xoff-net/xoff/units"
)

// arrivals finds the order in which the frames of a window arrive at a node.
// They are all on the wires when the window begins, so their keys are collected
// in one pass over the wires, whose loads do not wait for each other, and sorted
// once. The memory belongs to a worker and stays in the cache from node to node.
type arrivals struct {
	keys   []uint64
	sorted []uint64
	alone  bool // there is no other worker
	width  int  // bits of the difference between two keys of a window
	counts [1 << maxBucketBits]uint32
}

// maxBucketBits bounds the number of spans of time into which a window is
// divided for sorting; as many as there are arrivals is best.
const maxBucketBits = 10

// fewKeys is the number of keys up to which buckets do not pay.
const fewKeys = 24

// newArrivals prepares for windows of a length.
func newArrivals(window units.Time, alone bool) arrivals {
	return arrivals{alone: alone, width: max(maxBucketBits, bits.Len64(uint64(window)<<keyTimeShift-1))}
}

// sort returns the keys in order, and none after them. Frames of one wire are in
// order already, so few keys leave their neighbourhood once they are in their
// buckets.
func (a *arrivals) sort(from units.Time) []uint64 {
	keys := a.keys
	n := len(keys)
	if cap(a.sorted) <= n {
		a.sorted = make([]uint64, 2*n+64)
	}
	out := a.sorted[:n+1]
	if n <= fewKeys {
		copy(out, keys)
	} else {
		a.distribute(keys, out, uint64(from)<<keyTimeShift)
	}
	for i := 1; i < n; i++ {
		k, j := out[i], i
		for ; j > 0 && out[j-1] > k; j-- {
			out[j] = out[j-1]
		}
		out[j] = k
	}
	out[n] = none
	return out
}

// distribute is a counting sort by the leading bits of the time since base.
func (a *arrivals) distribute(keys, out []uint64, base uint64) {
	n := min(bits.Len(uint(len(keys))), maxBucketBits)
	counts := a.counts[:1<<n]
	shift, mask := uint(a.width-n)&63, uint64(len(counts)-1)
	clear(counts)
	for _, k := range keys {
		counts[(k-base)>>shift&mask]++
	}
	sum := uint32(0)
	for i, c := range counts {
		counts[i] = sum
		sum += c
	}
	for _, k := range keys {
		c := &counts[(k-base)>>shift&mask]
		out[*c] = k
		*c++
	}
}

// gather collects the frames that arrive at a node from the start of a window to
// its end, and returns their keys in order, with none after them. Senders leave
// a mark (announce) on wires with news, so quiet wires cost nothing.
func (a *arrivals) gather(n *fastNode, from, end units.Time) []uint64 {
	keys := a.keys[:0]
	n.later = none
	for w := range n.news {
		m := n.waiting[w]
		if a.alone {
			m |= n.news[w]
			n.news[w] = 0
		} else if atomic.LoadUint64(&n.news[w]) != 0 {
			m |= atomic.SwapUint64(&n.news[w], 0)
		}
		left := uint64(0)
		for ; m != 0; m &= m - 1 {
			bit := m & -m
			port := w<<6 + bits.TrailingZeros64(m)
			in := &n.inputs[port]
			in.tail = atomic.LoadUint32(&in.published)
			keys = slices.Grow(keys, int(in.tail-in.head))
			c := in.chunk
			for at := in.head; at != in.tail; at++ {
				i := at % chunkFrames
				if i == 0 {
					c = c.rest.next
				}
				p := &c.frames[i]
				if p.At >= end {
					left |= bit
					n.later = min(n.later, key(p.At, 0, 0))
					break
				}
				class := uint64(classArrival)
				if p.Control() {
					class = classControl
				}
				keys = append(keys, key(p.At, class, port))
			}
		}
		n.waiting[w] = left
	}
	a.keys = keys
	n.frames += uint64(len(keys))
	if len(n.inputs) == 1 {
		a.keys = append(keys, none)
		return a.keys
	}
	return a.sort(from)
}
