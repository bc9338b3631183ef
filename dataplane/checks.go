package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Checks watches the invariants of one node while it runs (docs/architecture.md
// lists them). A nil *Checks costs one test per event.
type Checks struct {
	Broken uint64 // how often an invariant did not hold
	First  string // the first time, in words

	name    string
	last    units.Time
	events  uint64
	in, out uint64 // bytes of data frames that came and went
	dropped uint64
	// expelled is, of what was dropped, what had been stored and was taken back.
	expelled uint64
	stamps   []uint64 // by slot: place of the packet in its queue
	head     []uint64 // by egress queue: place of the next to leave
	tail     []uint64 // by egress queue: place of the next to join
}

// recountEvery is how many events pass between full recounts of a ledger.
const recountEvery = 64

// NewChecks returns a watcher for a node of that name.
func NewChecks(name string) *Checks { return &Checks{name: name} }

// fail notes a broken invariant.
func (c *Checks) fail(now units.Time, format string, args ...any) {
	if c.Broken == 0 {
		c.First = fmt.Sprintf("%s at %s: %s", c.name, now, fmt.Sprintf(format, args...))
	}
	c.Broken++
}

// event opens each event: time must not run backwards, and from time to time the
// books must balance.
func (c *Checks) event(now units.Time, l *mmu.Ledger) {
	if now < c.last {
		c.fail(now, "time runs backwards: the last event was at %s", c.last)
	}
	c.last = now
	if c.events++; c.events%recountEvery == 0 && l != nil {
		c.balance(now, l)
	}
}

// balance recounts a ledger and the bytes that passed.
func (c *Checks) balance(now units.Time, l *mmu.Ledger) {
	if err := l.Check(); err != nil {
		c.fail(now, "%v", err)
	}
	if stored := uint64(l.View().Stored()); c.in != c.out+c.dropped+stored {
		c.fail(now, "%d B came in, %d B went out, %d B were dropped, but %d B are stored", c.in, c.out, c.dropped, stored)
	}
	if booked := uint64(l.View().Expelled()); c.expelled != booked {
		c.fail(now, "%d B were dropped as taken back, but the books have %d B", c.expelled, booked)
	}
}

// enqueued and dequeued check that a queue is first in, first out. Frames that a
// handler moves are exempt: it calls forget.
//
//go:noinline
func (c *Checks) enqueued(queue int, slot uint32) {
	for len(c.head) <= queue {
		c.head = append(c.head, 0)
		c.tail = append(c.tail, 0)
	}
	for uint32(len(c.stamps)) <= slot {
		c.stamps = append(c.stamps, 0)
	}
	c.stamps[slot] = c.tail[queue]
	c.tail[queue]++
}

//go:noinline
func (c *Checks) dequeued(now units.Time, queue int, slot uint32) {
	if c.stamps[slot] == moved {
		return
	}
	if c.stamps[slot] < c.head[queue] {
		c.fail(now, "egress queue %d is not first in, first out", queue)
	}
	c.head[queue] = c.stamps[slot]
}

// moved marks a slot whose packet a handler put where it is.
const moved = ^uint64(0)

func (c *Checks) forget(slot uint32) {
	for uint32(len(c.stamps)) <= slot {
		c.stamps = append(c.stamps, 0)
	}
	c.stamps[slot] = moved
}

// leaves checks that no frame of a blocked class is sent.
func (c *Checks) leaves(now units.Time, p *port, f *packet.Packet) {
	if p.blocked.Has(f.Class()) {
		c.fail(now, "port %d sends a frame of class %d, which is paused", p.index, f.Class())
	}
	if p.busy > now {
		c.fail(now, "port %d sends while its wire is taken until %s", p.index, p.busy)
	}
}

// delivered checks that the application gets every byte of a flow once and in
// order, from what the packet says of itself rather than from the state of the
// transport.
func (c *Checks) delivered(now units.Time, flows *Flows, p *packet.Packet, way *Transport, last bool) {
	c.given(now, flows, p.Flow, p.Seq, units.Bytes(p.Size)-way.Header, way, last)
}

// given is delivered for a packet that has waited for others: of its number.
func (c *Checks) given(now units.Time, flows *Flows, flow, seq uint32, bytes units.Bytes, way *Transport, last bool) {
	got, size := &flows.given[flow], flows.Flow[flow].Size
	if at := units.Bytes(seq) * way.Payload; at != *got {
		c.fail(now, "flow %d delivers the byte at %d after %d bytes", flow, at, *got)
	}
	*got += bytes
	if *got > size || last != (*got == size) {
		c.fail(now, "flow %d of %d bytes has delivered %d", flow, size, *got)
	}
}

// sized checks that a packet that has to wait is as long as its number says.
func (c *Checks) sized(now units.Time, flows *Flows, p *packet.Packet, way *Transport) {
	want := min(way.Payload, flows.Flow[p.Flow].Size-units.Bytes(p.Seq)*way.Payload)
	if got := units.Bytes(p.Size) - way.Header; got != want {
		c.fail(now, "packet %d of flow %d has %d bytes, want %d", p.Seq, p.Flow, got, want)
	}
}

// finished checks that the source takes for delivered what is.
func (c *Checks) finished(now units.Time, flows *Flows, flow uint32) {
	if got, size := flows.given[flow], flows.Flow[flow].Size; got != size {
		c.fail(now, "flow %d of %d bytes is finished, but %d were delivered", flow, size, got)
	}
}
