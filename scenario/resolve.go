package scenario

import (
	"sort"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
)

// Resolve fills in the defaults that depend on other keys. It does not change results.
func (c *Config) Resolve() {
	if c.Run.Measure.To == 0 {
		c.Run.Measure.To = c.Run.Arrivals
	}
	s := &c.Switch
	if _, others := c.Groups(); len(s.ECN.Classes) == 0 {
		s.ECN.Classes = others
	}
	for kind, choice := range map[string]*Choice{
		"topology": &c.Topology.Choice, "policy": &s.Policy, "flow_control": &s.FlowControl, "scheduler": &s.Scheduler.Choice,
		"ecn": &s.ECN.Choice, "deadlock": &s.Deadlock, "routing": &c.Routing.Choice, "cc": &c.Hosts.CC,
	} {
		// A caller that changed Name may have left the parameters of the previous scheme.
		if scheme, err := findScheme(kind, choice.Name); err == nil && scheme.Params == nil {
			choice.Params = nil
		}
	}
	s.Scheduler.Groups = s.Scheduler.Served(c)
	for i := range c.Probes {
		c.Probes[i].Resolve()
	}
	for i := range c.Workload {
		c.Workload[i].resolve(c)
	}
}

// FirstDataClass returns the lowest class that carries data.
func (c *Config) FirstDataClass() (id int, ok bool) {
	mask := packet.ClassMask(0)
	for _, g := range c.Classes {
		for _, id := range g.IDs {
			if g.Kind != "control" && id >= 0 && id < mmu.Classes {
				mask |= 1 << id
			}
		}
	}
	return int(mask.Lowest()), mask != 0
}

// Groups returns the names of the control groups and of the other groups, each sorted.
func (c *Config) Groups() (control, others []string) {
	for name, g := range c.Classes {
		if g.Kind == "control" {
			control = append(control, name)
		} else {
			others = append(others, name)
		}
	}
	sort.Strings(control)
	sort.Strings(others)
	return control, others
}

// GroupNames returns the names of all groups, sorted.
func (c *Config) GroupNames() []string {
	names := make([]string, 0, len(c.Classes))
	for name := range c.Classes {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
