package sim

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// arrivals sorts the frames that arrive at a node during a window. All of them are
// in flight when the window begins, so one pass over the wires collects their keys,
// and one sort orders them. A worker owns the memory and reuses it for every node,
// so it stays in the cache.
type arrivals struct {
	keys   []uint64
	sorted []uint64
	frames []*packet.Packet // frames in boxes, by reference
	blocks []*block         // blocks of these boxes
	boxes  []*box           // boxes with frames for the current node
	far    []number         // insertion order: numbers of frames on wires
	all    []*worker        // workers that filled the boxes
	first  uint32           // earliest window in which the frames can have been sent
	width  int              // bits of a key without its reference
	counts [1 << maxBucketBits]uint32

	// Memory of gatherFew and gatherAll.
	few        [blockFrames + 1]uint64
	fewFrames  [blockFrames]*packet.Packet
	fewBlocks  [1]*block
	manyFrames []*packet.Packet
	manyBlocks []*block
}

// maxBucketBits limits the number of buckets that a window is divided into for
// sorting. About one bucket per arrival is fastest.
const maxBucketBits = 10

// fewKeys is the number of keys up to which insertion sort alone is faster.
const fewKeys = 24

// A sorted key is an event key (see key) with the time relative to the start of the
// window, followed by a reference to the frame: nearRef plus its index in
// arrivals.frames, or less if it is the next frame on its wire: 0, or with insertion order
// the index of its number in arrivals.far.
const (
	refBits = 27
	nearRef = 1 << (refBits - 1)

	// The remaining bits hold any time in a window, and one after it.
	_ = uint64(1<<(64-refBits-keyTimeShift) - 1 - CheckPeriod)
)

// newArrivals returns arrivals for windows of the given length.
func newArrivals(window units.Time) arrivals {
	return arrivals{width: max(maxBucketBits, bits.Len64(uint64(window)<<keyTimeShift-1))}
}

// sort returns the sorted keys, followed by none. Frames of one wire are already in
// order, so the insertion sort moves few keys once they are in their buckets.
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
		b := min(bits.Len(uint(n)), maxBucketBits)
		distribute(keys, out, a.counts[:1<<b], uint(refBits+a.width-b))
	}
	insertionSort(out[:n])
	out[n] = none
	return out
}

// distribute is a counting sort by the bits of a key from shift on, one count for each value.
func distribute(keys, out []uint64, counts []uint32, shift uint) {
	shift &= 63
	mask := uint64(len(counts) - 1)
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

// insertionSort sorts keys that are nearly sorted.
func insertionSort(keys []uint64) {
	for i := 1; i < len(keys); i++ {
		k, j := keys[i], i
		for ; j > 0 && keys[j-1] > k; j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = k
	}
}

// gather collects the frames that arrive at a node between from and end. It returns
// their sorted keys, followed by none.
//
//go:noinline
func (a *arrivals) gather(n *fastNode, from, end units.Time) []uint64 {
	near := &n.worker.near
	a.boxes = a.boxes[:0]
	if near.quick && len(a.all) == 1 {
		b := near.box(uint32(n.index), near.index)
		if b.n == 0 {
			return nothing
		}
		if a.boxes = append(a.boxes, b); b.n <= blockFrames {
			n.frames += uint64(b.n)
			return a.gatherFew(b, from)
		}
		return a.gatherAll(n, from, end)
	}
	if len(a.all) == 1 {
		if b := near.box(uint32(n.index), near.index); b.n != 0 {
			a.boxes = append(a.boxes, b)
		}
	} else {
		a.findBoxes(n, near)
	}
	if len(a.boxes) <= 1 && (near.quick || n.ordered == nil && end == near.windowEnd() && !n.hasFar()) {
		if len(a.boxes) == 0 {
			return nothing
		}
		if b := a.boxes[0]; b.n <= blockFrames {
			n.frames += uint64(b.n)
			return a.gatherFew(b, from)
		}
	}
	return a.gatherAll(n, from, end)
}

// nothing are the keys of a window without arrivals.
var nothing = []uint64{none}

// findBoxes lists the boxes of all workers with frames for a node in the current window.
func (a *arrivals) findBoxes(n *fastNode, near *near) {
	m := &n.worker.f.senders[near.slot(uint32(n.index), near.index)]
	senders := *m
	*m = 0
	for ; senders != 0; senders &= senders - 1 {
		for i := bits.TrailingZeros64(senders); i < len(a.all); i += senderBits {
			if b := a.all[i].near.box(uint32(n.index), near.index); b.n != 0 {
				a.boxes = append(a.boxes, b)
			}
		}
	}
}

// gatherFew is gather for the frames of one block. If windows are short, most nodes have one
// or two frames in a window.
func (a *arrivals) gatherFew(b *box, from units.Time) []uint64 {
	frames := b.last.frames[:b.n]
	keys, all := &a.few, &a.fewFrames
	for i := range frames {
		p := &frames[i]
		all[i%blockFrames] = p
		k, j := arrivalKey(p, from, classControl, p.Port())|nearRef|uint64(i), i
		for ; j > 0 && keys[(j-1)%blockFrames] > k; j-- {
			keys[j%blockFrames] = keys[(j-1)%blockFrames]
		}
		keys[j%blockFrames] = k
	}
	keys[len(frames)] = none
	a.fewBlocks[0] = b.last
	a.frames, a.blocks = all[:], a.fewBlocks[:]
	return keys[:]
}

// hasFar reports whether frames may arrive on wires.
func (n *fastNode) hasFar() bool {
	for w := range n.news {
		if n.waiting[w]|atomic.LoadUint64(&n.news[w]) != 0 {
			return true
		}
	}
	return false
}

// gatherAll is gather for any number of frames, in boxes and on wires.
func (a *arrivals) gatherAll(n *fastNode, from, end units.Time) []uint64 {
	control := uint64(classControl)
	if n.ordered != nil {
		control = classArrival
	}
	keys, index := a.gatherFar(n, from, end, control), n.worker.near.index
	all, blocks := a.manyFrames[:0], a.manyBlocks[:0]
	for _, b := range a.boxes {
		keys, all = slices.Grow(keys, int(b.n)), slices.Grow(all, int(b.n)+blockFrames)
		left := int(b.n)
		list := b.list()
		for _, k := range list {
			frames := k.frames[:min(left, blockFrames)]
			left -= blockFrames
			i, j := len(keys), len(all)
			keys, all = keys[:i+len(frames)], all[:j+len(frames)]
			note(frames, keys[i:], all[j:], nearRef|uint64(j), from, control)
		}
		blocks = append(blocks, list...)
		all = all[:len(blocks)*blockFrames] // skip the unused frames of a partly filled block
	}
	a.manyFrames, a.manyBlocks, a.first = all, blocks, uint32(index-n.worker.near.depth)
	a.frames, a.blocks = all, blocks
	if end < n.worker.near.windowEnd() { // the run ends within this window
		limit := uint64(end-from) << (keyTimeShift + refBits)
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
	switch {
	case n.ordered != nil:
		a.orderTies(keys)
	case len(a.boxes) > 1:
		a.sortTies(keys)
	}
	return keys
}

// note appends the keys of frames in a block; ref is the reference of the first one.
// It is not inlined, so that the loop gets all registers.
//
//go:noinline
func note(frames []packet.Packet, keys []uint64, all []*packet.Packet, ref uint64, from units.Time, control uint64) {
	keys, all = keys[:len(frames)], all[:len(frames)]
	for i := range frames {
		p := &frames[i]
		keys[i] = arrivalKey(p, from, control, p.Port()) | ref
		all[i] = p
		ref++
	}
}

// sortTies orders frames that arrive on one wire at the same time by the window in
// which they were sent. Such ties occur when times are rounded to a tick and different
// workers ran the sender in successive windows.
func (a *arrivals) sortTies(keys []uint64) {
	for i := 1; i < len(keys)-1; i++ {
		for j := i; j > 0 && keys[j]>>refBits == keys[j-1]>>refBits && keys[j-1]&nearRef != 0 && a.sent(keys[j]) < a.sent(keys[j-1]); j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// orderTies puts simultaneous arrivals into insertion order.
func (a *arrivals) orderTies(keys []uint64) {
	for i := 1; i < len(keys)-1; i++ {
		k, j := keys[i], i
		if (k^keys[j-1])>>(refBits+keyTimeShift) != 0 {
			continue
		}
		n := a.number(k)
		for ; j > 0 && (k^keys[j-1])>>(refBits+keyTimeShift) == 0 && n.before(*a.number(keys[j-1])); j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = k
	}
}

// number returns the number of an arrival.
func (a *arrivals) number(k uint64) *number {
	ref := k % (2 * nearRef)
	if ref < nearRef {
		return &a.far[ref]
	}
	ref -= nearRef
	return &a.blocks[ref/blockFrames].numbers[ref%blockFrames]
}

// sent returns the window, relative to a.first, in which a frame in a box was sent.
func (a *arrivals) sent(k uint64) uint32 {
	return (a.frames[k%nearRef].Link/sentWindow - a.first) % (1 << 32 / sentWindow)
}

// arrivalKey returns the key of an arrival, without its reference. With insertion
// order, control is classArrival: frames that arrive on one wire at the same time then
// keep their order.
func arrivalKey(p *packet.Packet, from units.Time, control uint64, port int) uint64 {
	class := uint64(classArrival)
	if p.Control() {
		class = control
	}
	return key(p.At-from, class, port) << refBits
}

// ext returns the extension of frame number i, or nil.
func (a *arrivals) ext(i uint64, p *packet.Packet) packet.Ext {
	return a.blocks[i/blockFrames].kept(p)
}

// gatherFar returns the keys of frames that arrive on wires rather than in boxes.
// Senders flag wires with new frames (announce), so idle wires cost nothing.
func (a *arrivals) gatherFar(n *fastNode, from, end units.Time, control uint64) []uint64 {
	keys := a.keys[:0]
	n.later, a.far = none, a.far[:0]
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
				k := arrivalKey(p, from, control, port)
				if n.ordered != nil {
					k |= uint64(len(a.far))
					a.far = append(a.far, c.rest.numbers[i])
				}
				keys = append(keys, k)
			}
		}
		n.waiting[w] = left
	}
	return keys
}
