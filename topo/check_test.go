package topo

import (
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// Every generator rejects parameters that it cannot build; the error starts with the key.
func TestRefused(t *testing.T) {
	custom := func(change func(*CustomParams)) *CustomParams {
		p := &CustomParams{
			Hosts: []string{"x", "y"}, Switches: []string{"a", "b"}, Link: fast,
			Links: []CustomLink{{Ends: []string{"x", "a"}}, {Ends: []string{"y", "b"}}, {Ends: []string{"a", "b"}}},
		}
		change(p)
		return p
	}
	noDelay := Cable{Rate: fast.Rate}
	oneTooMany := slices.Repeat([]int{1022}, 129)
	oneTooMany[128] = MaxHosts + 1 - 128*1022
	for _, c := range []struct {
		name   string
		params any
		want   string
	}{
		{"one-switch", &OneSwitchParams{1, slow}, "hosts is 1, which is too small (expected 2 to 1024)"},
		{"one-switch", &OneSwitchParams{1025, slow}, "hosts is 1025, which is too large"},
		{"one-switch", &OneSwitchParams{2, Cable{}}, "host_link.rate is 0bps (expected 1Mbps to 10Tbps)"},
		{"one-switch", &OneSwitchParams{2, Cable{11 * units.Tbps, 1}}, "host_link.rate is 11Tbps"},
		{"one-switch", &OneSwitchParams{2, noDelay}, "host_link.delay is 0s: a link without delay cannot be simulated"},
		{"one-switch", &OneSwitchParams{2, Cable{fast.Rate, -1}}, "host_link.delay is -1ps"},
		{"one-switch", &OneSwitchParams{2, Cable{fast.Rate, 2 * units.Second}}, "host_link.delay is 2s"},
		{"dumbbell", &DumbbellParams{1, 0, slow, fast, 1}, "the number of hosts is 1 (expected at least 2)"},
		{"dumbbell", &DumbbellParams{-1, 3, slow, fast, 1}, "left is -1"},
		{"dumbbell", &DumbbellParams{3, 9999, slow, fast, 1}, "right is 9999"},
		{"dumbbell", &DumbbellParams{2, 2, slow, fast, 0}, "trunks is 0"},
		{"dumbbell", &DumbbellParams{1000, 2, slow, fast, 25}, "a switch has 1025 ports"},
		{"dumbbell", &DumbbellParams{2, 2, slow, noDelay, 1}, "trunk.delay is 0s"},
		{"linear", &LinearParams{0, 1, nil, slow, fast}, "switches is 0"},
		{"linear", &LinearParams{3, 1, []int{1, 1}, slow, fast}, "hosts has 2 numbers (expected one for each of the 3 switches)"},
		{"linear", &LinearParams{2, 1, []int{1, -1}, slow, fast}, "hosts[1] is -1"},
		{"linear", &LinearParams{2, 0, nil, slow, fast}, "the number of hosts is 0 (expected at least 2)"},
		{"linear", &LinearParams{60000, 1, nil, slow, fast}, "switches is 60000, which is too large (expected 1 to 16383)"},
		{"linear", &LinearParams{16383, 9, nil, slow, fast}, "there are 147447 hosts and 16383 switches (expected at most 131072 hosts and 16383 switches)"},
		{"linear", &LinearParams{12000, 1, nil, slow, fast}, "there are 12000 switches, of which 12000 have hosts: too many for their routing tables"},
		{"linear", &LinearParams{16384, 1, nil, slow, fast}, "switches is 16384, which is too large (expected 1 to 16383)"},
		{"linear", &LinearParams{129, 0, oneTooMany, slow, fast}, "there are 131073 hosts and 129 switches (expected at most 131072 hosts"},
		{"leaf-spine", &LeafSpineParams{0, 1, 1, 0, slow, fast}, "leaves is 0"},
		{"leaf-spine", &LeafSpineParams{2, 0, 1, 0, slow, fast}, "spines is 0"},
		{"leaf-spine", &LeafSpineParams{2, 1, 0, 0, slow, fast}, "hosts_per_leaf is 0"},
		{"leaf-spine", &LeafSpineParams{2, 24, 1001, 0, slow, fast}, "a leaf has 1025 ports"},
		{"leaf-spine", &LeafSpineParams{1000, 1, 1000, 0, slow, fast}, "there are 1000000 hosts and 1001 switches"},
		// 6 hosts of 25 Gbps on uplinks of 100 Gbps: 1.5 uplinks.
		{"leaf-spine", &LeafSpineParams{2, 0, 6, 1, slow, fast}, "oversubscription is 1, which needs 1.5 spines"},
		{"leaf-spine", &LeafSpineParams{2, 3, 8, 1, slow, fast}, "spines is 3, but an oversubscription of 1 needs 2"},
		{"leaf-spine", &LeafSpineParams{2, 0, 8, -1, slow, fast}, "oversubscription is -1"},
		{"leaf-spine", &LeafSpineParams{2, 0, 8, 1e-300, slow, fast}, "oversubscription is 1e-300, which needs"},
		{"fat-tree", &FatTreeParams{3, 0, slow, fast}, "k is 3 (expected an even number)"},
		{"fat-tree", &FatTreeParams{0, 0, slow, fast}, "k is 0"},
		{"fat-tree", &FatTreeParams{4, -1, slow, fast}, "hosts_per_edge is -1"},
		{"fat-tree", &FatTreeParams{1024, 1024, slow, fast}, "an edge switch has 1536 ports"},
		{"fat-tree", &FatTreeParams{82, 0, slow, fast}, "there are 137842 hosts and 8405 switches"},
		{"clos3", &Clos3Params{0, 1, 1, 2, slow, fast, fast}, "cores is 0"},
		{"clos3", &Clos3Params{1, 1, 1, 2, slow, fast, noDelay}, "core_link.delay"},
		{"clos3", &Clos3Params{600, 1, 600, 2, slow, fast, fast}, "an aggregation switch has 1200 ports"},
		{"two-dc", &TwoDCParams{4, 0, slow, fast, fast, noDelay, Cable{}}, "long_link.delay"},
		{"two-dc", &TwoDCParams{4, 0, slow, fast, fast, fast, noDelay}, "relay_link.delay"},
		{"two-dc", &TwoDCParams{64, 1, slow, fast, fast, fast, Cable{}}, "a DCI switch has 1025 ports"},
		{"ring", &RingParams{2, 1, slow, fast}, "switches is 2, which is too small (expected 3 to 16383)"},
		{"full-mesh", &FullMeshParams{1000, 26, slow, fast}, "a switch has 1025 ports"},
		{"torus", &TorusParams{1, 4, 1, slow, fast}, "rows is 1"},
		{"torus", &TorusParams{1024, 1024, 1, slow, fast}, "there are 1048576 hosts"},
		{"custom", customDefaults(), "hosts has 0 names (expected at least 2)"},
		{"custom", custom(func(p *CustomParams) { p.Switches = nil }), "switches has no names"},
		{"custom", custom(func(p *CustomParams) { p.Hosts[1] = "x" }), "hosts[1] is x, which is the name of another node"},
		{"custom", custom(func(p *CustomParams) { p.Switches[1] = "a" }), "switches[1] is a, which is the name of another node"},
		{"custom", custom(func(p *CustomParams) { p.Hosts[1] = "a*" }), `hosts[1] is "a*" (expected a letter`},
		{"custom", custom(func(p *CustomParams) { p.Links[1].Ends = []string{"y"} }), "links[1].ends has 1 names (expected two nodes, such as [x, a])"},
		{"custom", custom(func(p *CustomParams) { p.Links[1].Ends[1] = "c" }), `links[1].ends[1] is "c", which is not a node (expected hosts (x, y) and switches (a, b))`},
		{"custom", custom(func(p *CustomParams) { p.Links[2].Ends[1] = "a" }), "links[2].ends joins a to itself"},
		{"custom", custom(func(p *CustomParams) { p.Links[1].Ends[1] = "x" }), "links[1].ends joins two hosts"},
		{"custom", custom(func(p *CustomParams) { p.Links[2].Ends[1] = "x" }), "links[2].ends[1] is x, which already has a link"},
		{"custom", custom(func(p *CustomParams) { p.Links = p.Links[:1] }), "hosts[1] is y, which has no link"},
		{"custom", custom(func(p *CustomParams) { p.Switches = append(p.Switches, "c") }), "switches[2] is c, which has no link"},
		{"custom", custom(func(p *CustomParams) { p.Links[2].Delay = -1 }), "links[2].delay is -1ps"},
		{"custom", custom(func(p *CustomParams) { p.Link.Delay = 0 }), "link.delay is 0s"},
		{"custom", custom(func(p *CustomParams) { p.Path = "x.yaml" }), "path is only read from a scenario file"},
		{"custom", custom(func(p *CustomParams) { p.Groups = map[string][]string{"all": {"x"}} }), "groups.all is the name of a node or of another group"},
		{"custom", custom(func(p *CustomParams) { p.Groups = map[string][]string{"g": {"x", "q"}} }), `groups.g[1] is invalid: no host matches "q"`},
		{"custom", custom(func(p *CustomParams) { p.Groups = map[string][]string{"g": {"x", "!x"}} }), "groups.g has no host"},
		{"custom", custom(func(p *CustomParams) { p.Groups = map[string][]string{"": {"x"}} }), `groups has ""`},
		{"custom", custom(func(p *CustomParams) { p.Hosts[0], p.Links[0].Ends[0] = "rack0", "rack0" }), "hosts[0] is rack0, which is the name of a group of hosts"},
		{"custom", custom(func(p *CustomParams) {
			// a-b to c, and a to b-c.
			p.Switches = []string{"a", "b", "a-b", "b-c", "c"}
			p.Links = append(p.Links, CustomLink{Ends: []string{"a-b", "c"}}, CustomLink{Ends: []string{"b-c", "a"}})
		}), "links[4] is named a-b-c, like the link from a-b to c"},
	} {
		e, err := Topologies.Get(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = e.New(c.params); err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.HasSuffix(err.Error(), ")") {
			t.Errorf("%s %+v:\ngot  %v\nwant %s", c.name, c.params, err, c.want)
		}
	}
}

// The largest fabrics are accepted: the most hosts and the most switches, and routing tables for
// those with hosts only.
func TestLimits(t *testing.T) {
	most := slices.Repeat([]int{1022}, 129)
	most[128] = MaxHosts - 128*1022
	for _, c := range []struct {
		name            string
		params          any
		hosts, switches int
	}{
		{"linear", &LinearParams{129, 0, most, slow, fast}, 131_072, 129},
		{"linear", &LinearParams{16383, 0, append(slices.Repeat([]int{1}, 8192), make([]int, 8191)...), slow, fast}, 8192, 16_383},
		{"fat-tree", &FatTreeParams{114, 20, slow, fast}, 129_960, 16_245},
		{"two-dc", &TwoDCParams{50, 26, slow, fast, fast, fast, Cable{}}, 65_000, 6252},
	} {
		e, err := Topologies.Get(c.name)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.New(c.params)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := g.Nodes() - g.Hosts; g.Hosts != c.hosts || got != c.switches {
			t.Errorf("%s: %d hosts and %d switches, want %d and %d", c.name, g.Hosts, got, c.hosts, c.switches)
		}
	}
}

// A fabric of a thousand hosts has 320 switches, whose tables share port sets. An edge has
// one set per host and one for its uplinks; an aggregation switch has one per edge of its
// pod and one for the cores; a core has one per pod.
func TestLargeFatTree(t *testing.T) {
	g := bigTree(t)
	if g.Hosts != 1024 || g.Nodes() != 1024+320 || len(g.Links) != 3*1024 {
		t.Fatalf("%d hosts, %d nodes, %d links", g.Hosts, g.Nodes(), len(g.Links))
	}
	tables := Routes(g, nil)
	for name, want := range map[string]int{"edge0": 8 + 8, "edge127": 8 + 8, "agg5": 8 + 8, "core63": 16} {
		if got := len(tables[g.Node(name)].Ports); got != want {
			t.Errorf("%s stores %d ports, want %d", name, got, want)
		}
	}
}

func bigTree(t testing.TB) *Graph {
	return (&shape{name: "fat-tree", params: &FatTreeParams{K: 16, HostLink: slow, FabricLink: fast}}).graph(t)
}

func BenchmarkFatTree1024(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Routes(bigTree(b), nil)
	}
}
