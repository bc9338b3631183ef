package conformance

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
)

// Ports of the switches of a Ring.
const (
	RingHost = 0 // to its host
	RingNext = 1 // clockwise
	RingPrev = 2 // counter-clockwise
)

// Ring returns a network of n switches in a ring, with one host each. Data travels clockwise, so
// the buffers of the ring form a circular dependency; replies take the same links back. Every
// host sends size bytes to the host that is hops switches further, all at line rate and at the
// same time. With PFC without expiry the ring deadlocks.
func Ring(n, hops int, size units.Bytes) *Network {
	g := &topo.Graph{Hosts: n}
	link := func(a, pa, b, pb int) {
		g.Links = append(g.Links, topo.Link{A: a, PortA: pa, B: b, PortB: pb, Rate: 100 * units.Gbps, Delay: units.Microsecond})
	}
	for i := range n {
		g.Names = append(g.Names, fmt.Sprintf("host%d", i))
		g.Rack = append(g.Rack, i)
	}
	for i := range n {
		g.Names = append(g.Names, fmt.Sprintf("ring%d", i))
		link(i, 0, n+i, RingHost)
		link(n+i, RingNext, n+(i+1)%n, RingPrev)
	}
	net := NewNetwork(g)
	net.PFC.Indefinite, net.Timeout = true, units.Second // no frame is lost, so a late flow is stuck
	net.Tables = make([]*route.Table, 2*n)
	for i := range n {
		t := route.NewTable(n)
		t.Pinned = make(map[uint32]uint16)
		next := t.Add(RingNext)
		for dst := range n {
			t.To[dst] = next
		}
		t.To[i] = t.Add(RingHost)
		net.Tables[n+i] = t
	}
	for i := range n {
		net.Flows = append(net.Flows, dataplane.Flow{Size: size, Src: uint32(i), Dst: uint32((i + hops) % n), Class: 1, Pinned: true})
		// Replies are pinned to the path back: they go counter-clockwise.
		for at := (i + hops) % n; at != i; at = (at + n - 1) % n {
			net.Tables[n+at].Pinned[uint32(i)<<1|1] = RingPrev
		}
	}
	return net
}
