package topo

import (
	"fmt"
	"slices"
)

// Layout builds a Graph from nodes and cables. Ports are numbered in the order of Join calls.
type Layout struct {
	g    Graph
	next []int // next free port of each node
}

// NewLayout returns a layout of n hosts, host0 and so on. Hosts have the first node numbers,
// so a host number is also a node number.
func NewLayout(n int) *Layout {
	b := &Layout{}
	for i := range n {
		b.node(fmt.Sprintf("host%d", i))
	}
	b.g.Hosts = n
	b.g.Rack = make([]int, n)
	return b
}

func (b *Layout) node(name string) int {
	b.g.Names = append(b.g.Names, name)
	b.next = append(b.next, 0)
	return len(b.g.Names) - 1
}

// Switches adds n switches, prefix0 and so on, and returns the number of the first.
func (b *Layout) Switches(prefix string, n int) int {
	first := len(b.g.Names)
	for i := range n {
		b.node(fmt.Sprintf("%s%d", prefix, i))
	}
	return first
}

// Join connects two nodes.
func (b *Layout) Join(a, c int, k Cable) {
	if c < b.g.Hosts {
		a, c = c, a
	}
	b.g.Links = append(b.g.Links, Link{A: a, B: c, PortA: b.next[a], PortB: b.next[c], Rate: k.Rate, Delay: k.Delay})
	b.next[a]++
	b.next[c]++
}

// Rack connects n hosts, numbered from first, to a switch and makes them a rack.
func (b *Layout) Rack(number, first, n, to int, k Cable) {
	for h := first; h < first+n; h++ {
		b.g.Rack[h] = number
		b.Join(h, to, k)
	}
}

// Racks connects hosts in order, perSwitch to each of n switches.
func (b *Layout) Racks(first, n, perSwitch int, k Cable) {
	for i := range n {
		b.Rack(i, i*perSwitch, perSwitch, first+i, k)
	}
}

// Group adds a named group of n hosts, numbered from first.
func (b *Layout) Group(name string, first, n int) {
	g := Group{Name: name}
	for h := first; h < first+n; h++ {
		g.Hosts = append(g.Hosts, h)
	}
	b.g.Groups = append(b.g.Groups, g)
}

// Done returns the completed graph: with lanes, the name index, and the built-in groups
// before the added ones.
func (b *Layout) Done() *Graph {
	g := &b.g
	g.finish()
	own := g.Groups
	g.Groups = nil
	b.Group("all", 0, g.Hosts)
	racks := make(map[int]int) // index of each rack in the groups
	for h, r := range g.Rack {
		at, ok := racks[r]
		if !ok {
			at = len(g.Groups)
			racks[r] = at
			g.Groups = append(g.Groups, Group{Name: fmt.Sprintf("rack%d", r)})
		}
		g.Groups[at].Hosts = append(g.Groups[at].Hosts, h)
	}
	g.Groups = append(g.Groups, own...)
	return g
}

// finish computes the name index and the lanes of links.
func (g *Graph) finish() {
	g.index = make(map[string]int, len(g.Names))
	for i, name := range g.Names {
		g.index[name] = i
	}
	lanes := make(map[[2]int]int, len(g.Links))
	for i := range g.Links {
		l := &g.Links[i]
		l.Lane = lanes[l.ends()]
		lanes[l.ends()]++
	}
	for i := range g.Links {
		g.Links[i].Lanes = lanes[g.Links[i].ends()]
	}
}

// ends returns the two nodes, the smaller one first.
func (l *Link) ends() [2]int { return [2]int{min(l.A, l.B), max(l.A, l.B)} }

// Remove removes links as if they had never existed: ports are renumbered without gaps. The
// names of other links stay.
func (g *Graph) Remove(links []int) {
	gone := make(map[int]bool)
	for _, i := range links {
		gone[i] = true
	}
	kept := g.Links[:0]
	next := make([]int, g.Nodes())
	for i, l := range g.Links {
		if gone[i] {
			continue
		}
		l.PortA, l.PortB = next[l.A], next[l.B]
		next[l.A]++
		next[l.B]++
		kept = append(kept, l)
	}
	g.Links = slices.Clip(kept)
}
