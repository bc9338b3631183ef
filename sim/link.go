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
	to     *fastNode
	toPort uint16
	delay  units.Time
	faults *faults

	// The producer's side.
	buf     []packet.Packet // length is a power of two
	words   []uint64        // extensions, length is a power of two; nil when unused
	tail    uint32
	head    uint32 // of the consumer, as last seen
	wTail   uint32
	wHead   uint32
	flushed uint32 // tail at the last publication
	_       [64]byte

	// Published by the producer, read by the consumer.
	pubTail  atomic.Uint32
	pubBuf   atomic.Pointer[[]packet.Packet]
	pubWords atomic.Pointer[[]uint64]
	_        [64]byte

	// Published by the consumer, read by the producer.
	pubHead  atomic.Uint32
	pubWHead atomic.Uint32
	_        [64]byte
}

// minRing is the first size of a ring.
const minRing = 16

// push appends a frame that arrives at the given time.
func (l *link) push(p *packet.Packet, ext packet.Ext, at units.Time) {
	if l.tail-l.head == uint32(len(l.buf)) {
		l.makeRoom()
	}
	e := &l.buf[l.tail&uint32(len(l.buf)-1)]
	*e = *p
	e.At = at
	e.Port = l.toPort
	e.Flags &^= packet.Extended
	if len(ext) > 0 {
		e.Flags |= packet.Extended
		e.Link = l.pushExt(ext)
	}
	l.tail++
}

// makeRoom learns how far the consumer is, or doubles the ring. The consumer may
// still be reading the old one: it is left as it is.
func (l *link) makeRoom() {
	l.head = l.pubHead.Load()
	if l.tail-l.head < uint32(len(l.buf)) {
		return
	}
	bigger := make([]packet.Packet, max(minRing, 2*len(l.buf)))
	for i := l.head; i != l.tail; i++ {
		bigger[i&uint32(len(bigger)-1)] = l.buf[i&uint32(len(l.buf)-1)]
	}
	l.buf = bigger
	l.pubBuf.Store(&bigger)
}

// pushExt appends an extension, its length before it, and returns its place.
func (l *link) pushExt(ext packet.Ext) uint32 {
	need := uint32(len(ext) + 1)
	if l.wTail-l.wHead+need > uint32(len(l.words)) {
		l.wHead = l.pubWHead.Load()
		for l.wTail-l.wHead+need > uint32(len(l.words)) {
			bigger := make([]uint64, max(64, 2*len(l.words)))
			for i := l.wHead; i != l.wTail; i++ {
				bigger[i&uint32(len(bigger)-1)] = l.words[i&uint32(len(l.words)-1)]
			}
			l.words = bigger
		}
		words := l.words
		l.pubWords.Store(&words)
	}
	at := l.wTail
	mask := uint32(len(l.words) - 1)
	l.words[at&mask] = uint64(len(ext))
	for i, w := range ext {
		l.words[(at+1+uint32(i))&mask] = w
	}
	l.wTail += need
	return at
}

// flush publishes what was appended and returns when the first of it arrives.
func (l *link) flush() units.Time {
	first := l.buf[l.flushed&uint32(len(l.buf)-1)].At
	l.flushed = l.tail
	l.pubTail.Store(l.tail)
	return first
}

// input is the consumer's side of a link.
type input struct {
	link *link
	buf  []packet.Packet
	head uint32
	tail uint32 // as last seen
	from uint32 // head at the last publication
	ext  packet.Ext
}

// refresh looks for frames that were published since.
func (in *input) refresh() bool {
	tail := in.link.pubTail.Load()
	if tail == in.head {
		return false
	}
	in.tail = tail
	// Loaded after the tail, so the buffer is at least as new.
	in.buf = *in.link.pubBuf.Load()
	return true
}

func (in *input) front() *packet.Packet { return &in.buf[in.head&uint32(len(in.buf)-1)] }

// extOf copies the extension of a frame out of the ring.
func (in *input) extOf(p *packet.Packet) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	words := *in.link.pubWords.Load()
	mask := uint32(len(words) - 1)
	n := uint32(words[p.Link&mask])
	in.ext = in.ext[:0]
	for i := range n {
		in.ext = append(in.ext, words[(p.Link+1+i)&mask])
	}
	in.link.pubWHead.Store(p.Link + 1 + n)
	return in.ext
}

// release publishes how far the consumer is.
func (in *input) release() {
	if in.head != in.from {
		in.from = in.head
		in.link.pubHead.Store(in.head)
	}
}
