package layout

import (
	"fmt"
	"reflect"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// A topology that topo accepts must fit the engine.
var _ = [1]struct{}{}[topo.MaxPorts-sim.MaxPorts]

// Graph generates the topology of a scenario, with what is different on single links.
func Graph(c *scenario.Config) (*topo.Graph, error) {
	t := &c.Topology
	e, err := topo.Topologies.Get(t.Name)
	if err != nil {
		return nil, yaml.At("topology.name", err)
	}
	if want := reflect.TypeOf(e.Params()); reflect.TypeOf(t.Params) != want {
		return nil, yaml.Atf("topology.name", "%s has parameters of type %T; allowed: %s", t.Name, t.Params, want)
	}
	g, err := e.New(t.Params)
	if err != nil {
		return nil, t.Wrong("topology", err)
	}
	if err := g.Check(); err != nil { // a generator from outside may be wrong
		return nil, yaml.Atf("topology.name", "%s: %w", t.Name, err)
	}
	if err := overrideLinks(c, g); err != nil {
		return nil, err
	}
	return g, removeLinks(c, g)
}

// overrideLinks changes rates and delays of single links.
func overrideLinks(c *scenario.Config, g *topo.Graph) error {
	// A link of a list that states no delay has the usual one, but not one of zero.
	if p, ok := c.Topology.Params.(*topo.CustomParams); ok {
		for i := range p.Links {
			if err := zeroDelay(c, fmt.Sprintf("topology.links[%d].delay", i)); p.Links[i].Delay == 0 && err != nil {
				return err
			}
		}
	}
	for i := range c.Topology.Overrides {
		o := &c.Topology.Overrides[i]
		path := fmt.Sprintf("topology.overrides[%d]", i)
		links, err := g.LinksLike(o.Match)
		if err != nil {
			return yaml.At(path+".match", err)
		}
		err = yaml.First(
			yaml.When(o.Delay == 0, zeroDelay(c, path+".delay")),
			yaml.When(o.Delay != 0, yaml.Within(path+".delay", o.Delay, 1, topo.MaxDelay)),
			yaml.When(o.Rate != 0 || c.Written(path+".rate"), yaml.Within(path+".rate", o.Rate, topo.MinRate, topo.MaxRate)),
		)
		if err != nil {
			return err
		}
		if o.Rate == 0 && o.Delay == 0 {
			return yaml.Atf(path, "nothing is different; allowed: rate, delay or both")
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
func zeroDelay(c *scenario.Config, path string) error {
	if !c.Written(path) {
		return nil
	}
	return yaml.Atf(path, "a link without delay cannot be simulated; allowed: more than 0s, at most %s (5ns is a metre of cable)", topo.MaxDelay)
}

// removeLinks takes out the links that do not exist.
func removeLinks(c *scenario.Config, g *topo.Graph) error {
	var gone []int
	for i, pattern := range c.Topology.Down {
		path := fmt.Sprintf("topology.down[%d]", i)
		links, err := g.LinksLike(pattern)
		if err != nil {
			return yaml.At(path, err)
		}
		for _, l := range links {
			if h := g.Links[l].A; h < g.Hosts {
				return yaml.Atf(path, "%s is the only link of %s; allowed: links between switches", g.LinkName(l), g.Names[h])
			}
		}
		gone = append(gone, links...)
	}
	g.Remove(gone)
	return nil
}
