package mmu

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// This file is what some chips have beside the segments: a buffer in parts of which a
// port sees one, one pool of headroom for all ports, pools on the egress side.

// MaxDivided is the largest buffer that can be accounted for when its policy keeps what
// comes in by one port and what waits in one queue below MaxBuffer.
const MaxDivided = 64 * units.GiB

// division is what is counted for that. Counters of parts follow those of the ledger:
// every change is of one ingress port, so the difference belongs to its part.
type division struct {
	of     []uint8                    // by port: its part
	n      units.Bytes                // of parts
	used   [][numSegments]units.Bytes // by part
	seen   [numSegments]units.Bytes   // of the whole ledger, when parts were counted last
	egress [Lossy + 1]units.Bytes     // what egress queues of a kind hold beyond their minimum
	least  units.Bytes                // that minimum
	pools  bool                       // egress is counted
}

// partOf is the part of a port: parts are runs of ports of about the same length.
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

// KeepEgress makes an empty ledger count what egress queues hold beyond a minimum, by
// kind of class.
func (l *Ledger) KeepEgress(minimum units.Bytes) {
	if l.stored != 0 {
		panic("mmu: egress pools must be asked for while nothing is stored")
	}
	if l.div == nil {
		l.div = &division{n: 1}
	}
	l.div.least, l.div.pools, l.extra = minimum, true, true
}

// follow brings the part of an ingress port up to date.
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

// moved counts bytes that joined (or left, below zero) an egress queue.
func (d *division) moved(l *Ledger, port int, class uint8, b units.Bytes) {
	if d.pools {
		now := units.Bytes(l.rows[port].out[class&7])
		d.egress[l.spec.Kinds[class&7]] += max(0, now-d.least) - max(0, now-b-d.least)
	}
}

// clear takes everything out.
func (d *division) clear() {
	clear(d.used)
	d.seen, d.egress = [numSegments]units.Bytes{}, [Lossy + 1]units.Bytes{}
}

// part is a share of something that is divided evenly, in whole cells.
func (l *Ledger) part(whole units.Bytes) units.Bytes {
	b := whole / l.div.n
	if l.spec.Cell > 1 {
		b -= b % l.spec.Cell
	}
	return b
}

// Parts returns in how many parts the buffer is.
func (v View) Parts() int { return max(1, v.l.spec.Parts) }

// PartSize returns the shared segment that a port sees.
func (v View) PartSize(port int) units.Bytes {
	if v.l.div == nil || v.l.div.of == nil {
		return v.l.sharedMax
	}
	return v.l.part(v.l.sharedMax)
}

// PartFree returns what is left of that, never below zero.
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

// PoolFree returns what is left of the pool of headroom for a port, never below zero.
func (v View) PoolFree(port int) units.Bytes {
	d := v.l.div
	if d == nil || d.of == nil {
		return max(0, v.l.spec.Pool-v.l.segments[Headroom])
	}
	return max(0, v.l.part(v.l.spec.Pool)-d.used[d.of[port]][Headroom])
}

// EgressPool returns what egress queues of a kind of class hold beyond their minimum.
// It is zero unless the ledger was asked to count it.
func (v View) EgressPool(k Kind) units.Bytes {
	if v.l.div == nil {
		return 0
	}
	return v.l.div.egress[k]
}

// PortHeld returns what came in by a port and is in the shared segment, whatever its kind.
func (v View) PortHeld(port int) units.Bytes { return v.l.rows[port].sum() }

// PrivateOf returns the private segment of an ingress queue.
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
	if held := l.segments[Headroom]; l.spec.Pool > 0 && held > l.spec.Pool {
		return fmt.Errorf("a pool of headroom of %d B holds %d B", l.spec.Pool, held)
	}
	d := l.div
	if d == nil {
		return nil
	}
	used := make([][numSegments]units.Bytes, len(d.used))
	var egress [Lossy + 1]units.Bytes
	for i := range l.apart {
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
		return fmt.Errorf("egress pools count %v, their queues hold %v", d.egress, egress)
	}
	for i := range used {
		switch {
		case used[i] != d.used[i]:
			return fmt.Errorf("part %d counts %v, its queues hold %v", i, d.used[i], used[i])
		case l.lent == 0 && l.sharedMax == l.sharedAll && used[i][Shared] > l.part(l.sharedMax):
			return fmt.Errorf("part %d of %d B holds %d B", i, l.part(l.sharedMax), used[i][Shared])
		case l.spec.Pool > 0 && used[i][Headroom] > l.part(l.spec.Pool):
			return fmt.Errorf("part %d of a pool of headroom, %d B, holds %d B", i, l.part(l.spec.Pool), used[i][Headroom])
		}
	}
	return nil
}
