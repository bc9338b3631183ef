package topo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

func TestPortsLike(t *testing.T) {
	// Ports of a leaf: two hosts, then two spines.
	link := Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	g := LeafSpine(2, 2, 2, link, link)
	for _, c := range []struct{ pattern, want string }{
		{"leaf0", "leaf0: 0 1 2 3"},
		{"leaf?", "leaf0: 0 1 2 3, leaf1: 0 1 2 3"},
		{"leaf1.port3", "leaf1: 3"},
		{"leaf*.to-spine1", "leaf0: 3, leaf1: 3"},
		{"*.to-host3", "leaf1: 1"},
		{"spine0.to-*, host[12]", "host1: 0, host2: 0, spine0: 0 1"},
		{"leaf0.port[0-1],leaf0.to-spine0", "leaf0: 0 1 2"},
		{"leaf0,nowhere", `no node or port matches "nowhere" (expected names such as`},
		{"leaf0.port9", `no node or port matches "leaf0.port9"`},
		{"leaf[", `"leaf[" is not a pattern`},
		{"", `no node or port matches ""`},
	} {
		got, err := g.PortsLike(c.pattern)
		if text := show(g, got, err); !strings.HasPrefix(text, c.want) || err == nil && text != c.want {
			t.Errorf("%s: got %s, want %s", c.pattern, text, c.want)
		}
	}
}

func show(g *Graph, chosen [][]bool, err error) string {
	if err != nil {
		return err.Error()
	}
	var nodes []string
	for n, ports := range chosen {
		if ports == nil {
			continue
		}
		s := g.Names[n] + ":"
		for p, on := range ports {
			if on {
				s += fmt.Sprintf(" %d", p)
			}
		}
		nodes = append(nodes, s)
	}
	return strings.Join(nodes, ", ")
}
