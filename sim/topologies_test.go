package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// fabrics returns small fabrics with special features of their topologies: parallel
// cables, links down, mixed rates and lengths.
func fabrics() map[string]scenario.Topology {
	host := topo.Cable{Rate: 25 * units.Gbps, Delay: 300 * units.Nanosecond}
	core := topo.Cable{Rate: 40 * units.Gbps, Delay: units.Microsecond}
	long := topo.Cable{Rate: 100 * units.Gbps, Delay: 100 * units.Microsecond}
	leafSpine := scenario.Fabric("leaf-spine", &topo.LeafSpineParams{Leaves: 4, Spines: 2, HostsPerLeaf: 2, HostLink: host, FabricLink: core})
	leafSpine.Down = []string{"leaf3-spine0", "leaf0-spine1"}
	leafSpine.Overrides = []scenario.LinkOverride{{Match: "leaf1-*", Rate: 10 * units.Gbps}, {Match: "host[0-3]-*", Delay: 50 * units.Nanosecond}}
	return map[string]scenario.Topology{
		"one-switch": scenario.Fabric("one-switch", &topo.OneSwitchParams{Hosts: 5, HostLink: host}),
		"dumbbell":   scenario.Fabric("dumbbell", &topo.DumbbellParams{Left: 3, Right: 3, HostLink: host, Trunk: core, Trunks: 3}),
		"linear":     scenario.Fabric("linear", &topo.LinearParams{Switches: 3, Hosts: []int{2, 0, 3}, HostLink: host, FabricLink: core}),
		"leaf-spine": leafSpine,
		"fat-tree":   scenario.Fabric("fat-tree", &topo.FatTreeParams{K: 4, HostsPerEdge: 1, HostLink: host, FabricLink: core}),
		"clos3":      scenario.Fabric("clos3", &topo.Clos3Params{Cores: 1, Aggs: 2, ToRs: 2, HostsPerToR: 3, HostLink: host, AggLink: core, CoreLink: long}),
		"two-dc":     scenario.Fabric("two-dc", &topo.TwoDCParams{K: 2, HostsPerEdge: 2, HostLink: host, FabricLink: core, DCILink: core, LongLink: long}),
		"ring":       scenario.Fabric("ring", &topo.RingParams{Switches: 4, HostsPerSwitch: 2, HostLink: host, FabricLink: core}),
		"full-mesh":  scenario.Fabric("full-mesh", &topo.FullMeshParams{Switches: 4, HostsPerSwitch: 2, HostLink: host, FabricLink: core}),
		"torus":      scenario.Fabric("torus", &topo.TorusParams{Rows: 3, Columns: 3, HostsPerSwitch: 1, HostLink: host, FabricLink: core}),
		"custom": scenario.Fabric("custom", &topo.CustomParams{
			Hosts: []string{"a", "b", "c"}, Switches: []string{"s", "t"}, Link: host,
			Links: []topo.CustomLink{
				{Ends: []string{"a", "s"}}, {Ends: []string{"t", "b"}, Rate: 10 * units.Gbps}, {Ends: []string{"c", "t"}},
				{Ends: []string{"s", "t"}, Delay: units.Microsecond}, {Ends: []string{"t", "s"}, Rate: 100 * units.Gbps},
			},
		}),
	}
}

// On every topology both engines agree, no lossless frame is dropped, and every flow ends.
func TestEveryTopology(t *testing.T) {
	special := fabrics()
	for _, e := range topo.Topologies.All() {
		fabric, ok := special[e.Name]
		if !ok {
			fabric = scenario.Fabric(e.Name, e.Params())
		}
		t.Run(e.Name, func(t *testing.T) {
			cfg := star(0, 0)
			cfg.Topology = fabric
			cfg.Switch.Buffer.Size = 8 * units.MiB
			cfg.Workload = []scenario.Workload{
				{Name: "pairs", Generator: "poisson", Params: &workload.Poisson{Sizes: "20KB", AtOnce: 1}, Load: scenario.Load{Share: 0.15, Of: "host_links"}, Class: scenario.ClassChoice{Fixed: "rdma"}},
				{Name: "burst", Generator: "incast", Params: &workload.Incast{Senders: 2, Size: 30 * units.KB}, Load: scenario.Load{Share: 0.05, Of: "host_links"}, Class: scenario.ClassChoice{Fixed: "rdma"}},
			}
			cfg.Run.Arrivals = 100 * units.Microsecond
			c := &randomCase{cfg: cfg, grace: 500 * units.Microsecond}
			o, err := c.check(fastEngines...)
			if err != nil {
				t.Fatal(err)
			}
			done, total := 0, len(o.built.Flows.Flow)
			for i := range total {
				if o.built.Flows.Done(i) {
					done++
				}
			}
			if total < 5 || done != total {
				t.Errorf("%d of %d flows ended", done, total)
			}
		})
	}
}
