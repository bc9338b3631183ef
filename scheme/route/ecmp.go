package route

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// ecmp spreads flows over equal-cost paths by a hash that is different at each switch, so
// that choices at successive hops are independent.
type ecmp struct {
	Table // a copy, which saves a load per frame
	seed  uint32
}

func newECMP(_ any, env Env) (Router, error) {
	return &ecmp{*env.Table, uint32(env.Seed ^ env.Seed>>32)}, nil
}

// Replace implements Router.
func (r *ecmp) Replace(t *Table) { r.Table = *t }

// Route implements Router.
func (r *ecmp) Route(_ units.Time, _ int, p *packet.Packet) int {
	if p.Flags&packet.Pinned != 0 {
		if port, ok := r.Pin(p); ok {
			return port
		}
	}
	dst := p.Dst()
	if int(dst) >= len(r.Homes) {
		return -1
	}
	home := r.Homes[dst]
	h := &r.To[home>>homeShift]
	if h.Len == 0 {
		return -1
	}
	// The upper half of a 32 x 32 bit product maps the hash to the ports without a division.
	// A single port and the ports of an edge to its hosts are handled the same way: a branch
	// would be mispredicted and cost more than the product.
	return int(r.Ports[h.At+uint32(home)&uint32(h.Slots)+uint32(uint64(Mix(p.Hash^r.seed))*uint64(h.Len)>>32)])
}

// Mix scrambles a 32-bit value (the finalizer of MurmurHash3).
func Mix(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
