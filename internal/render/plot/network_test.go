package plot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// netBuilder builds a Network node by node and link by link.
type netBuilder struct{ Network }

func (b *netBuilder) node(name string, host bool) int {
	b.Nodes = append(b.Nodes, Node{Name: name, Host: host})
	return len(b.Nodes) - 1
}

func (b *netBuilder) join(a, c int) {
	b.Links = append(b.Links, Link{A: a, B: c, AB: Direction{Name: fmt.Sprintf("%d to %d", a, c)}, BA: Direction{Name: fmt.Sprintf("%d to %d", c, a)}})
}

// rack adds a switch with hosts.
func (b *netBuilder) rack(name string, hosts int) int {
	sw := b.node(name, false)
	for range hosts {
		b.join(b.node(fmt.Sprintf("host%d", len(b.Nodes)), true), sw)
	}
	return sw
}

func clos(leaves, hosts int, tiers ...int) *Network {
	b := &netBuilder{}
	var below []int
	for i := range leaves {
		below = append(below, b.rack(fmt.Sprintf("leaf%d", i), hosts))
	}
	for t, n := range tiers {
		var row []int
		for i := range n {
			sw := b.node(fmt.Sprintf("tier%d-%d", t+2, i), false)
			for _, k := range below {
				b.join(sw, k)
			}
			row = append(row, sw)
		}
		below = row
	}
	return &b.Network
}

func fatTree(k int) *Network {
	b := &netBuilder{}
	half := k / 2
	var cores []int
	for i := range half * half {
		cores = append(cores, b.node(fmt.Sprintf("core%d", i), false))
	}
	for pod := range k {
		var edges []int
		for e := range half {
			edges = append(edges, b.rack(fmt.Sprintf("edge%d", pod*half+e), half))
		}
		for a := range half {
			agg := b.node(fmt.Sprintf("agg%d", pod*half+a), false)
			for _, e := range edges {
				b.join(e, agg)
			}
			for c := range half {
				b.join(agg, cores[a*half+c])
			}
		}
	}
	return &b.Network
}

// centres returns two leaf-spine fabrics, each with a switch on top, connected by relays.
func centres() *Network {
	b := &netBuilder{}
	var ends []int
	for dc := range 2 {
		top := b.node(fmt.Sprintf("dci%d", dc), false)
		spine := b.node(fmt.Sprintf("dc%d-spine", dc), false)
		b.join(spine, top)
		for i := range 2 {
			b.join(b.rack(fmt.Sprintf("dc%d-leaf%d", dc, i), 4), spine)
		}
		relay := b.node(fmt.Sprintf("relay%d", dc), false)
		b.join(top, relay)
		ends = append(ends, relay)
	}
	b.join(ends[0], ends[1])
	return &b.Network
}

func chain(n, hosts, cables int, closed bool) *Network {
	b := &netBuilder{}
	var list []int
	for i := range n {
		list = append(list, b.rack(fmt.Sprintf("switch%d", i), hosts))
	}
	for i := range n {
		if i+1 < n || closed {
			for range cables {
				b.join(list[i], list[(i+1)%n])
			}
		}
	}
	if closed {
		b.Shape = Circle
	}
	return &b.Network
}

func mesh(n int) *Network {
	net := chain(n, 2, 1, true)
	b := &netBuilder{*net}
	b.Links = nil
	var list []int
	for i := range net.Nodes {
		if !net.Nodes[i].Host {
			list = append(list, i)
		}
	}
	for _, l := range net.Links {
		if net.Nodes[l.A].Host {
			b.Links = append(b.Links, l)
		}
	}
	for i, a := range list {
		for _, c := range list[i+1:] {
			b.join(a, c)
		}
	}
	return &b.Network
}

func torus(rows, columns int) *Network {
	b := &netBuilder{}
	var list []int
	for i := range rows * columns {
		list = append(list, b.rack(fmt.Sprintf("switch%d_%d", i/columns, i%columns), 2))
	}
	for r := range rows {
		for c := range columns {
			b.join(list[r*columns+c], list[r*columns+(c+1)%columns])
			b.join(list[r*columns+c], list[(r+1)%rows*columns+c])
		}
	}
	b.Shape, b.Columns = Grid, columns
	return &b.Network
}

func networks() map[string]*Network {
	odd := clos(3, 2, 2)
	odd.Links = append(odd.Links, Link{A: 0, B: 6}) // from leaf to leaf, around the leaf between them
	b := &netBuilder{}
	b.join(b.node("a", true), b.node("b", true))
	return map[string]*Network{
		"nothing": {}, "two hosts": &b.Network, "one switch": clos(1, 4), "leaf-spine": clos(4, 4, 2), "wide leaf-spine": clos(16, 16, 16),
		"clos3": clos(4, 8, 4, 2), "fat-tree": fatTree(4), "large fat-tree": fatTree(8), "fat-tree of 250 hosts": fatTree(10), "two centres": centres(),
		"chain": chain(4, 4, 1, false), "dumbbell": chain(2, 8, 3, false), "ring": chain(4, 4, 1, true), "long ring": chain(16, 8, 1, true),
		"ring of 3": chain(3, 40, 1, true), "mesh": mesh(6), "torus": torus(4, 4), "torus of 2": torus(2, 3), "custom": odd,
	}
}

// Nodes do not overlap, every link connects its nodes, and everything is within the drawing.
func TestNetworkLayout(t *testing.T) {
	for name, n := range networks() {
		l := n.layout()
		whole := box{-0.01, -0.01, l.width + 0.01, l.height + 0.01}
		for i, b := range l.boxes {
			if !(b.x1 > b.x0 && b.y1 > b.y0) || !whole.contains(vec{b.x0, b.y0}) || !whole.contains(vec{b.x1, b.y1}) {
				t.Errorf("%s: %s has the box %v, outside the drawing %v", name, n.Nodes[i].Name, b, whole)
			}
			for k := range i {
				c := l.boxes[k]
				if min(b.x1, c.x1)-max(b.x0, c.x0) > 1e-6 && min(b.y1, c.y1)-max(b.y0, c.y0) > 1e-6 {
					t.Errorf("%s: %s and %s overlap: %v, %v", name, n.Nodes[i].Name, n.Nodes[k].Name, b, c)
				}
			}
		}
		for i, line := range l.lines {
			a, b := l.boxes[n.Links[i].A], l.boxes[n.Links[i].B]
			if len(line) < 2 || dist(line[0], line[len(line)-1]) < 2 {
				t.Errorf("%s: link %d is %v", name, i, line)
				continue
			}
			// The lines of a strip of hosts end at a bar below their switch.
			if !near(line[0], a, 1) || !near(line[len(line)-1], b, 400) {
				t.Errorf("%s: link %d goes from %v to %v, want from box %v to box %v", name, i, line[0], line[len(line)-1], a, b)
			}
			for _, v := range line {
				if !whole.contains(v) {
					t.Errorf("%s: link %d leaves the drawing: %v", name, i, v)
				}
			}
		}
	}
}

func near(v vec, b box, by float64) bool {
	return v.x >= b.x0-by && v.x <= b.x1+by && v.y >= b.y0-8 && v.y <= b.y1+8
}

func TestNetworkPicture(t *testing.T) {
	for name, n := range networks() {
		n.Title = name
		n.Measures = []Measure{{Name: "blocked", Unit: Share}, {Name: "marks"}}
		for i := range n.Links {
			n.Links[i].AB.Values = []float64{float64(i) / 10, 1}
		}
		var one, two bytes.Buffer
		for _, b := range []*bytes.Buffer{&one, &two} {
			if err := n.Inline(b); err != nil {
				t.Fatal(err)
			}
		}
		if one.String() != two.String() {
			t.Errorf("%s: two drawings of the same network differ", name)
		}
		if got := strings.Count(one.String(), `class="way `); got != 2*len(n.Links) {
			t.Errorf("%s: %d directions are drawn, want %d", name, got, 2*len(n.Links))
		}
		if got := strings.Count(one.String(), `class="node"`); got != len(n.Nodes) {
			t.Errorf("%s: %d nodes are drawn, want %d", name, got, len(n.Nodes))
		}
		if strings.Contains(one.String(), "NaN") || strings.Contains(one.String(), "Inf") {
			t.Errorf("%s: a number is not finite", name)
		}
		var alone bytes.Buffer
		if err := n.SVG(&alone); err != nil || strings.Contains(alone.String(), "data-") {
			t.Errorf("%s: standalone: %v, or it has data for a page", name, err)
		}
		if name == "ring" {
			if err := n.PNG(&alone); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The scale ends at 80: values above 40 have the highest level, above 20 the next, and
// values from 0 to 5 the lowest.
func TestLevel(t *testing.T) {
	for v, want := range map[float64]int{0: 0, -1: 0, 0.01: 1, 5: 1, 5.1: 2, 10: 2, 10.1: 3, 20.1: 4, 40: 4, 40.1: 5, 80: 5, 100: 5} {
		if got := level(v, 80); got != want {
			t.Errorf("level of %v is %d, want %d", v, got, want)
		}
	}
}
