package scenario

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// A topology that topo accepts must fit the engine.
var _ = [1]struct{}{}[topo.MaxPorts-sim.MaxPorts]

func (c *Config) checkTopology() error {
	_, err := c.graph()
	return err
}

// graph generates the topology. Errors name the key that they come from.
func (c *Config) graph() (*topo.Graph, error) {
	t := &c.Topology
	e, err := topo.Topologies.Get(t.Name)
	if err != nil {
		return nil, at("topology.name", err)
	}
	if want := reflect.TypeOf(e.Params()); reflect.TypeOf(t.Params) != want {
		return nil, atf("topology.name", "%s has parameters of type %T; allowed: %s", t.Name, t.Params, want)
	}
	g, err := e.New(t.Params)
	if err != nil {
		return nil, t.wrong("topology", err)
	}
	if err := c.overrideLinks(g); err != nil {
		return nil, err
	}
	return g, c.removeLinks(g)
}

// overrideLinks changes rates and delays of single links.
func (c *Config) overrideLinks(g *topo.Graph) error {
	// A link of a list that states no delay has the usual one, but not one of zero.
	if p, ok := c.Topology.Params.(*topo.CustomParams); ok {
		for i := range p.Links {
			if err := c.zeroDelay(key("topology.links", i, "delay")); p.Links[i].Delay == 0 && err != nil {
				return err
			}
		}
	}
	for i := range c.Topology.Overrides {
		o := &c.Topology.Overrides[i]
		path := fmt.Sprintf("topology.overrides[%d]", i)
		links, err := g.LinksLike(o.Match)
		if err != nil {
			return at(path+".match", err)
		}
		err = first(
			when(o.Delay == 0, c.zeroDelay(path+".delay")),
			when(o.Delay != 0, within(path+".delay", o.Delay, 1, maxDelay)), when(o.Rate != 0 || c.has(path+".rate"), within(path+".rate", o.Rate, minRate, maxRate)),
		)
		if err != nil {
			return err
		}
		if o.Rate == 0 && o.Delay == 0 {
			return atf(path, "nothing is different; allowed: rate, delay or both")
		}
		for _, l := range links {
			if o.Rate != 0 {
				g.Links[l].Rate = o.Rate
			}
			if o.Delay != 0 {
				g.Links[l].Delay = o.Delay
			}
		}
	}
	return nil
}

// zeroDelay refuses a delay that was written and is zero.
func (c *Config) zeroDelay(path string) error {
	if !c.has(path) {
		return nil
	}
	return atf(path, "a link without delay cannot be simulated; allowed: more than 0s, at most %s (5ns is a metre of cable)", maxDelay)
}

// has reports whether a key was written in a file.
func (c *Config) has(path string) bool { return c.source != nil && c.source.has(path) }

// removeLinks takes out the links that do not exist.
func (c *Config) removeLinks(g *topo.Graph) error {
	var gone []int
	for i, pattern := range c.Topology.Down {
		path := fmt.Sprintf("topology.down[%d]", i)
		links, err := g.LinksLike(pattern)
		if err != nil {
			return at(path, err)
		}
		for _, l := range links {
			if h := g.Links[l].A; h < g.Hosts {
				return atf(path, "%s is the only link of %s; allowed: links between switches", g.LinkName(l), g.Names[h])
			}
		}
		gone = append(gone, links...)
	}
	g.Remove(gone)
	return nil
}

// readTopology replaces the file that a custom topology names by what it says, so
// that a scenario stands alone from here on.
func (c *Config) readTopology() error {
	p, ok := c.Topology.Params.(*topo.CustomParams)
	if !ok || p.Path == "" {
		return nil
	}
	plain := paramsOf(topo.Topologies, "custom").(*topo.CustomParams)
	plain.Path = p.Path
	for i, key := range keyNames(reflect.TypeOf(*p)) {
		if !reflect.DeepEqual(reflect.ValueOf(p).Elem().Field(i).Interface(), reflect.ValueOf(plain).Elem().Field(i).Interface()) {
			return c.Locate(atf("topology."+key, "the topology is in %s; allowed: path, or the other keys", p.Path))
		}
	}
	name := filepath.FromSlash(p.Path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(c.source.name), name)
	}
	data, err := readSmall(name)
	if err != nil {
		return c.Locate(atf("topology.path", "%w; allowed: a file with hosts, switches and links", err))
	}
	read, src, err := parseTopology(name, data)
	if err != nil {
		return err
	}
	for path, where := range src.places {
		where.file = src
		c.source.places[path] = where
	}
	c.Topology.Params = read
	return nil
}

// readSmall reads a file that is one, and not too long.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if s, err := f.Stat(); err != nil {
		return nil, err
	} else if !s.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// parseTopology reads a topology file: the keys of a custom topology. The places
// of keys are those that they would have in a scenario.
func parseTopology(name string, data []byte) (*topo.CustomParams, *source, error) {
	src := newSource(name, data)
	d := &decoder{src: src}
	body, err := document(d, data, "topology")
	if err != nil {
		return nil, nil, err
	}
	p := paramsOf(topo.Topologies, "custom").(*topo.CustomParams)
	if err := d.value(body, "topology", reflect.ValueOf(p).Elem()); err != nil {
		return nil, nil, err
	}
	if p.Path != "" {
		return nil, nil, d.fail(src.find("topology.path"), "topology.path", "a topology file cannot name another; allowed: hosts, switches, links")
	}
	return p, src, nil
}
