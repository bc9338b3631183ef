package topo

// FullMeshParams describes switches that are all connected to each other. Ports of a switch:
// hosts, then the other switches in order. Shortest paths have one hop between switches;
// loops need pinned routes.
type FullMeshParams struct {
	Switches       int   `yaml:"switches" doc:"number of switches, each connected to all others"`
	HostsPerSwitch int   `yaml:"hosts_per_switch" doc:"hosts on each switch"`
	HostLink       Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	FabricLink     Cable `yaml:"fabric_link" doc:"links between switches"`
}

func fullMeshDefaults() *FullMeshParams {
	return &FullMeshParams{Switches: 16, HostsPerSwitch: 4, HostLink: usual, FabricLink: usual}
}

func newFullMesh(params any) (*Graph, error) {
	p := params.(*FullMeshParams)
	err := first(
		between("switches", p.Switches, 2, MaxPorts), between("hosts_per_switch", p.HostsPerSwitch, 1, MaxPorts),
		p.HostLink.Check("host_link"), p.FabricLink.Check("fabric_link"),
	)
	if err == nil {
		err = first(fits(p.Switches*p.HostsPerSwitch, p.Switches, p.Switches), ports("a switch", p.HostsPerSwitch+p.Switches-1))
	}
	if err != nil {
		return nil, err
	}
	b := NewLayout(p.Switches * p.HostsPerSwitch)
	s := b.Switches("switch", p.Switches)
	b.Racks(s, p.Switches, p.HostsPerSwitch, p.HostLink)
	for i := range p.Switches {
		for j := i + 1; j < p.Switches; j++ {
			b.Join(s+i, s+j, p.FabricLink)
		}
	}
	return b.Done(), nil
}
