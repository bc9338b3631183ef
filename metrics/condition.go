package metrics

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Condition is an assertion about a number of a summary: `slowdown.p99 < 5`,
// `fct.p99 <= 200us`.
type Condition struct {
	Metric string // full name, as in summary.json
	Op     string
	Value  float64
}

var conditionForm = regexp.MustCompile(`^\s*(.+?)\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*$`)

// ParseCondition parses a condition on one of the known metrics. Metrics may be named as in
// summary.json or as in printed tables.
func ParseCondition(text string, known []string) (Condition, error) {
	m := conditionForm.FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("%q is not a condition (expected a metric, one of <, <=, ==, !=, >= and >, and a value, such as drops.lossless == 0)", text)
	}
	names, err := FullNames(m[1:2], known)
	if err != nil {
		return Condition{}, err
	}
	c := Condition{Metric: names[0], Op: m[2]}
	c.Value, err = parseValue(c.Metric, m[3])
	return c, err
}

// parseValue parses a value in the unit of the metric.
func parseValue(name, text string) (float64, error) {
	wrong := func(what string) error {
		return fmt.Errorf("%q is not a value of %s (expected %s)", text, Title(name), what)
	}
	switch {
	case isTime(name):
		t, err := units.ParseTime(text)
		if err != nil {
			return 0, wrong("a time such as 200us, at most " + units.MaxTime.String())
		}
		return float64(t), nil
	case strings.HasSuffix(name, "_bytes"):
		b, err := units.ParseBytes(text)
		if err != nil {
			return 0, wrong("a size such as 1MB")
		}
		return float64(b), nil
	case isRate(name):
		r, err := units.ParseRate(text)
		if err != nil {
			return 0, wrong("a rate such as 40Gbps")
		}
		return float64(r), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, wrong("a number such as 5")
	}
	return v, nil
}

func isTime(name string) bool {
	return strings.Contains(name, "_ps.") || strings.HasSuffix(name, "_ps")
}
func isRate(name string) bool {
	return strings.Contains(name, "_bps.") || strings.HasSuffix(name, "_bps")
}

// Holds reports whether v satisfies the condition.
func (c *Condition) Holds(v float64) bool {
	sign := cmp.Compare(v, c.Value)
	switch c.Op {
	case "<":
		return sign < 0
	case "<=":
		return sign <= 0
	case "==":
		return sign == 0
	case "!=":
		return sign != 0
	case ">=":
		return sign >= 0
	default:
		return sign > 0
	}
}

// Growing reports whether a condition that fails during a run must also fail at its end: it
// is an upper bound on a counter.
func (c *Condition) Growing() bool {
	bounded := c.Op == "<" || c.Op == "<=" || c.Op == "=="
	return bounded && slices.Contains(growing, c.Metric)
}

// growing are the metrics that Counters fills.
var growing = func() []string {
	var list []string
	for _, m := range Measures((&Outcome{}).SummarizeCounters()) {
		for _, part := range []string{"pauses.", "drops.", "transport.", "network.", "buffer."} {
			if strings.HasPrefix(m.Name, part) {
				list = append(list, m.Name)
			}
		}
	}
	return list
}()

// Exact formats a value of a metric with all digits.
func Exact(name string, v float64) string {
	switch {
	case isTime(name):
		return units.Time(v).String()
	case strings.HasSuffix(name, "_bytes"):
		return units.Bytes(v).String()
	}
	return Format(name, v)
}

// Find returns the metric with the given name. It returns false if there is none, such as a
// percentile of no flows.
func Find(s *Summary, name string) (float64, bool) {
	for _, m := range Measures(s) {
		if m.Name == name {
			return m.Value, m.Known
		}
	}
	return 0, false
}
