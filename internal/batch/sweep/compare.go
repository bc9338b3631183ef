package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/metrics"
)

// Variant is one column of a comparison: runs that differ in their seed only.
type Variant struct {
	Name    string   `json:"name"`
	Label   string   `json:"label"` // what is different in it, such as cc=dcqcn policy=dt
	Folder  string   `json:"folder"`
	Seeds   []uint64 `json:"seeds"`
	Partial bool     `json:"partial"` // some run was interrupted
	Trouble string   `json:"trouble"` // what went wrong, empty when nothing did
	Runs    []string `json:"-"`       // folders of its runs, by seed; of variants that were read
	Keys    []string `json:"-"`       // what a sweep varied, and
	Values  []string `json:"-"`       // the values of this variant

	values map[string]seeded // by metric
	names  []string          // of the metrics, in order
	groups map[string]string // that metrics belong to
	keys   map[string]string // of the resolved scenario

	labelled []string // keys of the scenario that the label shows
}

// Comparison holds metrics of variants against each other.
type Comparison struct {
	Schema   int        `json:"schema"`
	Variants []*Variant `json:"variants"`
	Differ   []KeyDiff  `json:"scenarios_differ"` // keys that are not the same in all variants
	Metrics  []Compared `json:"metrics"`
}

// KeyDiff is a key of the scenarios and its value in each variant; empty where
// there is none.
type KeyDiff struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Compared is one metric.
type Compared struct {
	Name    string    `json:"name"`
	Group   string    `json:"-"`       // the part of the flows that it is about, a beginning of the name; "" is all
	Goal    string    `json:"goal"`    // lower, higher, or empty: neither is better
	Samples []*Sample `json:"samples"` // by variant; null where it is not known
	Best    int       `json:"best"`    // variant with the best mean, -1 when there is none
	// Better says that the best is better than every other variant: the 95 %
	// interval of each difference excludes 0.
	Better bool          `json:"better"`
	Versus []*Difference `json:"versus"` // best less each variant; null for itself

	equal []bool // to the first variant, seed by seed
}

// Compare sets variants against each other; no metrics means the usual ones.
func Compare(variants []*Variant, chosen []string) (*Comparison, error) {
	if len(variants) < 2 {
		return nil, fmt.Errorf("there is only %d variant; allowed: 2 or more to compare", len(variants))
	}
	var lists [][]string
	for _, v := range variants {
		lists = append(lists, v.names)
	}
	names := union(lists)
	chosen, err := metrics.FullNames(chosen, names)
	if err != nil {
		return nil, err
	}
	if len(chosen) == 0 {
		chosen = withoutTwins(usual(names), variants)
	}
	c := &Comparison{Schema: SchemaVersion, Variants: variants, Differ: differing(variants), Metrics: []Compared{}}
	for _, m := range chosen {
		if r, ok := compare(variants, m); ok {
			c.Metrics = append(c.Metrics, r)
		}
	}
	c.labelRuns()
	return c, nil
}

// partMetrics are shown of parts of the flows.
var partMetrics = []string{"fct_ps.mean", "fct_ps.p50", "fct_ps.p99", "slowdown.p99"}

// withoutTwins leaves out the groups that have the numbers of another one: those of
// the only size that a workload has, or the only workload that has a size.
func withoutTwins(names []string, variants []*Variant) []string {
	seen := make(map[string]string) // numbers of a group, and the first that has them
	var list []string
	for _, n := range names {
		group := groupOf(n, variants)
		numbers := ""
		for _, v := range variants {
			for _, m := range partMetrics {
				s := v.values[join(group, m)]
				numbers += fmt.Sprintln(s.seeds, s.values)
			}
		}
		if first, ok := seen[numbers]; ok && first != group && group != "" {
			continue
		}
		seen[numbers] = group
		list = append(list, n)
	}
	return list
}

func groupOf(metric string, variants []*Variant) string {
	for _, v := range variants {
		if g := v.groups[metric]; g != "" {
			return g
		}
	}
	return ""
}

// usual picks the metrics of a comparison. Workloads are shown when there are
// several.
func usual(names []string) []string {
	whole := []string{
		"flows.finished", "flows.unfinished", "fct_ps.mean", "fct_ps.p50", "fct_ps.p99", "slowdown.mean", "slowdown.p50", "slowdown.p99",
		"operations.completion_ps.mean", "operations.completion_ps.p99", "throughput.goodput_bps", "throughput.flow_goodput_bps.p50",
		"pauses.pauses", "pauses.blocked_ps", "drops.lossless", "drops.overflow", "transport.retransmissions",
		"buffer.peak_bytes", "buffer.peak_headroom_bytes",
	}
	workloads := 0
	for _, n := range names {
		if strings.HasPrefix(n, "workloads.") && strings.HasSuffix(n, ".measured") {
			workloads++
		}
	}
	var list []string
	for _, n := range names {
		part := strings.HasPrefix(n, "sizes.") || strings.HasPrefix(n, "workloads.") && workloads > 1
		if slices.Contains(whole, n) || part && slices.ContainsFunc(partMetrics, func(s string) bool { return strings.HasSuffix(n, "."+s) }) {
			list = append(list, n)
		}
	}
	return list
}

// compare is false when no variant knows the metric.
func compare(variants []*Variant, metric string) (Compared, bool) {
	goal := goalOf(metric)
	c := Compared{Name: metric, Group: groupOf(metric, variants), Goal: map[int]string{-1: "lower", 0: "", 1: "higher"}[goal], Best: -1}
	known, tied := 0, false
	for i, v := range variants {
		c.equal = append(c.equal, i > 0 && v.values[metric].same(variants[0].values[metric]))
		s, ok := sampleOf(v.values[metric].values)
		if !ok {
			c.Samples = append(c.Samples, nil)
			continue
		}
		known++
		c.Samples = append(c.Samples, &s)
		if goal == 0 {
			continue
		}
		switch lead := float64(goal); {
		case c.Best < 0 || lead*s.Mean > lead*c.Samples[c.Best].Mean:
			c.Best, tied = i, false
		case s.Mean == c.Samples[c.Best].Mean:
			tied = true
		}
	}
	if tied || known < 2 {
		c.Best = -1
	}
	c.Versus = make([]*Difference, len(variants))
	if c.Best < 0 {
		return c, known > 0
	}
	c.Better = true
	for i, v := range variants {
		if i == c.Best || c.Samples[i] == nil {
			continue
		}
		d := differenceOf(variants[c.Best].values[metric], v.values[metric])
		c.Versus[i] = &d
		c.Better = c.Better && d.ExcludesZero()
	}
	return c, true
}

// differing lists the keys whose values are not the same everywhere: first those
// that all variants have, as the parameters of another scheme follow from its
// name.
func differing(variants []*Variant) []KeyDiff {
	all := make(map[string]bool)
	for _, v := range variants {
		for k := range v.keys {
			all[k] = true
		}
	}
	list := []KeyDiff{}
	for k := range all {
		d := KeyDiff{Key: k}
		same := true
		for _, v := range variants {
			d.Values = append(d.Values, v.keys[k])
			same = same && v.keys[k] == variants[0].keys[k]
		}
		if !same {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b KeyDiff) int {
		return cmp.Or(cmp.Compare(a.missing(), b.missing()), strings.Compare(a.Key, b.Key))
	})
	return list
}

// missing is 1 when some variant does not have the key.
func (d *KeyDiff) missing() int {
	if slices.Contains(d.Values, "") {
		return 1
	}
	return 0
}

// Confidence says how far the marks of a comparison can be trusted.
func (c *Comparison) Confidence() string {
	least, paired := len(c.Variants[0].Seeds), true
	for _, v := range c.Variants {
		least = min(least, len(v.Seeds))
		paired = paired && slices.Equal(v.Seeds, c.Variants[0].Seeds)
	}
	switch {
	case least < 2:
		return "one seed: no confidence, any difference may be chance (give --seeds 5 or more)"
	case paired:
		return fmt.Sprintf("%d seeds, the same for all, compared seed by seed", least)
	default:
		return fmt.Sprintf("at least %d seeds, not the same for all, compared by Welch's t test", least)
	}
}

// Cell prints a sample of a metric with its mark: * better than all others with
// 95 % confidence, ~ best on average but perhaps by chance. What is equal to the first
// variant, seed by seed, is = and no number.
func (c *Compared) Cell(i int) string {
	if c.Samples[i] == nil {
		return "-"
	}
	if c.equal[i] {
		return "="
	}
	text := c.Text(i)
	switch {
	case i != c.Best:
		return text
	case c.Better:
		return text + " *"
	}
	return text + " ~"
}

// Text is the mean of a variant that is known, with half of its interval.
func (c *Compared) Text(i int) string { return c.Samples[i].text(c.Name) }
