package topo

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// Bounds of what can be simulated.
const (
	MaxNodes = 65535   // a packet names hosts in 16 bits
	MaxPorts = 1024    // of a node
	maxHops  = 1 << 27 // entries of all routing tables: 1 GiB
	MinRate  = units.Mbps
	MaxRate  = 10 * units.Tbps
	MaxDelay = units.Second
)

// between checks a number of things.
func between(key string, v, lo, hi int) error {
	switch {
	case v < lo:
		return fmt.Errorf("%s is %d, which is too small; allowed: %d to %d", key, v, lo, hi)
	case v > hi:
		return fmt.Errorf("%s is %d, which is too large; allowed: %d to %d", key, v, lo, hi)
	}
	return nil
}

// Check checks a kind of link. The error begins with the key.
func (k *Cable) Check(key string) error {
	switch {
	case k.Rate < MinRate || k.Rate > MaxRate:
		return fmt.Errorf("%s.rate is %s; allowed: %s to %s", key, k.Rate, MinRate, MaxRate)
	case k.Delay == 0:
		return fmt.Errorf("%s.delay is 0s, and a link without delay cannot be simulated; allowed: more than 0s, at most %s (5ns is a metre of cable)", key, MaxDelay)
	case k.Delay < 0 || k.Delay > MaxDelay:
		return fmt.Errorf("%s.delay is %s; allowed: more than 0s, at most %s", key, k.Delay, MaxDelay)
	}
	return nil
}

func must(g *Graph, err error) *Graph {
	if err != nil {
		panic(err)
	}
	return g
}

// first returns the first error of a list of checks.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// fits checks the number of hosts and of nodes before they are laid out. The
// factors are between 0 and MaxNodes, so that products of two stay in range.
func fits(hosts, switches int) error {
	if hosts < 2 {
		return fmt.Errorf("there are %d hosts; allowed: at least 2", hosts)
	}
	if hosts*switches > maxHops && hosts+switches <= MaxNodes {
		return fmt.Errorf("there are %d hosts and %d switches, too many for their routing tables; allowed: a product of at most %d", hosts, switches, maxHops)
	}
	if nodes := hosts + switches; nodes > MaxNodes {
		return fmt.Errorf("there are %d hosts and %d switches; allowed: at most %d nodes", hosts, switches, MaxNodes)
	}
	return nil
}

// ports checks the size of a kind of switch.
func ports(kind string, n int) error {
	if n > MaxPorts {
		return fmt.Errorf("%s has %d ports; allowed: at most %d", kind, n, MaxPorts)
	}
	return nil
}
