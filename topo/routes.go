package topo

import "github.com/xoff-net/xoff/route"

// Routes computes the shortest-path tables of every switch, with all ports that
// lie on a shortest path to a host. Links for which down reports true do not
// exist. The slice is indexed by node; hosts have no table.
func Routes(g *Graph, down func(link int) bool) []*route.Table {
	adj := make([][]hop, g.Nodes())
	for i, l := range g.Links {
		if down != nil && down(i) {
			continue
		}
		adj[l.A] = append(adj[l.A], hop{l.B, uint16(l.PortA)})
		adj[l.B] = append(adj[l.B], hop{l.A, uint16(l.PortB)})
	}
	tables := make([]*route.Table, g.Nodes())
	sets := make([]map[string]route.Hops, g.Nodes())
	for n := g.Hosts; n < g.Nodes(); n++ {
		tables[n] = &route.Table{Hops: make([]route.Hops, g.Hosts)}
		sets[n] = make(map[string]route.Hops)
	}
	dist := make([]int, g.Nodes())
	for dst := range g.Hosts {
		distances(adj, g.Hosts, dst, dist)
		for n := g.Hosts; n < g.Nodes(); n++ {
			if dist[n] < 0 {
				continue
			}
			var ports []uint16
			name := make([]byte, 0, 32)
			for _, h := range adj[n] {
				if dist[h.to] >= 0 && dist[h.to] == dist[n]-1 {
					ports = append(ports, h.port)
					name = append(name, byte(h.port>>8), byte(h.port))
				}
			}
			hops, ok := sets[n][string(name)]
			if !ok {
				hops = route.Hops{At: uint32(len(tables[n].Ports)), Len: uint32(len(ports))}
				sets[n][string(name)] = hops
				tables[n].Ports = append(tables[n].Ports, ports...)
			}
			tables[n].Hops[dst] = hops
		}
	}
	return tables
}

type hop struct {
	to   int
	port uint16
}

// distances fills dist with the number of links to dst, -1 where it cannot be
// reached. Hosts do not forward.
func distances(adj [][]hop, hosts, dst int, dist []int) {
	for i := range dist {
		dist[i] = -1
	}
	dist[dst] = 0
	queue := []int{dst}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if n < hosts && n != dst {
			continue
		}
		for _, h := range adj[n] {
			if dist[h.to] < 0 {
				dist[h.to] = dist[n] + 1
				queue = append(queue, h.to)
			}
		}
	}
}
