package mmu

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// Check recomputes all sums from the queues and returns the first inconsistency: a negative
// counter, sums that differ, or more bytes stored than the buffer holds.
func (l *Ledger) Check() error {
	var segments [numSegments]units.Bytes
	var ingress units.Bytes
	for i := range l.unshared {
		c := &l.unshared[i]
		q := Ingress{units.Bytes(c[Private-1]), units.Bytes(*l.count(i, Shared)), units.Bytes(c[Headroom-1]), units.Bytes(c[Reserve-1])}
		if mixed := l.mixed[i/Classes].Has(uint8(i % Classes)); mixed != (q.Total() != q.Shared) {
			return fmt.Errorf("ingress port %d class %d: mixed is %t, but it stores %+v", i/Classes, i%Classes, mixed, q)
		}
		if q.Private < 0 || q.Shared < 0 || q.Headroom < 0 || q.Reserve < 0 {
			return fmt.Errorf("ingress port %d class %d: negative counter: %+v", i/Classes, i%Classes, q)
		}
		if most := l.privateOf(i); q.Private > most {
			return fmt.Errorf("ingress port %d class %d stores %d B in a private segment of %d B", i/Classes, i%Classes, q.Private, most)
		}
		segments[Private] += q.Private
		segments[Shared] += q.Shared
		segments[Headroom] += q.Headroom
		segments[Reserve] += q.Reserve
		ingress += q.Total()
	}
	for s := Private; s < numSegments; s++ {
		if segments[s] != l.segments[s] {
			return fmt.Errorf("%s segment counts %d B, its queues store %d B", s, l.segments[s], segments[s])
		}
	}
	var egress units.Bytes
	for port := range l.rows {
		for class, b := range l.rows[port].out {
			if b < 0 {
				return fmt.Errorf("egress port %d class %d: negative counter: %d B", port, class, b)
			}
			egress += units.Bytes(b)
		}
	}
	switch {
	case ingress != egress:
		return fmt.Errorf("ingress queues store %d B, egress queues %d B", ingress, egress)
	case ingress != l.stored:
		return fmt.Errorf("buffer counts %d B, its ingress queues store %d B", l.stored, ingress)
	case l.stored+l.reserved > l.spec.Size:
		return fmt.Errorf("%d B stored and %d B set aside in a buffer of %d B", l.stored, l.reserved, l.spec.Size)
	case l.segments[Shared] > l.sharedMax:
		return fmt.Errorf("shared segment of %d B stores %d B", l.sharedMax, l.segments[Shared])
	}
	if err := l.checkDivision(); err != nil {
		return err
	}
	return l.checkPairs()
}

// checkPairs checks the counters by ingress and egress queue.
func (l *Ledger) checkPairs() error {
	if l.pairs == nil {
		return nil
	}
	sum := make([]units.Bytes, len(l.unshared))
	for i, p := range l.pairs {
		if p.Bytes < 0 || p.Packets < 0 || (p.Packets == 0) != (p.Bytes == 0) {
			return fmt.Errorf("pair %d stores %d B in %d packets", i, p.Bytes, p.Packets)
		}
		sum[i%len(l.unshared)] += p.Bytes
	}
	for i := range sum {
		if out := l.rows[i/Classes].out[i%Classes]; sum[i] != units.Bytes(out) {
			return fmt.Errorf("egress port %d class %d counts %d B, its pairs %d B", i/Classes, i%Classes, out, sum[i])
		}
	}
	return nil
}
