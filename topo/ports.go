package topo

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
)

// Peers returns the peer node of each port of each node, or -1 for unconnected ports.
func (g *Graph) Peers() [][]int {
	peers := make([][]int, g.Nodes())
	for i, n := range g.Ports() {
		peers[i] = make([]int, n)
		for p := range peers[i] {
			peers[i][p] = -1
		}
	}
	for _, l := range g.Links {
		peers[l.A][l.PortA], peers[l.B][l.PortB] = l.B, l.A
	}
	return peers
}

// PortNames returns the two names of a port: by number, and by neighbour (empty if it is not
// connected).
func (g *Graph) PortNames(node, port, peer int) (number, neighbour string) {
	number = fmt.Sprintf("%s.port%d", g.Names[node], port)
	if peer >= 0 {
		neighbour = g.Names[node] + ".to-" + g.Names[peer]
	}
	return number, neighbour
}

// OfPorts reports whether a pattern is for ports (NODE.portN or NODE.to-NODE) rather than
// nodes.
func OfPorts(pattern string) bool {
	return strings.Contains(pattern, ".port") || strings.Contains(pattern, ".to-")
}

// PortsLike returns the ports that match a list of patterns separated by commas, by node and
// port. The list of a node without matches is nil. A pattern names nodes (leaf*), or ports
// by number (leaf0.port3) or by neighbour (leaf*.to-spine1). A pattern without matches is an
// error.
func (g *Graph) PortsLike(patterns string) ([][]bool, error) {
	peers := g.Peers()
	chosen := make([][]bool, g.Nodes())
	for _, pattern := range strings.Split(patterns, ",") {
		pattern = strings.TrimSpace(pattern)
		if err := CheckPattern(pattern); err != nil {
			return nil, err
		}
		found := false
		for node, name := range g.Names {
			whole := !OfPorts(pattern) && Match(pattern, name)
			for p, peer := range peers[node] {
				if !whole {
					number, neighbour := g.PortNames(node, p, peer)
					if !OfPorts(pattern) || !Match(pattern, number) && !Match(pattern, neighbour) {
						continue
					}
				}
				found = true
				if chosen[node] == nil {
					chosen[node] = make([]bool, len(peers[node]))
				}
				chosen[node][p] = true
			}
		}
		if !found {
			return nil, fmt.Errorf("no node or port matches %q%s (expected names such as %s, with * for any text)", pattern,
				g.MeantNode(pattern, 0, g.Nodes()), g.example())
		}
	}
	return chosen, nil
}

// MeantNode returns a suggestion, among nodes first to last-1 and their ports, for a pattern
// that matches none of them.
func (g *Graph) MeantNode(pattern string, first, last int) string {
	if !OfPorts(pattern) {
		return didYouMean(pattern, g.Names[first:last])
	}
	var names []string
	for node, peers := range g.Peers()[first:last] {
		for p, peer := range peers {
			number, neighbour := g.PortNames(first+node, p, peer)
			names = append(names, number, neighbour)
		}
		if len(names) > maxGuesses {
			break
		}
	}
	return didYouMean(pattern, names)
}

// maxGuesses limits the number of names considered for a suggestion.
const maxGuesses = 5000

// didYouMean returns a suggestion for a pattern without matches. It returns none if only
// numbers differ: any other number would be as good.
func didYouMean(pattern string, names []string) string {
	near := registry.Nearest(pattern, names[:min(len(names), maxGuesses)])
	if near == "" || letters(near) == letters(pattern) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, name)
}

// example returns examples of a node and two ports.
func (g *Graph) example() string {
	l := &g.Links[len(g.Links)-1]
	return fmt.Sprintf("%s, %s.port%d or %s.to-%s", g.Names[l.B], g.Names[l.B], l.PortB, g.Names[l.B], g.Names[l.A])
}
