package topo

// RingParams describes a ring: switch i is connected to switch i+1, the last to switch0.
// Ports of a switch: hosts, then the two neighbours. With four switches or more, some
// shortest paths have two hops along the ring, in both directions. Then buffers have cyclic
// dependencies.
type RingParams struct {
	Switches       int   `yaml:"switches" doc:"number of switches in the ring"`
	HostsPerSwitch int   `yaml:"hosts_per_switch" doc:"hosts on each switch"`
	HostLink       Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	FabricLink     Cable `yaml:"fabric_link" doc:"links between switches"`
}

func ringDefaults() *RingParams {
	return &RingParams{Switches: 4, HostsPerSwitch: 1, HostLink: usual, FabricLink: usual}
}

func newRing(params any) (*Graph, error) {
	p := params.(*RingParams)
	err := first(
		between("switches", p.Switches, 3, MaxSwitches), between("hosts_per_switch", p.HostsPerSwitch, 1, MaxPorts-2),
		p.HostLink.Check("host_link"), p.FabricLink.Check("fabric_link"),
	)
	if err == nil {
		err = fits(p.Switches*p.HostsPerSwitch, p.Switches, p.Switches)
	}
	if err != nil {
		return nil, err
	}
	b := NewLayout(p.Switches * p.HostsPerSwitch)
	s := b.Switches("switch", p.Switches)
	b.Racks(s, p.Switches, p.HostsPerSwitch, p.HostLink)
	for i := range p.Switches {
		b.Join(s+i, s+(i+1)%p.Switches, p.FabricLink)
	}
	return b.Done(), nil
}
