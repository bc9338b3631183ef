package topo

import "fmt"

// FatTreeParams describes a fat-tree of switches with k ports. Pod p has edges
// edge(p k/2) .. and aggregation switches agg(p k/2) ..; aggregation switch i of every pod is
// connected to cores core(i k/2) .. core(i k/2 + k/2 - 1). The groups pod0 .. are the hosts
// of each pod. Ports of an edge: hosts, then aggregation switches; of an aggregation switch:
// edges, then cores; of a core: pods.
type FatTreeParams struct {
	K            int   `yaml:"k" doc:"ports per switch and number of pods; even"`
	HostsPerEdge int   `yaml:"hosts_per_edge,omitempty" doc:"hosts on each edge switch; 0: k/2"`
	HostLink     Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	FabricLink   Cable `yaml:"fabric_link" doc:"links between switches"`
}

func fatTreeDefaults() *FatTreeParams {
	return &FatTreeParams{K: 4, HostLink: usual, FabricLink: usual}
}

// perEdge returns the number of hosts of an edge switch.
func (p *FatTreeParams) perEdge() int {
	if p.HostsPerEdge == 0 {
		return p.K / 2
	}
	return p.HostsPerEdge
}

func (p *FatTreeParams) edges() int { return p.K * p.K / 2 }

func (p *FatTreeParams) hosts() int { return p.edges() * p.perEdge() }

// switches returns the number of switches: k edge and aggregation switches per pod, and the
// cores.
func (p *FatTreeParams) switches() int { return p.K*p.K + p.K*p.K/4 }

func (p *FatTreeParams) check() error {
	err := first(between("k", p.K, 2, MaxPorts), between("hosts_per_edge", p.HostsPerEdge, 0, MaxPorts),
		p.HostLink.Check("host_link"), p.FabricLink.Check("fabric_link"))
	switch {
	case err != nil:
		return err
	case p.K%2 != 0:
		return fmt.Errorf("k is %d (expected an even number)", p.K)
	}
	return ports("an edge switch", p.perEdge()+p.K/2)
}

func newFatTree(params any) (*Graph, error) {
	p := params.(*FatTreeParams)
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := fits(p.hosts(), p.switches(), p.edges()); err != nil {
		return nil, err
	}
	b := NewLayout(p.hosts())
	p.grow(b, "", 0, 0)
	return b.Done(), nil
}

// grow adds a tree for the hosts numbered from first, with racks numbered from rack. It
// returns the first of its (k/2)^2 cores.
func (p *FatTreeParams) grow(b *Layout, prefix string, first, rack int) int {
	half, perEdge := p.K/2, p.perEdge()
	edge := b.Switches(prefix+"edge", p.K*half)
	agg := b.Switches(prefix+"agg", p.K*half)
	core := b.Switches(prefix+"core", half*half)
	for e := range p.K * half {
		b.Rack(rack+e, first+e*perEdge, perEdge, edge+e, p.HostLink)
	}
	for pod := range p.K {
		for e := range half {
			for a := range half {
				b.Join(edge+pod*half+e, agg+pod*half+a, p.FabricLink)
			}
		}
	}
	for pod := range p.K {
		for a := range half {
			for c := range half {
				b.Join(agg+pod*half+a, core+a*half+c, p.FabricLink)
			}
		}
		b.Group(fmt.Sprintf("%spod%d", prefix, pod), first+pod*half*perEdge, half*perEdge)
	}
	return core
}
