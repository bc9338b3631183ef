package htsim

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/yaml"
)

const leafSpine = `# two tiers
nodes 16
TIERS 2
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 2
Downlink_Latency_ns 500
Oversubscribed 4
Queue_Up 100
Queue_Down 200
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Switch_Latency_ns 300
`

// threeTiers has 2 pods of 2 ToRs and 2 aggregation switches. Each of these has 2 parallel
// links of half the speed to 2 of 4 core switches.
const threeTiers = `Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Bundle 2
`

func readTopology(text string) (*Topology, error) {
	return ReadTopology("a.topo", strings.NewReader(text))
}

func TestTopology(t *testing.T) {
	for text, want := range map[string]*Topology{
		leafSpine: {Nodes: 16, PodSize: 16, Pods: 1, ToRs: 2, Aggs: 2, Tiers: []Tier{
			{SpeedGbps: 100, RadixDown: 8, RadixUp: 2, LatencyNs: 500, Oversubscribed: 4, Bundle: 1, QueueUp: 100, QueueDown: 200, Line: 5},
			{SpeedGbps: 100, RadixDown: 2, SwitchLatencyNs: 300, Oversubscribed: 1, Bundle: 1, Line: 13},
		}},
		threeTiers: {Nodes: 8, PodSize: 4, Pods: 2, ToRs: 4, Aggs: 4, Cores: 4, Tiers: []Tier{
			{SpeedGbps: 200, RadixDown: 2, RadixUp: 2, Oversubscribed: 1, Bundle: 1, Line: 4},
			{SpeedGbps: 200, RadixDown: 2, RadixUp: 4, Oversubscribed: 1, Bundle: 1, Line: 8},
			{SpeedGbps: 100, RadixDown: 4, Oversubscribed: 1, Bundle: 2, Line: 12},
		}},
	} {
		got, err := readTopology(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestTopologyErrors(t *testing.T) {
	for _, c := range []struct{ text, old, new, want string }{
		{"", "", "", "a.topo: no Nodes in the header"},
		{leafSpine, "TIERS 2\n", "", "a.topo:4:1: no Tiers in the header"},
		{leafSpine, "Podsize 16\n", "", "a.topo:4:1: no Podsize in the header"},
		{leafSpine, "TIERS 2", "Tiers 4", "a.topo:3:1: 4 tiers (allowed: 2, 3)"},
		{leafSpine, "nodes 16", "Nodes 16\nNodes 16", "a.topo:3:1: Nodes is given twice"},
		{leafSpine, "nodes 16", "Nodes 16 17", `a.topo:2:1: unexpected "17" (expected the end of the line)`},
		{leafSpine, "nodes 16", "hosts 16", `a.topo:2:1: unexpected "hosts" (allowed: Nodes, Tiers, Podsize, Tier)`},
		{leafSpine, "nodes 16", "Nodes 99999999", `a.topo:2:1: Nodes is "99999999" (expected a whole number from 1 to 1048576)`},
		{leafSpine, "Queue_Up", "Queue", `a.topo:11:1: unexpected "Queue" (allowed: Tier, Downlink_speed_Gbps, Radix_Down, Radix_Up, ` +
			`Downlink_Latency_ns, Switch_Latency_ns, Oversubscribed, Bundle, Queue_Up, Queue_Down)`},
		{leafSpine, "Tier 1", "Tier 2", `a.topo:13:1: Tier is "2" (expected a whole number from 0 to 1)`},
		{leafSpine, "Tier 1", "Tier 0", "a.topo:13:1: tier 0 is described twice"},
		{leafSpine, "TIERS 2", "Tiers 3", "a.topo:16:1: no description of tier 2 (expected Tier 2)"},
		{leafSpine, "Radix_Down 8\n", "", "a.topo:5:1: tier 0 has no Radix_Down"},
		{leafSpine, "Radix_Up 2\n", "", "a.topo:5:1: tier 0 has no Radix_Up"},
		{leafSpine, "Gbps 100\nRadix_Down 2", "Gbps 100\nRadix_Down 2\nRadix_Up 2", "a.topo:13:1: tier 1 has Radix_Up (expected none in the top tier)"},
		{leafSpine, "Downlink_speed_Gbps 100\nRadix_Down 2", "Radix_Down 2", "a.topo:13:1: tier 1 has no Downlink_speed_Gbps"},
		{leafSpine, "Radix_Up 2\n", "Radix_Up 2\nBundle 2\n", "a.topo:5:1: tier 0 has bundles of 2 links (expected 1: a host has one link)"},
		{leafSpine, "Podsize 16", "Podsize 3", "a.topo:16:1: 16 nodes (expected a multiple of Podsize, 3)"},
		{leafSpine, "Podsize 16", "Podsize 8", "a.topo:16:1: Podsize is 8 (expected 16, all nodes, with 2 tiers)"},
		{leafSpine, "Radix_Down 8", "Radix_Down 5", "a.topo:5:1: tier 0 has Radix_Down 5 (expected a divisor of Podsize, 16)"},
		{leafSpine, "Oversubscribed 4", "Oversubscribed 3", "a.topo:5:1: tier 0 has 800 Gbps below and 200 Gbps above (expected the ratio of Oversubscribed, 3)"},
		{leafSpine, "Radix_Down 2", "Radix_Down 4", "a.topo:13:1: tier 1 has Radix_Down 4: 4 links from below need 1 switches (expected 2, in 1 groups of Radix_Up / Bundle)"},
		{threeTiers, "Bundle 2", "Bundle 3", "a.topo:12:1: tier 2 has Radix_Down 4 (expected a multiple of Bundle, 3)"},
		{threeTiers, "Bundle 2", "Bundle 1", "a.topo:12:1: tier 2 has Radix_Down 4: 16 links from below need 4 switches (expected 8, in 2 groups of Radix_Up / Bundle)"},
	} {
		_, err := readTopology(strings.Replace(c.text, c.old, c.new, 1))
		var in *yaml.InputError
		if !errors.As(err, &in) || err.Error() != c.want {
			t.Errorf("%q: %v\nwant %s", c.new, err, c.want)
		}
	}
}

func TestTopologySamples(t *testing.T) {
	want := map[string][4]int{ // nodes and numbers of switches
		"fat_tree_128_1os.topo": {128, 32, 32, 16}, "fat_tree_128_4os.topo": {128, 32, 32, 4},
		"leaf_spine_1024.topo": {1024, 32, 32, 0}, "leaf_spine_tiny.topo": {32, 4, 2, 0},
	}
	for _, path := range samples(t, "*.topo") {
		p, err := OpenTopology(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if n, known := want[filepath.Base(path)]; known && n != [4]int{p.Nodes, p.ToRs, p.Aggs, p.Cores} {
			t.Errorf("%s: %d nodes, %d ToRs, %d aggregation and %d core switches", path, p.Nodes, p.ToRs, p.Aggs, p.Cores)
		}
	}
}
