package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/metrics"
)

// Variant is one column of a comparison: runs that differ only in their seed.
type Variant struct {
	Name    string   `json:"name"`
	Label   string   `json:"label"` // keys and values that distinguish it, such as cc=dcqcn policy=dt
	Folder  string   `json:"folder"`
	Seeds   []uint64 `json:"seeds"`
	Partial bool     `json:"partial"` // some run was interrupted
	Trouble string   `json:"trouble"` // message of a failed run; empty if none failed
	Runs    []string `json:"-"`       // folders of its runs, by seed; set by ReadVariants
	Keys    []string `json:"-"`       // keys that the sweep varied
	Values  []string `json:"-"`       // their values in this variant

	values map[string]seeded // by metric
	names  []string          // metrics in order
	groups map[string]string // groups by metric, see metrics.Measure
	keys   map[string]string // values by key of the resolved scenario

	labelled []string // keys of the scenario that the label shows
}

// Comparison compares the metrics of variants.
type Comparison struct {
	Schema   int        `json:"schema"`
	Variants []*Variant `json:"variants"`
	Differ   []KeyDiff  `json:"scenarios_differ"` // keys whose values differ between variants
	Metrics  []Compared `json:"metrics"`

	chosen bool // the caller chose the metrics
}

// KeyDiff is a key of the scenarios and its value in each variant; empty if the variant does
// not have the key.
type KeyDiff struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Compared is one metric of a comparison.
type Compared struct {
	Name    string    `json:"name"`
	Group   string    `json:"-"`       // part of the flows that it covers, a prefix of the name; "" is all
	Goal    string    `json:"goal"`    // lower, higher, or empty: neither is better
	Samples []*Sample `json:"samples"` // by variant; null if unknown
	Best    int       `json:"best"`    // variant with the best mean; -1: none
	// Better means that the best variant is significantly better than every other one: the
	// 95 % interval of each difference excludes 0.
	Better bool          `json:"better"`
	Versus []*Difference `json:"versus"` // best minus each variant; null for itself

	equal []bool // by variant: equal to the first one, seed by seed
}

// Compare compares variants by the chosen metrics, or by the default ones if there are none.
func Compare(variants []*Variant, chosen []string) (*Comparison, error) {
	if len(variants) < 2 {
		return nil, fmt.Errorf("cannot compare %d variant (expected 2 or more)", len(variants))
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
	wanted := len(chosen) > 0
	if !wanted {
		chosen = withoutDuplicates(defaults(names), variants)
	}
	c := &Comparison{Schema: SchemaVersion, Variants: variants, Differ: differing(variants), Metrics: []Compared{}, chosen: wanted}
	for _, m := range chosen {
		if r, ok := compare(variants, m); ok {
			c.Metrics = append(c.Metrics, r)
		}
	}
	c.labelRuns()
	return c, nil
}

// partMetrics are the default metrics of workloads and size groups.
var partMetrics = []string{"fct_ps.mean", "fct_ps.p50", "fct_ps.p99", "slowdown.p99"}

// withoutDuplicates omits groups with the same values as another group: the only size group
// of a workload, or the only workload with flows of a size.
func withoutDuplicates(names []string, variants []*Variant) []string {
	seen := make(map[string]string) // first group by its values
	var list []string
	for _, n := range names {
		group := groupOf(n, variants)
		values := ""
		for _, v := range variants {
			for _, m := range partMetrics {
				s := v.values[join(group, m)]
				values += fmt.Sprintln(s.seeds, s.values)
			}
		}
		if first, ok := seen[values]; ok && first != group && group != "" {
			continue
		}
		seen[values] = group
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

// defaults returns the default metrics of a comparison. Workloads are included if there are
// several.
func defaults(names []string) []string {
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

// compare compares one metric. It returns false if no variant has it.
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

// differing returns the keys whose values differ between variants. Keys that all variants
// have come first; parameters of another scheme follow from its name.
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

// missing returns 1 if some variant does not have the key, else 0.
func (d *KeyDiff) missing() int {
	if slices.Contains(d.Values, "") {
		return 1
	}
	return 0
}

// Confidence describes how reliable the marks of a comparison are.
func (c *Comparison) Confidence() string {
	least, paired := len(c.Variants[0].Seeds), true
	for _, v := range c.Variants {
		least = min(least, len(v.Seeds))
		paired = paired && slices.Equal(v.Seeds, c.Variants[0].Seeds)
	}
	switch {
	case least < 2:
		return "one seed: no confidence, any difference may be random (use --seeds 5 or more)"
	case paired:
		return fmt.Sprintf("%d seeds, the same for all, compared seed by seed", least)
	default:
		return fmt.Sprintf("at least %d seeds, not the same for all, compared by Welch's t test", least)
	}
}

// Cell formats the sample of a variant with its mark: * better than all others with 95 %
// confidence, ~ best mean but perhaps by chance. A variant that is equal to the first one,
// seed by seed, has = instead of a number.
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

// Text formats the mean of a variant, which must be known, and the half width of its
// interval.
func (c *Compared) Text(i int) string { return c.Samples[i].text(c.Name) }
