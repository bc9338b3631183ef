package main

import (
	"fmt"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/topo"
)

func init() {
	cable := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	topo.Topologies.Register(registry.Entry[topo.New]{
		Name: "star-of-stars", Doc: "stars of hosts around one switch in the middle",
		Params: func() any { return &StarsParams{Stars: 3, Hosts: 4, HostLink: cable, Trunk: cable} }, New: newStars,
	})
}

// StarsParams are the parameters of the topology.
type StarsParams struct {
	Stars    int        `yaml:"stars" doc:"stars around the middle switch"`
	Hosts    int        `yaml:"hosts" doc:"hosts of each star"`
	HostLink topo.Cable `yaml:"host_link" doc:"links from the hosts to their star"`
	Trunk    topo.Cable `yaml:"trunk" doc:"links from the stars to the middle switch"`
}

func newStars(params any) (*topo.Graph, error) {
	p := params.(*StarsParams)
	if p.Stars < 2 || p.Stars > 64 {
		return nil, fmt.Errorf("stars is %d (expected 2 to 64)", p.Stars)
	}
	if p.Hosts < 1 || p.Hosts > 64 {
		return nil, fmt.Errorf("hosts is %d (expected 1 to 64)", p.Hosts)
	}
	for key, c := range map[string]*topo.Cable{"host_link": &p.HostLink, "trunk": &p.Trunk} {
		if err := c.Check(key); err != nil {
			return nil, err
		}
	}
	l := topo.NewLayout(p.Stars * p.Hosts)
	stars := l.Switches("star", p.Stars)
	middle := l.Switches("middle", 1)
	l.Racks(stars, p.Stars, p.Hosts, p.HostLink)
	for i := range p.Stars {
		l.Join(stars+i, middle, p.Trunk)
	}
	return l.Done(), nil
}
