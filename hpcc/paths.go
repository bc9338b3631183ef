package hpcc

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/xoff-net/xoff/units"
)

// paths knows the shortest paths of a fabric as the public simulator finds them:
// by a breadth-first search from each host. Next hops are in the order in which
// the search meets them, which is what its ECMP counts. There neighbours are in
// the order of their addresses in memory; here in falling order of their numbers,
// which is what that comes to in every reference at hand. A file routes.txt beside
// the configuration states the order that was used.
type paths struct {
	fabric *Fabric
	near   [][]int32 // neighbours of each node, by number
	next   Routes
	rtt    map[[2]int]units.Time
}

func (in *Input) paths() *paths {
	f := in.Fabric
	p := &paths{fabric: f, near: make([][]int32, f.Nodes), next: Routes{}, rtt: map[[2]int]units.Time{}}
	for _, l := range f.Links {
		p.near[l.A] = append(p.near[l.A], int32(l.B))
		p.near[l.B] = append(p.near[l.B], int32(l.A))
	}
	for n := range p.near {
		slices.Sort(p.near[n])
		p.near[n] = slices.Compact(p.near[n])
		slices.Reverse(p.near[n])
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

// link returns a link between two nodes, the last one as a map would.
func (p *paths) link(a, b int) *Link {
	var found *Link
	for i := range p.fabric.Links {
		if l := &p.fabric.Links[i]; l.A == a && l.B == b || l.A == b && l.B == a {
			found = l
		}
	}
	return found
}

// search finds the next hops of all nodes towards a host, and the round trips.
func (p *paths) search(host int, payload units.Bytes) {
	dist := make([]int, p.fabric.Nodes)
	for i := range dist {
		dist[i] = -1
	}
	dist[host] = 0
	delay := make([]units.Time, p.fabric.Nodes) // one way
	send := make([]units.Time, p.fabric.Nodes)  // of a payload on every link
	queue := []int{host}
	for i := 0; i < len(queue); i++ {
		now := queue[i]
		if now != host && !p.fabric.Switch[now] {
			p.rtt[[2]int{now, host}] = 2*delay[now] + send[now]
			continue // hosts do not forward
		}
		for _, k := range p.near[now] {
			n := int(k)
			if dist[n] < 0 {
				dist[n] = dist[now] + 1
				l := p.link(now, n)
				delay[n] = delay[now] + l.Delay
				send[n] = send[now] + l.Rate.TxTime(payload)
				queue = append(queue, n)
			}
			if dist[n] == dist[now]+1 {
				at := [2]int{n, host}
				p.next[at] = append(p.next[at], now)
			}
		}
	}
}

// maxRTT is the base round trip that the public simulator gives to all flows.
func (in *Input) maxRTT() units.Time {
	longest := units.Time(0)
	for _, t := range in.paths().rtt {
		longest = max(longest, t)
	}
	return longest
}

// hop chooses the next hop of a frame: MurmurHash3 of addresses and ports, with
// the number of the switch as seed.
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
