package check

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/topo"
)

// tableDependencies returns the dependencies of all traffic, found by following the
// simulator's routing tables from every host to every other.
func tableDependencies(g *topo.Graph, f *Fabric, down []bool, first bool) map[turn]bool {
	gone := func(l int) bool { return down[l] }
	if first {
		gone = nil // static routes ignore failures
	}
	tables := topo.Routes(g, gone)
	channels := make(map[[2]int]int32) // by node and port: channel to the next switch
	for i, l := range g.Links {
		if f.betweenSwitches(i) {
			channels[[2]int{l.A, l.PortA}], channels[[2]int{l.B, l.PortB}] = int32(2*i), int32(2*i+1)
		}
	}
	found := make(map[turn]bool)
	for _, l := range g.Links {
		if l.A >= g.Hosts {
			continue
		}
		for dst := range g.Hosts {
			if dst == l.A {
				continue
			}
			type at struct {
				node int
				by   int32
			}
			seen := make(map[at]bool)
			todo := []at{{l.B, -1}}
			for len(todo) > 0 {
				here := todo[0]
				todo = todo[1:]
				if seen[here] {
					continue
				}
				seen[here] = true
				ports := tables[here.node].Set(uint32(dst))
				if first && len(ports) > 0 {
					ports = ports[:1]
				}
				for _, p := range ports {
					c, ok := channels[[2]int{here.node, int(p)}]
					if !ok {
						continue // a host
					}
					if here.by >= 0 {
						found[turn{here.by, c}] = true
					}
					todo = append(todo, at{g.Hosts + int(f.ends[c].to), c})
				}
			}
		}
	}
	return found
}

// Dependencies agree with the simulator's routing tables.
func TestDependenciesAgainstTables(t *testing.T) {
	trials.Check(t, func(r *rapid.T) {
		var g *topo.Graph
		switch rapid.IntRange(0, 4).Draw(r, "topology") {
		case 0:
			g = fatTree(t, 4)
		case 1:
			g = torus(t, rapid.IntRange(2, 4).Draw(r, "rows"), rapid.IntRange(2, 4).Draw(r, "columns"))
		case 2:
			g = graph(t, "dumbbell", &topo.DumbbellParams{Left: 2, Right: 2, Trunks: 3, HostLink: cable, Trunk: cable})
		case 3:
			g = graph(t, "full-mesh", &topo.FullMeshParams{Switches: rapid.IntRange(2, 5).Draw(r, "switches"), HostsPerSwitch: 1, HostLink: cable, FabricLink: cable})
		default:
			g = topo.LeafSpine(rapid.IntRange(1, 5).Draw(r, "leaves"), rapid.IntRange(1, 4).Draw(r, "spines"), 2, cable, cable)
		}
		first := rapid.Bool().Draw(r, "first")
		f := NewFabric(g, nil, first)
		down := make([]bool, len(g.Links))
		for i := range down {
			down[i] = f.betweenSwitches(i) && rapid.IntRange(0, 4).Draw(r, "down") == 0
		}
		want := tableDependencies(g, f, down, first)
		got := f.Dependencies(everyone, down)
		for turn := range want {
			if !got.has(turn.in, turn.out) {
				r.Fatalf("%v is missing", turn)
			}
		}
		if got.Count() != len(want) {
			r.Fatalf("%d dependencies, want %d", got.Count(), len(want))
		}
	})
}
