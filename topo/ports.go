package topo

import (
	"fmt"
	"path"
	"strings"
)

// Peers returns the node at the other end of each port of each node, -1 where
// nothing is connected.
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

// PortsLike returns the ports that a pattern means, by node and port; the list of
// a node without any is nil. A pattern names nodes (leaf*), or ports of nodes by
// number (leaf0.port3) or by neighbour (leaf*.to-spine1); several stand side by
// side with commas. It is an error when one of them means nothing.
func (g *Graph) PortsLike(patterns string) ([][]bool, error) {
	peers := g.Peers()
	chosen := make([][]bool, g.Nodes())
	for _, pattern := range strings.Split(patterns, ",") {
		pattern = strings.TrimSpace(pattern)
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, badPattern(pattern)
		}
		ofPorts := strings.Contains(pattern, ".port") || strings.Contains(pattern, ".to-")
		found := false
		for node, name := range g.Names {
			for p, peer := range peers[node] {
				if !ofPorts && Match(pattern, name) || ofPorts && (Match(pattern, fmt.Sprintf("%s.port%d", name, p)) || peer >= 0 && Match(pattern, name+".to-"+g.Names[peer])) {
					found = true
					if chosen[node] == nil {
						chosen[node] = make([]bool, len(peers[node]))
					}
					chosen[node][p] = true
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("no node or port matches %q; allowed: names such as %s, with * for any text", pattern, g.example())
		}
	}
	return chosen, nil
}

// example names a node and two ports.
func (g *Graph) example() string {
	l := &g.Links[len(g.Links)-1]
	return fmt.Sprintf("%s, %s.port%d or %s.to-%s", g.Names[l.B], g.Names[l.B], l.PortB, g.Names[l.B], g.Names[l.A])
}
