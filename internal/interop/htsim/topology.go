package htsim

import (
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// Topology is a fat tree of two or three tiers.
type Topology struct {
	Nodes, PodSize int // hosts in all, and of each pod
	Tiers          []Tier

	// Numbers of switches in all, worked out from the tiers. Cores is 0 with two tiers.
	Pods, ToRs, Aggs, Cores int
}

// Tier describes the switches of one tier and the links below them. Tier 0 is next to the
// hosts.
type Tier struct {
	SpeedGbps       int // of each link below
	RadixDown       int // ports below
	RadixUp         int // ports above; 0 in the top tier
	LatencyNs       int // of each link below
	SwitchLatencyNs int
	Oversubscribed  int // ratio of rates below and above, 1 by default
	Bundle          int // parallel links to each switch or host below, 1 by default
	QueueUp         int // packets; 0 if not given
	QueueDown       int // packets; 0 if not given
	Line            int // where it was read; 0 if it was not
}

// OpenTopology reads a .topo file.
func OpenTopology(path string) (*Topology, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadTopology(path, f)
}

// ReadTopology reads a topology and checks that its numbers agree: radixes, bundles, speeds
// and oversubscription give whole numbers of switches. The name is used in errors.
func ReadTopology(name string, r io.Reader) (*Topology, error) {
	p := topologyReader{lines: newLines(name, r), topology: new(Topology), given: make(map[string]bool)}
	for {
		more, err := p.next()
		if err == nil && more {
			err = p.entry()
		}
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return p.topology, nil
}

type topologyReader struct {
	*lines
	topology *Topology
	tiers    int             // announced in the header
	seen     [3]bool         // tiers that were described
	tier     *Tier           // current tier; nil in the header
	given    map[string]bool // keys of the header, or of the current tier
}

// maxValue bounds every number of a topology, so that products of three fit 64 bits.
const maxValue = 1 << 20

// entry parses a line. Keys are case-insensitive.
func (p *topologyReader) entry() error {
	written := p.take()
	key := strings.ToLower(written)
	if key == "tier" {
		return p.startTier()
	}
	t, to, low := p.topology, (*int)(nil), int64(1)
	if p.tier == nil {
		switch key {
		case "nodes":
			to = &t.Nodes
		case "tiers":
			to = &p.tiers
		case "podsize":
			to = &t.PodSize
		default:
			return p.errorf("unexpected %.40q (allowed: Nodes, Tiers, Podsize, Tier)", written)
		}
	} else {
		switch key {
		case "downlink_speed_gbps":
			to = &p.tier.SpeedGbps
		case "radix_down":
			to = &p.tier.RadixDown
		case "radix_up":
			to = &p.tier.RadixUp
		case "downlink_latency_ns":
			to, low = &p.tier.LatencyNs, 0
		case "switch_latency_ns":
			to, low = &p.tier.SwitchLatencyNs, 0
		case "oversubscribed":
			to = &p.tier.Oversubscribed
		case "bundle":
			to = &p.tier.Bundle
		case "queue_up":
			to = &p.tier.QueueUp
		case "queue_down":
			to = &p.tier.QueueDown
		default:
			return p.errorf("unexpected %.40q (allowed: Tier, Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, "+
				"Switch_Latency_ns, Oversubscribed, Bundle, Queue_Up, Queue_Down)", written)
		}
	}
	if p.given[key] {
		return p.errorf("%s is given twice", written)
	}
	p.given[key] = true
	high := int64(maxValue)
	if strings.HasSuffix(key, "_ns") {
		high = math.MaxInt32
	}
	v, err := p.number(written, low, high)
	*to = int(v)
	if err == nil && key == "tiers" && v != 2 && v != 3 {
		err = p.errorf("%d tiers (allowed: 2, 3)", v)
	}
	if err != nil {
		return err
	}
	return p.end()
}

// startTier begins the description of a tier.
func (p *topologyReader) startTier() error {
	if err := p.header(); err != nil {
		return err
	}
	i, err := p.number("Tier", 0, int64(p.tiers)-1)
	if err != nil {
		return err
	}
	if p.seen[i] {
		return p.errorf("tier %d is described twice", i)
	}
	if p.topology.Tiers == nil {
		p.topology.Tiers = make([]Tier, p.tiers)
	}
	p.seen[i] = true
	p.tier = &p.topology.Tiers[i]
	*p.tier = Tier{Oversubscribed: 1, Bundle: 1, Line: p.line}
	clear(p.given)
	return p.end()
}

// header checks that the header is complete.
func (p *topologyReader) header() error {
	for _, k := range []struct {
		name  string
		value int
	}{{"Nodes", p.topology.Nodes}, {"Tiers", p.tiers}, {"Podsize", p.topology.PodSize}} {
		if k.value == 0 {
			return p.errorf("no %s in the header", k.name)
		}
	}
	return nil
}

// finish checks each tier and works out the numbers of switches.
func (p *topologyReader) finish() error {
	if err := p.header(); err != nil {
		return err
	}
	t := p.topology
	top := p.tiers - 1
	if i := slices.Index(p.seen[:p.tiers], false); i >= 0 {
		return p.errorf("no description of tier %d (expected Tier %d)", i, i)
	}
	for i, tier := range t.Tiers {
		switch {
		case tier.SpeedGbps == 0:
			return p.at(tier.Line, "tier %d has no Downlink_speed_Gbps", i)
		case tier.RadixDown == 0:
			return p.at(tier.Line, "tier %d has no Radix_Down", i)
		case tier.RadixUp == 0 && i < top:
			return p.at(tier.Line, "tier %d has no Radix_Up", i)
		case tier.RadixUp > 0 && i == top:
			return p.at(tier.Line, "tier %d has Radix_Up (expected none in the top tier)", i)
		case tier.QueueUp > 0 && i == top:
			return p.at(tier.Line, "tier %d has Queue_Up (expected none in the top tier)", i)
		case i == 0 && tier.Bundle != 1:
			return p.at(tier.Line, "tier 0 has bundles of %d links (expected 1: a host has one link)", tier.Bundle)
		case tier.RadixDown%tier.Bundle != 0:
			return p.at(tier.Line, "tier %d has Radix_Down %d (expected a multiple of Bundle, %d)", i, tier.RadixDown, tier.Bundle)
		}
	}
	switch first := t.Tiers[0]; {
	case t.Nodes%t.PodSize != 0:
		return p.errorf("%d nodes (expected a multiple of Podsize, %d)", t.Nodes, t.PodSize)
	case top == 1 && t.Nodes != t.PodSize:
		return p.errorf("Podsize is %d (expected %d, all nodes, with 2 tiers)", t.PodSize, t.Nodes)
	case t.PodSize%first.RadixDown != 0:
		return p.at(first.Line, "tier 0 has Radix_Down %d (expected a divisor of Podsize, %d)", first.RadixDown, t.PodSize)
	}
	t.Pods = t.Nodes / t.PodSize
	t.ToRs = t.Nodes / t.Tiers[0].RadixDown
	aggs, err := p.above(0, t.ToRs, t.Pods)
	if err != nil {
		return err
	}
	t.Aggs = aggs
	if top == 2 {
		// Each aggregation switch of a pod has its own group of core switches.
		if t.Cores, err = p.above(1, t.Aggs, t.Aggs/t.Pods); err != nil {
			return err
		}
	}
	return nil
}

// above returns the number of switches of tier i+1. They form groups: each switch of tier i
// has links to all switches of one group.
func (p *topologyReader) above(i, switches, groups int) (int, error) {
	low, up := p.topology.Tiers[i], p.topology.Tiers[i+1]
	below, above := low.RadixDown*low.SpeedGbps, low.RadixUp*up.SpeedGbps
	if below != above*low.Oversubscribed {
		return 0, p.at(low.Line, "tier %d has %d Gbps below and %d Gbps above (expected the ratio of Oversubscribed, %d)",
			i, below, above, low.Oversubscribed)
	}
	links := switches * low.RadixUp
	if low.RadixUp%up.Bundle != 0 {
		return 0, p.at(low.Line, "tier %d has Radix_Up %d (expected a multiple of Bundle of tier %d, %d)", i, low.RadixUp, i+1, up.Bundle)
	}
	count := links / up.RadixDown
	if links%up.RadixDown != 0 || count%groups != 0 || count/groups*up.Bundle != low.RadixUp {
		return 0, p.at(up.Line, "tier %d has Radix_Down %d: %d links from below need %d switches "+
			"(expected %d, in %d groups of Radix_Up / Bundle)", i+1, up.RadixDown, links, (links+up.RadixDown-1)/up.RadixDown, groups*(low.RadixUp/up.Bundle), groups)
	}
	return count, nil
}
