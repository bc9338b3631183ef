package scenario

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/htsim"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/topo"
)

// isHTSim reports whether a topology file has the format of htsim.
func isHTSim(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".topo") }

// maxFileLinks limits the links of a topology of htsim, whose file describes any number in a
// few bytes: a resolved scenario lists them all.
const maxFileLinks = 1 << 16

// readHTSim turns a .topo file into a custom topology, and sets the latency of switches.
func (c *Config) readHTSim(name string, data []byte) (*topo.CustomParams, error) {
	if len(data) > yaml.MaxFile {
		return nil, &InputError{File: name, Err: fmt.Errorf("the file is too large (expected at most %d bytes)", yaml.MaxFile)}
	}
	t, err := htsim.ReadTopology(name, strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	links := t.Nodes + t.ToRs*t.Tiers[0].RadixUp + t.Aggs*t.Tiers[1].RadixUp
	if switches := t.ToRs + t.Aggs + t.Cores; switches > topo.MaxSwitches || links > maxFileLinks {
		return nil, &InputError{File: name, Err: fmt.Errorf("there are %d hosts, %d switches and %d links (expected at most %d switches and %d links)",
			t.Nodes, switches, links, topo.MaxSwitches, maxFileLinks)}
	}
	for i, tier := range t.Tiers {
		if err := tierCable(&tier).Check(fmt.Sprint("tier ", i)); err != nil {
			return nil, &InputError{File: name, Line: tier.Line, Column: 1, Err: err}
		}
	}
	if !c.Written("switch.latency") {
		first := t.Tiers[0].SwitchLatencyNs
		for i, tier := range t.Tiers {
			if tier.SwitchLatencyNs != first {
				return nil, &InputError{File: name, Line: tier.Line, Column: 1, Err: fmt.Errorf("tier %d has Switch_Latency_ns %d, tier 0 has %d "+
					"(expected one value); fix: set switch.latency, and switch.overrides for single switches", i, tier.SwitchLatencyNs, first)}
			}
		}
		c.Switch.Latency = units.Time(first) * units.Nanosecond
	}
	return fatTree(t), nil
}

// tierCable returns a cable below a tier.
func tierCable(t *htsim.Tier) *topo.Cable {
	return &topo.Cable{Rate: units.Rate(t.SpeedGbps) * units.Gbps, Delay: units.Time(t.LatencyNs) * units.Nanosecond}
}

// fatTree lists the nodes and links of a fat tree. Each switch has its links to the tier below
// before those above, so ports are numbered from below.
func fatTree(t *htsim.Topology) *topo.CustomParams {
	p := paramsOf(topo.Topologies, "custom").(*topo.CustomParams)
	names := func(kind string, n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(kind, i)
		}
		return list
	}
	hosts, tors, aggs, cores := names("host", t.Nodes), names("tor", t.ToRs), names("agg", t.Aggs), names("core", t.Cores)
	p.Hosts = hosts
	p.Switches = append(append(append(p.Switches, tors...), aggs...), cores...)
	join := func(low, high string, tier int) {
		cable := tierCable(&t.Tiers[tier])
		for range t.Tiers[tier].Bundle {
			p.Links = append(p.Links, topo.CustomLink{Ends: []string{low, high}, Rate: cable.Rate, Delay: cable.Delay})
		}
	}
	p.Link = *tierCable(&t.Tiers[0])
	for i, h := range hosts {
		join(h, tors[i/t.Tiers[0].RadixDown], 0)
	}
	torsPerPod, aggsPerPod := t.ToRs/t.Pods, t.Aggs/t.Pods
	for i, low := range tors {
		pod := i / torsPerPod
		for _, high := range aggs[pod*aggsPerPod : (pod+1)*aggsPerPod] {
			join(low, high, 1)
		}
	}
	if t.Cores == 0 {
		return p
	}
	each := t.Cores / aggsPerPod // cores above the switches at one position in all pods
	for i, low := range aggs {
		at := i % aggsPerPod
		for _, high := range cores[at*each : (at+1)*each] {
			join(low, high, 2)
		}
	}
	p.Groups = make(map[string][]string)
	for pod := range t.Pods {
		p.Groups[fmt.Sprint("pod", pod)] = hosts[pod*t.PodSize : (pod+1)*t.PodSize]
	}
	return p
}
