// Package mmu counts the stored bytes of a shared-memory switch: the data plane charges and
// releases frames, and policies, flow control and deadlock handlers read the counters.
//
// A frame is stored once and counted twice. Its ingress queue (arrival port and class)
// counts it by buffer segment; its egress queue (departure port and class) counts it again.
// Only the Ledger changes these counters; all other code reads them through a View.
package mmu

import (
	"fmt"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Classes is the number of traffic classes of a port.
const Classes = 8

// Kind says how the frames of a class are treated.
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

// Segments of the buffer. Drop means that a frame is not stored.
const (
	Drop     Segment = iota
	Private          // reserved per ingress queue
	Shared           // shared by all queues
	Headroom         // takes frames in flight after a pause; DSH's insurance
	Reserve          // set aside by a deadlock handler while it resolves a deadlock
	numSegments
)

var segmentNames = [numSegments]string{"drop", "private", "shared", "headroom", "reserve"}

func (s Segment) String() string { return segmentNames[s] }

// Order is the order in which departing frames free the segments of their ingress queue.
type Order uint8

// Release orders.
const (
	HeadroomFirst Order = iota // headroom, shared, private: SONiC, Reverie 2.2.1
	SharedFirst                // shared, headroom, private: Roundabout as printed
	numOrders
)

var releaseOrder = [numOrders][4]Segment{
	HeadroomFirst: {Reserve, Headroom, Shared, Private},
	SharedFirst:   {Reserve, Shared, Headroom, Private},
}

// Ingress is the occupancy of one ingress queue by segment.
type Ingress struct {
	Private, Shared, Headroom, Reserve units.Bytes
}

// Total returns the bytes in all segments.
func (q *Ingress) Total() units.Bytes { return q.Private + q.Shared + q.Headroom + q.Reserve }

// counters is an Ingress with 32-bit counters; MaxBuffer keeps them from overflowing.
type counters [numSegments - 1]int32

func (c *counters) of(s Segment) *int32 { return &c[(s-1)&3] }

// row has the counters that nearly every frame changes, for all classes of a port. It is
// one cache line.
type row struct {
	shared [Classes]int32 // shared bytes of the ingress queues
	out    [Classes]int32 // bytes of the egress queues
}

// MaxBuffer is the largest buffer that a ledger can account for.
const MaxBuffer = 2*units.GiB - 1

// Spec is the immutable layout of a buffer.
type Spec struct {
	Ports   int
	Size    units.Bytes   // whole buffer
	Shared  units.Bytes   // shared segment
	Private units.Bytes   // private segment of each lossless or lossy ingress queue
	Cell    units.Bytes   // accounting unit; 0 or 1 counts bytes
	Kinds   [Classes]Kind // kind of each class

	PerPacket units.Bytes   // bytes charged for each frame in addition to its cells
	Minimum   []units.Bytes // by port: Private of its lossless ingress queues; nil: Private
	Pool      units.Bytes   // headroom pool shared by all ports; 0: each port has its own headroom
	Parts     int           // parts of the shared segment and of Pool, one per group of ports; 0 or 1: undivided
	ChipPorts int           // ports of the chip that the parts divide, if more than Ports
}

// Pair is the traffic stored for one ingress port, egress port and class.
type Pair struct {
	Bytes   units.Bytes
	Packets int32
}

// Ledger counts the stored bytes of one switch.
type Ledger struct {
	// Fields that nearly every frame needs stand together.
	rows      []row              // by port
	mixed     []packet.ClassMask // by port: classes with bytes outside the shared segment
	sharedMax units.Bytes        // current size of the shared segment
	unit      units.Bytes        // rounding unit for frames; 0: frames cost their bytes
	stored    units.Bytes
	segments  [numSegments]units.Bytes
	peakAll   units.Bytes
	peak      [numSegments]units.Bytes
	tops      []row // by port: highest counts of rows; nil unless KeepPeaks was called
	extra     bool  // pairs or a division exist

	spec      Spec
	sharedAll units.Bytes // size of the shared segment when nothing is lent
	sharedTop units.Bytes // largest size of the shared segment so far
	requested units.Bytes // sharedAll before rounding down to whole cells
	lossless  []uint8     // lossless classes
	unshared  []counters  // [port*Classes+class]: ingress queues, except their shared bytes
	reserved  units.Bytes // set aside, not yet used
	lent      units.Bytes // part of the reserve that came from the shared segment
	expelled  units.Bytes // total bytes of expelled frames
	pairs     []Pair      // [(in*ports+out)*Classes+class], nil unless KeepPairs was called
	rareTops  []counters  // like tops, of unshared
	orders    []Order
	div       *division // nil: one part, no egress pools
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
	l.rows, l.unshared, l.mixed = make([]row, n), make([]counters, n*Classes), make([]packet.ClassMask, n)
}

// count returns the counter of an ingress queue in a segment.
func (l *Ledger) count(at int, s Segment) *int32 {
	if s == Shared {
		return &l.rows[at/Classes].shared[at%Classes]
	}
	return l.unshared[at].of(s)
}

// mix records whether an ingress queue has bytes outside the shared segment.
func (l *Ledger) mix(at int) {
	c, bit := &l.unshared[at], packet.MaskOf(uint8(at%Classes))
	l.mixed[at/Classes] &^= bit
	if c[Private-1]|c[Headroom-1]|c[Reserve-1] != 0 {
		l.mixed[at/Classes] |= bit
	}
}

// KeepPairs makes an empty ledger count bytes and packets per ingress port, egress port and
// class.
func (l *Ledger) KeepPairs() {
	if l.stored != 0 {
		panic("mmu: KeepPairs: the ledger is not empty")
	}
	if l.pairs == nil {
		l.pairs = make([]Pair, l.spec.Ports*len(l.unshared))
		l.extra = true
	}
}

// KeepPeaks makes an empty ledger record the highest count of every queue.
func (l *Ledger) KeepPeaks() {
	if l.stored != 0 {
		panic("mmu: KeepPeaks: the ledger is not empty")
	}
	l.tops, l.rareTops = make([]row, len(l.rows)), make([]counters, len(l.unshared))
}

// notePeaks updates the highest counts of the queues of a frame stored in the shared segment.
func (l *Ledger) notePeaks(in, out int, class uint8) {
	top, now := &l.tops[in].shared[class&7], l.rows[in].shared[class&7]
	*top = max(*top, now)
	top, now = &l.tops[out].out[class&7], l.rows[out].out[class&7]
	*top = max(*top, now)
}

// charged updates the optional counters for a stored frame.
func (l *Ledger) charged(a *Arrival, s Segment) {
	if l.pairs != nil {
		l.pair(a, a.Out, 1)
	}
	if l.div != nil {
		l.div.follow(l, a.In)
		l.div.moved(l, a.Out, a.Class, a.Bytes)
	}
	if l.tops != nil {
		l.notePeaks(a.In, a.Out, a.Class)
		if at := a.In*Classes + int(a.Class); s != Shared {
			top := l.rareTops[at].of(s)
			*top = max(*top, *l.count(at, s))
		}
	}
}

// released updates the optional counters for a departing frame.
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

// Cells returns the buffer bytes that a frame costs: whole cells plus the overhead per
// packet.
func (l *Ledger) Cells(b units.Bytes) units.Bytes {
	if l.unit == 0 {
		return b
	}
	return (b+l.unit-1)/l.unit*l.unit + l.spec.PerPacket
}

// Arrival describes a frame to be stored. Bytes is its cost in whole cells.
type Arrival struct {
	In, Out     int
	Bytes       units.Bytes
	Slot        uint32 // index of the packet in the switch's memory; 0 while it passes straight through
	Class       uint8
	Kind        Kind
	Unscheduled bool
}

// Share is the fraction Num / 2^Shift, at most 1. Thresholds that are a fraction of the free
// buffer then cost one multiplication and one shift.
type Share struct {
	Num   int64
	Shift uint8
}

// Of returns the fraction of b.
func (s Share) Of(b units.Bytes) units.Bytes { return units.Bytes(int64(b) * s.Num >> (s.Shift & 63)) }

// Room returns the shared bytes of an ingress queue, the shared bytes of all queues, and the
// free shared bytes, which are negative after the segment shrank below its occupancy.
func (l *Ledger) Room(port int, class uint8) (queue, used, free units.Bytes) {
	used = l.segments[Shared]
	return units.Bytes(l.rows[port].shared[class&7]), used, l.sharedMax - used
}

// PortShared returns the shared bytes of all ingress queues of a port.
func (l *Ledger) PortShared(port int) units.Bytes { return l.rows[port].sum() }

// sum adds up the shared bytes of the ingress queues. It runs for every frame, so it is
// unrolled.
func (r *row) sum() units.Bytes {
	q := &r.shared
	return units.Bytes(q[0] + q[1] + q[2] + q[3] + q[4] + q[5] + q[6] + q[7])
}

// Charge stores a frame in a segment.
func (l *Ledger) Charge(a *Arrival, s Segment) {
	if s == Shared { // nearly always
		l.rows[a.In].shared[a.Class&7] += int32(a.Bytes)
	} else {
		*l.unshared[a.In*Classes+int(a.Class)].of(s) += int32(a.Bytes)
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
	if l.extra || l.tops != nil {
		l.charged(a, s)
	}
}

// Plain reports whether frames cost their bytes and there are no optional counters except
// peaks. Then ChargeShared and ReleaseShared may be used.
func (l *Ledger) Plain() bool { return l.unit == 0 && !l.extra }

// ChargeShared is Charge for the shared segment of a plain ledger.
func (l *Ledger) ChargeShared(in, out int, class uint8, b int32) {
	l.rows[in].shared[class&7] += b
	l.rows[out].out[class&7] += b
	used := l.segments[Shared] + units.Bytes(b)
	l.segments[Shared] = used
	l.peak[Shared] = max(l.peak[Shared], used)
	l.stored += units.Bytes(b)
	l.peakAll = max(l.peakAll, l.stored)
	if l.tops != nil {
		l.notePeaks(in, out, class)
	}
}

// ReleaseShared is Release for a frame of a plain ledger whose queue has bytes only in the
// shared segment; otherwise it returns false and does nothing.
func (l *Ledger) ReleaseShared(in, out int, class uint8, b int32) bool {
	c := &l.rows[in].shared[class&7]
	left := *c - b
	if l.mixed[in]>>(class&7)&1 != 0 || left < 0 {
		return false
	}
	*c = left
	l.rows[out].out[class&7] -= b
	l.segments[Shared] -= units.Bytes(b)
	l.stored -= units.Bytes(b)
	return true
}

// pair adds a frame to its pair (sign +1) or removes it (-1).
func (l *Ledger) pair(a *Arrival, out int, sign int32) {
	p := &l.pairs[(a.In*l.spec.Ports+out)*Classes+int(a.Class)]
	p.Bytes += units.Bytes(sign) * a.Bytes
	p.Packets += sign
}

// Release removes a departing frame. The segments of the ingress queue are freed in the
// queue's release order, so a frame need not remember its segment.
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

// Expel removes a stored lossy frame that will not be sent (push-out). It frees the same
// bytes as a departure. It panics for lossless and control frames.
func (l *Ledger) Expel(a *Arrival) {
	if l.spec.Kinds[a.Class&7] != Lossy {
		panic(fmt.Sprintf("mmu: Expel: class %d is not lossy", a.Class))
	}
	l.Release(a)
	l.expelled += a.Bytes
}

// releaseMixed releases bytes of a queue that has bytes outside the shared segment.
func (l *Ledger) releaseMixed(at int, left int32) {
	c, shared := &l.unshared[at], l.count(at, Shared)
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
		panic(fmt.Sprintf("mmu: queue %d releases %d B more than it stores", at, left))
	}
}

// Move recounts a queued frame that changes to another egress port.
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
		top := &l.tops[to].out[a.Class&7]
		*top = max(*top, l.rows[to].out[a.Class&7])
	}
}

// SetOrder changes the release order of one ingress queue.
func (l *Ledger) SetOrder(port int, class uint8, o Order) {
	if l.orders == nil {
		l.orders = make([]Order, len(l.unshared))
	}
	l.orders[port*Classes+int(class)] = o
}

// SetAside reserves bytes for frames that will be charged to Reserve, and reports whether
// there was room. Bytes from the shared segment shrink it until they are given back. Bytes
// from the headroom were just freed by a paused queue; only the buffer size limits them.
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

// repay returns reserved bytes to the shared segment they were taken from.
func (l *Ledger) repay(b units.Bytes) {
	l.lent -= min(b, l.lent)
	l.sharedMax = max(l.sharedMax, l.sharedAll-l.lent)
}

// Settle moves the bytes that an ingress queue has in the reserve to the segments they would
// be in without a reserve. Bytes lent by the shared segment go there, the rest to headroom.
// A queue whose total is below its threshold xoff then moves all its headroom to the shared
// segment. A queue with more headroom than its own part moves the excess there, as long as
// keep bytes stay free. Otherwise queues could wait for each other to drain bytes that fit.
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

// Resize sets the size of the shared segment, rounded down to whole cells. It cannot fall
// below the bytes stored in it. Bytes lent to the reserve reduce the new size until they are
// repaid.
func (l *Ledger) Resize(shared units.Bytes) {
	l.requested = shared
	if l.spec.Cell > 1 {
		shared -= shared % l.spec.Cell
	}
	l.sharedAll = shared
	l.sharedMax = max(shared-l.lent, l.segments[Shared])
	l.sharedTop = max(l.sharedTop, l.sharedAll, l.sharedMax)
}

// Grow adds to the shared segment bytes that another segment no longer needs.
func (l *Ledger) Grow(b units.Bytes) { l.Resize(l.requested + b) }
