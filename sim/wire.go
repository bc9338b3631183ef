package sim

import (
	"sync/atomic"
	"unsafe"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// fastWire is one direction of a cable that is long: a queue of the frames on it that
// arrive further ahead than boxes reach, in the order of their arrival. A long-haul
// fibre holds a million of them, in a chain of chunks.
//
// One node appends and one node consumes, and they may run at the same time on
// different workers. Neither needs a lock: in the window that is being run, the
// consumer only takes frames that were appended in earlier windows, and a chunk
// belongs to the producer until the next one follows it, then to the consumer.
type fastWire struct {
	// The producer's side.
	last    chunk // where the next frame goes, unless it is full
	to      *fastNode
	first   units.Time // arrival of the first frame not yet published
	in      *input     // where tail is published
	tail    uint32     // frames ever appended, plus one
	flushed uint32     // tail at the last publication
	toPort  uint16
	_       [14]byte // to a whole cache line
}

// chunk is a piece of a wire. Frame number i is at i % chunkFrames. What is needed once
// per chunk lies apart from the frames, which then fill whole cache lines.
type chunk struct {
	frames *[chunkFrames]packet.Packet
	rest   *rest
}

type rest struct {
	next chunk
	ext  *[chunkFrames]packet.Ext // of its frames; nil until one has an extension
}

// chunkFrames is a power of two: few enough for a fabric with many wires, many enough
// for a chunk to last.
const chunkFrames = 16

// chunks holds the unused chunks of a worker.
type chunks struct{ stock[chunk] }

// slabChunks is how many chunks are allocated at a time: more than 32 KiB, which begin
// at a cache line.
const slabChunks = 128

func (c *chunks) take() chunk { return c.stock.take(moreChunks) }

func moreChunks(free []chunk) []chunk {
	frames, rests := make([][chunkFrames]packet.Packet, slabChunks), make([]rest, slabChunks)
	for i := range frames {
		free = append(free, chunk{&frames[i], &rests[i]})
	}
	return free
}

// connect makes in the receiving end of the wire.
func (w *fastWire) connect(in *input, c chunk) {
	// Number 0 is left out: a number that a chunk begins with is one that takes a
	// step to the next chunk.
	w.last, w.tail, w.flushed = c, 1, 1
	in.chunk, in.head, in.tail = c, 1, 1
	in.published = 1
	w.in = in
}

// push puts a frame on the wire.
func (w *fastWire) push(c *chunks, p *packet.Packet, at units.Time) {
	i := w.tail % chunkFrames
	if i == 0 {
		w.grow(c)
	}
	e := &w.last.frames[i]
	*e = *p
	e.At = at
	e.Port = w.toPort
	w.tail++
}

//go:noinline
func (w *fastWire) grow(c *chunks) {
	k := c.take()
	w.last.rest.next = k
	w.last = k
}

// extend puts the extension of the last frame beside it. Each has its own: while one is
// written, another worker may read those before it.
func (w *fastWire) extend(ext packet.Ext) {
	r := w.last.rest
	if r.ext == nil {
		r.ext = new([chunkFrames]packet.Ext)
	}
	x := &r.ext[(w.tail-1)%chunkFrames]
	*x = append((*x)[:0], ext...)
}

// flush publishes what was appended and returns when the first of it arrives. A
// worker that is alone needs no atomic store, which is as slow as a lock.
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
	chunk  chunk  // of the frame before head
	head   uint32 // number of the next frame
	tail   uint32 // as last seen
	faults *faults
	// published is written by the sender, once per window at most: the one line
	// that both ends share.
	published uint32
	_         [28]byte // to a whole cache line
}

// Both ends fill a cache line.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(fastWire{})-64]
	_ = [1]struct{}{}[unsafe.Sizeof(input{})-64]
)

// pop takes the first frame off the wire. It stays valid until the next pop.
func (in *input) pop(c *chunks) *packet.Packet {
	i := in.head % chunkFrames
	if i == 0 {
		in.step(c)
	}
	in.head++
	return &in.chunk.frames[i]
}

// step gives back a chunk that has been read.
func (in *input) step(c *chunks) {
	k := in.chunk
	in.chunk = k.rest.next
	c.put(k)
}

// ext returns the extension of the frame that was taken last, if it has one. It stays
// valid as long as the frame.
func (in *input) ext(p *packet.Packet) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	return in.chunk.rest.ext[(in.head-1)%chunkFrames]
}
