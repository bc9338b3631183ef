package sim

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Frames that arrive within the next few windows do not go by their wire (see wire)
// but into boxes: one per worker that sends, window and receiving node. Whoever sends
// only appends, frames of all ports lie side by side, and the receiver has what
// arrives in its window in one piece. A box is written in windows before its own and
// read in its own, so nobody needs a lock.

// nearWindows is the number of windows that have boxes, the current one among them: a
// power of two. Frames that arrive later take their wire.
const nearWindows = 8

// box holds the frames that arrive at a node in a window: one cache line.
type box struct {
	last   *block
	n      uint32 // frames
	ext    bool   // some have extensions
	blocks []*block
	_      [24]byte
}

// block is a piece of a box. The one that was given back last is the first to be used
// again, while it is in the cache.
type block struct {
	ext    packet.Ext // extensions of its frames, one after the other
	_      [40]byte   // to a whole cache line
	frames [blockFrames]packet.Packet
}

// blockFrames is a power of two: many, because where a block ends is a mispredicted branch.
const blockFrames = 16

// blockSlab is how many blocks are allocated at a time: more than 32 KiB, which begin
// at a cache line.
const blockSlab = 64

// near is a worker's way to the boxes that it fills.
type near struct {
	start  units.Time // of the current window
	far    units.Time // what arrives from then on goes by wire
	index  uint64     // number of the current window
	sent   uint32     // the same, as it stands in frames
	magic  uint64     // turns division by the length of a window into multiplication
	boxes  []box      // by node and window
	length units.Time // of a window
	blocks stock[*block]
}

// magicBits make near.of exact: a time since start is less than nearWindows windows,
// which is less than 2^27, and a window less than 2^24.
const magicBits = 51

func newNear(nodes int, window units.Time) near {
	return near{length: window, magic: 1<<magicBits/uint64(window) + 1, boxes: make([]box, nodes*nearWindows)}
}

// begin prepares for a window.
func (n *near) begin(index uint64) {
	n.index, n.start, n.sent = index, units.Time(index)*n.length, uint32(index)*sentWindow
	n.far = n.start + nearWindows*n.length
}

// windowEnd is when the current window ends, unless the run does.
func (n *near) windowEnd() units.Time { return n.start + n.length }

// of returns the number of the window of a time that is not far.
func (n *near) of(at units.Time) uint64 {
	return n.index + uint64(at-n.start)*n.magic>>magicBits
}

// box returns that of a node in a window.
func (n *near) box(node uint32, index uint64) *box {
	return &n.boxes[uint64(node*nearWindows)|index%nearWindows]
}

// open gives a box that is full, or new, another block.
//
//go:noinline
func (w *worker) open(b *box, index uint64, node uint32) {
	if b.n == 0 {
		w.slots[index%slots][node>>6] |= 1 << (node & 63)
	}
	k := w.near.blocks.take(func(free []*block) []*block {
		slab := make([]block, blockSlab)
		for i := range slab {
			free = append(free, &slab[i])
		}
		return free
	})
	b.last, b.blocks = k, append(b.blocks, k)
}

// empty gives back what a node has read.
func (w *worker) empty(b *box) {
	for _, k := range b.blocks {
		if b.ext {
			k.ext = k.ext[:0]
		}
		w.near.blocks.put(k)
	}
	b.n, b.ext, b.blocks = 0, false, b.blocks[:0]
}

// Packet.Link of a frame in a box: the window in which it was sent, as far as it fits,
// and the place of its extension in the block: the first word and the number of words,
// which fits eight bits.
const (
	sentWindow = 1 << 20
	extPlace   = 1 << 8
)

// keepExt puts the extension of the last frame behind others and returns its place.
//
//go:noinline
func (b *box) keepExt(ext packet.Ext) uint32 {
	b.ext = true
	k := b.last
	at := uint32(len(k.ext))
	k.ext = append(k.ext, ext...)
	return at*extPlace | uint32(len(ext))
}

// kept returns the extension of a frame, if it has one.
func (k *block) kept(p *packet.Packet) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	at := p.Link % sentWindow / extPlace
	end := at + p.Link%extPlace
	return k.ext[at:end:end]
}

// stock holds what is unused. What was given back last is taken first, while it is
// still in the cache: frames in flight take of it what is in flight, not what ever was.
type stock[T any] struct{ free []T }

// take returns one; more makes some when there are none.
func (p *stock[T]) take(more func([]T) []T) T {
	if len(p.free) == 0 {
		p.free = more(p.free)
	}
	last := len(p.free) - 1
	x := p.free[last]
	p.free = p.free[:last]
	return x
}

func (p *stock[T]) put(x T) { p.free = append(p.free, x) }

// level moves some from pools of workers that read more than they write to the others.
// It runs between windows.
func level[T any](pools []*stock[T], least int) {
	few, many := pools[0], pools[0]
	for _, p := range pools[1:] {
		if len(p.free) < len(few.free) {
			few = p
		}
		if len(p.free) > len(many.free) {
			many = p
		}
	}
	if n := (len(many.free) - len(few.free)) / 2; n > least {
		rest := len(many.free) - n
		few.free = append(few.free, many.free[rest:]...)
		clear(many.free[rest:])
		many.free = many.free[:rest]
	}
}
