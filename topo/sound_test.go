package topo

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/route"
)

// failer is the part of testing.TB that properties use.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// walk returns the distance in links of every node to one node, by a simple search.
func walk(g *Graph, to int) []int {
	dist := make([]int, g.Nodes())
	for i := range dist {
		dist[i] = g.Nodes()
	}
	dist[to] = 0
	for changed := true; changed; {
		changed = false
		for _, l := range g.Links {
			for _, way := range [2][2]int{{l.A, l.B}, {l.B, l.A}} {
				// Hosts do not forward.
				if from, by := way[0], way[1]; (by == to || by >= g.Hosts) && dist[by]+1 < dist[from] {
					dist[from], changed = dist[by]+1, true
				}
			}
		}
	}
	return dist
}

func diameter(g *Graph) int {
	most := 0
	for dst := range g.Hosts {
		dist := walk(g, dst)
		for src := range g.Hosts {
			most = max(most, dist[src])
		}
	}
	return most
}

// peers returns the peer of each port of each node.
func peers(g *Graph) []map[int]int {
	at := make([]map[int]int, g.Nodes())
	for i := range at {
		at[i] = make(map[int]int)
	}
	for _, l := range g.Links {
		at[l.A][l.PortA], at[l.B][l.PortB] = l.B, l.A
	}
	return at
}

// checkSound checks the properties of every connected topology: Check accepts it, names can
// be looked up, and routes are exactly the shortest paths.
func checkSound(t failer, g *Graph) {
	t.Helper()
	if err := g.Check(); err != nil {
		t.Fatalf("%v", err)
	}
	for i, name := range g.Names {
		if (g.Host(name) == i) != (i < g.Hosts) {
			t.Fatalf("node %d, %s: wrong result of Host", i, name)
		}
	}
	for i := range g.Links {
		if got, err := g.LinkNamed(g.LinkName(i)); err != nil || got != i {
			t.Fatalf("%s is link %d, found %d, %v", g.LinkName(i), i, got, err)
		}
	}
	checkRoutes(t, g, Routes(g, nil))
}

func checkRoutes(t failer, g *Graph, tables []*route.Table) {
	t.Helper()
	at, link := peers(g), make([]map[int]int, g.Nodes())
	for i := range link {
		link[i] = make(map[int]int)
	}
	for i, l := range g.Links {
		link[l.A][l.PortA], link[l.B][l.PortB] = i, i
	}
	for dst := range g.Hosts {
		dist := walk(g, dst)
		for n := g.Hosts; n < g.Nodes(); n++ {
			if dist[n] >= g.Nodes() {
				t.Fatalf("%s cannot be reached from %s", g.Names[dst], g.Names[n])
			}
			set, ports := make(map[int]bool), tables[n].Set(uint32(dst))
			for _, p := range ports {
				set[int(p)] = true
			}
			if len(set) != len(ports) {
				t.Fatalf("%s to %s: duplicate port", g.Names[n], g.Names[dst])
			}
			if !slices.IsSortedFunc(ports, func(a, b uint16) int { return link[n][int(a)] - link[n][int(b)] }) {
				t.Fatalf("%s to %s: ports %v are not in the order of links", g.Names[n], g.Names[dst], ports)
			}
			for p, peer := range at[n] {
				if set[p] != (dist[peer] == dist[n]-1 && (peer >= g.Hosts || peer == dst)) {
					t.Fatalf("%s to %s: port %d leads to %s, %d links from there instead of %d", g.Names[n], g.Names[dst], p, g.Names[peer], dist[peer], dist[n])
				}
			}
		}
	}
}

// circular reports whether the ingress buffers of switches have cyclic dependencies when all
// routes are used: an arrival on one link waits for the next link.
func circular(g *Graph) bool {
	tables, at := Routes(g, nil), peers(g)
	type queue struct{ node, from int } // at a switch, frames from one neighbour
	next := make(map[queue]map[queue]bool)
	for dst := range g.Hosts {
		dist := walk(g, dst)
		for n := g.Hosts; n < g.Nodes(); n++ {
			for _, p := range tables[n].Set(uint32(dst)) {
				to := at[n][int(p)]
				if to < g.Hosts {
					continue
				}
				for _, from := range at[n] {
					// Does traffic to dst arrive from there?
					if from < g.Hosts && from != dst || from >= g.Hosts && dist[from] == dist[n]+1 {
						here := queue{n, from}
						if next[here] == nil {
							next[here] = make(map[queue]bool)
						}
						next[here][queue{to, n}] = true
					}
				}
			}
		}
	}
	// Remove queues that wait for nothing until only cycles are left.
	for {
		removed := false
		for q, waits := range next {
			for w := range waits {
				if next[w] == nil {
					delete(waits, w)
				}
			}
			if len(waits) == 0 {
				delete(next, q)
				removed = true
			}
		}
		if !removed {
			return len(next) > 0
		}
	}
}

// drawParams draws parameters of a random generator.
func drawParams(t *rapid.T) (string, any) {
	n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	name := rapid.SampledFrom([]string{"one-switch", "dumbbell", "linear", "leaf-spine", "fat-tree", "clos3", "two-dc", "ring", "full-mesh", "torus", "rail"}).Draw(t, "topology")
	switch name {
	case "one-switch":
		return name, &OneSwitchParams{Hosts: n("hosts", 2, 9), HostLink: slow}
	case "dumbbell":
		return name, &DumbbellParams{Left: n("left", 1, 5), Right: n("right", 1, 5), HostLink: slow, Trunk: fast, Trunks: n("trunks", 1, 4)}
	case "linear":
		return name, &LinearParams{Switches: n("switches", 2, 6), HostsPerSwitch: n("hosts", 1, 3), HostLink: slow, FabricLink: fast}
	case "leaf-spine":
		return name, &LeafSpineParams{Leaves: n("leaves", 1, 4), Spines: n("spines", 1, 4), HostsPerLeaf: n("hosts", 2, 4), HostLink: slow, FabricLink: fast}
	case "fat-tree":
		return name, &FatTreeParams{K: 2 * n("half", 1, 2), HostsPerEdge: n("hosts", 0, 2), HostLink: slow, FabricLink: fast}
	case "clos3":
		return name, &Clos3Params{Cores: n("cores", 1, 3), Aggs: n("aggs", 1, 3), ToRs: n("tors", 1, 3), HostsPerToR: n("hosts", 2, 3), HostLink: slow, AggLink: fast, CoreLink: fast}
	case "two-dc":
		return name, &TwoDCParams{K: 2 * n("half", 1, 2), HostsPerEdge: 1, HostLink: slow, FabricLink: fast, DCILink: fast, LongLink: fast, RelayLink: []Cable{{}, fast}[n("relays", 0, 1)]}
	case "ring":
		return name, &RingParams{Switches: n("switches", 3, 8), HostsPerSwitch: n("hosts", 1, 2), HostLink: slow, FabricLink: fast}
	case "full-mesh":
		return name, &FullMeshParams{Switches: n("switches", 2, 6), HostsPerSwitch: n("hosts", 1, 3), HostLink: slow, FabricLink: fast}
	case "rail":
		p := &RailParams{Rails: n("rails", 1, 3), Segments: n("segments", 1, 2), Servers: n("servers", 2, 3), Cables: n("cables", 1, 2), Spines: n("spines", 1, 3),
			SpineGroups: 1, Planes: 1, HostLink: slow, FabricLink: fast}
		if n("cores", 0, 1) == 1 {
			p.Planes = n("planes", 1, 2)
			p.SpineGroups = p.Rails * n("per rail", 1, p.Segments)
			p.Spines, p.Cores = p.SpineGroups*p.Planes*n("spines", 1, 2), p.Planes*n("cores per plane", 1, 2)
		}
		return name, p
	default:
		return name, &TorusParams{Rows: n("rows", 2, 5), Columns: n("columns", 2, 5), HostsPerSwitch: n("hosts", 1, 2), HostLink: slow, FabricLink: fast}
	}
}

func TestSoundWhateverTheSize(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		name, params := drawParams(t)
		e, err := Topologies.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.New(params)
		if err != nil {
			t.Fatalf("%+v: %v", params, err)
		}
		checkSound(t, g)
	})
}

// In a random graph with parallel links, some of them down, the routes are the same as in the
// graph without those links.
func TestRoutesOfAnyGraph(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		switches := rapid.IntRange(1, 7).Draw(t, "switches")
		b := NewLayout(switches + 2)
		s := b.Switches("s", switches)
		for h := range b.g.Hosts {
			b.Join(h, s+h%switches, slow)
		}
		for i := 1; i < switches; i++ { // a spanning tree, so that all are connected
			b.Join(s+i, s+rapid.IntRange(0, i-1).Draw(t, "parent"), fast)
		}
		more := rapid.IntRange(0, 8).Draw(t, "more")
		first := len(b.g.Links)
		for range more {
			x, y := rapid.IntRange(0, switches-1).Draw(t, "x"), rapid.IntRange(0, switches-1).Draw(t, "y")
			if x != y {
				b.Join(s+x, s+y, fast)
			}
		}
		g := b.Done()
		var down []int
		for i := first; i < len(g.Links); i++ {
			if rapid.Bool().Draw(t, "down") {
				down = append(down, i)
			}
		}
		dead := make(map[int]bool)
		for _, i := range down {
			dead[i] = true
		}
		whole := *g
		tables := Routes(g, func(i int) bool { return dead[i] })
		// The ports of the whole graph, with the remaining links.
		whole.Links = nil
		for i, l := range g.Links {
			if !dead[i] {
				whole.Links = append(whole.Links, l)
			}
		}
		checkRoutes(t, &whole, tables)
	})
}
