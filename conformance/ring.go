package conformance

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
)

// Ports of a switch of a Ring.
const (
	RingHost = 0 // to its host
	RingNext = 1 // clockwise
	RingPrev = 2 // counter-clockwise
)

// Ring returns a network of n switches with one host each. Data goes clockwise
// only, so the buffers of the ring depend on each other in a circle; replies go
// the short way back. Every host sends to the one that many hops further, at line
// rate, all at the same time: under PFC without expiry the ring deadlocks.
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
	net.PFC.Indefinite, net.Timeout = true, units.Second // nothing is ever lost: what is late is stuck
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
		net.Flows = append(net.Flows, dataplane.Flow{Size: size, Src: uint16(i), Dst: uint16((i + hops) % n), Class: 1, Pinned: true})
		// Replies are pinned to the way back: flow i's go counter-clockwise.
		for at := (i + hops) % n; at != i; at = (at + n - 1) % n {
			net.Tables[n+at].Pinned[uint32(i)<<1|1] = RingPrev
		}
	}
	return net
}
