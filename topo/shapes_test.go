package topo

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// shape is a topology with properties counted by hand.
type shape struct {
	name                   string
	params                 any
	hosts, switches, links int
	diameter               int            // links between the hosts that are furthest apart
	ports                  map[string]int // of some switches
	groups                 string         // all but the racks, which every topology has
	racks                  int
	joined                 []string // some links
	circular               bool     // the buffers have cyclic dependencies if all shortest paths are used
}

var shapes = []shape{
	{
		name: "one-switch", params: &OneSwitchParams{Hosts: 5, HostLink: slow},
		hosts: 5, switches: 1, links: 5, diameter: 2, ports: map[string]int{"switch0": 5}, groups: "all", racks: 1,
		joined: []string{"host4-switch0"},
	},
	{
		// Fig. 14 of DSH: two senders, and 2 + 24 hosts behind the shared link.
		name: "dumbbell", params: &DumbbellParams{Left: 2, Right: 26, HostLink: slow, Trunk: fast, Trunks: 1},
		hosts: 28, switches: 2, links: 29, diameter: 3, ports: map[string]int{"switch0": 3, "switch1": 27}, groups: "all left right", racks: 2,
		joined: []string{"host1-switch0", "host2-switch1", "switch0-switch1"},
	},
	{
		// Fig. 10a of Bifrost: two parallel links.
		name: "dumbbell", params: &DumbbellParams{Left: 2, Right: 1, HostLink: slow, Trunk: fast, Trunks: 2},
		hosts: 3, switches: 2, links: 5, diameter: 3, ports: map[string]int{"switch0": 4, "switch1": 3}, groups: "all left right", racks: 2,
		joined: []string{"switch0-switch1#0", "switch1-switch0#1"},
	},
	{
		// Fig. 3 of Bifrost: A - M - N - B.
		name: "linear", params: &LinearParams{Switches: 2, HostsPerSwitch: 1, HostLink: slow, FabricLink: fast},
		hosts: 2, switches: 2, links: 3, diameter: 3, ports: map[string]int{"switch0": 2, "switch1": 2}, groups: "all", racks: 2,
		joined: []string{"host1-switch1", "switch0-switch1"},
	},
	{
		// host0 - switch0 - switch1 - switch2 - host1, host2: 1 + 2 + 1 links.
		name: "linear", params: &LinearParams{Switches: 3, Hosts: []int{1, 0, 2}, HostLink: slow, FabricLink: fast},
		hosts: 3, switches: 3, links: 5, diameter: 4, ports: map[string]int{"switch0": 2, "switch1": 2, "switch2": 3}, groups: "all", racks: 2,
		joined: []string{"host2-switch2"},
	},
	{
		name: "leaf-spine", params: &LeafSpineParams{Leaves: 3, Spines: 4, HostsPerLeaf: 2, HostLink: slow, FabricLink: fast},
		hosts: 6, switches: 7, links: 6 + 12, diameter: 4, ports: map[string]int{"leaf2": 6, "spine3": 3}, groups: "all", racks: 3,
		joined: []string{"host5-leaf2", "leaf0-spine3"},
	},
	{
		// Reverie: 16 leaves of 16 hosts, equal links, oversubscription 4: 16/4 spines.
		name: "leaf-spine", params: &LeafSpineParams{Leaves: 16, HostsPerLeaf: 16, Oversubscription: 4, HostLink: slow, FabricLink: slow},
		hosts: 256, switches: 20, links: 256 + 64, diameter: 4, ports: map[string]int{"leaf0": 20, "spine3": 16}, groups: "all", racks: 16,
		joined: []string{"host255-leaf15", "leaf15-spine3"},
	},
	{
		// 4 pods of 2 + 2 switches and 2 x 2 hosts, 4 cores; 16 links in each of the
		// three layers; every switch has k ports.
		name: "fat-tree", params: &FatTreeParams{K: 4, HostLink: slow, FabricLink: fast},
		hosts: 16, switches: 20, links: 48, diameter: 6, ports: map[string]int{"edge0": 4, "agg7": 4, "core3": 4}, groups: "all pod0 pod1 pod2 pod3", racks: 8,
		joined: []string{"host15-edge7", "edge7-agg6", "agg0-core0", "agg0-core1", "agg7-core2", "agg7-core3"},
	},
	{
		name: "fat-tree", params: &FatTreeParams{K: 2, HostsPerEdge: 3, HostLink: slow, FabricLink: fast},
		hosts: 6, switches: 5, links: 6 + 2 + 2, diameter: 6, ports: map[string]int{"edge1": 4, "agg1": 2, "core0": 2}, groups: "all pod0 pod1", racks: 2,
		joined: []string{"agg1-core0"},
	},
	{
		// L2BM: 4 x 32 hosts; 16 links from ToRs and 8 from aggregation switches up.
		// Any aggregation switch joins any two ToRs, so no shortest path uses a core.
		name: "clos3", params: clos3Defaults(),
		hosts: 128, switches: 10, links: 128 + 16 + 8, diameter: 4, ports: map[string]int{"tor3": 36, "agg0": 6, "core1": 4}, groups: "all", racks: 4,
		joined: []string{"host127-tor3", "tor3-agg0", "agg3-core1"},
	},
	{
		// Bifrost: two of the fat-trees above, 4 links from the cores to each DCI
		// switch, one between these. 4 links up, 1 across, 4 down.
		name: "two-dc", params: twoDCDefaults(),
		hosts: 32, switches: 42, links: 2*48 + 2*4 + 1, diameter: 9, ports: map[string]int{"dci0": 5, "dci1": 5, "dc1-core0": 5, "dc0-edge0": 4},
		groups: "all dc0 dc0-pod0 dc0-pod1 dc0-pod2 dc0-pod3 dc1 dc1-pod0 dc1-pod1 dc1-pod2 dc1-pod3", racks: 16,
		joined: []string{"host16-dc1-edge0", "dc0-edge0-dc0-agg1", "dc1-core3-dci1", "dci0-dci1"},
	},
	{
		// The same with relays: two more switches, two more links and two more hops.
		name: "two-dc", params: relayed(),
		hosts: 32, switches: 44, links: 2*48 + 2*4 + 3, diameter: 11, ports: map[string]int{"dci0": 5, "dci1": 5, "relay0": 2, "relay1": 2},
		groups: "all dc0 dc0-pod0 dc0-pod1 dc0-pod2 dc0-pod3 dc1 dc1-pod0 dc1-pod1 dc1-pod2 dc1-pod3", racks: 16,
		joined: []string{"dci0-relay0", "dci1-relay1", "relay0-relay1"},
	},
	{
		// 2 segments of 3 servers with 2 NICs: 12 hosts, 4 leaves, 2 spines with 2 cables to
		// each leaf. host7 is NIC 1 of server 3, the first of segment 1: on leaf 1*2 + 1.
		name: "rail", params: &RailParams{Segments: 2, Servers: 3, Rails: 2, Spines: 2, Cables: 2, SpineGroups: 1, Planes: 1, HostLink: slow, FabricLink: fast},
		hosts: 12, switches: 6, links: 12 + 4*2*2, diameter: 4, ports: map[string]int{"leaf0": 3 + 4, "spine1": 8},
		groups: "all segment0 segment1 rail0 rail1", racks: 4, joined: []string{"host0-leaf0", "host1-leaf1", "host7-leaf3", "leaf3-spine1#1"},
	},
	{
		// 2 groups, one per rail, of 2 spines; 2 planes of 2 cores. Leaf 3 is rail 1 of
		// segment 1: spines 2 and 3. Spine 3 is in plane 1: cores 2 and 3. Between rails:
		// leaf, spine, core, spine, leaf, with 6 links.
		name: "rail", params: &RailParams{Segments: 2, Servers: 2, Rails: 2, Spines: 4, Cables: 1, Cores: 4, SpineGroups: 2, Planes: 2, HostLink: slow, FabricLink: fast},
		hosts: 8, switches: 12, links: 8 + 4*2 + 4*2, diameter: 6, ports: map[string]int{"leaf0": 4, "spine3": 4, "core0": 2},
		groups: "all segment0 segment1 rail0 rail1", racks: 4, joined: []string{"leaf3-spine2", "leaf3-spine3", "leaf2-spine0", "spine3-core2", "spine2-core1", "spine0-core0"},
	},
	{
		name: "ring", params: &RingParams{Switches: 3, HostsPerSwitch: 1, HostLink: slow, FabricLink: fast},
		hosts: 3, switches: 3, links: 6, diameter: 3, ports: map[string]int{"switch0": 3}, groups: "all", racks: 3,
		joined: []string{"switch2-switch0"},
	},
	{
		// Two hops between opposite switches.
		name: "ring", params: &RingParams{Switches: 5, HostsPerSwitch: 2, HostLink: slow, FabricLink: fast},
		hosts: 10, switches: 5, links: 15, diameter: 4, ports: map[string]int{"switch0": 4, "switch4": 4}, groups: "all", racks: 5,
		joined: []string{"host9-switch4", "switch4-switch0"}, circular: true,
	},
	{
		name: "full-mesh", params: &FullMeshParams{Switches: 4, HostsPerSwitch: 2, HostLink: slow, FabricLink: fast},
		hosts: 8, switches: 4, links: 8 + 6, diameter: 3, ports: map[string]int{"switch0": 5, "switch3": 5}, groups: "all", racks: 4,
		joined: []string{"switch0-switch3", "switch1-switch2"},
	},
	{
		// 16 switches, two links per switch; at most two hops per dimension.
		name: "torus", params: &TorusParams{Rows: 4, Columns: 4, HostsPerSwitch: 1, HostLink: slow, FabricLink: fast},
		hosts: 16, switches: 16, links: 16 + 32, diameter: 6, ports: map[string]int{"switch0_0": 5, "switch3_3": 5}, groups: "all", racks: 16,
		joined: []string{"switch0_0-switch0_3", "switch0_0-switch3_0", "switch1_2-switch2_2", "host6-switch1_2"}, circular: true,
	},
	{
		// Two rows of three, three columns of two with one link each.
		name: "torus", params: &TorusParams{Rows: 2, Columns: 3, HostsPerSwitch: 1, HostLink: slow, FabricLink: fast},
		hosts: 6, switches: 6, links: 6 + 6 + 3, diameter: 4, ports: map[string]int{"switch0_0": 4, "switch1_2": 4}, groups: "all", racks: 6,
		joined: []string{"switch0_2-switch0_0", "switch1_1-switch0_1"}, circular: true,
	},
	{
		// b and c have two cables; b, c and d have racks.
		name: "custom", params: &CustomParams{
			Hosts: []string{"x", "y", "z"}, Switches: []string{"a", "b", "c", "d"}, Link: fast,
			Links: []CustomLink{
				{Ends: []string{"b", "x"}, Rate: slow.Rate, Delay: slow.Delay}, {Ends: []string{"y", "c"}, Rate: slow.Rate, Delay: slow.Delay},
				{Ends: []string{"d", "z"}, Rate: slow.Rate, Delay: slow.Delay}, {Ends: []string{"b", "c"}}, {Ends: []string{"a", "b"}}, {Ends: []string{"c", "b"}}, {Ends: []string{"c", "d"}},
			},
			Groups: map[string][]string{"ends": {"z", "x"}, "middle": {"all", "!x", "!d"}},
		},
		hosts: 3, switches: 4, links: 7, diameter: 4, ports: map[string]int{"a": 1, "b": 4, "c": 4, "d": 2}, groups: "all ends middle", racks: 3,
		joined: []string{"x-b", "b-c#0", "b-c#1", "c-b#1", "a-b"},
	},
}

func (s *shape) graph(t testing.TB) *Graph {
	t.Helper()
	e, err := Topologies.Get(s.name)
	if err != nil {
		t.Fatal(err)
	}
	g, err := e.New(s.params)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestShapes(t *testing.T) {
	for i := range shapes {
		s := &shapes[i]
		t.Run(s.name, func(t *testing.T) {
			g := s.graph(t)
			checkSound(t, g)
			if g.Hosts != s.hosts || g.Nodes()-g.Hosts != s.switches || len(g.Links) != s.links {
				t.Errorf("%d hosts, %d switches, %d links; want %d, %d, %d", g.Hosts, g.Nodes()-g.Hosts, len(g.Links), s.hosts, s.switches, s.links)
			}
			if got := diameter(g); got != s.diameter {
				t.Errorf("diameter %d, want %d", got, s.diameter)
			}
			counts := g.Ports()
			for name, want := range s.ports {
				if n := g.Node(name); n < g.Hosts || counts[n] != want {
					t.Errorf("%s is node %d; its ports are not %d", name, n, want)
				}
			}
			for _, name := range s.joined {
				if _, err := g.LinkNamed(name); err != nil {
					t.Error(err)
				}
			}
			racks, others := 0, []string{}
			for _, group := range g.Groups {
				if strings.HasPrefix(group.Name, "rack") {
					racks++
				} else {
					others = append(others, group.Name)
				}
			}
			if got := strings.Join(others, " "); got != s.groups || racks != s.racks {
				t.Errorf("groups %s and %d racks; want %s and %d", got, racks, s.groups, s.racks)
			}
			for _, l := range g.Links {
				if want := slow.Rate; l.A < g.Hosts && l.Rate != want && s.name != "two-dc" {
					t.Errorf("link of %s has %s", g.Names[l.A], l.Rate)
				}
			}
			if got := circular(g); got != s.circular {
				t.Errorf("circular dependencies: %v, want %v", got, s.circular)
			}
		})
	}
}

func relayed() *TwoDCParams {
	p := twoDCDefaults()
	p.RelayLink = Cable{Rate: p.LongLink.Rate, Delay: units.Microsecond}
	return p
}

// The defaults of every entry give a valid topology.
func TestDefaults(t *testing.T) {
	for _, e := range Topologies.All() {
		if e.Name == "custom" {
			continue // its defaults are empty
		}
		g, err := e.New(e.Params())
		if err != nil {
			t.Errorf("defaults of %s: %v", e.Name, err)
			continue
		}
		checkSound(t, g)
	}
}

// Default cables match the papers' set-ups.
func TestDefaultCables(t *testing.T) {
	us := units.Microsecond
	for _, c := range []struct {
		topology, link string
		rate           units.Rate
		delay          units.Time
	}{
		{"clos3", "host0-tor0", 25 * units.Gbps, us},
		{"clos3", "tor0-agg0", 100 * units.Gbps, us},
		{"clos3", "agg0-core0", 100 * units.Gbps, 5 * us},
		{"two-dc", "host0-dc0-edge0", 100 * units.Gbps, us},
		{"two-dc", "dc0-edge0-dc0-agg0", 100 * units.Gbps, us},
		{"two-dc", "dc1-core0-dci1", 100 * units.Gbps, us},
		{"two-dc", "dci1-dci0", 400 * units.Gbps, 3000 * us},
	} {
		e, err := Topologies.Get(c.topology)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.New(e.Params())
		if err != nil {
			t.Fatal(err)
		}
		i, err := g.LinkNamed(c.link)
		if err != nil {
			t.Error(err)
		} else if l := g.Links[i]; l.Rate != c.rate || l.Delay != c.delay {
			t.Errorf("%s of %s has %s and %s", c.link, c.topology, l.Rate, l.Delay)
		}
	}
}

// Fig. 16 of DSH: with S0-L3 and S1-L0 down, leaves forward between spines, and the buffers
// have cyclic dependencies.
func TestFailuresMakeCycles(t *testing.T) {
	g := LeafSpine(4, 2, 2, slow, fast)
	if circular(g) {
		t.Error("cyclic dependencies without failures")
	}
	for _, name := range []string{"leaf3-spine0", "spine1-leaf0"} {
		links, err := g.LinksLike(name)
		if err != nil {
			t.Fatal(err)
		}
		g.Remove(links)
	}
	checkSound(t, g)
	if !circular(g) {
		t.Error("no cyclic dependencies")
	}
	// host0-leaf0-spine0-leaf1-spine1-leaf3-host7
	if got := diameter(g); got != 6 {
		t.Errorf("diameter %d", got)
	}
}
