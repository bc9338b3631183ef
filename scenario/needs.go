package scenario

import (
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/yaml"
)

// settleNeeds sets what the selected schemes of switches need (registry.Need): in the switch, or
// in the overrides that select them. It leaves alone a key that the switch or any override sets;
// validation then checks its value.
func (c *Config) settleNeeds() {
	s := &c.Switch
	overrides := slices.Clone(s.Overrides) // as written
	for _, at := range []struct{ kind, name string }{
		{"policy", s.Policy.Name}, {"flow_control", s.FlowControl.Name}, {"scheduler", s.Scheduler.Name}, {"ecn", s.ECN.Name}, {"deadlock", s.Deadlock.Name},
	} {
		for _, n := range needsOf(at.kind, at.name) {
			if keys := strings.Split(n.Key, "."); !c.writes(overrides, keys) {
				_ = c.Apply(Patch{}.Set(n.Value, keys...), "switch", s) // TestNeeds checks every entry
			}
		}
		for i := range overrides {
			name, _ := overrides[i].Keys.Text(at.kind, "name")
			for _, n := range needsOf(at.kind, name) {
				if keys := strings.Split(n.Key, "."); !c.writes(overrides, keys) {
					s.Overrides[i].Keys = s.Overrides[i].Keys.Set(n.Value, keys...)
				}
			}
		}
	}
}

// writes reports whether the switch or an override sets a key of switch.
func (c *Config) writes(overrides []Override, keys []string) bool {
	return c.Written("switch."+strings.Join(keys, ".")) ||
		slices.ContainsFunc(overrides, func(o Override) bool { return o.Keys.Has(yaml.Steps(keys...)...) })
}

// needsOf returns what a scheme needs; nothing if it does not exist.
func needsOf(kind, name string) []registry.Need {
	s, _ := findScheme(kind, name)
	return s.Needs
}
