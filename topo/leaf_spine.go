package topo

import (
	"fmt"
	"math"
)

// LeafSpineParams describes a two-tier Clos: leaf0 .. with hosts, spine0 .. above, each leaf
// connected to every spine. Ports of a leaf: hosts, then spines; of a spine: leaves.
type LeafSpineParams struct {
	Leaves           int     `yaml:"leaves" doc:"number of leaf switches, which have the hosts"`
	Spines           int     `yaml:"spines,omitempty" doc:"number of spine switches, each connected to every leaf"`
	HostsPerLeaf     int     `yaml:"hosts_per_leaf" doc:"hosts on each leaf"`
	Oversubscription float64 `yaml:"oversubscription,omitempty" doc:"host bandwidth of a leaf over its uplink bandwidth; sets the number of spines"`
	HostLink         Cable   `yaml:"host_link" doc:"links between hosts and their switch"`
	FabricLink       Cable   `yaml:"fabric_link" doc:"links between switches"`
}

func leafSpineDefaults() *LeafSpineParams {
	return &LeafSpineParams{Leaves: 4, Spines: 4, HostsPerLeaf: 4, HostLink: usual, FabricLink: usual}
}

// Stated clears the alternative of a key that a scenario sets: spines and oversubscription replace each other.
func (p *LeafSpineParams) Stated(key string) {
	switch key {
	case "spines":
		p.Oversubscription = 0
	case "oversubscription":
		p.Spines = 0
	}
}

// spines returns the number of spines.
func (p *LeafSpineParams) spines() (int, error) {
	if p.Oversubscription == 0 {
		return p.Spines, between("spines", p.Spines, 1, MaxPorts)
	}
	if !(p.Oversubscription > 0 && p.Oversubscription <= MaxHosts) {
		return 0, fmt.Errorf("oversubscription is %v (expected more than 0, such as 1 for none, or 4)", p.Oversubscription)
	}
	down := float64(float64(p.HostsPerLeaf) * float64(p.HostLink.Rate))
	exact := down / float64(p.Oversubscription*float64(p.FabricLink.Rate))
	n := math.Round(exact)
	switch {
	case math.Abs(exact-n) > 1e-6 || n < 1 || n > MaxPorts:
		return 0, fmt.Errorf("oversubscription is %v, which needs %.4g spines for %d hosts of %s on uplinks of %s (expected values that give a whole number, 1 to %d)", p.Oversubscription, exact, p.HostsPerLeaf, p.HostLink.Rate, p.FabricLink.Rate, MaxPorts)
	case p.Spines != 0 && p.Spines != int(n):
		return 0, fmt.Errorf("spines is %d, but an oversubscription of %v needs %d (expected only one of the two keys)", p.Spines,
			p.Oversubscription, int(n))
	}
	return int(n), nil
}

// LeafSpine returns a two-tier Clos. It panics if the parameters are invalid.
func LeafSpine(leaves, spines, hostsPerLeaf int, host, fabric Cable) *Graph {
	return must(newLeafSpine(&LeafSpineParams{Leaves: leaves, Spines: spines, HostsPerLeaf: hostsPerLeaf, HostLink: host, FabricLink: fabric}))
}

func newLeafSpine(params any) (*Graph, error) {
	p := params.(*LeafSpineParams)
	err := first(
		between("leaves", p.Leaves, 1, MaxPorts), between("hosts_per_leaf", p.HostsPerLeaf, 1, MaxPorts),
		p.HostLink.Check("host_link"), p.FabricLink.Check("fabric_link"),
	)
	if err != nil {
		return nil, err
	}
	spines, err := p.spines()
	if err == nil {
		err = first(fits(p.Leaves*p.HostsPerLeaf, p.Leaves+spines, p.Leaves), ports("a leaf", p.HostsPerLeaf+spines))
	}
	if err != nil {
		return nil, err
	}
	b := NewLayout(p.Leaves * p.HostsPerLeaf)
	leaf, spine := b.Switches("leaf", p.Leaves), b.Switches("spine", spines)
	b.Racks(leaf, p.Leaves, p.HostsPerLeaf, p.HostLink)
	for l := range p.Leaves {
		for s := range spines {
			b.Join(leaf+l, spine+s, p.FabricLink)
		}
	}
	return b.Done(), nil
}
