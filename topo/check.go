package topo

import (
	"errors"
	"fmt"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Limits of a topology.
const (
	MaxHosts    = packet.MaxHosts
	MaxSwitches = packet.MaxSwitches
	MaxPorts    = packet.MaxPorts // per node
	maxHops     = 1 << 27         // entries of all routing tables, one per switch and edge: 1 GiB
	MinRate     = units.Mbps
	MaxRate     = 10 * units.Tbps
	MaxDelay    = units.Second
)

// between checks that the value v of a key is between lo and hi.
func between(key string, v, lo, hi int) error {
	switch {
	case v < lo:
		return fmt.Errorf("%s is %d, which is too small (expected %d to %d)", key, v, lo, hi)
	case v > hi:
		return fmt.Errorf("%s is %d, which is too large (expected %d to %d)", key, v, lo, hi)
	}
	return nil
}

// Check checks rate and delay of a cable. The error begins with the key.
func (k *Cable) Check(key string) error {
	switch {
	case k.Rate < MinRate || k.Rate > MaxRate:
		return fmt.Errorf("%s.rate is %s (expected %s to %s)", key, k.Rate, MinRate, MaxRate)
	case k.Delay == 0:
		return fmt.Errorf("%s.delay is 0s: a link without delay cannot be simulated (expected more than 0s, at most %s; 5ns is a metre of cable)", key, MaxDelay)
	case k.Delay < 0 || k.Delay > MaxDelay:
		return fmt.Errorf("%s.delay is %s (expected more than 0s, at most %s)", key, k.Delay, MaxDelay)
	}
	return nil
}

func must(g *Graph, err error) *Graph {
	if err != nil {
		panic(err)
	}
	return g
}

// first returns the first non-nil error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// fits checks the numbers of hosts, of switches, and of switches with hosts (edges) before they
// are laid out. Factors are between 0 and MaxHosts, so products of two do not overflow.
func fits(hosts, switches, edges int) error {
	if hosts < 2 {
		return fmt.Errorf("the number of hosts is %d (expected at least 2)", hosts)
	}
	if hosts > MaxHosts || switches > MaxSwitches {
		return fmt.Errorf("there are %d hosts and %d switches (expected at most %d hosts and %d switches)", hosts, switches, MaxHosts, MaxSwitches)
	}
	if edges*switches > maxHops {
		return fmt.Errorf("there are %d switches, of which %d have hosts: too many for their routing tables (expected a product of at most %d)", switches, edges, maxHops)
	}
	return nil
}

// ports checks the number of ports of a kind of switch.
func ports(kind string, n int) error {
	if n > MaxPorts {
		return fmt.Errorf("%s has %d ports (expected at most %d)", kind, n, MaxPorts)
	}
	return nil
}

// edges returns the number of switches with hosts.
func (g *Graph) edges() int {
	found := make(map[int]bool)
	for _, l := range g.Links {
		if l.A < g.Hosts {
			found[l.B] = true
		}
	}
	return len(found)
}

// Check returns an error for an invalid topology: duplicate names, hosts without exactly one
// link, ports used twice or left out, racks that do not match the links, or links that cannot
// be simulated.
func (g *Graph) Check() error {
	if err := fits(g.Hosts, g.Nodes()-g.Hosts, g.edges()); err != nil {
		return err
	}
	if len(g.Rack) != g.Hosts || g.index == nil {
		return errors.New("graph is not complete (expected a graph from Layout.Done)")
	}
	names := make(map[string]bool)
	for i, name := range g.Names {
		if name == "" || g.Node(name) != i || names[name] {
			return fmt.Errorf("node %d has the name %q, which is empty or not unique (expected a unique name for each node)", i, name)
		}
		names[name] = true
	}
	for _, group := range g.Groups {
		if names[group.Name] || len(group.Hosts) == 0 {
			return fmt.Errorf("group %s has %d hosts or a name that is not unique (expected at least one host and a unique name)",
				group.Name, len(group.Hosts))
		}
		names[group.Name] = true
	}
	return first(g.checkLinks(), g.checkRacks())
}

func (g *Graph) checkLinks() error {
	taken := make([]map[int]bool, g.Nodes())
	for i := range taken {
		taken[i] = make(map[int]bool)
	}
	for i, l := range g.Links {
		if l.A == l.B || l.B < g.Hosts || l.A < 0 || max(l.A, l.B) >= g.Nodes() {
			return fmt.Errorf("link %d joins nodes %d and %d (expected two different nodes; a host must be the first)", i, l.A, l.B)
		}
		if taken[l.A][l.PortA] || taken[l.B][l.PortB] {
			return fmt.Errorf("%s ends at a port that is in use (expected one link per port)", g.LinkName(i))
		}
		taken[l.A][l.PortA], taken[l.B][l.PortB] = true, true
		if err := (&Cable{Rate: l.Rate, Delay: l.Delay}).Check(g.LinkName(i)); err != nil {
			return err
		}
	}
	for i, n := range g.Ports() {
		switch {
		case n != len(taken[i]):
			return fmt.Errorf("%s has %d links at %d ports (expected ports without gaps)", g.Names[i], len(taken[i]), n)
		case i < g.Hosts && n != 1:
			return fmt.Errorf("%s has %d links (expected one link for a host)", g.Names[i], n)
		case n > MaxPorts:
			return ports(g.Names[i], n)
		}
	}
	return nil
}

// checkRacks checks that hosts share a rack if and only if they share a switch.
func (g *Graph) checkRacks() error {
	rackOf, switchOf := make(map[int]int), make(map[int]int)
	for _, l := range g.Links {
		if l.A >= g.Hosts {
			continue
		}
		r := g.Rack[l.A]
		if other, ok := rackOf[l.B]; ok && other != r {
			return fmt.Errorf("hosts of %s are in racks %d and %d (expected a rack for each switch)", g.Names[l.B], other, r)
		}
		if other, ok := switchOf[r]; ok && other != l.B {
			return fmt.Errorf("hosts of rack %d are on %s and %s (expected a rack for each switch)", r, g.Names[other], g.Names[l.B])
		}
		rackOf[l.B], switchOf[r] = r, l.B
	}
	return nil
}
