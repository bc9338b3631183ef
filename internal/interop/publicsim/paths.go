package publicsim

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// paths has the shortest paths of a fabric, found like in the public simulator: by a
// breadth-first search from each host. Next hops are in the order of the search, in which
// ECMP numbers them. The public simulator visits neighbours in the order of their memory
// addresses; here they are in descending order of their numbers, which gives the same
// order in all known references. A file routes.txt next to the configuration overrides it.
type paths struct {
	fabric     *Fabric
	neighbours [][]neighbour
	// parallel: some nodes are connected by several links.
	parallel bool
	next     Routes
	trips    map[[2]int]trip
}

// neighbour is the peer at the other end of a link. Of several links between two nodes,
// the public simulator uses the last.
type neighbour struct {
	node, link int
	port       int // local port, from 0
}

// trip has what the public simulator computes for a pair of hosts.
type trip struct {
	rtt  units.Time // with one payload, without queueing
	rate units.Rate // rate of the slowest link
}

// paths returns the paths of the fabric. They are computed once; concurrent runs share them.
func (in *Input) paths() *paths {
	in.once.Do(func() { in.known = in.findPaths() })
	return in.known
}

func (in *Input) findPaths() *paths {
	f := in.Fabric
	p := &paths{fabric: f, neighbours: make([][]neighbour, f.Nodes), next: Routes{}, trips: map[[2]int]trip{}}
	ports := make([]int, f.Nodes)
	add := func(at, to, link int) {
		p.neighbours[at] = append(p.neighbours[at], neighbour{to, link, ports[at]})
		ports[at]++
	}
	for i, l := range f.Links {
		add(l.A, l.B, i)
		add(l.B, l.A, i)
	}
	for n := range p.neighbours {
		slices.SortFunc(p.neighbours[n], func(a, b neighbour) int {
			if a.node != b.node {
				return b.node - a.node
			}
			return b.link - a.link
		})
		p.neighbours[n] = slices.CompactFunc(p.neighbours[n], func(a, b neighbour) bool { return a.node == b.node })
		p.parallel = p.parallel || len(p.neighbours[n]) < ports[n]
	}
	for host, sw := range f.Switch {
		if !sw {
			p.search(host, in.Settings.Payload)
		}
	}
	for at, hops := range in.Routes {
		p.next[at] = hops
	}
	return p
}

// linkTo returns the link from at to a neighbouring node, or nil.
func (p *paths) linkTo(at, node int) *neighbour {
	i, ok := slices.BinarySearchFunc(p.neighbours[at], node, func(n neighbour, node int) int { return node - n.node })
	if !ok {
		return nil
	}
	return &p.neighbours[at][i]
}

// search finds the next hops from all nodes to a host, and the round trips.
func (p *paths) search(host int, payload units.Bytes) {
	dist := make([]int, p.fabric.Nodes)
	for i := range dist {
		dist[i] = -1
	}
	dist[host] = 0
	delay := make([]units.Time, p.fabric.Nodes) // one way
	send := make([]units.Time, p.fabric.Nodes)  // sum over links of the payload's transmission time in whole nanoseconds
	slowest := make([]units.Rate, p.fabric.Nodes)
	queue := []int{host}
	for i := 0; i < len(queue); i++ {
		now := queue[i]
		if now != host && !p.fabric.Switch[now] {
			p.trips[[2]int{now, host}] = trip{2*delay[now] + send[now], slowest[now]}
			continue // hosts do not forward
		}
		for _, k := range p.neighbours[now] {
			n := k.node
			if dist[n] < 0 {
				dist[n] = dist[now] + 1
				l := &p.fabric.Links[k.link]
				delay[n] = delay[now] + l.Delay
				send[n] = send[now] + truncate(l.Rate.TxTime(payload))
				if slowest[n] = l.Rate; now != host {
					slowest[n] = min(slowest[now], l.Rate)
				}
				queue = append(queue, n)
			}
			if dist[n] == dist[now]+1 {
				at := [2]int{n, host}
				p.next[at] = append(p.next[at], now)
			}
		}
	}
}

// truncate rounds a time down to whole nanoseconds.
func truncate(t units.Time) units.Time { return t - t%units.Nanosecond }

// maxRTT returns the base round trip that the public simulator uses for all flows.
func (in *Input) maxRTT() units.Time {
	longest := units.Time(0)
	for _, t := range in.paths().trips {
		longest = max(longest, t.rtt)
	}
	return longest
}

// route returns the route that the public simulator's ECMP chooses between two hosts: the
// switches and their output ports. It returns nil if there is no route.
func (p *paths) route(src, dst, srcPort, dstPort int) []hop {
	first := p.next[[2]int{src, dst}]
	if len(first) == 0 {
		return nil
	}
	var list []hop
	for at := first[0]; at != dst; {
		next := p.hop(at, src, dst, srcPort, dstPort)
		if next < 0 || len(list) > p.fabric.Nodes {
			return nil // no route, or a loop in routes.txt
		}
		list = append(list, hop{at, p.linkTo(at, next).port})
		at = next
	}
	return list
}

// hop is a switch of a route and its output port, from 0.
type hop struct{ node, port int }

// hop returns the next hop of a frame, chosen by MurmurHash3 of addresses and ports with
// the number of the switch as seed; -1 if there is none.
func (p *paths) hop(at, src, dst, srcPort, dstPort int) int {
	list := p.next[[2]int{at, dst}]
	if len(list) == 0 {
		return -1
	}
	var key [12]byte
	binary.LittleEndian.PutUint32(key[0:], address(src))
	binary.LittleEndian.PutUint32(key[4:], address(dst))
	binary.LittleEndian.PutUint32(key[8:], uint32(srcPort)|uint32(dstPort)<<16)
	return list[murmur3(key[:], uint32(at))%uint32(len(list))]
}

// murmur3 is the 32-bit MurmurHash3 of a whole number of 4-byte words.
func murmur3(data []byte, seed uint32) uint32 {
	h := seed
	for i := 0; i+4 <= len(data); i += 4 {
		k := binary.LittleEndian.Uint32(data[i:]) * 0xcc9e2d51
		h = bits.RotateLeft32(h^bits.RotateLeft32(k, 15)*0x1b873593, 13)*5 + 0xe6546b64
	}
	h ^= uint32(len(data))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
