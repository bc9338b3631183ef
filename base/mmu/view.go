package mmu

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// View reads a ledger. Policies, flow control and deadlock handlers get one;
// none of them can change a counter.
type View struct{ l *Ledger }

// View returns read access.
func (l *Ledger) View() View { return View{l} }

// Ports returns the number of ports.
func (v View) Ports() int { return v.l.spec.Ports }

// Size returns the size of the whole buffer.
func (v View) Size() units.Bytes { return v.l.spec.Size }

// Stored returns all bytes in the buffer.
func (v View) Stored() units.Bytes { return v.l.stored }

// Expelled returns all bytes that were stored and taken back so far.
func (v View) Expelled() units.Bytes { return v.l.expelled }

// Used returns the bytes stored in a segment.
func (v View) Used(s Segment) units.Bytes { return v.l.segments[s] }

// SharedOf returns the bytes of one kind of class in the shared segment. It adds
// up all queues: a policy that needs it for every frame keeps its own sum as an
// observer.
func (v View) SharedOf(k Kind) units.Bytes {
	sum := units.Bytes(0)
	for i := range v.l.rows {
		for class, b := range v.l.rows[i].shared {
			if v.l.spec.Kinds[class] == k {
				sum += units.Bytes(b)
			}
		}
	}
	return sum
}

// SharedSize returns the size of the shared segment now.
func (v View) SharedSize() units.Bytes { return v.l.sharedMax }

// SharedFree returns what is left of the shared segment, never below zero.
func (v View) SharedFree() units.Bytes { return max(0, v.l.sharedMax-v.l.segments[Shared]) }

// PrivateSize returns the private segment of each queue.
func (v View) PrivateSize() units.Bytes { return v.l.spec.Private }

// Cells rounds up to whole cells.
func (v View) Cells(b units.Bytes) units.Bytes { return v.l.Cells(b) }

// Kind returns how a class is treated.
func (v View) Kind(class uint8) Kind { return v.l.spec.Kinds[class&7] }

// Ingress returns what an ingress queue holds.
func (v View) Ingress(port int, class uint8) Ingress {
	q := Ingress{Shared: units.Bytes(v.l.rows[port].shared[class&7])}
	if v.l.mixed[port].Has(class) {
		c := &v.l.apart[port*Classes+int(class)]
		q.Private, q.Headroom, q.Reserve = units.Bytes(c[Private-1]), units.Bytes(c[Headroom-1]), units.Bytes(c[Reserve-1])
	}
	return q
}

// In returns what an ingress queue holds in one segment.
func (v View) In(port int, class uint8, s Segment) units.Bytes {
	return units.Bytes(*v.l.count(port*Classes+int(class), s))
}

// IngressPort sums the ingress queues of a port over the classes in mask.
func (v View) IngressPort(port int, mask packet.ClassMask) Ingress {
	var sum Ingress
	for c := range mask.All() {
		q := v.Ingress(port, c)
		sum.Private += q.Private
		sum.Shared += q.Shared
		sum.Headroom += q.Headroom
		sum.Reserve += q.Reserve
	}
	return sum
}

// PortIn sums what the lossless ingress queues of a port hold in one segment. It adds
// up few counters that lie side by side: keeping the sum would cost every frame of
// every port, also where nobody asks.
func (v View) PortIn(port int, s Segment) units.Bytes {
	sum := int32(0)
	if s == Shared {
		shared := &v.l.rows[port].shared
		for _, c := range v.l.lossless {
			sum += shared[c&7]
		}
	} else if v.l.mixed[port] != 0 {
		apart := v.l.apart[port*Classes : port*Classes+Classes]
		for _, c := range v.l.lossless {
			sum += *apart[c&7].of(s)
		}
	}
	return units.Bytes(sum)
}

// Egress returns the bytes waiting for an egress queue.
func (v View) Egress(port int, class uint8) units.Bytes {
	return units.Bytes(v.l.rows[port].out[class&7])
}

// EgressPort returns the bytes waiting for an egress port.
func (v View) EgressPort(port int) units.Bytes {
	q := &v.l.rows[port].out
	// Unrolled: telemetry asks for every frame.
	return units.Bytes(q[0]) + units.Bytes(q[1]) + units.Bytes(q[2]) + units.Bytes(q[3]) +
		units.Bytes(q[4]) + units.Bytes(q[5]) + units.Bytes(q[6]) + units.Bytes(q[7])
}

// Pair returns what ingress port in holds for egress port out. It is zero unless
// the ledger was asked to keep pairs.
func (v View) Pair(in, out int, class uint8) Pair {
	if v.l.pairs == nil {
		return Pair{}
	}
	return v.l.pairs[(in*v.l.spec.Ports+out)*Classes+int(class)]
}

// HasPairs reports whether the ledger keeps pairs.
func (v View) HasPairs() bool { return v.l.pairs != nil }

// Peak returns the highest use of a segment so far.
func (v View) Peak(s Segment) units.Bytes { return v.l.peak[s] }

// PeakStored returns the highest number of bytes stored so far.
func (v View) PeakStored() units.Bytes { return v.l.peakAll }

// Reserved returns the bytes set aside and not yet used.
func (v View) Reserved() units.Bytes { return v.l.reserved }

// QueuePeaks are the highest counts of a queue so far: what came in by its port
// in its class, and what was to leave there.
type QueuePeaks struct {
	Ingress
	Egress units.Bytes
}

// QueuePeaks returns the highest counts of a queue; false when the ledger was not
// asked to keep them.
func (v View) QueuePeaks(port int, class uint8) (QueuePeaks, bool) {
	if v.l.tops == nil {
		return QueuePeaks{}, false
	}
	t := &v.l.tops[port*Classes+int(class)]
	return QueuePeaks{
		Ingress{units.Bytes(t.in[Private-1]), units.Bytes(t.in[Shared-1]), units.Bytes(t.in[Headroom-1]), units.Bytes(t.in[Reserve-1])},
		units.Bytes(t.out),
	}, true
}

// PortView reads what one port took in, for those who ask at every frame.
type PortView struct {
	l    *Ledger
	row  *row
	port int
}

// Port returns the view of one port.
func (v View) Port(i int) PortView { return PortView{v.l, &v.l.rows[i], i} }

// All returns the view of the whole ledger.
func (p PortView) All() View { return View{p.l} }

// Index returns the number of the port.
func (p PortView) Index() int { return p.port }

// Held returns what an ingress queue holds in the shared segment, and whether nothing of
// the whole buffer is anywhere else.
func (p PortView) Held(class uint8) (shared units.Bytes, only bool) {
	return units.Bytes(p.row.shared[class&7]), p.l.stored == p.l.segments[Shared]
}

// Shared returns what all ingress queues hold in the shared segment, whatever their
// kind: no less than View.PortIn, and cheaper.
func (p PortView) Shared() units.Bytes { return p.row.sum() }

// Use returns what the shared segment holds, and what is left of it: below zero after it
// shrank below what it holds.
func (p PortView) Use() (used, free units.Bytes) {
	used = p.l.segments[Shared]
	return used, p.l.sharedMax - used
}
