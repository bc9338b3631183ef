// Package topo generates the topologies that scenarios name, as plain data for package fabric:
// nodes, ports, links and groups of hosts. There is one file per generator; the table Topologies
// lists all.
package topo

import (
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// New lays out a topology from parameters of the type that the entry's Params returns. An
// error begins with the key it is about.
type New = func(params any) (*Graph, error)

// Topologies is the table of all generators.
var Topologies = registry.NewTable("topology",
	registry.Entry[New]{
		Name: "clos3", Doc: "three tiers: every ToR connects to every aggregation switch, and these to every core",
		Paper: "set-up of L2BM", Params: func() any { return clos3Defaults() }, New: newClos3,
	},
	registry.Entry[New]{
		Name: "custom", Doc: "hosts, switches and links as listed, here or in a file",
		Params: func() any { return customDefaults() }, New: newCustom,
	},
	registry.Entry[New]{
		Name: "dumbbell", Doc: "two switches with one or more links between them",
		Params: func() any { return dumbbellDefaults() }, New: newDumbbell,
	},
	registry.Entry[New]{
		Name: "fat-tree", Doc: "k pods of k/2 edge and k/2 aggregation switches under (k/2)^2 cores; switches have k ports",
		Paper:  "Al-Fares, Loukissas, Vahdat: A Scalable, Commodity Data Center Network Architecture, SIGCOMM 2008",
		Params: func() any { return fatTreeDefaults() }, New: newFatTree,
	},
	registry.Entry[New]{
		Name: "full-mesh", Doc: "every switch connects to every other", Paper: "set-up of Roundabout",
		Params: func() any { return fullMeshDefaults() }, New: newFullMesh,
	},
	registry.Entry[New]{
		Name: "leaf-spine", Doc: "two tiers: every leaf connects to every spine", Params: func() any { return leafSpineDefaults() }, New: newLeafSpine,
	},
	registry.Entry[New]{
		Name: "linear", Doc: "a chain of switches", Params: func() any { return linearDefaults() }, New: newLinear,
	},
	registry.Entry[New]{
		Name: "one-switch", Doc: "one switch with all hosts (a star)", Params: func() any { return oneSwitchDefaults() }, New: newOneSwitch,
	},
	registry.Entry[New]{
		Name: "rail", Doc: "rail-optimised: NIC r of every server of a segment is on leaf r of that segment; spines, and cores if there are any, connect the leaves",
		Paper:  "NVIDIA DGX SuperPOD reference architectures; Spectrum-X template of SimAI",
		Params: func() any { return railDefaults() }, New: newRail,
	},
	registry.Entry[New]{
		Name: "ring", Doc: "a ring of switches; with four or more, shortest paths have cyclic buffer dependencies",
		Paper: "set-up of Roundabout", Params: func() any { return ringDefaults() }, New: newRing,
	},
	registry.Entry[New]{
		Name: "torus", Doc: "a grid of switches, each row and column a ring; shortest paths have cyclic buffer dependencies",
		Paper: "set-up of Roundabout", Params: func() any { return torusDefaults() }, New: newTorus,
	},
	registry.Entry[New]{
		Name: "two-dc", Doc: "two fat-trees, each under a DCI switch, with a long-haul link between the two",
		Paper: "set-up of Bifrost", Params: func() any { return twoDCDefaults() }, New: newTwoDC,
	},
)

// Graph is a topology. Nodes 0 to Hosts-1 are hosts with one link each; switches follow.
type Graph struct {
	Hosts     int
	Names     []string // names of the nodes
	Links     []Link
	Rack      []int   // by host; hosts of one switch share a rack
	PerServer int     // NICs per server, with consecutive numbers; 0: the topology has no servers
	Groups    []Group // hosts that workloads and overrides can name: all, the racks, and the topology's own

	index map[string]int // node by name
}

// Link is a cable between two nodes. When one of them is a host, it is A.
type Link struct {
	A, B         int // nodes
	PortA, PortB int
	Rate         units.Rate
	Delay        units.Time
	// Index among the parallel links between the same nodes, and their number. A single link
	// is 0 of 1.
	Lane, Lanes int
}

// Group is a named set of hosts, ordered by number.
type Group struct {
	Name  string
	Hosts []int
}

// Cable has the rate and delay of a kind of link.
type Cable struct {
	Rate  units.Rate `yaml:"rate" doc:"rate in each direction"`
	Delay units.Time `yaml:"delay" takes:"length" doc:"one-way delay"`
}

// Nodes returns the number of nodes.
func (g *Graph) Nodes() int { return len(g.Names) }

// Node returns the number of the node with a given name, or -1.
func (g *Graph) Node(name string) int {
	if i, ok := g.index[name]; ok {
		return i
	}
	return -1
}

// Host returns the number of the host with a given name, or -1.
func (g *Graph) Host(name string) int {
	if i := g.Node(name); i < g.Hosts {
		return i
	}
	return -1
}

// Ports returns the number of ports in use at each node.
func (g *Graph) Ports() []int {
	n := make([]int, g.Nodes())
	for _, l := range g.Links {
		n[l.A] = max(n[l.A], l.PortA+1)
		n[l.B] = max(n[l.B], l.PortB+1)
	}
	return n
}

// HostRates returns the link rate of each host.
func (g *Graph) HostRates() []units.Rate {
	rates := make([]units.Rate, g.Hosts)
	for _, l := range g.Links {
		if l.A < g.Hosts {
			rates[l.A] = l.Rate
		}
	}
	return rates
}

// Rates returns the distinct link rates, in order of their first link.
func (g *Graph) Rates() []units.Rate {
	var rates []units.Rate
	seen := make(map[units.Rate]bool)
	for _, l := range g.Links {
		if !seen[l.Rate] {
			seen[l.Rate] = true
			rates = append(rates, l.Rate)
		}
	}
	return rates
}
