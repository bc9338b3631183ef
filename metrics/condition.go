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

// Condition is what a number of a summary must be: `slowdown.p99 < 5`,
// `fct.p99 <= 200us`.
type Condition struct {
	Metric string // its full name
	Op     string
	Value  float64
}

var conditionForm = regexp.MustCompile(`^\s*(.+?)\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*$`)

// ParseCondition reads a condition about one of the known metrics, whose names may be
// as in summary.json or as tables print them.
func ParseCondition(text string, known []string) (Condition, error) {
	m := conditionForm.FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("%q is no condition; allowed: a metric, one of <, <=, ==, !=, >= and >, and a value, such as drops.lossless == 0", text)
	}
	names, err := FullNames(m[1:2], known)
	if err != nil {
		return Condition{}, err
	}
	c := Condition{Metric: names[0], Op: m[2]}
	c.Value, err = parseValue(c.Metric, m[3])
	return c, err
}

// parseValue reads a value of a metric in the unit that its name has.
func parseValue(name, text string) (float64, error) {
	wrong := func(what string) error {
		return fmt.Errorf("%q is not what %s is measured in; allowed: %s", text, Title(name), what)
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

// Holds reports whether a value is as it must be.
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

// Growing reports whether a condition that does not hold while a run goes cannot hold
// at its end: it bounds from above what is only ever counted up.
func (c *Condition) Growing() bool {
	bounded := c.Op == "<" || c.Op == "<=" || c.Op == "=="
	return bounded && slices.Contains(growing, c.Metric)
}

// growing are the numbers that Counters has.
var growing = func() []string {
	var list []string
	for _, m := range Measures((&Outcome{}).Counters()) {
		for _, part := range []string{"pauses.", "drops.", "transport.", "network.", "buffer."} {
			if strings.HasPrefix(m.Name, part) {
				list = append(list, m.Name)
			}
		}
	}
	return list
}()

// Exact prints a value of a metric with all its digits.
func Exact(name string, v float64) string {
	switch {
	case isTime(name):
		return units.Time(v).String()
	case strings.HasSuffix(name, "_bytes"):
		return units.Bytes(v).String()
	}
	return Format(name, v)
}

// Find returns the number of a summary that has a name; false: there is none, such as a
// percentile of no flows.
func Find(s *Summary, name string) (float64, bool) {
	for _, m := range Measures(s) {
		if m.Name == name {
			return m.Value, m.Known
		}
	}
	return 0, false
}
