package topo

import (
	"fmt"
	"strings"
	"testing"
)

// Every preset has the published numbers of hosts, leaves, spines and cores; each switch
// has the ports that follow from them.
func TestRailPresets(t *testing.T) {
	for name, want := range map[string]struct{ hosts, leaves, spines, cores, leaf, spine, core int }{
		"small":           {32, 8, 4, 0, 4 + 4, 8, 0},
		"spectrum-x-4096": {4096, 64, 64, 0, 64 + 64, 64, 0},
		"superpod-512":    {512, 16, 8, 0, 64, 64, 0},
		"superpod-1024":   {1024, 32, 16, 0, 64, 64, 0},
		"superpod-2048":   {2048, 64, 32, 0, 64, 64, 0},
		"superpod-4096":   {4096, 128, 128, 64, 64, 64, 64},
		"superpod-8192":   {8192, 256, 256, 128, 64, 64, 64},
		"superpod-16384":  {16384, 512, 512, 256, 64, 64, 64},
		"b300-512":        {512, 16, 8, 0, 64, 64, 0},
		"b300-1024":       {1024, 32, 16, 0, 64, 64, 0},
		"b300-2048":       {2048, 64, 32, 0, 64, 64, 0},
	} {
		p := railDefaults()
		if err := p.ApplyPreset(name); err != nil {
			t.Fatal(err)
		}
		g, err := newRail(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g.Hosts != want.hosts || g.Nodes()-g.Hosts != want.leaves+want.spines+want.cores || g.PerServer != p.Rails {
			t.Errorf("%s: %d hosts, %d switches", name, g.Hosts, g.Nodes()-g.Hosts)
		}
		for i, n := range g.Ports() {
			for kind, ports := range map[string]int{"leaf": want.leaf, "spine": want.spine, "core": want.core} {
				if strings.HasPrefix(g.Names[i], kind) && n != ports {
					t.Fatalf("%s: %s has %d ports (expected %d)", name, g.Names[i], n, ports)
				}
			}
		}
	}
	if len(railPresets) != 11 {
		t.Errorf("%d presets", len(railPresets))
	}
}

// Hand-computed paths in the default: host 5 is NIC 1 of server 1, host 29 NIC 1 of server 7
// in segment 1. On one rail of a segment a path has one switch; else leaf, spine, leaf.
func TestRailPaths(t *testing.T) {
	g := must(newRail(railDefaults()))
	for _, c := range []struct {
		from, to int
		links    int
		leaf     string
	}{
		{5, 9, 2, "leaf1"},  // NIC 1 of servers 1 and 2, segment 0
		{5, 4, 4, "leaf0"},  // NICs of one server are on different leaves
		{5, 29, 4, "leaf5"}, // segment 1, rail 1: leaf 1*4 + 1
	} {
		if got := walk(g, c.to)[c.from]; got != c.links {
			t.Errorf("host%d to host%d: %d links (expected %d)", c.from, c.to, got, c.links)
		}
		if _, err := g.LinkNamed(fmt.Sprintf("host%d-%s", c.to, c.leaf)); err != nil {
			t.Error(err)
		}
	}
}

func TestRailErrors(t *testing.T) {
	for want, change := range map[string]func(*RailParams){
		"spine_groups is 3 (expected a divisor of spines, 4)":                                          func(p *RailParams) { p.SpineGroups = 3 },
		"spine_groups is 2 (expected 1, or rails, 4, times a divisor of segments, 2)":                  func(p *RailParams) { p.SpineGroups = 2 },
		"spine_groups is 4 without cores to connect the groups (expected 1, or cores)":                 func(p *RailParams) { p.SpineGroups = 4 },
		"planes is 2 (expected a divisor of cores, 3, and of the spines of a group, 4)":                func(p *RailParams) { p.Cores, p.Planes = 3, 2 },
		"a leaf has 1028 ports (expected at most 1024)":                                                func(p *RailParams) { p.Servers = 1024 },
		"rails is 0, which is too small (expected 1 to 1024)":                                          func(p *RailParams) { p.Rails = 0 },
		"there are 1024000 hosts and 1032 switches (expected at most 131072 hosts and 16383 switches)": func(p *RailParams) { p.Servers, p.Rails, p.Segments = 1000, 1024, 1; p.Spines = 8 },
		"cores is -1, which is too small (expected 0 to 16383)":                                        func(p *RailParams) { p.Cores = -1 },
	} {
		p := railDefaults()
		change(p)
		if _, err := newRail(p); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := railDefaults().ApplyPreset("superpod-1"); err == nil || !strings.Contains(err.Error(), `unknown preset "superpod-1"`) {
		t.Error(err)
	}
}
