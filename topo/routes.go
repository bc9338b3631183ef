package topo

import (
	"slices"

	"github.com/xoff-net/xoff/scheme/route"
)

// Routes computes the shortest-path table of every switch, indexed by node; hosts have none.
// A table has all ports on a shortest path to a host, including parallel links. Links for
// which down returns true are ignored.
func Routes(g *Graph, down func(link int) bool) []*route.Table {
	r := router{g: g, adj: make([][]hop, g.Nodes()), members: make([][]hop, g.Nodes()), homes: make([]route.Home, g.Hosts)}
	for i, l := range g.Links {
		switch {
		case down != nil && down(i):
		case l.A < g.Hosts:
			r.members[l.B] = append(r.members[l.B], hop{l.A, uint16(l.PortB)})
		default:
			r.adj[l.A] = append(r.adj[l.A], hop{l.B, uint16(l.PortA)})
			r.adj[l.B] = append(r.adj[l.B], hop{l.A, uint16(l.PortB)})
		}
	}
	groups := r.findTwins()
	r.tables = make([]*route.Table, g.Nodes())
	r.sets = make([]map[string]route.Hops, g.Nodes())
	for n := g.Hosts; n < g.Nodes(); n++ {
		r.tables[n] = &route.Table{Homes: r.homes, To: make([]route.Hops, r.edges+1)}
		r.sets[n] = make(map[string]route.Hops)
	}
	r.dist = make([]int, g.Nodes())
	for _, twins := range groups {
		r.search(twins[0].node)
		r.first(twins[0])
		for _, e := range twins[1:] {
			r.again(twins[0], e)
		}
	}
	return r.tables
}

// router computes the routes of a graph.
type router struct {
	g       *Graph
	adj     [][]hop // by switch: links to switches
	members [][]hop // by switch: hosts
	homes   []route.Home
	edges   int
	tables  []*route.Table
	sets    []map[string]route.Hops // by switch: sets of ports in its table
	ports   []uint16                // scratch
	name    []byte                  // scratch
	dist    []int                   // by switch: links to the switch of the last search; -1: unreachable
	queue   []int
}

// hop is a neighbour and the port that leads to it.
type hop struct {
	to   int
	port uint16
}

// edge is a switch with hosts and its index in tables.
type edge struct{ node, index int }

// findTwins numbers the edges from 1, and the homes of their hosts; edge 0 is for hosts whose
// link is down. It returns the edges in groups with the same neighbours. Other switches are
// equally far from all edges of a group.
func (r *router) findTwins() [][]edge {
	var groups [][]edge
	known := make(map[string]int)
	var near []int
	for n, hosts := range r.members {
		if len(hosts) == 0 {
			continue
		}
		r.edges++
		for slot, h := range hosts {
			r.homes[h.to] = route.MakeHome(r.edges, slot)
		}
		near, r.name = near[:0], r.name[:0]
		for _, h := range r.adj[n] {
			near = append(near, h.to)
		}
		slices.Sort(near)
		for _, to := range slices.Compact(near) {
			r.name = append(r.name, byte(to>>16), byte(to>>8), byte(to))
		}
		at, ok := known[string(r.name)]
		if !ok {
			at = len(groups)
			known[string(r.name)] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], edge{n, r.edges})
	}
	return groups
}

// search computes the distance in links of every switch to one switch.
func (r *router) search(last int) {
	for i := range r.dist {
		r.dist[i] = -1
	}
	r.dist[last] = 0
	r.queue = append(r.queue[:0], last)
	for i := 0; i < len(r.queue); i++ {
		n := r.queue[i]
		for _, h := range r.adj[n] {
			if r.dist[h.to] < 0 {
				r.dist[h.to] = r.dist[n] + 1
				r.queue = append(r.queue, h.to)
			}
		}
	}
}

// first sets the routes to the edge of the last search.
func (r *router) first(e edge) {
	for n := r.g.Hosts; n < r.g.Nodes(); n++ {
		if d := r.dist[n]; d > 0 {
			r.tables[n].To[e.index] = r.share(n, func(to int) bool { return r.dist[to] == d-1 })
		}
	}
	r.local(e)
}

// again sets the routes to an edge from those to its twin. They are the same but at the two
// edges and their neighbours.
func (r *router) again(twin, e edge) {
	for _, t := range r.tables[r.g.Hosts:] {
		t.To[e.index] = t.To[twin.index]
	}
	for _, h := range r.adj[e.node] {
		r.tables[h.to].To[e.index] = r.share(h.to, func(to int) bool { return to == e.node })
	}
	r.tables[twin.node].To[e.index] = r.share(twin.node, func(int) bool { return true })
	r.local(e)
}

// local sets the routes of an edge to its hosts.
func (r *router) local(e edge) {
	t := r.tables[e.node]
	t.To[e.index] = route.Hops{At: uint32(len(t.Ports)), Len: 1, Slots: route.EachSlot}
	for _, h := range r.members[e.node] {
		t.Ports = append(t.Ports, h.port)
	}
}

// share returns the set of the ports of a switch to the neighbours that by selects. Equal sets
// of a table are stored once.
func (r *router) share(n int, by func(to int) bool) route.Hops {
	r.ports, r.name = r.ports[:0], r.name[:0]
	for _, h := range r.adj[n] {
		if by(h.to) {
			r.ports, r.name = append(r.ports, h.port), append(r.name, byte(h.port>>8), byte(h.port))
		}
	}
	set, ok := r.sets[n][string(r.name)]
	if !ok {
		set = r.tables[n].Add(r.ports...)
		r.sets[n][string(r.name)] = set
	}
	return set
}
