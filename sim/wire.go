package sim

import (
	"sync/atomic"
	"unsafe"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// fastWire is one direction of a cable. It queues the frames in flight that arrive after
// the last window with boxes, in the order of arrival. A long-haul fibre carries a million
// of them, in a linked list of chunks.
//
// One node appends and one node consumes, possibly at the same time on different workers.
// Neither needs a lock: the consumer only takes frames that were appended in earlier
// windows, and a chunk belongs to the producer until it is followed by another, then to
// the consumer.
type fastWire struct {
	// Fields of the producer.
	last    chunk // takes the next frame, unless it is full
	to      *fastNode
	first   units.Time // arrival of the first unpublished frame
	in      *input     // takes the published tail
	tail    uint32     // number of frames ever appended, plus one
	flushed uint32     // tail at the last flush
	toPort  uint16
	_       [14]byte // pads to a cache line
}

// chunk is a part of a wire. Frame number i is at i % chunkFrames. Data that is needed once
// per chunk is stored separately, so that the frames fill whole cache lines.
type chunk struct {
	frames *[chunkFrames]packet.Packet
	rest   *rest
}

type rest struct {
	next chunk
	ext  *[chunkFrames]packet.Ext // extensions of its frames; nil until one has an extension
	// numbers of the arrivals of its frames; nil until it is used in insertion order
	numbers *[chunkFrames]number
}

// chunkFrames is the number of frames in a chunk: a power of two, small enough for a
// fabric with many wires and large enough to make new chunks rare.
const chunkFrames = 16

// chunks is the free list of a worker.
type chunks struct{ stock[chunk] }

// slabChunks is the number of chunks per allocation. Allocations above 32 KiB start at a
// cache line.
const slabChunks = 128

func (c *chunks) take() chunk { return c.stock.take(moreChunks) }

func moreChunks(free []chunk) []chunk {
	frames, rests := make([][chunkFrames]packet.Packet, slabChunks), make([]rest, slabChunks)
	for i := range frames {
		free = append(free, chunk{&frames[i], &rests[i]})
	}
	return free
}

// connect makes in the receiving end of the wire. The chain begins with a chunk without frames,
// because most wires never need one with frames: theirs arrive in boxes.
func (w *fastWire) connect(in *input, start *rest) {
	// A number that is a multiple of chunkFrames means that the next chunk begins.
	w.last, w.tail, w.flushed = chunk{rest: start}, chunkFrames, chunkFrames
	in.chunk, in.head, in.tail = w.last, chunkFrames, chunkFrames
	in.published = chunkFrames
	w.in = in
}

// push appends a frame.
func (w *fastWire) push(c *chunks, p *packet.Packet, at units.Time) {
	i := w.tail % chunkFrames
	if i == 0 {
		w.grow(c)
	}
	e := &w.last.frames[i]
	*e = *p
	e.At = at
	e.SetPort(int(w.toPort))
	w.tail++
}

//go:noinline
func (w *fastWire) grow(c *chunks) {
	k := c.take()
	w.last.rest.next = k
	w.last = k
}

// extend stores the extension of the last frame. Each frame has its own slice, because
// another worker may read earlier ones at the same time.
func (w *fastWire) extend(ext packet.Ext) {
	r := w.last.rest
	if r.ext == nil {
		r.ext = new([chunkFrames]packet.Ext)
	}
	x := &r.ext[(w.tail-1)%chunkFrames]
	*x = append((*x)[:0], ext...)
}

// flush publishes the appended frames and returns the arrival time of the first one. A
// single worker skips the atomic store, which is as slow as a lock.
func (w *fastWire) flush(alone bool) units.Time {
	w.flushed = w.tail
	if alone {
		w.in.published = w.tail
	} else {
		atomic.StoreUint32(&w.in.published, w.tail)
	}
	return w.first
}

// input is the consumer's side of a wire.
type input struct {
	chunk  chunk  // chunk of the frame before head
	head   uint32 // number of the next frame
	tail   uint32 // last value read from published
	faults *faults
	// published is written by the sender, at most once per window. This is the only
	// cache line that both ends share.
	published uint32
	_         [28]byte // pads to a cache line
}

// Both types fill one cache line.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(fastWire{})-64]
	_ = [1]struct{}{}[unsafe.Sizeof(input{})-64]
)

// pop removes and returns the first frame. It stays valid until the next pop.
func (in *input) pop(c *chunks) *packet.Packet {
	i := in.head % chunkFrames
	if i == 0 {
		in.step(c)
	}
	in.head++
	return &in.chunk.frames[i]
}

// step frees a chunk that has been read and moves to the next.
func (in *input) step(c *chunks) {
	k := in.chunk
	in.chunk = k.rest.next
	if k.frames != nil {
		c.put(k)
	}
}

// ext returns the extension of the frame popped last, or nil. It stays valid as long as
// the frame.
func (in *input) ext(p *packet.Packet) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	return in.chunk.rest.ext[(in.head-1)%chunkFrames]
}
