package topo

import "github.com/xoff-net/xoff/base/units"

// Clos3Params describes three tiers (L2BM section IV): tor0 .. with hosts, agg0 .. and
// core0 .. Each switch is connected to every switch of the tier above. The defaults are from
// the paper. Ports of a ToR: hosts, then aggregation switches; of an aggregation switch:
// ToRs, then cores; of a core: aggregation switches.
type Clos3Params struct {
	Cores       int   `yaml:"cores" doc:"number of core switches"`
	Aggs        int   `yaml:"aggs" doc:"number of aggregation switches"`
	ToRs        int   `yaml:"tors" doc:"number of ToR switches, which have the hosts"`
	HostsPerToR int   `yaml:"hosts_per_tor" doc:"hosts on each ToR"`
	HostLink    Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	AggLink     Cable `yaml:"agg_link" doc:"links between ToRs and aggregation switches"`
	CoreLink    Cable `yaml:"core_link" doc:"links between aggregation switches and cores"`
}

func clos3Defaults() *Clos3Params {
	return &Clos3Params{
		Cores: 2, Aggs: 4, ToRs: 4, HostsPerToR: 32, HostLink: Cable{Rate: 25 * units.Gbps, Delay: units.Microsecond},
		AggLink: usual, CoreLink: Cable{Rate: 100 * units.Gbps, Delay: 5 * units.Microsecond},
	}
}

func newClos3(params any) (*Graph, error) {
	p := params.(*Clos3Params)
	err := first(
		between("cores", p.Cores, 1, MaxPorts), between("aggs", p.Aggs, 1, MaxPorts), between("tors", p.ToRs, 1, MaxPorts),
		between("hosts_per_tor", p.HostsPerToR, 1, MaxPorts),
		p.HostLink.Check("host_link"), p.AggLink.Check("agg_link"), p.CoreLink.Check("core_link"),
	)
	if err == nil {
		err = first(fits(p.ToRs*p.HostsPerToR, p.ToRs+p.Aggs+p.Cores, p.ToRs), ports("a ToR", p.HostsPerToR+p.Aggs),
			ports("an aggregation switch", p.ToRs+p.Cores))
	}
	if err != nil {
		return nil, err
	}
	b := NewLayout(p.ToRs * p.HostsPerToR)
	tor, agg, core := b.Switches("tor", p.ToRs), b.Switches("agg", p.Aggs), b.Switches("core", p.Cores)
	b.Racks(tor, p.ToRs, p.HostsPerToR, p.HostLink)
	for t := range p.ToRs {
		for a := range p.Aggs {
			b.Join(tor+t, agg+a, p.AggLink)
		}
	}
	for a := range p.Aggs {
		for c := range p.Cores {
			b.Join(agg+a, core+c, p.CoreLink)
		}
	}
	return b.Done(), nil
}
