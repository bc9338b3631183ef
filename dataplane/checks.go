package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Checks verifies the invariants of one node during a run; docs/architecture.md lists them. A
// nil *Checks costs one test per event.
type Checks struct {
	Broken uint64 // number of violations
	First  string // description of the first violation

	name    string
	last    units.Time
	events  uint64
	in, out uint64 // bytes of data frames that arrived and left
	dropped uint64
	// expelled is the part of dropped that had been stored (buffer.Expeller).
	expelled uint64
	stamps   []uint64 // by slot: position of the packet in its queue
	head     []uint64 // by egress queue: position of the next packet to leave
	tail     []uint64 // by egress queue: position of the next packet to enter
}

// recountEvery is the number of events between full recounts of a ledger.
const recountEvery = 64

// NewChecks returns the checks for a node with the given name.
func NewChecks(name string) *Checks { return &Checks{name: name} }

// fail records a violation.
func (c *Checks) fail(now units.Time, format string, args ...any) {
	if c.Broken == 0 {
		c.First = fmt.Sprintf("%s at %s: %s", c.name, now, fmt.Sprintf(format, args...))
	}
	c.Broken++
}

// event starts each event. It checks that time does not run backwards and, now and then, that
// the counters balance.
func (c *Checks) event(now units.Time, l *mmu.Ledger) {
	if now < c.last {
		c.fail(now, "time runs backwards: the last event was at %s", c.last)
	}
	c.last = now
	if c.events++; c.events%recountEvery == 0 && l != nil {
		c.balance(now, l)
	}
}

// balance recounts a ledger and compares the bytes in, out, dropped and stored.
func (c *Checks) balance(now units.Time, l *mmu.Ledger) {
	if err := l.Check(); err != nil {
		c.fail(now, "%v", err)
	}
	if stored := uint64(l.View().Stored()); c.in != c.out+c.dropped+stored {
		c.fail(now, "%d B came in, %d B went out, %d B were dropped, but %d B are stored", c.in, c.out, c.dropped, stored)
	}
	if counted := uint64(l.View().Expelled()); c.expelled != counted {
		c.fail(now, "%d B were expelled, but the ledger counted %d B", c.expelled, counted)
	}
}

// enqueued and dequeued check that a queue is first in, first out. Frames that a deadlock
// handler moves are exempt.
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

// moved marks a slot whose packet was moved by a handler.
const moved = ^uint64(0)

func (c *Checks) exempt(slot uint32) {
	for uint32(len(c.stamps)) <= slot {
		c.stamps = append(c.stamps, 0)
	}
	c.stamps[slot] = moved
}

// sends checks that a port does not send a blocked class, or on a busy wire.
func (c *Checks) sends(now units.Time, p *port, f *packet.Packet) {
	if p.blocked.Has(f.Class()) {
		c.fail(now, "port %d sends a frame of class %d, which is blocked", p.index, f.Class())
	}
	if p.busy > now {
		c.fail(now, "port %d sends while its wire is busy until %s", p.index, p.busy)
	}
}

// delivered checks that the application receives every byte of a flow once and in order. It
// relies on the packet, not on the state of the transport.
func (c *Checks) delivered(now units.Time, flows *Flows, p *packet.Packet, tr *Transport, last bool) {
	c.deliveredBytes(now, flows, p.Flow, p.Seq, units.Bytes(p.Size)-tr.Header, tr, last)
}

// deliveredBytes is delivered for a packet from the reorder buffer, of which only seq is known.
func (c *Checks) deliveredBytes(now units.Time, flows *Flows, flow, seq uint32, bytes units.Bytes, tr *Transport, last bool) {
	got, size := &flows.delivered[flow], flows.Flow[flow].Size
	if at := units.Bytes(seq) * tr.Payload; at != *got {
		c.fail(now, "flow %d delivers byte %d after %d bytes", flow, at, *got)
	}
	*got += bytes
	if *got > size || last != (*got == size) {
		c.fail(now, "flow %d of %d bytes has delivered %d", flow, size, *got)
	}
}

// checkSize checks that the size of a packet that arrived out of order matches its number.
func (c *Checks) checkSize(now units.Time, flows *Flows, p *packet.Packet, tr *Transport) {
	want := min(tr.Payload, flows.Flow[p.Flow].Size-units.Bytes(p.Seq)*tr.Payload)
	if got := units.Bytes(p.Size) - tr.Header; got != want {
		c.fail(now, "packet %d of flow %d has %d bytes, want %d", p.Seq, p.Flow, got, want)
	}
}

// finished checks that a flow that its source considers complete was fully delivered.
func (c *Checks) finished(now units.Time, flows *Flows, flow uint32) {
	if got, size := flows.delivered[flow], flows.Flow[flow].Size; got != size {
		c.fail(now, "flow %d of %d bytes is finished, but %d were delivered", flow, size, got)
	}
}
