// Package topo generates topologies as plain data: nodes, ports and cables.
package topo

import (
	"fmt"

	"github.com/xoff-net/xoff/units"
)

// Graph is a topology. Hosts are nodes 0 .. Hosts-1, switches follow.
type Graph struct {
	Hosts int
	Names []string
	Links []Link
	// Groups are sets of hosts that share a rack, by host.
	Rack []int
}

// Link is a cable between two nodes.
type Link struct {
	A, B         int // nodes
	PortA, PortB int
	Rate         units.Rate
	Delay        units.Time
}

// Cabling is the rate and delay of a kind of link.
type Cabling struct {
	Rate  units.Rate
	Delay units.Time
}

// Nodes returns the number of nodes.
func (g *Graph) Nodes() int { return len(g.Names) }

// Ports returns the number of ports in use at each node.
func (g *Graph) Ports() []int {
	n := make([]int, g.Nodes())
	for _, l := range g.Links {
		n[l.A] = max(n[l.A], l.PortA+1)
		n[l.B] = max(n[l.B], l.PortB+1)
	}
	return n
}

// builder numbers ports in the order of cabling.
type builder struct {
	g    Graph
	next []int
}

func (b *builder) node(name string) int {
	b.g.Names = append(b.g.Names, name)
	b.next = append(b.next, 0)
	return len(b.g.Names) - 1
}

func (b *builder) cable(a, c int, k Cabling) {
	b.g.Links = append(b.g.Links, Link{A: a, B: c, PortA: b.next[a], PortB: b.next[c], Rate: k.Rate, Delay: k.Delay})
	b.next[a]++
	b.next[c]++
}

func (b *builder) hosts(n, perRack int) {
	for i := range n {
		b.node(fmt.Sprintf("host%d", i))
		b.g.Rack = append(b.g.Rack, i/perRack)
	}
	b.g.Hosts = n
}

// OneSwitch is a star: one switch, n hosts. Port i of the switch leads to host i.
func OneSwitch(n int, k Cabling) *Graph {
	b := &builder{}
	b.hosts(n, max(1, n))
	s := b.node("switch0")
	for h := range n {
		b.cable(h, s, k)
	}
	return &b.g
}

// LeafSpine is a two-tier Clos. Ports of a leaf: hosts first, then spines; ports
// of a spine: leaves.
func LeafSpine(leaves, spines, hostsPerLeaf int, host, fabric Cabling) *Graph {
	b := &builder{}
	b.hosts(leaves*hostsPerLeaf, max(1, hostsPerLeaf))
	first := b.g.Hosts
	for l := range leaves {
		b.node(fmt.Sprintf("leaf%d", l))
	}
	for s := range spines {
		b.node(fmt.Sprintf("spine%d", s))
	}
	for h := range b.g.Hosts {
		b.cable(h, first+h/hostsPerLeaf, host)
	}
	for l := range leaves {
		for s := range spines {
			b.cable(first+l, first+leaves+s, fabric)
		}
	}
	return &b.g
}
