package fabric

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// diamond is a topology file with two hosts and two paths between them, one of which has
// parallel cables.
const diamond = `
hosts: [a, b]
switches: [s, t, u, v]
link: {rate: 100Gbps, delay: 1us}
links:
  - {ends: [a, s], rate: 25Gbps}
  - {ends: [t, b], rate: 25Gbps, delay: 2us}
  - {ends: [s, u]}
  - {ends: [u, t]}
  - {ends: [s, v]}
  - {ends: [s, v]}
  - {ends: [v, t], delay: 500ns}
groups:
  left: [s]
`

// inFolder writes files, given as names and contents, and returns the path of the first.
func inFolder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

func graphOf(t testing.TB, c *scenario.Config) *topo.Graph {
	t.Helper()
	g, err := layout.Graph(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A topology file is found relative to the scenario. The resolved scenario is
// self-contained.
func TestTopologyFile(t *testing.T) {
	path := inFolder(t, "a.yaml", "topology: {name: custom, path: nets/diamond.yaml, down: [s-u]}\nworkload: [{name: w, generator: flows, flows: [{from: a, to: b, size: 9KB}]}]\n", "nets/diamond.yaml", diamond)
	c, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := graphOf(t, c)
	if g.Hosts != 2 || len(g.Links) != 6 || g.Groups[len(g.Groups)-1].Name != "left" {
		t.Errorf("got %+v", g)
	}
	for name, want := range map[string]topo.Cable{
		"a-s":   {Rate: 25 * units.Gbps, Delay: units.Microsecond},
		"b-t":   {Rate: 25 * units.Gbps, Delay: 2 * units.Microsecond},
		"v-s#1": {Rate: 100 * units.Gbps, Delay: units.Microsecond},
		"v-t":   {Rate: 100 * units.Gbps, Delay: 500 * units.Nanosecond},
	} {
		i, err := g.LinkNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := (topo.Cable{Rate: g.Links[i].Rate, Delay: g.Links[i].Delay}); got != want {
			t.Errorf("%s has %+v", name, got)
		}
	}
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "diamond") {
		t.Errorf("the resolved scenario refers to the file:\n%s", text)
	}
	again := parse(t, string(text))
	if !sameConfig(again, c) {
		t.Errorf("got %+v\nwant %+v", again, c)
	}
	if !reflect.DeepEqual(graphOf(t, again), g) {
		t.Error("the resolved topology differs")
	}
}

// Errors in a topology file have a location in that file.
func TestBrokenTopologyFile(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "net.yaml:1:1: the file is empty (expected a topology)"},
		{"[a]", "net.yaml:1:1: topology: unexpected list (expected keys with values, such as {hosts: [WORD], switches: [WORD]})"},
		{"hosts: [a, b\n", "net.yaml:1:8: sequence end token ']' not found (expected YAML)"},
		{"hosts: [a, b]\nnodes: [s]\n", `net.yaml:2:1: topology: unknown key "nodes" (allowed: path, hosts, switches, link, links, groups)`},
		{"hosts: [a, b]\nswitches: [s]\nlinks:\n  - {ends: [a, s]}\n  - {ends: [b, x]}\n", `net.yaml:5:16: topology.links[1].ends[1]: links[1].ends[1] is "x", which is not a node (expected hosts (a, b) and switches (s))`},
		{"hosts: [a, b]\nswitches: [s]\nlinks:\n  - {ends: [a, s], rate: fast}\n", `net.yaml:4:26: topology.links[0].rate: "fast" is not a rate (expected a number and a unit, such as 10Mbps)`},
		{"hosts: [a, b]\nswitches: [s]\nlinks:\n  - {ends: [a, s]}\n  - {ends: [b, s], delay: 0}\n", "net.yaml:5:27: topology.links[1].delay: a link without delay cannot be simulated (expected more than 0s, at most 1s; 5ns is a metre of cable)"},
		{"path: other.yaml\n", "net.yaml:1:7: topology.path: a topology file cannot refer to another (allowed: hosts, switches, links)"},
	} {
		path := inFolder(t, "a.yaml", "topology:\n  name: custom\n  path: net.yaml\n", "net.yaml", c.text)
		_, err := ReadFile(path)
		var in *scenario.InputError
		if !errors.As(err, &in) || in.File != filepath.Join(filepath.Dir(path), "net.yaml") || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	// Only regular files are read.
	path := inFolder(t, "a.yaml", "topology: {name: custom, path: .}\n")
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "a.yaml:1:32: topology.path: ") || !strings.Contains(err.Error(), "is not a regular file (expected ") {
		t.Errorf("got %v", err)
	}
}

func TestLinkExceptions(t *testing.T) {
	c := parse(t, `
topology:
  name: leaf-spine
  leaves: 3
  spines: 2
  down: [leaf2-spine0]
  overrides:
    - {match: "leaf*-spine*", rate: 400Gbps}
    - {match: "spine1-leaf0", delay: 5us, rate: 40Gbps}   # either direction; the last one wins
    - {match: "host[0-3]-*", delay: 20ns}
`)
	g := graphOf(t, c)
	for name, want := range map[string]topo.Cable{
		"leaf0-spine0": {Rate: 400 * units.Gbps, Delay: units.Microsecond},
		"leaf0-spine1": {Rate: 40 * units.Gbps, Delay: 5 * units.Microsecond},
		"leaf2-spine1": {Rate: 400 * units.Gbps, Delay: units.Microsecond},
		"host3-leaf0":  {Rate: 100 * units.Gbps, Delay: 20 * units.Nanosecond},
		"host4-leaf1":  {Rate: 100 * units.Gbps, Delay: units.Microsecond},
	} {
		i, err := g.LinkNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := (topo.Cable{Rate: g.Links[i].Rate, Delay: g.Links[i].Delay}); got != want {
			t.Errorf("%s has %+v", name, got)
		}
	}
	if _, err := g.LinkNamed("leaf2-spine0"); err == nil || len(g.Links) != 12+5 {
		t.Errorf("leaf2-spine0 exists, or there are %d links, want 17", len(g.Links))
	}
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if again := parse(t, string(text)); !reflect.DeepEqual(graphOf(t, again), g) {
		t.Errorf("the topology differs after writing\n%s", text)
	}
}

// --set can change every part of a topology.
func TestSetTopology(t *testing.T) {
	const file = "topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 8, overrides: [{match: host0-leaf0, rate: 10Gbps}]}\n"
	c := parse(t, file, "topology.host_link.rate=25Gbps", "topology.fabric_link={delay: 3us}", "topology.overrides[0].rate=40Gbps", "topology.down=[leaf0-spine1]", "topology.leaves=3")
	p := c.Topology.Params.(*topo.LeafSpineParams)
	want := &topo.LeafSpineParams{
		Leaves: 3, Spines: 2, HostsPerLeaf: 8, HostLink: topo.Cable{Rate: 25 * units.Gbps, Delay: units.Microsecond}, FabricLink: topo.Cable{Rate: 100 * units.Gbps, Delay: 3 * units.Microsecond},
	}
	if !reflect.DeepEqual(p, want) || c.Topology.Overrides[0].Rate != 40*units.Gbps || !reflect.DeepEqual(c.Topology.Down, []string{"leaf0-spine1"}) {
		t.Errorf("got %+v, %+v", p, c.Topology)
	}
	// spines and oversubscription replace each other.
	c = parse(t, file, "topology.oversubscription=2")
	if p := c.Topology.Params.(*topo.LeafSpineParams); p.Spines != 0 || graphOf(t, c).Node("spine3") < 0 || graphOf(t, c).Node("spine4") >= 0 {
		t.Errorf("got %+v", p)
	}
	c = parse(t, "topology: {oversubscription: 2}", "topology.spines=3")
	if graphOf(t, c).Node("spine2") < 0 || graphOf(t, c).Node("spine3") >= 0 {
		t.Errorf("got %+v", c.Topology.Params)
	}
	for set, want := range map[string]string{
		"topology.host_link.speed=1Gbps":   `topology.host_link: unknown key "speed" (allowed: rate, delay)`,
		"topology.trunk.rate=1Gbps":        `topology: unknown key "trunk"`,
		"topology.down[0]=leaf0-spine0":    `topology.down: there is no item 0 (expected the index of a list item, from 0)`,
		"topology.overrides[0].delay=0s":   `topology.overrides[0].delay: a link without delay cannot be simulated`,
		"topology.overrides[0].match=leaf": `topology.overrides[0].match: no link matches "leaf"`,
	} {
		if _, err := Parse("a.yaml", []byte(file), set); err == nil || !strings.HasPrefix(err.Error(), "--set "+set+": "+want) {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// Locations of keys are discarded with the topology that they belong to.
func TestSetOtherTopology(t *testing.T) {
	const file = "name: a\ntopology:\n  name: one-switch\n  hosts: 4\n"
	_, err := Parse("a.yaml", []byte(file), "topology.name=custom")
	if want := "a.yaml:2:1: topology.hosts: hosts has 0 names (expected at least 2)"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if c := parse(t, file, "topology.name=linear"); graphOf(t, c).Hosts != 2 {
		t.Errorf("got %+v", c.Topology.Params)
	}
}

// A switch may have no links left.
func TestLonelySwitch(t *testing.T) {
	c := parse(t, "topology: {down: [\"*-spine0\"]}\nworkload: [{name: w, generator: poisson, sizes: 10KB, load: {share: 0.2, of: host_links}}]\nrun: {arrivals: 20us}\n")
	if err := begin(c); err != nil {
		t.Error(err)
	}
}

// FuzzTopologyFile checks that the parser of topology files never panics, that every error
// is an InputError, and that an accepted file builds and is the same after writing and
// reading it.
func FuzzTopologyFile(f *testing.F) {
	for _, text := range []string{
		diamond, "hosts: [a]", "hosts: [a, b]\nswitches: [s]\nlinks: [{ends: [a, s]}, {ends: [b, s]}]", "links: [{ends: [a, a], rate: 1bps}]", "groups: {a: [\"*\", \"!b\"]}",
		"path: x", "hosts: 3", "link: {rate: 0}", "hosts: [a, a]", "hosts: [\"\\xff\", b]", "groups: {x: [\"[\"]}", "? a", "- - -", "hosts: &a [b]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		refused := func(err error) bool {
			var in *scenario.InputError
			if err != nil && !errors.As(err, &in) {
				t.Fatalf("%v is not a scenario.InputError", err)
			}
			if err != nil {
				in.Excerpt()
			}
			return err != nil
		}
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "net.yaml"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Parse(filepath.Join(folder, "a.yaml"), []byte("topology: {name: custom, path: net.yaml}"))
		if refused(err) {
			return
		}
		g := graphOf(t, c)
		written, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("written", written)
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		if !reflect.DeepEqual(graphOf(t, again), g) {
			t.Fatalf("the topology differs after writing\n%s", written)
		}
		if g.Nodes() > 64 || len(g.Links) > 256 {
			return
		}
		c.Workload = []scenario.Workload{{Name: "w", Generator: "flows", Params: &workload.List{Flows: []workload.FlowSpec{{From: g.Names[0], To: g.Names[1], Size: 1}}}}}
		built, err := New(c, Options{Invariants: true})
		if err != nil && strings.Contains(err.Error(), "cannot be reached") {
			return
		}
		if err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		if _, err := sim.NewFast(built.Spec, sim.Options{}); err != nil {
			t.Fatalf("built, but: %v", err)
		}
	})
}
