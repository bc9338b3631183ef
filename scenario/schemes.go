package scenario

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/xoff-net/xoff/workload"
)

// Schemes returns a one-line summary of the schemes. Schemes of overrides, and of transports
// that a workload uses, follow in parentheses. Beyond the first four plug points, those with
// their default scheme everywhere are omitted.
func (c *Config) Schemes() string {
	s := &c.Switch
	var list []string
	add := func(what, name, def string, others []string) {
		if name == def && len(others) == 0 {
			return
		}
		if len(others) > 0 {
			name += " (" + strings.Join(others, ", ") + ")"
		}
		list = append(list, what+" "+name)
	}
	add("flow control", s.FlowControl.Name, "", instead(s.Overrides, "flow_control"))
	add("buffer policy", s.Policy.Name, "", instead(s.Overrides, "policy"))
	add("congestion control", c.Hosts.CC.Name, "", append(instead(c.Hosts.Overrides, "cc"), c.transports("cc")...))
	add("ECN", s.ECN.Name, "", instead(s.Overrides, "ecn"))
	add("scheduler", s.Scheduler.Name, "dwrr", instead(s.Overrides, "scheduler"))
	add("deadlock", s.Deadlock.Name, "none", instead(s.Overrides, "deadlock"))
	add("routing", c.Routing.Name, "ecmp", instead(c.Routing.Overrides))
	add("reliability", c.Hosts.Reliability.Name, "go-back-n", append(instead(c.Hosts.Overrides, "reliability"), c.transports("reliability")...))
	return strings.Join(list, ", ")
}

// Limits of a list of overrides in one line.
const (
	maxValues  = 4 // distinct values
	maxMatches = 3 // patterns with the same value
)

// instead lists the schemes, or parameters, that overrides set below a key. Patterns with the same
// value share an item.
func instead(list []Override, key ...string) []string {
	var values []string
	matches := make(map[string][]string)
	for i := range list {
		if what, ok := chosen(list[i].Keys, key...); ok {
			if matches[what] == nil {
				values = append(values, what)
			}
			matches[what] = append(matches[what], list[i].Match)
		}
	}
	var words []string
	for _, what := range values[:min(maxValues, len(values))] {
		words = append(words, what+" at "+folded(matches[what], maxMatches))
	}
	if more := len(values) - maxValues; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return words
}

// folded joins words: the first few, and the number of others.
func folded(list []string, most int) string {
	if len(list) <= most+1 {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// chosen returns the scheme that a patch selects below a key, or the parameters that it changes.
func chosen(p Patch, key ...string) (string, bool) {
	if name, ok := p.Text(append(slices.Clone(key), "name")...); ok {
		return name, true
	}
	return p.Text(key...)
}

// transports lists the schemes that transports used by workloads set below a key.
func (c *Config) transports(key string) []string {
	used := make(map[string]bool)
	for i := range c.Workload {
		used[c.Workload[i].Transport] = true
		if t, ok := c.Workload[i].Params.(*workload.Trace); ok {
			for _, name := range t.Transports {
				used[name] = true
			}
		}
	}
	var words []string
	for name, v := range c.Hosts.Transports {
		if what, ok := chosen(v.Keys, key); ok && used[name] {
			words = append(words, fmt.Sprintf("%s for transport %s", what, name))
		}
	}
	sort.Strings(words)
	return words
}
