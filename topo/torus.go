package topo

import "fmt"

// TorusParams describes a grid of switches, switchR_C in row R and column C. Every row and
// column is a ring; one of two switches has a single link. Ports of a switch: hosts, then
// neighbours in the rows, then in the columns. Routes are all shortest paths: a packet may
// cross rows and columns in any order and, half-way around an even ring, in either
// direction. So buffers have cyclic dependencies.
type TorusParams struct {
	Rows           int   `yaml:"rows" doc:"rows of switches"`
	Columns        int   `yaml:"columns" doc:"columns of switches"`
	HostsPerSwitch int   `yaml:"hosts_per_switch" doc:"hosts on each switch"`
	HostLink       Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	FabricLink     Cable `yaml:"fabric_link" doc:"links between switches"`
}

func torusDefaults() *TorusParams {
	return &TorusParams{Rows: 4, Columns: 4, HostsPerSwitch: 4, HostLink: usual, FabricLink: usual}
}

func newTorus(params any) (*Graph, error) {
	p := params.(*TorusParams)
	err := first(
		between("rows", p.Rows, 2, MaxPorts), between("columns", p.Columns, 2, MaxPorts),
		between("hosts_per_switch", p.HostsPerSwitch, 1, MaxPorts-4),
		p.HostLink.Check("host_link"), p.FabricLink.Check("fabric_link"),
	)
	if err == nil {
		err = fits(p.Rows*p.Columns*p.HostsPerSwitch, p.Rows*p.Columns, p.Rows*p.Columns)
	}
	if err != nil {
		return nil, err
	}
	b := NewLayout(p.Rows * p.Columns * p.HostsPerSwitch)
	s := b.g.Hosts
	for r := range p.Rows {
		for c := range p.Columns {
			b.node(fmt.Sprintf("switch%d_%d", r, c))
		}
	}
	b.Racks(s, p.Rows*p.Columns, p.HostsPerSwitch, p.HostLink)
	at := func(r, c int) int { return s + r%p.Rows*p.Columns + c%p.Columns }
	for r := range p.Rows {
		for c := range ringLinks(p.Columns) {
			b.Join(at(r, c), at(r, c+1), p.FabricLink)
		}
	}
	for c := range p.Columns {
		for r := range ringLinks(p.Rows) {
			b.Join(at(r, c), at(r+1, c), p.FabricLink)
		}
	}
	return b.Done(), nil
}

// ringLinks returns the number of links in a ring of n switches.
func ringLinks(n int) int {
	if n == 2 {
		return 1
	}
	return n
}
