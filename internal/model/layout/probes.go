package layout

import (
	"fmt"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
)

// Probe is a probe with the nodes and ports that it watches.
type Probe struct {
	*scenario.Probe
	Kind  *probe.Kind
	Ports [][]bool // by node
}

// Probes checks the probes of the scenario and finds the ports that they watch.
func (l *Layout) Probes() ([]Probe, error) {
	var plans []Probe
	taken := make(map[string]int)
	for i := range l.Config.Probes {
		p := l.Config.Probes[i]
		p.Resolve()
		path := fmt.Sprintf("probes[%d]", i)
		if !yaml.Name(p.As) {
			return nil, yaml.Atf(path+".as", "%q is not a valid name (expected a letter, then letters, digits, - and _)", p.As)
		}
		if other, ok := taken[p.As]; ok {
			return nil, yaml.Atf(path, "probes[%d] also writes probe-%s; fix: set as to another name", other, p.As)
		}
		taken[p.As] = i
		entry, err := probe.Kinds.Get(p.Name)
		if err != nil {
			return nil, yaml.At(path+".name", err)
		}
		kind, err := entry.New(p.Params)
		if err != nil {
			return nil, p.Choice.Wrong(path, err)
		}
		if err := yaml.First(yaml.Span(path+".from", p.From), yaml.Span(path+".to", p.To)); err != nil {
			return nil, err
		}
		if p.To != 0 && p.To <= p.From {
			return nil, yaml.Atf(path+".to", "from must be before to: from %s to %s", p.From, p.To)
		}
		ports, err := l.Graph.PortsLike(p.Where)
		if err != nil {
			return nil, yaml.At(path+".where", err)
		}
		found := false
		for node := range ports {
			if l.site(node)&kind.At == 0 {
				ports[node] = nil
			}
			found = found || ports[node] != nil
		}
		if !found {
			sites := map[probe.Sites]string{probe.Hosts: "hosts", probe.Switches: "switches"}
			return nil, yaml.Atf(path+".where", "%q matches nothing that %s can watch (expected %s)", p.Where, p.Name, sites[kind.At])
		}
		plans = append(plans, Probe{&p, kind, ports})
	}
	return plans, nil
}

func (l *Layout) site(node int) probe.Sites {
	if node < l.Graph.Hosts {
		return probe.Hosts
	}
	return probe.Switches
}
