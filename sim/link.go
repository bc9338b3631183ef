package sim

import (
	"sync/atomic"
	"unsafe"

	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/units"
)

// link is one direction of a cable: a queue of the frames that are on the wire,
// in the order of their arrival. A metre of copper holds a frame or two, a
// long-haul fibre a million; both are the same chain of chunks.
//
// One node appends and one node consumes, and they may run at the same time on
// different workers. Neither needs a lock: in the window that is being run, the
// consumer only takes frames that were appended in earlier windows, and a chunk
// belongs to the producer until the next one follows it, then to the consumer.
type link struct {
	// The producer's side.
	last    chunk // where the next frame goes, unless it is full
	delay   units.Time
	to      *fastNode
	first   units.Time // arrival of the first frame not yet published
	in      *input     // where tail is published
	tail    uint32     // frames ever appended, plus one
	flushed uint32     // tail at the last publication
	words   uint32     // of extensions in the last chunk
	toPort  uint16
	_       [2]byte // to a whole cache line
}

// chunk is a piece of a wire. Frame number i is at i % chunkFrames. What is needed once
// per chunk lies apart from the frames, which then fill whole cache lines.
type chunk struct {
	frames *[chunkFrames]packet.Packet
	rest   *rest
}

type rest struct {
	next chunk
	ext  *extensions // nil until a frame has one
}

// chunkFrames is a power of two. A busy wire carries a dozen frames in a window. A chunk
// that was read is the next to be written, while it is in the cache; in larger ones,
// frames go to lines that were touched long ago, and smaller ones are changed too often.
const chunkFrames = 4

// chunks holds the unused chunks of a worker. The last one that was given back is
// the first to be used again, while it is still in the cache: what frames on the
// wires take of it is what is in flight, not what ever was.
type chunks struct {
	free []chunk
}

// slabChunks is how many chunks are allocated at a time: more than 32 KiB, which begin
// at a cache line.
const slabChunks = 512

func (c *chunks) take() chunk {
	if len(c.free) == 0 {
		frames, rests := make([][chunkFrames]packet.Packet, slabChunks), make([]rest, slabChunks)
		for i := range frames {
			c.free = append(c.free, chunk{&frames[i], &rests[i]})
		}
	}
	last := len(c.free) - 1
	k := c.free[last]
	c.free = c.free[:last]
	return k
}

func (c *chunks) put(k chunk) { c.free = append(c.free, k) }

// level moves chunks from workers that read more than they write to the others.
// It runs between windows.
func level(workers []*worker) {
	least, most := workers[0], workers[0]
	for _, w := range workers[1:] {
		if len(w.chunks.free) < len(least.chunks.free) {
			least = w
		}
		if len(w.chunks.free) > len(most.chunks.free) {
			most = w
		}
	}
	if n := (len(most.chunks.free) - len(least.chunks.free)) / 2; n > 2*slabChunks {
		rest := len(most.chunks.free) - n
		least.chunks.free = append(least.chunks.free, most.chunks.free[rest:]...)
		clear(most.chunks.free[rest:])
		most.chunks.free = most.chunks.free[:rest]
	}
}

// extensions are those of the frames of a chunk, one after the other; what does
// not fit has a slice of its own. Packet.Link says where: the first word and the
// number of words, or longExt.
type extensions struct {
	words [chunkFrames * packet.ExtWords]uint64
	long  [chunkFrames]packet.Ext
}

// longExt is above all places: a number of words fits eight bits.
const longExt = 1 << 16

// connect makes in the receiving end of the link.
func (l *link) connect(in *input, c chunk) {
	// Number 0 is left out: a number that a chunk begins with is one that takes a
	// step to the next chunk.
	l.last, l.tail, l.flushed = c, 1, 1
	in.chunk, in.head, in.tail = c, 1, 1
	in.published = 1
	l.in = in
}

// push puts a frame on the wire.
func (l *link) push(c *chunks, p *packet.Packet, done units.Time) *packet.Packet {
	i := l.tail % chunkFrames
	if i == 0 {
		l.grow(c)
	}
	e := &l.last.frames[i]
	*e = *p
	e.At = done + l.delay
	e.Port = l.toPort
	l.tail++
	return e
}

//go:noinline
func (l *link) grow(c *chunks) {
	k := c.take()
	l.last.rest.next = k
	l.last = k
	l.words = 0
}

// pushExt puts the extension of the last frame beside it and returns its place.
//
//go:noinline
func (l *link) pushExt(ext packet.Ext) uint32 {
	if l.last.rest.ext == nil {
		l.last.rest.ext = new(extensions)
	}
	k := l.last.rest.ext
	at, end := l.words, l.words+uint32(len(ext))
	if end > uint32(len(k.words)) {
		x := &k.long[(l.tail-1)%chunkFrames]
		*x = append((*x)[:0], ext...)
		return longExt
	}
	copy(k.words[at:end], ext)
	l.words = end
	return at<<8 | uint32(len(ext))
}

// flush publishes what was appended and returns when the first of it arrives. A
// worker that is alone needs no atomic store, which is as slow as a lock.
func (l *link) flush(alone bool) units.Time {
	l.flushed = l.tail
	if alone {
		l.in.published = l.tail
	} else {
		atomic.StoreUint32(&l.in.published, l.tail)
	}
	return l.first
}

// input is the consumer's side of a link.
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
	_ = [1]struct{}{}[unsafe.Sizeof(link{})-64]
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

// ext returns the extension of the frame that was taken last. It stays valid as
// long as the frame.
func (in *input) ext(p *packet.Packet) packet.Ext {
	k := in.chunk.rest.ext
	if p.Link == longExt {
		return k.long[(in.head-1)%chunkFrames]
	}
	at, end := p.Link>>8, p.Link>>8+p.Link&0xff
	return k.words[at:end:end]
}
