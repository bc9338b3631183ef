package sim

import (
	"sync/atomic"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Frames that arrive within the next few windows bypass their wire (see fastWire) and go
// into boxes. There is one box per sending worker, window and receiving node. A sender
// only appends; the frames of all ports are contiguous, so the receiver finds everything
// that arrives in its window in one place. A box is written before its window and read
// during it, so no lock is needed.

// Frames that arrive within the next few windows, including the current one, have boxes;
// later ones use their wire. Short windows need more boxes, since a frame takes longer to
// send than a window lasts. Both numbers are powers of two.
const (
	minNearWindows = 8
	maxNearWindows = 16
)

// nearWindows returns the number of windows with boxes: enough for a full frame of 4 KiB on
// most cables.
func nearWindows(cables []Cable, window units.Time) uint64 {
	most := 0
	for i := range cables {
		c := &cables[i]
		flight := min(c.AtoB, c.BtoA) + c.Rate.TxTime(4200) + window
		if flight > minNearWindows*window && flight <= maxNearWindows*window {
			most++
		}
	}
	if 2*most > len(cables) {
		return maxNearWindows
	}
	return minNearWindows
}

// box stores the frames that arrive at a node in a window. It fills one cache line.
type box struct {
	last   *block
	n      uint32   // number of frames
	ext    bool     // some frames have extensions
	blocks []*block // valid if there are several; last is one of them
	_      [24]byte
}

// block is a chunk of a box. The block freed last is reused first, while it is in the
// cache.
type block struct {
	ext     packet.Ext           // concatenated extensions of its frames
	numbers *[blockFrames]number // insertion order: numbers of the arrivals of its frames
	_       [32]byte             // pads to a cache line
	frames  [blockFrames]packet.Packet
}

// blockFrames is the number of frames in a block: a power of two, and large because every
// block boundary is a mispredicted branch.
const blockFrames = 16

// blockSlab is the number of blocks per allocation. Allocations above 32 KiB start at a
// cache line.
const blockSlab = 64

// near is the set of boxes that a worker fills.
type near struct {
	quick  bool       // no wire is in use, order is by key, and the run does not end within the current window
	start  units.Time // start of the current window
	far    units.Time // frames that arrive at or after this time use their wire
	index  uint64     // index of the current window
	sent   uint32     // index, as stored in Packet.Link
	magic  uint64     // replaces division by length with multiplication
	boxes  []box      // by node and window
	depth  uint64     // number of windows with boxes
	length units.Time // length of a window
	blocks stock[*block]
}

// magicBits is large enough to make near.of exact: a window is shorter than 2^24 ps, and
// a time since start is less than maxNearWindows windows, so less than 2^28 ps.
const magicBits = 52

func newNear(nodes int, window units.Time, depth uint64) near {
	return near{length: window, magic: 1<<magicBits/uint64(window) + 1, boxes: make([]box, uint64(nodes)*depth), depth: depth}
}

// begin moves to the window with the given index.
func (n *near) begin(index uint64) {
	n.index, n.start, n.sent = index, units.Time(index)*n.length, uint32(index)*sentWindow
	n.far = n.start + units.Time(n.depth)*n.length
}

// windowEnd returns the end of the current window; the run may end earlier.
func (n *near) windowEnd() units.Time { return n.start + n.length }

// of returns the index of the window that contains at, which must be before n.far.
func (n *near) of(at units.Time) uint64 {
	return n.index + uint64(at-n.start)*n.magic>>magicBits
}

// slot returns the position of the box of a node for a window.
func (n *near) slot(node uint32, index uint64) uint64 {
	return uint64(node)*n.depth | index&(n.depth-1)
}

// box returns the box of a node for a window.
func (n *near) box(node uint32, index uint64) *box {
	return &n.boxes[n.slot(node, index)]
}

// open adds a block to a box that is new or whose last block is full.
//
//go:noinline
func (w *worker) open(b *box, index uint64, node uint32) {
	if b.n == 0 {
		w.slots[index%slots][node>>6] |= 1 << (node & 63)
		if len(w.all) > 1 {
			atomic.OrUint64(&w.f.senders[w.near.slot(node, index)], w.bit)
		}
	}
	k := w.near.blocks.take(moreBlocks)
	if b.n > 0 {
		if b.n == blockFrames {
			b.blocks = append(b.blocks[:0], b.last)
		}
		b.blocks = append(b.blocks, k)
	}
	b.last = k
}

func moreBlocks(free []*block) []*block {
	slab := make([]block, blockSlab)
	for i := range slab {
		free = append(free, &slab[i])
	}
	return free
}

// list returns the blocks of a box that is not empty.
func (b *box) list() []*block {
	if b.n <= blockFrames {
		b.blocks = append(b.blocks[:0], b.last)
	}
	return b.blocks
}

// empty frees the blocks of a box that a node has read.
func (w *worker) empty(b *box) {
	if b.n <= blockFrames && !b.ext {
		w.near.blocks.put(b.last)
		b.n = 0
		return
	}
	for _, k := range b.list() {
		if b.ext {
			k.ext = k.ext[:0]
		}
		w.near.blocks.put(k)
	}
	b.n, b.ext = 0, false
}

// Packet.Link of a frame in a box combines the low bits of the window in which it was
// sent, the offset of its extension in the block, and the length of the extension in
// words, which fits eight bits.
const (
	sentWindow = 1 << 20
	extOffset  = 1 << 8
)

// keepExt stores the extension of the last frame and returns its offset and length, for
// Packet.Link.
//
//go:noinline
func (b *box) keepExt(ext packet.Ext) uint32 {
	b.ext = true
	k := b.last
	at := uint32(len(k.ext))
	k.ext = append(k.ext, ext...)
	return at*extOffset | uint32(len(ext))
}

// kept returns the extension of a frame, or nil.
func (k *block) kept(p *packet.Packet) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	at := p.Link % sentWindow / extOffset
	end := at + p.Link%extOffset
	return k.ext[at:end:end]
}

// stock is a free list. The item freed last is reused first, while it is in the cache, so
// the memory in use follows the frames in flight rather than their peak.
type stock[T any] struct{ free []T }

// take removes and returns an item; more adds items to an empty list.
func (s *stock[T]) take(more func([]T) []T) T {
	if len(s.free) == 0 {
		s.free = more(s.free)
	}
	last := len(s.free) - 1
	x := s.free[last]
	s.free = s.free[:last]
	return x
}

func (s *stock[T]) put(x T) { s.free = append(s.free, x) }

// level moves items from the fullest list to the emptiest if they differ by more than
// twice least: workers that read more than they write collect free items. It runs between
// windows.
func level[T any](lists []*stock[T], least int) {
	few, many := lists[0], lists[0]
	for _, l := range lists[1:] {
		if len(l.free) < len(few.free) {
			few = l
		}
		if len(l.free) > len(many.free) {
			many = l
		}
	}
	if n := (len(many.free) - len(few.free)) / 2; n > least {
		rest := len(many.free) - n
		few.free = append(few.free, many.free[rest:]...)
		clear(many.free[rest:])
		many.free = many.free[:rest]
	}
}
