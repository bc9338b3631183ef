// Package mmu is the memory management unit of a shared-memory switch: it
// accounts for every stored byte.
//
// A frame is stored once and counted twice: at its ingress queue (port of
// arrival, class), split by the segment of the buffer that took it, and at its
// egress queue (port of departure, class). The Ledger is the only owner of
// these counters; everyone else reads them through a View.
package mmu

import (
	"fmt"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Classes is the number of traffic classes of a port.
const Classes = 8

// Kind says how a class is treated.
type Kind uint8

// Kinds of classes.
const (
	Unused   Kind = iota // no frame may carry it
	Control              // ACK, NACK, CNP: never paused, counted in the shared segment
	Lossless             // flow control keeps it from being dropped
	Lossy                // dropped when its threshold is reached
)

// ClassesOf returns the classes of one kind.
func ClassesOf(kinds [Classes]Kind, kind Kind) packet.ClassMask {
	mask := packet.ClassMask(0)
	for c, k := range kinds {
		if k == kind {
			mask |= 1 << c
		}
	}
	return mask
}

// Segment is a part of the buffer, seen from the ingress.
type Segment uint8

// Segments of the buffer. Drop is the answer "nowhere".
const (
	Drop     Segment = iota
	Private          // reserved per ingress queue
	Shared           // competed for by all
	Headroom         // takes what is in flight after a pause; DSH's insurance
	Reserve          // set aside by a deadlock handler while it resolves a loop
	numSegments
)

var segmentNames = [numSegments]string{"drop", "private", "shared", "headroom", "reserve"}

func (s Segment) String() string { return segmentNames[s] }

// Order says in which order a departing frame gives back what its ingress queue
// holds.
type Order uint8

// Orders of release.
const (
	HeadroomFirst Order = iota // headroom, shared, private: SONiC, Reverie 2.2.1
	SharedFirst                // shared, headroom, private: Roundabout as printed
	numOrders
)

var releaseOrder = [numOrders][4]Segment{
	HeadroomFirst: {Reserve, Headroom, Shared, Private},
	SharedFirst:   {Reserve, Shared, Headroom, Private},
}

// Ingress is what one ingress queue holds, by segment.
type Ingress struct {
	Private, Shared, Headroom, Reserve units.Bytes
}

// Total returns all bytes of the queue.
func (q *Ingress) Total() units.Bytes { return q.Private + q.Shared + q.Headroom + q.Reserve }

// counters is an Ingress in 32 bits each. MaxBuffer keeps them from overflowing.
type counters [numSegments - 1]int32

func (c *counters) of(s Segment) *int32 { return &c[(s-1)&3] }

// row is what nearly every frame changes, for all classes of a port: one cache line.
type row struct {
	shared [Classes]int32 // of the ingress queues
	out    [Classes]int32 // the egress queues
}

// MaxBuffer is the largest buffer that can be accounted for.
const MaxBuffer = 2*units.GiB - 1

// Spec is the immutable layout of a buffer.
type Spec struct {
	Ports   int
	Size    units.Bytes   // of the whole buffer
	Shared  units.Bytes   // of the shared segment
	Private units.Bytes   // of each lossless or lossy ingress queue
	Cell    units.Bytes   // accounting unit; 0 or 1 counts bytes
	Kinds   [Classes]Kind // of each class

	PerPacket units.Bytes   // what every frame costs beside its cells
	Minimum   []units.Bytes // by port: Private of its lossless ingress queues; nil: as all
	Pool      units.Bytes   // headroom that all ports share; 0: each has its own
	Parts     int           // of the shared segment and of Pool; a port sees one; 0 or 1: undivided
	ChipPorts int           // that the parts are made of, if there are more than Ports
}

// Pair is what one ingress port holds for one egress port in one class.
type Pair struct {
	Bytes   units.Bytes
	Packets int32
}

// Ledger counts the bytes of one switch.
type Ledger struct {
	spec      Spec
	sharedMax units.Bytes        // of the shared segment now
	sharedAll units.Bytes        // of the shared segment when nothing is lent
	asked     units.Bytes        // the same, before it was cut to whole cells
	unit      units.Bytes        // what frames are rounded up to; 0: they cost their bytes
	lossless  []uint8            // classes of that kind
	rows      []row              // by port
	apart     []counters         // [port*Classes+class]: ingress queues, but for the shared segment
	mixed     []packet.ClassMask // by port: classes that hold something outside of the shared segment
	segments  [numSegments]units.Bytes
	stored    units.Bytes
	reserved  units.Bytes // promised by SetAside, not yet used
	lent      units.Bytes // of the reserve, what the shared segment gave
	expelled  units.Bytes // of all frames that were taken back so far
	peak      [numSegments]units.Bytes
	peakAll   units.Bytes
	pairs     []Pair // [(in*ports+out)*Classes+class], nil unless asked for
	tops      []tops // [port*Classes+class], nil unless asked for
	extra     bool   // there are pairs, tops or a division
	orders    []Order
	div       *division // nil: one part, no pools on the egress side
}

// NewLedger returns an empty ledger.
func NewLedger(spec Spec) *Ledger {
	l := &Ledger{spec: spec, div: newDivision(&spec)}
	l.extra = l.div != nil
	if spec.Cell > 1 || spec.PerPacket > 0 {
		l.unit = max(1, spec.Cell)
	}
	l.makeQueues()
	for c, k := range spec.Kinds {
		if k == Lossless {
			l.lossless = append(l.lossless, uint8(c))
		}
	}
	l.Resize(spec.Shared)
	return l
}

func (l *Ledger) makeQueues() {
	n := l.spec.Ports
	l.rows, l.apart, l.mixed = make([]row, n), make([]counters, n*Classes), make([]packet.ClassMask, n)
}

// count returns the counter of an ingress queue for a segment.
func (l *Ledger) count(at int, s Segment) *int32 {
	if s == Shared {
		return &l.rows[at/Classes].shared[at%Classes]
	}
	return l.apart[at].of(s)
}

// mix notes whether an ingress queue holds something outside of the shared segment.
func (l *Ledger) mix(at int) {
	c, bit := &l.apart[at], packet.MaskOf(uint8(at%Classes))
	l.mixed[at/Classes] &^= bit
	if c[Private-1]|c[Headroom-1]|c[Reserve-1] != 0 {
		l.mixed[at/Classes] |= bit
	}
}

// KeepPairs makes an empty ledger count bytes and packets per (ingress, egress,
// class).
func (l *Ledger) KeepPairs() {
	if l.stored != 0 {
		panic("mmu: pairs must be asked for while nothing is stored")
	}
	if l.pairs == nil {
		l.pairs = make([]Pair, l.spec.Ports*len(l.apart))
		l.extra = true
	}
}

// tops are the highest counts of a queue, ingress by segment and egress.
type tops struct {
	in  counters
	out int32
}

// KeepPeaks makes an empty ledger keep the highest count of every queue.
func (l *Ledger) KeepPeaks() {
	if l.stored != 0 {
		panic("mmu: peaks must be asked for while nothing is stored")
	}
	l.tops, l.extra = make([]tops, len(l.apart)), true
}

// charged keeps the books that not every run has.
func (l *Ledger) charged(a *Arrival, s Segment) {
	if l.pairs != nil {
		l.pair(a, a.Out, 1)
	}
	if l.div != nil {
		l.div.follow(l, a.In)
		l.div.moved(l, a.Out, a.Class, a.Bytes)
	}
	if l.tops != nil {
		in, out := a.In*Classes+int(a.Class), a.Out*Classes+int(a.Class)
		if n, top := *l.count(in, s), l.tops[in].in.of(s); n > *top {
			*top = n
		}
		if n, top := l.rows[a.Out].out[a.Class&7], &l.tops[out].out; n > *top {
			*top = n
		}
	}
}

// released is charged for a departing frame.
//
//go:noinline
func (l *Ledger) released(a *Arrival) {
	if l.pairs != nil {
		l.pair(a, a.Out, -1)
	}
	if l.div != nil {
		l.div.follow(l, a.In)
		l.div.moved(l, a.Out, a.Class, -a.Bytes)
	}
}

// Cells rounds a frame up to whole cells and adds the price of a packet: what it costs
// in the buffer.
func (l *Ledger) Cells(b units.Bytes) units.Bytes {
	if l.unit == 0 {
		return b
	}
	return (b+l.unit-1)/l.unit*l.unit + l.spec.PerPacket
}

// Arrival describes a frame that wants to be stored. Bytes are in whole cells.
type Arrival struct {
	In, Out     int
	Bytes       units.Bytes
	Slot        uint32 // of the packet in the switch's memory; 0 while it only passes through
	Class       uint8
	Kind        Kind
	Unscheduled bool
}

// Share is num / 2^shift of something, at most all of it: thresholds that are a share
// of what is free cost a product and a shift.
type Share struct {
	Num   int64
	Shift uint8
}

// Of returns the share of b.
func (s Share) Of(b units.Bytes) units.Bytes { return units.Bytes(int64(b) * s.Num >> (s.Shift & 63)) }

// Room returns what an ingress queue and all queues together hold in the shared
// segment, and what is left of it: below zero after it shrank below what it holds.
func (l *Ledger) Room(port int, class uint8) (queue, used, free units.Bytes) {
	used = l.segments[Shared]
	return units.Bytes(l.rows[port].shared[class&7]), used, l.sharedMax - used
}

// PortShared returns what all ingress queues of a port hold in the shared segment.
func (l *Ledger) PortShared(port int) units.Bytes { return l.rows[port].sum() }

// sum adds up what the ingress queues hold, without a loop: it is asked for at every
// frame.
func (r *row) sum() units.Bytes {
	q := &r.shared
	return units.Bytes(q[0] + q[1] + q[2] + q[3] + q[4] + q[5] + q[6] + q[7])
}

// Charge stores a frame in a segment.
func (l *Ledger) Charge(a *Arrival, s Segment) {
	if s == Shared { // as nearly always
		l.rows[a.In].shared[a.Class&7] += int32(a.Bytes)
	} else {
		*l.apart[a.In*Classes+int(a.Class)].of(s) += int32(a.Bytes)
		l.mixed[a.In] |= 1 << (a.Class & 7)
		if s == Reserve {
			l.reserved -= a.Bytes
		}
	}
	used := l.segments[s] + a.Bytes
	l.segments[s] = used
	if used > l.peak[s] {
		l.peak[s] = used
	}
	l.stored += a.Bytes
	if l.stored > l.peakAll {
		l.peakAll = l.stored
	}
	l.rows[a.Out].out[a.Class&7] += int32(a.Bytes)
	if l.extra {
		l.charged(a, s)
	}
}

// pair counts a frame in (+1) or out (-1) of its pair.
func (l *Ledger) pair(a *Arrival, out int, sign int32) {
	p := &l.pairs[(a.In*l.spec.Ports+out)*Classes+int(a.Class)]
	p.Bytes += units.Bytes(sign) * a.Bytes
	p.Packets += sign
}

// Release takes a departing frame out. The ingress queue's segments are emptied
// in the queue's release order, so a frame need not remember where it was put.
func (l *Ledger) Release(a *Arrival) {
	left := int32(a.Bytes)
	if c := &l.rows[a.In].shared[a.Class&7]; !l.mixed[a.In].Has(a.Class) && *c >= left {
		*c -= left
		l.segments[Shared] -= a.Bytes
	} else {
		l.releaseMixed(a.In*Classes+int(a.Class), left)
	}
	l.rows[a.Out].out[a.Class&7] -= left
	l.stored -= a.Bytes
	if l.extra {
		l.released(a)
	}
}

// Expel takes back a lossy frame that is stored and will not be sent (push-out). What it
// held returns to its segments as if it had left; lossless and control frames stay.
func (l *Ledger) Expel(a *Arrival) {
	if l.spec.Kinds[a.Class&7] != Lossy {
		panic(fmt.Sprintf("mmu: a frame of class %d is to be taken back, which is not lossy", a.Class))
	}
	l.Release(a)
	l.expelled += a.Bytes
}

// releaseMixed is for a queue that holds something outside of the shared segment.
func (l *Ledger) releaseMixed(at int, left int32) {
	c, shared := &l.apart[at], l.count(at, Shared)
	switch {
	case l.orders != nil || c[Headroom-1]|c[Reserve-1] != 0:
		l.releaseInOrder(at, left)
	case *shared >= left:
		*shared -= left
		l.segments[Shared] -= units.Bytes(left)
	case *shared == 0 && c[Private-1] >= left:
		c[Private-1] -= left
		l.segments[Private] -= units.Bytes(left)
	default:
		l.releaseInOrder(at, left)
	}
	l.mix(at)
}

func (l *Ledger) releaseInOrder(at int, left int32) {
	order := HeadroomFirst
	if l.orders != nil {
		order = l.orders[at]
	}
	for _, s := range releaseOrder[order] {
		part := l.count(at, s)
		n := min(*part, left)
		*part -= n
		l.segments[s] -= units.Bytes(n)
		if s == Reserve {
			l.repay(units.Bytes(n))
		}
		left -= n
	}
	if left != 0 {
		panic(fmt.Sprintf("mmu: queue %d gives back %d B more than it holds", at, left))
	}
}

// Move re-labels stored bytes when a queued frame is given to another egress.
func (l *Ledger) Move(a *Arrival, to int) {
	l.rows[a.Out].out[a.Class&7] -= int32(a.Bytes)
	l.rows[to].out[a.Class&7] += int32(a.Bytes)
	if l.pairs != nil {
		l.pair(a, a.Out, -1)
		l.pair(a, to, 1)
	}
	if l.div != nil {
		l.div.moved(l, a.Out, a.Class, -a.Bytes)
		l.div.moved(l, to, a.Class, a.Bytes)
	}
	if l.tops != nil {
		at := to*Classes + int(a.Class)
		l.tops[at].out = max(l.tops[at].out, l.rows[to].out[a.Class&7])
	}
}

// SetOrder changes the release order of one ingress queue.
func (l *Ledger) SetOrder(port int, class uint8, o Order) {
	if l.orders == nil {
		l.orders = make([]Order, len(l.apart))
	}
	l.orders[port*Classes+int(class)] = o
}

// SetAside reserves bytes for frames that will be charged to Reserve, and
// reports whether there was room. Bytes from the shared segment shrink it until
// they come back; bytes from the headroom are ones that a paused, held queue has
// just given up, and only the physical size limits them.
func (l *Ledger) SetAside(b units.Bytes, from Segment) bool {
	if l.stored+l.reserved+b > l.spec.Size {
		return false
	}
	if from == Shared {
		if l.segments[Shared]+b > l.sharedMax {
			return false
		}
		l.sharedMax -= b
		l.lent += b
	}
	l.reserved += b
	return true
}

// GiveBack cancels a reservation of bytes that were not used.
func (l *Ledger) GiveBack(b units.Bytes) {
	b = min(b, l.reserved)
	l.reserved -= b
	l.repay(b)
}

// repay returns reserve to the shared segment it was taken from.
func (l *Ledger) repay(b units.Bytes) {
	l.lent -= min(b, l.lent)
	l.sharedMax = max(l.sharedMax, l.sharedAll-l.lent)
}

// Settle counts what an ingress queue stored in the reserve where it would be without
// one. What the shared segment lent goes there, the rest to the headroom that it stands
// for. A queue that is below its threshold with all of it has nothing in headroom, and one
// that has more there than its own part hands the rest to the shared segment, as far as
// that keeps some bytes free: otherwise queues could wait for each other to drain what fits.
func (l *Ledger) Settle(port int, class uint8, xoff, part, keep units.Bytes) {
	at := port*Classes + int(class)
	reserve, headroom, shared := l.count(at, Reserve), l.count(at, Headroom), l.count(at, Shared)
	lent := int32(min(units.Bytes(*reserve), l.lent))
	own := *reserve - lent
	l.segments[Reserve] -= units.Bytes(*reserve)
	*reserve = 0
	l.repay(units.Bytes(lent))
	*shared, *headroom = *shared+lent, *headroom+own
	l.segments[Shared] += units.Bytes(lent)
	l.segments[Headroom] += units.Bytes(own)
	if l.div != nil {
		l.div.follow(l, port)
	}
	free := l.View().PartFree(port)
	room := free - keep
	over := max(0, min(l.Cells(units.Bytes(*headroom)-part), room-room%max(1, l.spec.Cell)))
	if all := units.Bytes(*headroom); units.Bytes(*shared)+all < xoff && all <= free {
		over = all
	}
	*shared, *headroom = *shared+int32(over), *headroom-int32(over)
	l.segments[Shared] += over
	l.segments[Headroom] -= over
	l.mix(at)
	if l.div != nil {
		l.div.follow(l, port)
	}
}

// Reserved returns the bytes set aside and not yet used.
func (l *Ledger) Reserved() units.Bytes { return l.reserved }

// Resize changes the size of the shared segment, in whole cells; it cannot fall
// below what is stored in it. What is lent to the reserve comes out of the new
// size until it is repaid.
func (l *Ledger) Resize(shared units.Bytes) {
	l.asked = shared
	if l.spec.Cell > 1 {
		shared -= shared % l.spec.Cell
	}
	l.sharedAll = shared
	l.sharedMax = max(shared-l.lent, l.segments[Shared])
}

// Grow makes the shared segment larger by what something else gave up.
func (l *Ledger) Grow(b units.Bytes) { l.Resize(l.asked + b) }
