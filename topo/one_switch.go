package topo

import "github.com/xoff-net/xoff/base/units"

// OneSwitchParams describe a star: switch0, whose port i leads to host i.
type OneSwitchParams struct {
	Hosts    int   `yaml:"hosts" doc:"on the switch"`
	HostLink Cable `yaml:"host_link" doc:"from the hosts to their switch"`
}

// usual is the cable of defaults.
var usual = Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}

func oneSwitchDefaults() *OneSwitchParams { return &OneSwitchParams{Hosts: 16, HostLink: usual} }

// OneSwitch returns a star, for programs that know what they ask for.
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
