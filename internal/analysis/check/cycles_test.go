package check

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

var cable = topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}

// graph builds a topology.
func graph(t testing.TB, name string, params any) *topo.Graph {
	t.Helper()
	e, err := topo.Topologies.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	g, err := e.New(params)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func fatTree(t testing.TB, k int) *topo.Graph {
	return graph(t, "fat-tree", &topo.FatTreeParams{K: k, HostLink: cable, FabricLink: cable})
}

func torus(t testing.TB, rows, columns int) *topo.Graph {
	return graph(t, "torus", &topo.TorusParams{Rows: rows, Columns: columns, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable})
}

// down returns, by link, whether it has one of the names.
func down(t testing.TB, g *topo.Graph, names ...string) []bool {
	t.Helper()
	is := make([]bool, len(g.Links))
	for _, n := range names {
		i, err := g.LinkNamed(n)
		if err != nil {
			t.Fatal(err)
		}
		is[i] = true
	}
	return is
}

// everyone is traffic between all hosts.
var everyone = &Traffic{Classes: 1 << 3}

// ring returns the names of the switches of a cycle, starting with a given one.
func ring(c Cycle, first string) string {
	var names []string
	for _, h := range c.Hops {
		names = append(names, h.Switch)
	}
	if i := slices.Index(names, first); i > 0 {
		names = slices.Concat(names[i:], names[:i])
	}
	return strings.Join(names, " ")
}

// A tree with up-down routes has no cycle, because no frame goes down and up again.
func TestHealthyTreesHaveNoCycle(t *testing.T) {
	for name, g := range map[string]*topo.Graph{
		"leaf-spine": topo.LeafSpine(4, 2, 2, cable, cable),
		"fat-tree":   fatTree(t, 4),
		"wide":       topo.LeafSpine(3, 70, 1, cable, cable), // more ports than bits in a word
	} {
		f := NewFabric(g, nil, false)
		d := f.Dependencies(everyone, nil)
		if cycles, more := f.Cycles(everyone, nil); len(cycles) != 0 || more || d.Count() == 0 {
			t.Errorf("%s: %d dependencies, cycles: %v", name, d.Count(), cycles)
		}
	}
}

// Dependencies of small trees, counted by hand. With 2 leaves and 1 spine, each leaf's channel
// up waits for the other leaf's channel down. With 3 leaves and 2 spines, each of 6 channels
// up waits for 2 channels down.
func TestDependencies(t *testing.T) {
	for _, c := range []struct{ leaves, spines, want int }{{2, 1, 2}, {3, 2, 12}} {
		f := NewFabric(topo.LeafSpine(c.leaves, c.spines, 1, cable, cable), nil, false)
		if got := f.Dependencies(everyone, nil).Count(); got != c.want {
			t.Errorf("%d leaves, %d spines: %d dependencies, want %d", c.leaves, c.spines, got, c.want)
		}
	}
	// With only the first path, 3 leaves use one spine.
	f := NewFabric(topo.LeafSpine(3, 2, 1, cable, cable), nil, true)
	if got := f.Dependencies(everyone, nil).Count(); got != 6 {
		t.Errorf("static routes: %d dependencies, want 6", got)
	}
}

// Fig. 16 of the DSH paper: with S0-L3 and S1-L0 down, traffic between L0 and L3 goes up again
// at L1 or L2, and forms loops with the traffic between L1 and L2.
func TestFig16(t *testing.T) {
	g := topo.LeafSpine(4, 2, 2, cable, cable)
	f := NewFabric(g, nil, false)
	cycles, more := f.Cycles(everyone, down(t, g, "leaf3-spine0", "leaf0-spine1"))
	var found *Cycle
	for i := range cycles {
		if ring(cycles[i], "spine0") == "spine0 leaf1 spine1 leaf2" {
			found = &cycles[i]
		}
	}
	if found == nil || more {
		t.Fatalf("the loop S0 L1 S1 L2 is not among %v", cycles)
	}
	for _, h := range found.Hops {
		if h.Switch != "leaf1" {
			continue
		}
		// leaf1 has two hosts at ports 0 and 1, then spine0 and spine1.
		want := Hop{Switch: "leaf1", In: "leaf1.port2", From: "spine0", To: "spine1", Valley: true, Cause: Cause{From: "leaf0", To: "leaf3"}}
		if !reflect.DeepEqual(h, want) {
			t.Errorf("hop %+v, want %+v", h, want)
		}
	}
	// With only one of them down there is no loop.
	for _, only := range []string{"leaf3-spine0", "leaf0-spine1"} {
		if cycles, _ := f.Cycles(everyone, down(t, g, only)); len(cycles) != 0 {
			t.Errorf("%s alone: %v", only, cycles)
		}
	}
	// There is also no loop if the leaves in it never pause.
	f = NewFabric(g, func(node, _ int) bool { return g.Names[node] != "leaf1" && g.Names[node] != "leaf2" }, false)
	if cycles, _ := f.Cycles(everyone, down(t, g, "leaf3-spine0", "leaf0-spine1")); len(cycles) != 0 {
		t.Errorf("two leaves never pause: %v", cycles)
	}
}

// Tori, and rings of at least four switches, have cycles.
func TestRoundFabrics(t *testing.T) {
	f := NewFabric(graph(t, "ring", &topo.RingParams{Switches: 4, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable}), nil, false)
	cycles, more := f.Cycles(everyone, nil)
	var got []string
	for _, c := range cycles {
		got = append(got, ring(c, "switch0"))
	}
	slices.Sort(got)
	if want := []string{"switch0 switch1 switch2 switch3", "switch0 switch3 switch2 switch1"}; !reflect.DeepEqual(got, want) || more {
		t.Errorf("ring of four: %v, want %v", got, want)
	}
	f = NewFabric(graph(t, "ring", &topo.RingParams{Switches: 3, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable}), nil, false)
	if cycles, _ := f.Cycles(everyone, nil); len(cycles) != 0 {
		t.Errorf("ring of three, where all switches are neighbours: %v", cycles)
	}
	f = NewFabric(torus(t, 4, 4), nil, false)
	cycles, more = f.Cycles(everyone, nil)
	if len(cycles) != MaxCycles || !more {
		t.Errorf("torus: %d cycles, more: %v", len(cycles), more)
	}
	for _, c := range cycles {
		if len(c.Hops) != 4 { // around a square, or around a row
			t.Errorf("torus: %v is not one of the shortest", c)
		}
	}
}

// hops returns a route by the names of its switches.
func hops(g *topo.Graph, via ...string) []workload.Hop {
	var list []workload.Hop
	for _, name := range via {
		list = append(list, workload.Hop{Node: int32(g.Node(name)), Port: -1})
	}
	return list
}

// Pinned routes depend hop by hop; three around a triangle form a loop.
func TestPinnedLoop(t *testing.T) {
	g := graph(t, "ring", &topo.RingParams{Switches: 3, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable})
	f := NewFabric(g, nil, false)
	traffic := &Traffic{}
	var all []pinned
	for _, via := range [][]string{{"switch0", "switch1", "switch2"}, {"switch1", "switch2", "switch0"}, {"switch2", "switch0", "switch1"}} {
		all = append(all, pinned{cause: Cause{From: via[0], To: via[2], Pinned: true}, channels: f.route(hops(g, via...))})
	}
	traffic.pins = all[:2]
	if c, _ := f.Cycles(traffic, nil); len(c) != 0 {
		t.Errorf("two of three turns: %v", c)
	}
	traffic.pins = all
	c, _ := f.Cycles(traffic, nil)
	if len(c) != 1 || ring(c[0], "switch0") != "switch0 switch1 switch2" || !c[0].Hops[0].Cause.Pinned {
		t.Errorf("got %v", c)
	}
	if c, _ := f.Cycles(traffic, down(t, g, "switch0-switch1")); len(c) != 0 {
		t.Errorf("one link is down: %v", c)
	}
}

// Only actual senders count: in a ring of four, traffic between two neighbours causes no
// dependency, and traffic between all opposite switches forms two loops.
func TestRestrictedTraffic(t *testing.T) {
	f := NewFabric(graph(t, "ring", &topo.RingParams{Switches: 4, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable}), nil, false)
	traffic := &Traffic{from: matrix(4)}
	traffic.from[1][0] = true
	if n := f.Dependencies(traffic, nil).Count(); n != 0 {
		t.Errorf("neighbours: %d dependencies", n)
	}
	// Traffic from 0 to 2 takes both paths, 0 1 2 and 0 3 2; likewise from 2 to 0.
	traffic.from[2][0], traffic.from[0][2] = true, true
	if n := f.Dependencies(traffic, nil).Count(); n != 4 {
		t.Errorf("opposite switches: %d dependencies, want 4", n)
	}
	if c, _ := f.Cycles(traffic, nil); len(c) != 0 {
		t.Errorf("two of four turns: %v", c)
	}
	traffic.from[3][1], traffic.from[1][3] = true, true
	if c, _ := f.Cycles(traffic, nil); len(c) != 2 {
		t.Errorf("all four turns: %v", c)
	}
}

// A group is a set of queues that all reach each other.
func TestGroupsAgainstReachability(t *testing.T) {
	f := NewFabric(torus(t, 3, 3), nil, false)
	trials.Check(t, func(r *rapid.T) {
		d := newDependencies(f, 1)
		reach := make([][]bool, d.queues())
		for q := range reach {
			reach[q] = make([]bool, len(reach))
			for _, n := range f.out[f.ends[q].to] {
				if int(n) != q && rapid.IntRange(0, 3).Draw(r, "depends") == 0 {
					word, mask := d.bit(n)
					d.of(int32(q))[word] |= mask
					reach[q][n] = true
				}
			}
		}
		for k := range reach {
			for i := range reach {
				for j := range reach {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		var want [][]int32
		done := make([]bool, len(reach))
		for i := range reach {
			var group []int32
			for j := range reach {
				if reach[i][j] && reach[j][i] && !done[j] {
					done[j] = true
					group = append(group, int32(j))
				}
			}
			if group != nil {
				want = append(want, group)
			}
		}
		if got := d.groups(); !reflect.DeepEqual(got, want) {
			r.Fatalf("%v, want %v", got, want)
		}
	})
}
