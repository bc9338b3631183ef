package topo

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
)

var (
	slow = Cable{Rate: 25 * units.Gbps, Delay: units.Microsecond}
	fast = Cable{Rate: 100 * units.Gbps, Delay: 2 * units.Microsecond}
)

// portsTo returns the ports by which a switch sends to a host.
func portsTo(tables []*route.Table, node, dst int) []uint16 {
	return tables[node].Set(uint32(dst))
}

func TestOneSwitch(t *testing.T) {
	g := OneSwitch(3, slow)
	if want := []string{"host0", "host1", "host2", "switch0"}; !reflect.DeepEqual(g.Names, want) || g.Hosts != 3 || g.Nodes() != 4 {
		t.Errorf("nodes are %v", g.Names)
	}
	if got, want := g.Ports(), []int{1, 1, 1, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("ports are %v", got)
	}
	if want := []int{0, 0, 0}; !reflect.DeepEqual(g.Rack, want) {
		t.Errorf("racks are %v", g.Rack)
	}
	tables := Routes(g, nil)
	for dst := range 3 {
		if got := portsTo(tables, 3, dst); !reflect.DeepEqual(got, []uint16{uint16(dst)}) {
			t.Errorf("to host %d: %v", dst, got)
		}
		if tables[dst] != nil {
			t.Errorf("host %d has a table", dst)
		}
	}
}

func TestLeafSpine(t *testing.T) {
	const leaves, spines, perLeaf = 3, 4, 2
	g := LeafSpine(leaves, spines, perLeaf, slow, fast)
	if g.Hosts != 6 || g.Nodes() != 6+leaves+spines || len(g.Links) != 6+leaves*spines {
		t.Fatalf("%d hosts, %d nodes, %d links", g.Hosts, g.Nodes(), len(g.Links))
	}
	used := make(map[[2]int]bool)
	for _, l := range g.Links {
		if want := fast; l.A < g.Hosts {
			if want = slow; l.B != g.Hosts+l.A/perLeaf || g.Rack[l.A] != l.A/perLeaf {
				t.Errorf("host %d is at node %d in rack %d", l.A, l.B, g.Rack[l.A])
			}
			if l.Rate != want.Rate || l.Delay != want.Delay {
				t.Errorf("host link %+v", l)
			}
		} else if l.Rate != want.Rate || l.Delay != want.Delay {
			t.Errorf("fabric link %+v", l)
		}
		for _, end := range [][2]int{{l.A, l.PortA}, {l.B, l.PortB}} {
			if used[end] {
				t.Errorf("two cables at node %d port %d", end[0], end[1])
			}
			used[end] = true
		}
	}
	tables := Routes(g, nil)
	for leaf := range leaves {
		for dst := range g.Hosts {
			want := []uint16{2, 3, 4, 5} // every spine: the ports after the hosts
			if dst/perLeaf == leaf {
				want = []uint16{uint16(dst % perLeaf)}
			}
			if got := portsTo(tables, g.Hosts+leaf, dst); !reflect.DeepEqual(got, want) {
				t.Errorf("leaf %d to host %d: %v, want %v", leaf, dst, got, want)
			}
		}
	}
	for spine := range spines {
		for dst := range g.Hosts {
			if got, want := portsTo(tables, g.Hosts+leaves+spine, dst), []uint16{uint16(dst / perLeaf)}; !reflect.DeepEqual(got, want) {
				t.Errorf("spine %d to host %d: %v, want %v", spine, dst, got, want)
			}
		}
	}
}

func TestRoutesAroundAFailure(t *testing.T) {
	g := LeafSpine(3, 2, 1, slow, fast)
	leaf0, leaf1, spine0 := 3, 4, 6
	broken := -1
	for i, l := range g.Links {
		if l.A == leaf0 && l.B == spine0 {
			broken = i
		}
	}
	tables := Routes(g, func(link int) bool { return link == broken })
	if got := portsTo(tables, leaf0, 1); !reflect.DeepEqual(got, []uint16{2}) {
		t.Errorf("leaf0 to host1: %v, want spine1 only", got)
	}
	if got := portsTo(tables, leaf1, 0); !reflect.DeepEqual(got, []uint16{2}) {
		t.Errorf("leaf1 to host0: %v, want spine1 only", got)
	}
	if got := portsTo(tables, leaf1, 2); !reflect.DeepEqual(got, []uint16{1, 2}) {
		t.Errorf("leaf1 to host2: %v, want both spines", got)
	}
	// The spine that lost its link sends through another leaf.
	if got := portsTo(tables, spine0, 0); !reflect.DeepEqual(got, []uint16{1, 2}) {
		t.Errorf("spine0 to host0: %v, want leaf1 and leaf2", got)
	}
}

func TestRoutesToNowhere(t *testing.T) {
	g := OneSwitch(3, slow)
	tables := Routes(g, func(link int) bool { return link == 1 })
	if got := portsTo(tables, 3, 1); len(got) != 0 {
		t.Errorf("to a host without a link: %v", got)
	}
	if got := portsTo(tables, 3, 2); !reflect.DeepEqual(got, []uint16{2}) {
		t.Errorf("to its neighbour: %v", got)
	}
}
