package topo

import (
	"fmt"
	"sort"

	"github.com/xoff-net/xoff/base/units"
)

// CustomParams lists the nodes and links of a topology. Ports are numbered in the order of
// the links. The hosts of a switch are a rack; racks are numbered in the order of switches.
type CustomParams struct {
	Path     string              `yaml:"path,omitempty" doc:"file with the other keys, relative to the scenario's folder; .topo: a fat tree in the format of htsim"`
	Hosts    []string            `yaml:"hosts" doc:"names of the hosts"`
	Switches []string            `yaml:"switches" doc:"names of the switches"`
	Link     Cable               `yaml:"link" doc:"default rate and delay of links"`
	Links    []CustomLink        `yaml:"links" doc:"links between nodes"`
	Groups   map[string][]string `yaml:"groups,omitempty" doc:"named groups, each a list of host names and patterns"`
}

// CustomLink is a link between two nodes. Two nodes may have several links.
type CustomLink struct {
	Ends  []string   `yaml:"ends" doc:"names of two nodes"`
	Rate  units.Rate `yaml:"rate,omitempty" doc:"rate in each direction; 0bps: the rate of link"`
	Delay units.Time `yaml:"delay,omitempty" takes:"length" doc:"one-way delay; 0s: the delay of link"`
}

func customDefaults() *CustomParams { return &CustomParams{Link: usual} }

func newCustom(params any) (*Graph, error) {
	p := params.(*CustomParams)
	switch {
	case p.Path != "":
		return nil, fmt.Errorf("path is only read from a scenario file (expected hosts, switches and links in a program)")
	case len(p.Hosts) < 2:
		return nil, fmt.Errorf("hosts has %d names (expected at least 2)", len(p.Hosts))
	case len(p.Switches) == 0:
		return nil, fmt.Errorf("switches has no names (expected at least 1)")
	}
	if err := first(p.Link.Check("link"), fits(len(p.Hosts), len(p.Switches), 0)); err != nil {
		return nil, err
	}
	b, err := p.nodes()
	if err == nil {
		err = p.cables(b)
	}
	if err != nil {
		return nil, err
	}
	for _, l := range b.g.Links {
		if l.A < b.g.Hosts {
			b.g.Rack[l.A] = l.B - b.g.Hosts
		}
	}
	g := b.Done()
	return g, first(fits(g.Hosts, len(p.Switches), g.edges()), p.checkNodeNames(g), p.groups(g))
}

// nodes adds hosts and switches.
func (p *CustomParams) nodes() (*Layout, error) {
	b := &Layout{}
	seen := make(map[string]bool)
	for _, list := range []struct {
		key   string
		names []string
	}{{"hosts", p.Hosts}, {"switches", p.Switches}} {
		for i, name := range list.names {
			if !isName(name) {
				return nil, fmt.Errorf("%s[%d] is %q (expected a letter, then letters, digits, - and _)", list.key, i, name)
			}
			if seen[name] {
				return nil, fmt.Errorf("%s[%d] is %s, which is the name of another node (expected unique names)", list.key, i, name)
			}
			seen[name] = true
			b.node(name)
		}
	}
	b.g.Hosts = len(p.Hosts)
	b.g.Rack = make([]int, len(p.Hosts))
	b.g.finish()
	return b, nil
}

func isName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '-' || r == '_')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// cables adds the links: exactly one for each host, to a switch.
func (p *CustomParams) cables(b *Layout) error {
	linkNames := make(map[string][2]int) // link name to its two nodes
	for i := range p.Links {
		l := &p.Links[i]
		key := fmt.Sprintf("links[%d]", i)
		ends, err := l.nodes(key, &b.g)
		if err != nil {
			return err
		}
		k := Cable{Rate: l.Rate, Delay: l.Delay}
		if k.Rate == 0 {
			k.Rate = p.Link.Rate
		}
		if k.Delay == 0 {
			k.Delay = p.Link.Delay
		}
		if err := k.Check(key); err != nil {
			return err
		}
		for k, n := range ends {
			if n < b.g.Hosts && b.next[n] > 0 {
				return fmt.Errorf("%s.ends[%d] is %s, which already has a link (expected one link for each host)", key, k, b.g.Names[n])
			}
			if b.next[n] >= MaxPorts {
				return fmt.Errorf("%s.ends[%d] is %s, which already has %d links (expected at most %d)", key, k, b.g.Names[n], b.next[n], MaxPorts)
			}
		}
		// Names may have dashes: links a-b to c and a to b-c would have the same name.
		for _, name := range [2]string{l.Ends[0] + "-" + l.Ends[1], l.Ends[1] + "-" + l.Ends[0]} {
			pair := [2]int{min(ends[0], ends[1]), max(ends[0], ends[1])}
			if other, ok := linkNames[name]; ok && other != pair {
				return fmt.Errorf("%s is named %s, like the link from %s to %s (expected node names that give unique link names)", key,
					name, b.g.Names[other[0]], b.g.Names[other[1]])
			}
			linkNames[name] = pair
		}
		b.Join(ends[0], ends[1], k)
	}
	for i, n := range b.next {
		if n == 0 && i < b.g.Hosts {
			return fmt.Errorf("hosts[%d] is %s, which has no link (expected one link for each host)", i, b.g.Names[i])
		}
		if n == 0 {
			return fmt.Errorf("switches[%d] is %s, which has no link (expected at least one)", i-b.g.Hosts, b.g.Names[i])
		}
	}
	return nil
}

// nodes returns the two end nodes.
func (l *CustomLink) nodes(key string, g *Graph) (ends [2]int, err error) {
	if len(l.Ends) != 2 {
		return ends, fmt.Errorf("%s.ends has %d names (expected two nodes, such as [%s, %s])", key, len(l.Ends), g.Names[0], g.Names[g.Hosts])
	}
	for i, name := range l.Ends {
		if ends[i] = g.Node(name); ends[i] < 0 {
			return ends, fmt.Errorf("%s.ends[%d] is %q, which is not a node (expected hosts (%s) and switches (%s))", key, i, name,
				Brief(g.Names[:g.Hosts]), Brief(g.Names[g.Hosts:]))
		}
	}
	switch {
	case ends[0] == ends[1]:
		return ends, fmt.Errorf("%s.ends joins %s to itself (expected two nodes)", key, l.Ends[0])
	case max(ends[0], ends[1]) < g.Hosts:
		return ends, fmt.Errorf("%s.ends joins two hosts (expected a switch at one end or both)", key)
	}
	return ends, nil
}

// checkNodeNames checks that no node has the name of a group of hosts.
func (p *CustomParams) checkNodeNames(g *Graph) error {
	for _, group := range g.Groups {
		if n := g.Node(group.Name); n >= g.Hosts {
			return fmt.Errorf("switches[%d] is %s, which is the name of a group of hosts (expected a name that is not taken)", n-g.Hosts, group.Name)
		} else if n >= 0 {
			return fmt.Errorf("hosts[%d] is %s, which is the name of a group of hosts (expected a name that is not taken)", n, group.Name)
		}
	}
	return nil
}

// groups adds the listed groups in alphabetical order. A group may refer to the built-in
// groups, not to other listed ones.
func (p *CustomParams) groups(g *Graph) error {
	var names []string
	for name := range p.Groups {
		names = append(names, name)
	}
	sort.Strings(names)
	taken := make(map[string]bool)
	for _, group := range g.Groups {
		taken[group.Name] = true
	}
	var own []Group
	for _, name := range names {
		key := "groups." + name
		if !isName(name) {
			return fmt.Errorf("groups has %q (expected a letter, then letters, digits, - and _)", name)
		}
		if taken[name] || g.Node(name) >= 0 {
			return fmt.Errorf("%s is the name of a node or of another group (expected a name that is not taken)", key)
		}
		hosts, i, err := g.HostsLike(p.Groups[name])
		if err != nil {
			return fmt.Errorf("%s[%d] is invalid: %w", key, i, err)
		}
		if len(hosts) == 0 {
			return fmt.Errorf("%s has no host (expected names and patterns of hosts, racks and switches)", key)
		}
		sort.Ints(hosts)
		own = append(own, Group{name, hosts})
	}
	g.Groups = append(g.Groups, own...)
	return nil
}
