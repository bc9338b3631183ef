package mmu

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// View gives policies, flow control and deadlock handlers read access to a ledger.
type View struct{ l *Ledger }

// View returns read access.
func (l *Ledger) View() View { return View{l} }

// Ports returns the number of ports.
func (v View) Ports() int { return v.l.spec.Ports }

// Size returns the size of the whole buffer.
func (v View) Size() units.Bytes { return v.l.spec.Size }

// Stored returns the number of bytes in the buffer.
func (v View) Stored() units.Bytes { return v.l.stored }

// Expelled returns the total bytes of expelled frames.
func (v View) Expelled() units.Bytes { return v.l.expelled }

// Used returns the bytes stored in a segment.
func (v View) Used(s Segment) units.Bytes { return v.l.segments[s] }

// SharedOf returns the bytes of one kind of class in the shared segment. It sums over all
// queues: a policy that needs it for every frame should keep its own sum as an observer.
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

// SharedSize returns the current size of the shared segment.
func (v View) SharedSize() units.Bytes { return v.l.sharedMax }

// SharedTop returns the largest size that the shared segment has had.
func (v View) SharedTop() units.Bytes { return v.l.sharedTop }

// SharedFree returns the free bytes of the shared segment, at least zero.
func (v View) SharedFree() units.Bytes { return max(0, v.l.sharedMax-v.l.segments[Shared]) }

// PrivateSize returns the size of the private segment of each queue.
func (v View) PrivateSize() units.Bytes { return v.l.spec.Private }

// Cells returns the buffer bytes that a frame of b bytes costs.
func (v View) Cells(b units.Bytes) units.Bytes { return v.l.Cells(b) }

// Kind returns how a class is treated.
func (v View) Kind(class uint8) Kind { return v.l.spec.Kinds[class&7] }

// Ingress returns the occupancy of an ingress queue.
func (v View) Ingress(port int, class uint8) Ingress {
	q := Ingress{Shared: units.Bytes(v.l.rows[port].shared[class&7])}
	if v.l.mixed[port].Has(class) {
		c := &v.l.unshared[port*Classes+int(class)]
		q.Private, q.Headroom, q.Reserve = units.Bytes(c[Private-1]), units.Bytes(c[Headroom-1]), units.Bytes(c[Reserve-1])
	}
	return q
}

// In returns the bytes of an ingress queue in one segment.
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

// PortIn returns the bytes of the lossless ingress queues of a port in one segment. It adds
// up a few adjacent counters, which is cheaper than updating a sum for every frame.
func (v View) PortIn(port int, s Segment) units.Bytes {
	sum := int32(0)
	if s == Shared {
		shared := &v.l.rows[port].shared
		for _, c := range v.l.lossless {
			sum += shared[c&7]
		}
	} else if v.l.mixed[port] != 0 {
		apart := v.l.unshared[port*Classes : port*Classes+Classes]
		for _, c := range v.l.lossless {
			sum += *apart[c&7].of(s)
		}
	}
	return units.Bytes(sum)
}

// Egress returns the bytes stored for an egress queue.
func (v View) Egress(port int, class uint8) units.Bytes {
	return units.Bytes(v.l.rows[port].out[class&7])
}

// EgressPort returns the bytes stored for an egress port.
func (v View) EgressPort(port int) units.Bytes {
	q := &v.l.rows[port].out
	// Unrolled: telemetry calls this for every frame.
	return units.Bytes(q[0]) + units.Bytes(q[1]) + units.Bytes(q[2]) + units.Bytes(q[3]) +
		units.Bytes(q[4]) + units.Bytes(q[5]) + units.Bytes(q[6]) + units.Bytes(q[7])
}

// Pair returns the traffic stored for an ingress port, egress port and class. It is zero
// unless KeepPairs was called.
func (v View) Pair(in, out int, class uint8) Pair {
	if v.l.pairs == nil {
		return Pair{}
	}
	return v.l.pairs[(in*v.l.spec.Ports+out)*Classes+int(class)]
}

// HasPairs reports whether the ledger keeps pairs.
func (v View) HasPairs() bool { return v.l.pairs != nil }

// Peak returns the highest occupancy of a segment so far.
func (v View) Peak(s Segment) units.Bytes { return v.l.peak[s] }

// PeakStored returns the highest number of stored bytes so far.
func (v View) PeakStored() units.Bytes { return v.l.peakAll }

// Reserved returns the bytes set aside and not yet used.
func (v View) Reserved() units.Bytes { return v.l.reserved }

// QueuePeaks are the highest counts of a queue so far: ingress by segment, and egress.
type QueuePeaks struct {
	Ingress
	Egress units.Bytes
}

// QueuePeaks returns the highest counts of a queue, or false unless KeepPeaks was called.
func (v View) QueuePeaks(port int, class uint8) (QueuePeaks, bool) {
	if v.l.tops == nil {
		return QueuePeaks{}, false
	}
	t, rare := &v.l.tops[port], &v.l.rareTops[port*Classes+int(class)]
	return QueuePeaks{
		Ingress{units.Bytes(rare[Private-1]), units.Bytes(t.shared[class&7]), units.Bytes(rare[Headroom-1]), units.Bytes(rare[Reserve-1])},
		units.Bytes(t.out[class&7]),
	}, true
}

// PortView reads the ingress counters of one port, for callers that need them at every
// frame.
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

// Queue returns the shared bytes of an ingress queue, and whether the whole buffer stores
// nothing outside the shared segment.
func (p PortView) Queue(class uint8) (shared units.Bytes, only bool) {
	return units.Bytes(p.row.shared[class&7]), p.l.stored == p.l.segments[Shared]
}

// Shared returns the shared bytes of all ingress queues of the port. It includes all kinds
// of classes, so it is at least View.PortIn, and it is cheaper.
func (p PortView) Shared() units.Bytes { return p.row.sum() }

// Use returns the used and the free bytes of the shared segment. Free is negative
// after the segment shrank below its occupancy.
func (p PortView) Use() (used, free units.Bytes) {
	used = p.l.segments[Shared]
	return used, p.l.sharedMax - used
}
