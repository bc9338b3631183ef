package sim

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// arrivals finds the order in which the frames of a window arrive at a node.
// They are all on the wires when the window begins, so their keys are collected
// in one pass over the wires, whose loads do not wait for each other, and sorted
// once. The memory belongs to a worker and stays in the cache from node to node.
type arrivals struct {
	keys   []uint64
	sorted []uint64
	frames []*packet.Packet // in boxes, by place
	blocks []*block         // of these boxes
	all    []*worker        // whose boxes they are
	first  uint32           // the first window in which they may have been sent
	width  int              // bits of a key without its place
	counts [1 << maxBucketBits]uint32
}

// maxBucketBits bounds the number of spans of time into which a window is
// divided for sorting; as many as there are arrivals is best.
const maxBucketBits = 10

// fewKeys is the number of keys up to which buckets do not pay.
const fewKeys = 24

// The keys that are sorted are those of events (see key) with the time since the start
// of the window instead of the time, and the place of the frame: nearPlace plus that in
// arrivals.frames, or 0 if it is the next one on its wire.
const (
	placeBits = 27
	nearPlace = 1 << (placeBits - 1)

	// Times of a window, and one after it, fit the rest.
	_ = uint64(1<<(64-placeBits-keyTimeShift) - 1 - CheckPeriod)
)

// newArrivals prepares for windows of a length.
func newArrivals(window units.Time) arrivals {
	return arrivals{width: max(maxBucketBits, bits.Len64(uint64(window)<<keyTimeShift-1))}
}

// sort returns the keys in order, and none after them. Frames of one wire are in
// order already, so few keys leave their neighbourhood once they are in their
// buckets.
func (a *arrivals) sort() []uint64 {
	keys := a.keys
	n := len(keys)
	if cap(a.sorted) <= n {
		a.sorted = make([]uint64, 2*n+64)
	}
	out := a.sorted[:n+1]
	if n <= fewKeys {
		copy(out, keys)
	} else {
		a.distribute(keys, out)
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

// distribute is a counting sort by the leading bits of the time.
func (a *arrivals) distribute(keys, out []uint64) {
	n := min(bits.Len(uint(len(keys))), maxBucketBits)
	counts := a.counts[:1<<n]
	shift, mask := uint(placeBits+a.width-n)&63, uint64(len(counts)-1)
	clear(counts)
	for _, k := range keys {
		counts[k>>shift&mask]++
	}
	sum := uint32(0)
	for i, c := range counts {
		counts[i] = sum
		sum += c
	}
	for _, k := range keys {
		c := &counts[k>>shift&mask]
		out[*c] = k
		*c++
	}
}

// gather collects the frames that arrive at a node from the start of a window to
// its end, and returns their keys in order, with none after them.
//
//go:noinline
func (a *arrivals) gather(n *fastNode, from, end units.Time) []uint64 {
	control := uint64(classControl)
	if n.ordered != nil {
		control = classArrival
	}
	keys, index := a.gatherFar(n, from, end, control), n.worker.near.index
	all, blocks := a.frames[:0], a.blocks[:0]
	for _, w := range a.all {
		b := w.near.box(uint32(n.index), index)
		keys, all = slices.Grow(keys, int(b.n)), slices.Grow(all, int(b.n)+blockFrames)
		left := int(b.n)
		for _, k := range b.blocks {
			frames := k.frames[:min(left, blockFrames)]
			left -= blockFrames
			i, j := len(keys), len(all)
			keys, all = keys[:i+len(frames)], all[:j+len(frames)]
			note(frames, keys[i:], all[j:], nearPlace|uint64(j), from, control)
		}
		blocks = append(blocks, b.blocks...)
		all = all[:len(blocks)*blockFrames] // those of a block that is not full are not used
	}
	a.frames, a.blocks, a.first = all, blocks, uint32(index)-nearWindows
	if end < n.worker.near.windowEnd() { // the run ends before the window does
		limit := uint64(end-from) << (keyTimeShift + placeBits)
		keys = slices.DeleteFunc(keys, func(k uint64) bool { return k >= limit })
	}
	a.keys = keys
	n.frames += uint64(len(keys))
	if len(n.inputs) == 1 && slices.IsSorted(keys) {
		a.keys = append(keys, none)
		keys = a.keys
	} else {
		keys = a.sort()
	}
	if len(a.all) > 1 {
		a.sortTies(keys)
	}
	return keys
}

// note writes down frames of a box, the first of which has a place. It is a function of
// its own, here and elsewhere, so that the loop has all registers to itself.
//
//go:noinline
func note(frames []packet.Packet, keys []uint64, all []*packet.Packet, place uint64, from units.Time, control uint64) {
	keys, all = keys[:len(frames)], all[:len(frames)]
	for i := range frames {
		p := &frames[i]
		keys[i] = arrivalKey(p, from, control, int(p.Port)) | place
		all[i] = p
		place++
	}
}

// sortTies puts frames that arrive by one wire at the same time, as they may where a tick
// cuts times, into the order in which they were sent: in a window by one worker, in the
// next by another.
func (a *arrivals) sortTies(keys []uint64) {
	for i := 1; i < len(keys)-1; i++ {
		for j := i; j > 0 && keys[j]>>placeBits == keys[j-1]>>placeBits && keys[j-1]&nearPlace != 0 && a.sent(keys[j]) < a.sent(keys[j-1]); j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// sent says which of the frames in boxes were sent earlier.
func (a *arrivals) sent(k uint64) uint32 {
	return (a.frames[k%nearPlace].Link/sentWindow - a.first) % (1 << 32 / sentWindow)
}

// arrivalKey is the key of an arrival, without its place. In the order of insertion
// (control is classArrival then) frames that arrive by one wire at the same time, as they
// may where a tick cuts times, stay in their order.
func arrivalKey(p *packet.Packet, from units.Time, control uint64, port int) uint64 {
	class := uint64(classArrival)
	if p.Control() {
		class = control
	}
	return key(p.At-from, class, port) << placeBits
}

// ext returns the extension of the frame at a place, if it has one.
func (a *arrivals) ext(place uint64, p *packet.Packet) packet.Ext {
	return a.blocks[place/blockFrames].kept(p)
}

// gatherFar returns the keys of frames that come by their wires. Senders leave a mark
// (announce) on wires with news, so quiet wires cost nothing.
func (a *arrivals) gatherFar(n *fastNode, from, end units.Time, control uint64) []uint64 {
	keys := a.keys[:0]
	n.later = none
	for w := range n.news {
		m := n.waiting[w]
		if len(a.all) == 1 {
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
				keys = append(keys, arrivalKey(p, from, control, port))
			}
		}
		n.waiting[w] = left
	}
	return keys
}
