package sweep

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/metrics"
)

// ShortNames returns names of variants without their common parts: the varied key and
// parent folders. No name contains a path of the machine.
func ShortNames(variants []*Variant) []string {
	name := func(v *Variant, bare bool) string {
		base := filepath.Base(filepath.Clean(v.Folder))
		if v.Label == "" {
			return base
		}
		switch _, value, _ := strings.Cut(v.Label, "="); {
		case !bare:
			return base + ": " + v.Label
		case len(v.Keys) == 1:
			return value
		}
		return v.Label
	}
	one := true
	for _, v := range variants {
		one = one && v.Folder == variants[0].Folder
	}
	seen := make(map[string]int)
	var list []string
	cut := 0
	if !one {
		var whole []string
		for _, v := range variants {
			whole = append(whole, name(v, false))
		}
		cut = shared(whole)
	}
	for _, v := range variants {
		n := name(v, one)[cut:]
		if seen[n]++; seen[n] > 1 {
			n = fmt.Sprintf("%s (%d)", n, seen[n])
		}
		list = append(list, n)
	}
	return list
}

// maxHead is the length up to which the values of several keys name a column.
const maxHead = 30

// Heads returns short names for columns: a folder, or the values of the varied keys, if these
// tell all variants apart; else ShortNames.
func Heads(variants []*Variant) []string {
	var bare []*Variant
	for _, v := range variants {
		b := *v
		if len(v.Keys) == 0 {
			b.Label = ""
		}
		bare = append(bare, &b)
	}
	list := ShortNames(bare)
	for i, v := range variants {
		if values := strings.Join(v.Values, " "); len(v.Keys) > 1 && v.Folder == variants[0].Folder && len(values) <= maxHead {
			list[i] = values
		}
	}
	for i, n := range list {
		if slices.Index(list, n) != i {
			return ShortNames(variants)
		}
	}
	return list
}

// shared returns the length of the common prefix of all names, up to a word boundary.
func shared(names []string) int {
	prefix := names[0]
	for _, n := range names {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	at := strings.LastIndexAny(prefix, "-_. /") + 1
	for _, n := range names {
		if len(n) == at {
			return 0
		}
	}
	return at
}

// Rows is the number of metrics that matter: the others are shown on demand.
const Rows = 15

// Essence returns the comparison with the n metrics that matter most, in order, and the rest. A
// metric that the caller chose always matters. One that is equal in all variants does not, nor
// does one over flows of several workloads, since it mixes RDMA and TCP.
func (c *Comparison) Essence(n int) (most, rest *Comparison) {
	first, second := *c, *c
	first.Metrics, second.Metrics = []Compared{}, []Compared{}
	if c.chosen {
		first.Metrics = c.Metrics
		return &first, &second
	}
	order := make([]int, len(c.Metrics))
	for i := range order {
		order[i] = i
	}
	parts := len(c.parts())
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.Metrics[a].weight(parts), c.Metrics[b].weight(parts))
	})
	matters := make(map[int]bool)
	for _, i := range order[:min(n, len(order))] {
		matters[i] = c.Metrics[i].weight(parts) < hardly
	}
	for i := range c.Metrics {
		if matters[i] {
			first.Metrics = append(first.Metrics, c.Metrics[i])
		} else {
			second.Metrics = append(second.Metrics, c.Metrics[i])
		}
	}
	return &first, &second
}

// hardly is the weight of metrics that do not matter.
const hardly = 100

// weights order metrics by how much they matter, most important first. A group stands before a
// metric of workloads.
var weights = []string{
	"drops.lossless", "flows.unfinished", "group.slowdown.p99", "operations.completion_ps.p99", "slowdown.p99", "group.fct_ps.p99",
	"fct_ps.p99", "pauses.pauses", "pauses.blocked_ps", "drops.overflow", "transport.retransmissions", "group.fct_ps.mean", "fct_ps.mean",
	"operations.completion_ps.mean", "slowdown.p50", "throughput.goodput_bps", "buffer.peak_bytes", "group.fct_ps.p50", "fct_ps.p50",
	"buffer.peak_headroom_bytes", "slowdown.mean",
}

// weight returns the place of a metric in weights, for the given number of workloads.
func (m *Compared) weight(workloads int) int {
	name := m.Name
	if m.Group != "" {
		if name = "group." + strings.TrimPrefix(name, m.Group+"."); !isWorkload(m.Group) {
			return hardly - 1
		}
	}
	w := slices.Index(weights, name)
	switch {
	case w >= 0 && w < 2: // no drops and no unfinished flows are a result too
		return w
	case m.same():
		return hardly
	case m.Group == "" && workloads > 1 && mixes(m.Name):
		return hardly + 1
	case w < 0:
		return hardly - 1
	}
	return w
}

// isWorkload reports whether a group is a workload, not one of its sizes.
func isWorkload(group string) bool {
	return strings.HasPrefix(group, "workloads.") && !strings.Contains(group, ".sizes.")
}

// mixes reports whether a metric is taken over flows of all workloads.
func mixes(metric string) bool {
	return strings.HasPrefix(metric, "fct_ps.") || strings.HasPrefix(metric, "slowdown.") || strings.HasPrefix(metric, "throughput.flow_")
}

// same reports whether all variants have equal values.
func (m *Compared) same() bool {
	for i := range m.Samples {
		if i > 0 && !m.equal[i] {
			return false
		}
	}
	return true
}

// parts returns the groups of workloads in a comparison, in order.
func (c *Comparison) parts() []string {
	var list []string
	for i := range c.Metrics {
		if g := c.Metrics[i].Group; isWorkload(g) && !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// metric returns a metric of a group, or nil.
func (c *Comparison) metric(group, name string) *Compared {
	i := slices.IndexFunc(c.Metrics, func(m Compared) bool { return m.Group == group && m.Name == join(group, name) })
	if i < 0 {
		return nil
	}
	return &c.Metrics[i]
}

// Headline returns the most important facts: lossless drops, unfinished flows, and by workload
// the variants with the best and worst tail. Names are the names of the variants.
func (c *Comparison) Headline(names []string) []string {
	var list []string
	for _, name := range []string{"drops.lossless", "flows.unfinished"} {
		if m := c.metric("", name); m != nil {
			if _, k := m.extremes(); k >= 0 && m.Samples[k].Mean > 0 {
				list = append(list, fmt.Sprintf("%s: %s with %s.", metrics.Title(name), m.Text(k), names[k]))
			}
		}
	}
	groups := c.parts()
	if len(groups) < 2 {
		groups = []string{""}
	}
	for i, g := range groups {
		if i == maxHeadlines {
			return append(list, fmt.Sprintf("%d more workloads are in the tables.", len(groups)-i))
		}
		for _, name := range []string{"slowdown.p99", "fct_ps.p99"} {
			m := c.metric(g, name)
			if m == nil {
				continue
			}
			if least, most := m.extremes(); least >= 0 && m.Samples[least].Mean < m.Samples[most].Mean {
				what := metrics.Title(name)
				if g != "" {
					what = strings.TrimPrefix(g, "workloads.") + ": " + what
				}
				list = append(list, fmt.Sprintf("%s: lowest with %s (%s), highest with %s (%s).", what, names[least], m.Text(least), names[most], m.Text(most)))
				break
			}
		}
	}
	return list
}

// maxHeadlines is the maximum number of workloads in a headline.
const maxHeadlines = 5

// extremes returns the variants with the lowest and the highest mean, the first of equals,
// or -1 if no mean is known.
func (m *Compared) extremes() (least, most int) {
	least, most = -1, -1
	for k, s := range m.Samples {
		if s == nil {
			continue
		}
		if least < 0 || s.Mean < m.Samples[least].Mean {
			least = k
		}
		if most < 0 || s.Mean > m.Samples[most].Mean {
			most = k
		}
	}
	return least, most
}
