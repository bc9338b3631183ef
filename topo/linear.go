package topo

import "fmt"

// LinearParams describes a chain: switch0 - switch1 - ... Hosts are numbered along it. Ports
// of a switch: hosts, then the previous switch, then the next.
type LinearParams struct {
	Switches       int   `yaml:"switches" doc:"number of switches in the chain"`
	HostsPerSwitch int   `yaml:"hosts_per_switch" doc:"hosts on each switch"`
	Hosts          []int `yaml:"hosts,omitempty" doc:"number of hosts on each switch in order, instead of hosts_per_switch"`
	HostLink       Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	FabricLink     Cable `yaml:"fabric_link" doc:"links between switches"`
}

func linearDefaults() *LinearParams {
	return &LinearParams{Switches: 2, HostsPerSwitch: 1, HostLink: usual, FabricLink: usual}
}

// perSwitch returns the number of hosts of each switch.
func (p *LinearParams) perSwitch() []int {
	if len(p.Hosts) > 0 {
		return p.Hosts
	}
	list := make([]int, p.Switches)
	for i := range list {
		list[i] = p.HostsPerSwitch
	}
	return list
}

func newLinear(params any) (*Graph, error) {
	p := params.(*LinearParams)
	err := first(
		between("switches", p.Switches, 1, MaxSwitches), between("hosts_per_switch", p.HostsPerSwitch, 0, MaxPorts-2),
		p.HostLink.Check("host_link"), p.FabricLink.Check("fabric_link"),
	)
	if err != nil {
		return nil, err
	}
	if len(p.Hosts) > 0 && len(p.Hosts) != p.Switches {
		return nil, fmt.Errorf("hosts has %d numbers (expected one for each of the %d switches)", len(p.Hosts), p.Switches)
	}
	for i, n := range p.Hosts {
		if err := between(fmt.Sprintf("hosts[%d]", i), n, 0, MaxPorts-2); err != nil {
			return nil, err
		}
	}
	list, hosts, edges := p.perSwitch(), 0, 0
	for _, n := range list {
		if hosts += n; n > 0 {
			edges++
		}
	}
	if err := fits(hosts, p.Switches, edges); err != nil {
		return nil, err
	}
	b := NewLayout(hosts)
	s := b.Switches("switch", p.Switches)
	at := 0
	for i, n := range list {
		b.Rack(i, at, n, s+i, p.HostLink)
		at += n
	}
	for i := 1; i < p.Switches; i++ {
		b.Join(s+i-1, s+i, p.FabricLink)
	}
	return b.Done(), nil
}
