package sim

import (
	"sync/atomic"

	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/units"
)

// link is one direction of a cable: a queue of the frames that are on the wire,
// in the order of their arrival. A metre of copper holds a frame or two, a
// long-haul fibre a million; both are the same ring.
//
// One node appends and one node consumes, and they may run at the same time on
// different workers. Neither needs a lock: in the window that is being run, the
// consumer only takes frames that were appended in earlier windows. Each side
// publishes its end once per window.
type link struct {
	// The producer's side: one cache line.
	buf     []packet.Packet // length is a power of two
	delay   units.Time
	to      *fastNode
	tail    uint32
	head    uint32 // of the consumer, as last seen
	flushed uint32 // tail at the last publication
	peak    uint32 // most frames on the wire since the last trim
	flushes uint32
	toPort  uint16

	// Published, once per window at most, by the producer and by the consumer.
	pubBuf   atomic.Pointer[[]packet.Packet]
	pubTail  atomic.Uint32
	pubHead  atomic.Uint32
	pubWHead atomic.Uint32
	pubWords atomic.Pointer[[]uint64]

	// Rarely used, by the producer.
	spares []spare  // rings of other sizes
	ext    *extRing // extensions; nil when unused
}

// extRing holds the extensions of the frames on a wire.
type extRing struct {
	words      []uint64 // length is a power of two
	tail, head uint32
}

// minRing is the first size of a ring.
const minRing = 32

// makeRoom learns how far the consumer is, or doubles the ring.
func (l *link) makeRoom() {
	l.head = l.pubHead.Load()
	if n := len(l.buf); l.tail-l.head == uint32(n) {
		l.resize(2 * n)
	}
}

// resize moves the frames on the wire to a ring of another size. The consumer may
// still be reading the old one: it is left as it is until the consumer is past
// what it holds.
func (l *link) resize(n int) {
	next := l.takeSpare(n)
	if next == nil {
		buf := make([]packet.Packet, n)
		next = &buf
	}
	bigger := *next
	for i := l.head; i != l.tail; i++ {
		bigger[i&uint32(n-1)] = l.buf[i&uint32(len(l.buf)-1)]
	}
	l.spares = append(l.spares, spare{l.pubBuf.Load(), l.tail})
	l.buf = bigger
	l.pubBuf.Store(next)
}

// spare is a ring that was given up at a certain tail.
type spare struct {
	buf  *[]packet.Packet
	tail uint32
}

// takeSpare returns a ring of that size that nobody reads any more.
func (l *link) takeSpare(n int) *[]packet.Packet {
	for i, s := range l.spares {
		if len(*s.buf) == n && int32(l.head-s.tail) >= 0 {
			l.spares = append(l.spares[:i], l.spares[i+1:]...)
			return s.buf
		}
	}
	return nil
}

// trim halves a ring that a burst left too large: all of a ring passes through
// the cache, used or not. It looks back on the last trimEvery publications.
func (l *link) trim() {
	l.head = l.pubHead.Load()
	l.peak = max(l.peak, l.tail-l.head)
	if l.flushes++; l.flushes%trimEvery != 0 {
		return
	}
	if n := len(l.buf); n > minRing && 4*l.peak <= uint32(n) {
		l.resize(n / 2)
	}
	l.peak = 0
}

// trimEvery is how many publications pass between two looks at the size of a ring.
const trimEvery = 16

// pushExt appends an extension, its length before it, and returns its place.
func (l *link) pushExt(ext packet.Ext) uint32 {
	if l.ext == nil {
		l.ext = &extRing{}
	}
	x := l.ext
	need := uint32(len(ext) + 1)
	if x.tail-x.head+need > uint32(len(x.words)) {
		x.head = l.pubWHead.Load()
		for x.tail-x.head+need > uint32(len(x.words)) {
			bigger := make([]uint64, max(64, 2*len(x.words)))
			for i := x.head; i != x.tail; i++ {
				bigger[i&uint32(len(bigger)-1)] = x.words[i&uint32(len(x.words)-1)]
			}
			x.words = bigger
		}
		words := x.words
		l.pubWords.Store(&words)
	}
	at := x.tail
	mask := uint32(len(x.words) - 1)
	x.words[at&mask] = uint64(len(ext))
	for i, w := range ext {
		x.words[(at+1+uint32(i))&mask] = w
	}
	x.tail += need
	return at
}

// flush publishes what was appended and returns when the first of it arrives.
func (l *link) flush() units.Time {
	first := l.buf[l.flushed&uint32(len(l.buf)-1)].At
	l.flushed = l.tail
	l.pubTail.Store(l.tail)
	l.trim()
	return first
}

// input is the consumer's side of a link.
type input struct {
	buf    []packet.Packet
	head   uint32
	tail   uint32 // as last seen
	from   uint32 // head at the last publication
	link   *link
	faults *faults
}

// refresh looks for frames that were published since.
func (in *input) refresh() bool {
	tail := in.link.pubTail.Load()
	if tail == in.tail {
		return false
	}
	in.tail = tail
	// Loaded after the tail, so the buffer is at least as new.
	in.buf = *in.link.pubBuf.Load()
	return true
}

func (in *input) front() *packet.Packet { return &in.buf[in.head&uint32(len(in.buf)-1)] }

// extOf appends the extension of a frame to ext.
func (in *input) extOf(p *packet.Packet, ext packet.Ext) packet.Ext {
	words := *in.link.pubWords.Load()
	mask := uint32(len(words) - 1)
	n := uint32(words[p.Link&mask])
	for i := range n {
		ext = append(ext, words[(p.Link+1+i)&mask])
	}
	in.link.pubWHead.Store(p.Link + 1 + n)
	return ext
}

// release publishes how far the consumer is and returns how many frames it took.
func (in *input) release() uint32 {
	n := in.head - in.from
	in.from = in.head
	in.link.pubHead.Store(in.head)
	return n
}
