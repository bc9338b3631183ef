package topo

import "github.com/xoff-net/xoff/base/units"

// OneSwitchParams describes a star: switch0, with host i at port i.
type OneSwitchParams struct {
	Hosts    int   `yaml:"hosts" doc:"number of hosts"`
	HostLink Cable `yaml:"host_link" doc:"links between hosts and their switch"`
}

// usual is the default cable.
var usual = Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}

func oneSwitchDefaults() *OneSwitchParams { return &OneSwitchParams{Hosts: 16, HostLink: usual} }

// OneSwitch returns a star. It panics if the parameters are invalid.
func OneSwitch(hosts int, link Cable) *Graph {
	return must(newOneSwitch(&OneSwitchParams{Hosts: hosts, HostLink: link}))
}

func newOneSwitch(params any) (*Graph, error) {
	p := params.(*OneSwitchParams)
	if err := first(between("hosts", p.Hosts, 2, MaxPorts), p.HostLink.Check("host_link")); err != nil {
		return nil, err
	}
	b := NewLayout(p.Hosts)
	b.Rack(0, 0, p.Hosts, b.Switches("switch", 1), p.HostLink)
	return b.Done(), nil
}
