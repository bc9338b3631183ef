package check

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/topo"
)

// In a tree with n spines, n failures cut off a leaf and fewer do not. A line needs one; a
// fat-tree with k = 4 has two links up from every edge switch.
func TestCutOffs(t *testing.T) {
	line := graph(t, "linear", &topo.LinearParams{Switches: 3, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable})
	for _, c := range []struct {
		name string
		g    *topo.Graph
		k    int
		want []string // links and hosts
	}{
		{"one spine", topo.LeafSpine(3, 1, 2, cable, cable), 1, []string{"leaf0-spine0: host0 host1", "leaf1-spine0: host2 host3", "leaf2-spine0: host4 host5"}},
		{"two spines, one failure", topo.LeafSpine(3, 2, 2, cable, cable), 1, nil},
		{"two spines", topo.LeafSpine(3, 2, 2, cable, cable), 2, []string{"leaf0-spine0 leaf0-spine1: host0 host1", "leaf1-spine0 leaf1-spine1: host2 host3", "leaf2-spine0 leaf2-spine1: host4 host5"}},
		{"line", line, 1, []string{"switch0-switch1: host0", "switch1-switch2: host2"}},
		{"fat-tree", fatTree(t, 4), 1, nil},
	} {
		list, err := NewFabric(c.g, nil, false).CutOffs(context.Background(), c.k)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, cut := range list {
			got = append(got, strings.Join(cut.Links, " ")+": "+strings.Join(cut.Hosts, " "))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %d failures: %q, want %q", c.name, c.k, got, c.want)
		}
	}
}

// Cut-off hosts are a note, but not if no flow crosses the cut or if routes never change.
func TestCutOffFinding(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       int
	}{
		{"all", small + flowsOf, Options{Failures: 1}, 4},
		{"no failures", small + flowsOf, Options{}, 0},
		{"flows that cross", small + flowsOf, Options{Failures: 1, Flows: true}, 4},
		{"flows within a rack", strings.Replace(small+flowsOf, "to: host3", "to: host1", 1), Options{Failures: 1, Flows: true}, 0},
		{"static", small + flowsOf + "routing: {name: static}\n", Options{Failures: 1}, 0},
	} {
		hosts := 0
		for _, f := range findings(runCheck(t, c.text, c.o), KindPartition) {
			hosts += len(f.Where)
			if f.Level != Note || len(f.CutOffs) != 2 || f.What != "4 hosts can be cut off from the others by the failure of 1 link" {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if hosts != c.want {
			t.Errorf("%s: %d hosts, want %d", c.name, hosts, c.want)
		}
	}
}

// Compared with a search through all sets: every listed set separates hosts and has at most k
// links, and there is one if any set separates hosts.
func TestCutOffsAgainstAllSets(t *testing.T) {
	graphs := map[string]*topo.Graph{
		"ring":  graph(t, "ring", &topo.RingParams{Switches: 5, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable}),
		"tree":  topo.LeafSpine(4, 3, 1, cable, cable),
		"torus": torus(t, 3, 3),
		"fat":   fatTree(t, 4),
	}
	for name, g := range graphs {
		f := NewFabric(g, nil, false)
		var links []int32
		for i := range g.Links {
			if f.betweenSwitches(i) {
				links = append(links, int32(i))
			}
		}
		separates := func(set []int32) bool { // some home is unreachable from the first
			w := newWalker(f, everyone)
			for _, l := range set {
				w.down[l] = true
			}
			w.distances(f.homes[0])
			for _, h := range f.homes {
				if w.dist[h] < 0 {
					return true
				}
			}
			return false
		}
		for k := 1; k <= 3; k++ {
			any := false
			for size := 1; size <= k; size++ {
				subsets(links, nil, size, func(set []int32) bool {
					any = any || separates(set)
					return !any
				})
			}
			list, err := f.CutOffs(context.Background(), k)
			if err != nil || (len(list) > 0) != any {
				t.Errorf("%s, %d failures: %+v, %v; some set separates hosts: %v", name, k, list, err, any)
			}
			for _, cut := range list {
				var set []int32
				for _, l := range cut.Links {
					i, _ := g.LinkNamed(l)
					set = append(set, int32(i))
				}
				if len(set) > k || !separates(set) || len(cut.Hosts) == 0 {
					t.Errorf("%s, %d failures: %+v", name, k, cut)
				}
			}
		}
	}
}
