package mmu

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// This file adds features of some chips: a buffer divided into parts of which a port sees
// one, one headroom pool for all ports, and pools on the egress side.

// MaxDivided is the largest buffer that can be accounted for if the policy keeps every
// ingress port and every queue below MaxBuffer.
const MaxDivided = 64 * units.GiB

// division counts the parts and pools of a divided buffer. Every change of the ledger is
// for one ingress port, so the part of that port gets the difference.
type division struct {
	of     []uint8                    // by port: its part
	n      units.Bytes                // number of parts
	used   [][numSegments]units.Bytes // by part
	seen   [numSegments]units.Bytes   // counters of the ledger when the parts were last updated
	egress [Lossy + 1]units.Bytes     // bytes of egress queues above their minimum, by kind of class
	least  units.Bytes                // minimum of an egress queue
	pools  bool                       // egress is counted
}

// partOf returns the part of a port: parts are ranges of ports of about equal length.
func partOf(port, ports, parts int) int { return port * parts / ports }

// newDivision returns nil for a buffer in one part.
func newDivision(spec *Spec) *division {
	if spec.Parts <= 1 {
		return nil
	}
	d := &division{of: make([]uint8, spec.Ports), n: units.Bytes(spec.Parts), used: make([][numSegments]units.Bytes, spec.Parts)}
	for i := range d.of {
		d.of[i] = uint8(partOf(i, max(spec.Ports, spec.ChipPorts), spec.Parts))
	}
	return d
}

// KeepEgress makes an empty ledger count the bytes of egress queues above a minimum, by
// kind of class.
func (l *Ledger) KeepEgress(minimum units.Bytes) {
	if l.stored != 0 {
		panic("mmu: KeepEgress: the ledger is not empty")
	}
	if l.div == nil {
		l.div = &division{n: 1}
	}
	l.div.least, l.div.pools, l.extra = minimum, true, true
}

// follow updates the part of an ingress port.
func (d *division) follow(l *Ledger, port int) {
	if d.of == nil {
		return
	}
	used := &d.used[d.of[port]]
	for s := Private; s < numSegments; s++ {
		used[s] += l.segments[s] - d.seen[s]
	}
	d.seen = l.segments
}

// moved counts bytes that joined an egress queue (b > 0) or left it (b < 0).
func (d *division) moved(l *Ledger, port int, class uint8, b units.Bytes) {
	if d.pools {
		now := units.Bytes(l.rows[port].out[class&7])
		d.egress[l.spec.Kinds[class&7]] += max(0, now-d.least) - max(0, now-b-d.least)
	}
}

// clear resets all counters.
func (d *division) clear() {
	clear(d.used)
	d.seen, d.egress = [numSegments]units.Bytes{}, [Lossy + 1]units.Bytes{}
}

// part returns the size of one part of whole, in whole cells.
func (l *Ledger) part(whole units.Bytes) units.Bytes {
	b := whole / l.div.n
	if l.spec.Cell > 1 {
		b -= b % l.spec.Cell
	}
	return b
}

// Parts returns the number of parts of the buffer.
func (v View) Parts() int { return max(1, v.l.spec.Parts) }

// PartSize returns the size of the shared segment that a port sees.
func (v View) PartSize(port int) units.Bytes {
	if v.l.div == nil || v.l.div.of == nil {
		return v.l.sharedMax
	}
	return v.l.part(v.l.sharedMax)
}

// PartFree returns the free bytes of the shared segment that a port sees, at least zero.
func (v View) PartFree(port int) units.Bytes {
	if v.l.div == nil {
		return v.SharedFree()
	}
	return v.l.partFree(port)
}

//go:noinline
func (l *Ledger) partFree(port int) units.Bytes {
	if d := l.div; d.of != nil {
		return max(0, l.part(l.sharedMax)-d.used[d.of[port]][Shared])
	}
	return max(0, l.sharedMax-l.segments[Shared])
}

// PoolSize returns the size of the headroom pool that a port sees.
func (v View) PoolSize(port int) units.Bytes {
	if d := v.l.div; d == nil || d.of == nil {
		return v.l.spec.Pool
	}
	return v.l.part(v.l.spec.Pool)
}

// PoolFree returns the free bytes of the headroom pool that a port sees, at least zero.
func (v View) PoolFree(port int) units.Bytes {
	d := v.l.div
	if d == nil || d.of == nil {
		return max(0, v.l.spec.Pool-v.l.segments[Headroom])
	}
	return max(0, v.l.part(v.l.spec.Pool)-d.used[d.of[port]][Headroom])
}

// EgressPool returns the bytes of egress queues of a kind of class above their minimum. It
// is zero unless KeepEgress was called.
func (v View) EgressPool(k Kind) units.Bytes {
	if v.l.div == nil {
		return 0
	}
	return v.l.div.egress[k]
}

// PortShared returns the shared bytes of a port over all classes.
func (v View) PortShared(port int) units.Bytes { return v.l.rows[port].sum() }

// PrivateOf returns the size of the private segment of an ingress queue.
func (v View) PrivateOf(port int, class uint8) units.Bytes {
	return v.l.privateOf(port*Classes + int(class&7))
}

func (l *Ledger) privateOf(at int) units.Bytes {
	if l.spec.Minimum != nil && l.spec.Kinds[at%Classes] == Lossless {
		return l.spec.Minimum[at/Classes]
	}
	return l.spec.Private
}

// checkDivision recounts parts and pools.
func (l *Ledger) checkDivision() error {
	if stored := l.segments[Headroom]; l.spec.Pool > 0 && stored > l.spec.Pool {
		return fmt.Errorf("headroom pool of %d B stores %d B", l.spec.Pool, stored)
	}
	d := l.div
	if d == nil {
		return nil
	}
	used := make([][numSegments]units.Bytes, len(d.used))
	var egress [Lossy + 1]units.Bytes
	for i := range l.unshared {
		if d.of != nil {
			for s := Private; s < numSegments; s++ {
				used[d.of[i/Classes]][s] += units.Bytes(*l.count(i, s))
			}
		}
		if d.pools {
			egress[l.spec.Kinds[i%Classes]] += max(0, units.Bytes(l.rows[i/Classes].out[i%Classes])-d.least)
		}
	}
	if egress != d.egress {
		return fmt.Errorf("egress pools count %v, their queues store %v", d.egress, egress)
	}
	for i := range used {
		switch {
		case used[i] != d.used[i]:
			return fmt.Errorf("part %d counts %v, its queues store %v", i, d.used[i], used[i])
		case l.lent == 0 && l.sharedMax == l.sharedAll && used[i][Shared] > l.part(l.sharedMax):
			return fmt.Errorf("part %d of %d B stores %d B", i, l.part(l.sharedMax), used[i][Shared])
		case l.spec.Pool > 0 && used[i][Headroom] > l.part(l.spec.Pool):
			return fmt.Errorf("part %d of the headroom pool, %d B, stores %d B", i, l.part(l.spec.Pool), used[i][Headroom])
		}
	}
	return nil
}
