package topo

import "github.com/xoff-net/xoff/scheme/route"

// Routes computes the shortest-path table of every switch, indexed by node; hosts have none.
// A table has all ports on a shortest path to a host, including parallel links. Links for
// which down returns true are ignored.
func Routes(g *Graph, down func(link int) bool) []*route.Table {
	switches := g.Nodes() - g.Hosts
	adj := make([][]hop, switches)     // between switches
	members := make([][]hop, switches) // hosts of each switch
	tables := make([]*route.Table, g.Nodes())
	sets := make([]map[string]uint16, switches)
	for n := range switches {
		tables[g.Hosts+n] = route.NewTable(g.Hosts)
		sets[n] = make(map[string]uint16)
	}
	for i, l := range g.Links {
		if down != nil && down(i) {
			continue
		}
		b := l.B - g.Hosts
		if l.A < g.Hosts {
			members[b] = append(members[b], hop{l.A, uint16(l.PortB)})
			continue
		}
		a := l.A - g.Hosts
		adj[a] = append(adj[a], hop{b, uint16(l.PortA)})
		adj[b] = append(adj[b], hop{a, uint16(l.PortB)})
	}
	// All hosts of a switch are reached the same way: one search per switch is enough.
	search := search{dist: make([]int, switches)}
	var ports []uint16
	var name []byte
	share := func(n int) uint16 {
		name = name[:0]
		for _, p := range ports {
			name = append(name, byte(p>>8), byte(p))
		}
		set, ok := sets[n][string(name)]
		if !ok {
			set = tables[g.Hosts+n].Add(ports...)
			sets[n][string(name)] = set
		}
		return set
	}
	for last, hosts := range members {
		if len(hosts) == 0 {
			continue
		}
		search.from(adj, last)
		for n, d := range search.dist {
			if d <= 0 {
				continue // unreachable, or the last switch itself
			}
			ports = ports[:0]
			for _, h := range adj[n] {
				if search.dist[h.to] == d-1 {
					ports = append(ports, h.port)
				}
			}
			set := share(n)
			for _, h := range hosts {
				tables[g.Hosts+n].To[h.to] = set
			}
		}
		for _, h := range hosts {
			ports = append(ports[:0], h.port)
			tables[g.Hosts+last].To[h.to] = share(last)
		}
	}
	return tables
}

// hop is a neighbour and the port that leads to it.
type hop struct {
	to   int
	port uint16
}

// search computes the distance in links of every switch to one switch.
type search struct {
	dist  []int // -1: unreachable
	queue []int
}

func (s *search) from(adj [][]hop, last int) {
	for i := range s.dist {
		s.dist[i] = -1
	}
	s.dist[last] = 0
	s.queue = append(s.queue[:0], last)
	for i := 0; i < len(s.queue); i++ {
		n := s.queue[i]
		for _, h := range adj[n] {
			if s.dist[h.to] < 0 {
				s.dist[h.to] = s.dist[n] + 1
				s.queue = append(s.queue, h.to)
			}
		}
	}
}
