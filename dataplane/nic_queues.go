package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// ring is a queue of packets that grows as needed.
type ring struct {
	buf        []packet.Packet // length is a power of two
	head, tail uint32
}

func (r *ring) empty() bool { return r.head == r.tail }

func (r *ring) front() *packet.Packet { return &r.buf[r.head&uint32(len(r.buf)-1)] }

// pop removes the first packet. An empty ring restarts at index 0 to reuse the same cache
// lines.
func (r *ring) pop() {
	if r.head++; r.head == r.tail {
		r.head, r.tail = 0, 0
	}
}

// push appends a packet and returns it for the caller to fill in.
func (r *ring) push() *packet.Packet {
	if r.tail-r.head == uint32(len(r.buf)) {
		r.grow()
	}
	p := &r.buf[r.tail&uint32(len(r.buf)-1)]
	r.tail++
	return p
}

func (r *ring) grow() {
	bigger := make([]packet.Packet, max(16, 2*len(r.buf)))
	n := r.tail - r.head
	for i := range n {
		bigger[i] = r.buf[(r.head+i)&uint32(len(r.buf)-1)]
	}
	r.buf, r.head, r.tail = bigger, 0, n
}

// timerHeap is a binary heap of (time, id) pairs. Equal times are ordered by id, independent of
// the order of insertion.
type timerHeap struct{ items []timerItem }

type timerItem struct {
	at units.Time
	id int32
}

func (a timerItem) before(b timerItem) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

func (h *timerHeap) next() units.Time {
	if len(h.items) == 0 {
		return units.Never
	}
	return h.items[0].at
}

// push adds an item and reports whether it is the earliest.
func (h *timerHeap) push(at units.Time, id int32) bool {
	h.items = append(h.items, timerItem{})
	return h.up(len(h.items)-1, timerItem{at, id}) == 0
}

func (h *timerHeap) up(i int, x timerItem) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(h.items[parent]) {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = x
	return i
}

// pop removes the earliest item.
func (h *timerHeap) pop() int32 {
	id := h.items[0].id
	h.remove(0)
	return id
}

func (h *timerHeap) remove(i int) {
	last := len(h.items) - 1
	x := h.items[last]
	h.items = h.items[:last]
	if i == last {
		return
	}
	for {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && h.items[c+1].before(h.items[c]) {
			c++
		}
		if !h.items[c].before(x) {
			break
		}
		h.items[i] = h.items[c]
		i = c
	}
	h.up(i, x)
}
