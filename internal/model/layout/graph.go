package layout

import (
	"fmt"
	"reflect"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// The topology and the engine have the same maximum number of ports.
var _ = [1]struct{}{}[topo.MaxPorts-sim.MaxPorts]

// Graph generates the topology of a scenario and applies the overrides of single links.
func Graph(c *scenario.Config) (*topo.Graph, error) {
	t := &c.Topology
	e, err := topo.Topologies.Get(t.Name)
	if err != nil {
		return nil, yaml.At("topology.name", err)
	}
	if want := reflect.TypeOf(e.Params()); reflect.TypeOf(t.Params) != want {
		return nil, yaml.Atf("topology.name", "%s has parameters of type %T (expected %s)", t.Name, t.Params, want)
	}
	g, err := e.New(t.Params)
	if err != nil {
		return nil, t.Wrong("topology", err)
	}
	if err := g.Check(); err != nil { // a third-party generator may be wrong
		return nil, yaml.Atf("topology.name", "%s: %w", t.Name, err)
	}
	if err := overrideLinks(c, g); err != nil {
		return nil, err
	}
	return g, removeLinks(c, g)
}

// overrideLinks applies overrides of rate and delay.
func overrideLinks(c *scenario.Config, g *topo.Graph) error {
	// A link without a delay has the default; an explicit zero is an error.
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
			return yaml.Atf(path, "override changes nothing (expected rate, delay or both)")
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

// zeroDelay returns an error if the delay at path was written. Call it for delays of zero.
func zeroDelay(c *scenario.Config, path string) error {
	if !c.Written(path) {
		return nil
	}
	return yaml.Atf(path, "a link without delay cannot be simulated (expected more than 0s, at most %s; 5ns is a metre of cable)", topo.MaxDelay)
}

// removeLinks removes the links of topology.down.
func removeLinks(c *scenario.Config, g *topo.Graph) error {
	var down []int
	for i, pattern := range c.Topology.Down {
		path := fmt.Sprintf("topology.down[%d]", i)
		links, err := g.LinksLike(pattern)
		if err != nil {
			return yaml.At(path, err)
		}
		for _, l := range links {
			if h := g.Links[l].A; h < g.Hosts {
				return yaml.Atf(path, "%s is the only link of %s (expected a link between switches)", g.LinkName(l), g.Names[h])
			}
		}
		down = append(down, links...)
	}
	g.Remove(down)
	return nil
}
