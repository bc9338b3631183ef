package reproduce

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/yaml"
)

// check returns the first mistake that decoding cannot find, such as an unknown name.
func (e *Experiment) check(at *yaml.Locations) error {
	c := &checker{e: e, at: at}
	c.source()
	if !e.Simulated() || !reflect.ValueOf(e.Scales.Quick).IsZero() {
		c.scale("scales.quick", &e.Scales.Quick)
	}
	c.scale("scales.paper", &e.Scales.Paper)
	if !e.Simulated() {
		c.compute()
	}
	c.metrics()
	for i := range e.Panels {
		c.panel(fmt.Sprintf("panels[%d].", i), &e.Panels[i])
	}
	for i := range e.Claims {
		c.claim(fmt.Sprintf("claims[%d].", i), &e.Claims[i])
	}
	for i := range e.Deviations {
		c.deviation(fmt.Sprintf("deviations[%d].", i), &e.Deviations[i])
	}
	return c.err
}

// checker checks an experiment and keeps the first error.
type checker struct {
	e   *Experiment
	at  *yaml.Locations
	err error
}

func (c *checker) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = c.at.Errorf(path, format, args...)
	}
}

// known checks that a word is in a list. The empty word is always accepted.
func (c *checker) known(path, what, word string, list []string) {
	if word != "" && !slices.Contains(list, word) {
		c.fail(path, "%w", registry.Unknown(what, word, list))
	}
}

func (c *checker) unique(path string, n int, name func(int) string) {
	seen := make(map[string]bool)
	for i := range n {
		switch s := name(i); {
		case s == "":
			c.fail(fmt.Sprintf("%s[%d]", path, i), "name is missing (expected a unique name)")
		case seen[s]:
			c.fail(fmt.Sprintf("%s[%d]", path, i), "%q is used twice (expected each name once)", s)
		default:
			seen[s] = true
		}
	}
}

func (c *checker) source() {
	e := c.e
	if e.Title == "" || e.Figure == "" {
		c.fail("title", "title or figure is missing (expected both)")
	}
	if e.Simulated() == (e.Base == "") {
		c.fail("base", "base and compute.function are both set or both missing (expected base with an example, or compute.function)")
	}
	c.unique("schemes", len(e.Schemes), func(i int) string { return e.Schemes[i].Name })
	if len(e.Schemes) == 0 {
		c.fail("schemes", "no schemes (expected at least one, each with a name)")
	}
	c.unique("cases", len(e.Cases), func(i int) string { return e.Cases[i].Name })
	for i, v := range e.Cases {
		for _, s := range v.Schemes {
			c.known(fmt.Sprintf("cases[%d].schemes", i), "scheme", s, e.schemeNames())
		}
	}
	for i, v := range e.Schemes {
		if v.Schemes != nil {
			c.fail(fmt.Sprintf("schemes[%d].schemes", i), "a scheme has schemes (expected this key only in cases)")
		}
	}
	for x := range e.X.Also {
		c.known("x.also", "value", x, e.xValues())
	}
}

// maxSeeds is the maximum number of seeds of a scale.
const maxSeeds = 1000

func (c *checker) scale(path string, s *Scale) {
	switch {
	case c.e.Simulated() && (s.Seeds < 1 || s.Seeds > maxSeeds):
		c.fail(path+".seeds", "number of seeds is %d (expected 1 to %d)", s.Seeds, maxSeeds)
	case !c.e.Simulated() && (s.Seeds != 0 || len(s.Set) > 0 || len(s.X) == 0):
		c.fail(path, "the experiment is not simulated (expected only x, the argument of the function)")
	case len(s.X) == 0 && len(c.e.X.Set) > 0:
		c.fail(path, "x is missing (expected the values of the axis)")
	case len(s.X) > 0 && c.e.Simulated() && len(c.e.X.Set) == 0 && len(c.e.X.Also) == 0:
		c.fail(path+".x", "the values change nothing (expected x.set, in which $x stands for the value)")
	case s.Seconds < 0:
		c.fail(path+".cpu_seconds", "cpu_seconds is %g (expected 0 or more)", s.Seconds)
	}
	c.unique(path+".x", len(s.X), func(i int) string { return s.X[i] })
	for _, name := range slices.Sorted(maps.Keys(s.Also)) {
		c.known(path+".also", "value or case", name, slices.Concat(s.X, c.e.caseNames()))
	}
}

func (c *checker) metrics() {
	e := c.e
	c.unique("metrics", len(e.Metrics), func(i int) string { return e.Metrics[i].Name })
	for i, m := range e.Metrics {
		path := fmt.Sprintf("metrics[%d]", i)
		switch {
		case (m.Summary == "") == (m.Table == ""):
			c.fail(path, "summary and table are both set or both missing (expected summary for a number, or table and value for a distribution)")
		case m.Table != "" && m.Value == "" || m.Table == "" && (m.Value+m.Over+m.Along != "" || len(m.Rows) > 0):
			c.fail(path, "table and value do not match (expected both, and over, along and rows only with a table)")
		case !e.Simulated() && m.Table != "":
			c.fail(path+".table", "the experiment is not simulated (expected summary, with a result of the function)")
		case !e.Simulated() && e.function() != nil:
			c.known(path+".summary", "number", m.Summary, e.function().measures)
		}
		if (m.Base != (Base{}) || m.Sizes != nil) && m.Table != "flows" || m.Base != (Base{}) && (m.Value != "slowdown" || m.Over != "") {
			c.fail(path, "sizes or base do not match (expected table: flows, and for base also value: slowdown without over)")
		}
		if n := len(m.Sizes); m.Sizes != nil && (n == 0 || n > 2 || n == 2 && m.Sizes[0] >= m.Sizes[1]) {
			c.fail(path+".sizes", "sizes are %v (expected the smallest size and, optionally, a larger one that is excluded)", m.Sizes)
		}
		if m.Base != (Base{}) && (m.Base.RTT < 0 || m.Base.Rate <= 0) {
			c.fail(path+".base", "base has rtt %s and rate %s (expected a time of 0s or more and a rate above 0)", m.Base.RTT, m.Base.Rate)
		}
		c.known(path+".unfinished", "value", m.Unfinished, []string{unfinishedEnd})
		if m.Common && (m.Table != "flows" || m.Unfinished != unfinishedOut) {
			c.fail(path+".common", "common is set for a metric without finished flows (expected table: flows, without unfinished)")
		}
		if m.Unfinished != unfinishedOut && (m.Table != "flows" || m.Value != "fct_ps" && m.Value != "slowdown" || m.Over != "") {
			c.fail(path+".unfinished", "unfinished is set for a metric other than completion times (expected table: flows and value: fct_ps or slowdown, without over)")
		}
	}
	c.unique("counts", len(e.Counts), func(i int) string { return e.Counts[i].Name })
	for i, n := range e.Counts { // counts and metrics share the columns of a table
		if slices.Contains(e.metricNames(), n.Name) {
			c.fail(fmt.Sprintf("counts[%d].name", i), "%q is also the name of a metric (expected each name once)", n.Name)
		}
	}
	for i, n := range e.Counts {
		path := fmt.Sprintf("counts[%d]", i)
		if !e.Simulated() || (n.Summary == "") == (n.Table == "") || (n.Table == "") != (n.Distinct == "") || n.Table == "" && len(n.Rows) > 0 {
			c.fail(path, "bad source of the count (expected a simulated experiment with summary, or with table, distinct and optionally rows)")
		}
		c.known(path+".scheme", "scheme", n.Scheme, e.schemeNames())
		if n.X != "" {
			c.known(path+".x", "value of x", n.X, e.Scales.Paper.X)
		}
		c.known(path+".of", "count", n.Of, c.e.countNames())
	}
}

func (c *checker) panel(path string, p *Panel) {
	c.known(path+"kind", "kind", p.Kind, []string{"lines", "bars", "cdf", "trace"})
	if p.Kind == "" || len(p.Metrics) == 0 {
		c.fail(path+"kind", "kind or metrics is missing (expected both)")
	}
	for _, name := range p.Metrics {
		c.known(path+"metrics", "metric", name, c.e.metricNames())
		m := c.e.metric(name)
		if m == nil {
			return
		}
		switch {
		case p.Kind == "trace" && m.Along == "":
			c.fail(path+"metrics", "%s is not stored over time (expected a metric with along)", name)
		case p.Kind == "cdf" || p.Kind == "trace":
			if p.Statistic != "" {
				c.fail(path+"statistic", "a panel of kind %s shows all values; fix: remove statistic", p.Kind)
			}
		default:
			c.statistic(path, m, p.Statistic)
		}
	}
	for _, x := range c.e.xValues() {
		if _, ok := xNumber(x); !ok && p.Kind == "lines" {
			c.fail(path+"kind", "a panel of lines has x value %q (expected numbers); fix: use bars", x)
		}
	}
	c.known(path+"case", "case", p.Case, c.e.caseNames())
	c.known(path+"normalise", "scheme", p.Normalise, c.e.schemeNames())
	for _, s := range p.Schemes {
		c.known(path+"schemes", "scheme", s, c.e.schemeNames())
	}
	if (p.Published.Name == "") != (p.Published.Values == nil) || p.Published.Name != "" && p.Kind != "lines" {
		c.fail(path+"published", "incomplete published (expected name and values, in a panel of kind lines)")
	}
	for _, s := range slices.Sorted(maps.Keys(p.Published.Values)) {
		c.known(path+"published.values", "scheme", s, c.e.schemeNames())
		for _, x := range slices.Sorted(maps.Keys(p.Published.Values[s])) {
			c.known(path+"published.values", "value", x, c.e.xValues())
		}
	}
	if len(c.e.Cases) > 0 && p.Case == "" {
		c.fail(path+"case", "case is missing (allowed: %s)", strings.Join(c.e.caseNames(), ", "))
	}
}

func (c *checker) statistic(path string, m *Metric, s string) {
	if !m.Distribution() {
		if s != "" {
			c.fail(path+"statistic", "%s has one value per run; fix: remove statistic", m.Name)
		}
		return
	}
	if _, err := parseStatistic(s); err != nil {
		c.fail(path+"statistic", "%w", err)
	}
}

func (c *checker) claim(path string, k *Claim) {
	e := c.e
	c.unique("claims", len(e.Claims), func(i int) string { return e.Claims[i].ID })
	if k.Text == "" {
		c.fail(path+"text", "text is missing (expected the statement of the paper)")
	}
	if k.Operator == "" || k.Metric == "" {
		c.fail(path+"id", "metric or operator is missing (expected both)")
	}
	c.known(path+"operator", "operator", k.Operator, operators)
	c.known(path+"metric", "metric", k.Metric, e.metricNames())
	if m := e.metric(k.Metric); m != nil {
		c.statistic(path, m, k.Statistic)
	}
	c.known(path+"case", "case", k.Case, e.caseNames())
	c.known(path+"baseline.case", "case", k.Baseline.Case, e.caseNames())
	if k.Case == "" && len(e.Cases) > 0 {
		c.fail(path+"case", "case is missing (allowed: %s)", strings.Join(e.caseNames(), ", "))
	}
	values := e.xValues()
	if k.Operator == opOrder {
		c.order(path, k, values)
	} else {
		if k.Scheme == "" || len(k.Order) > 0 {
			c.fail(path+"scheme", "scheme is missing, or order is set without operator order (allowed: %s)", strings.Join(e.schemeNames(), ", "))
		}
		c.known(path+"scheme", "scheme", k.Scheme, e.schemeNames())
	}
	c.known(path+"baseline.scheme", "scheme", k.Baseline.Scheme, e.schemeNames())
	c.kind(path, k)
	c.known(path+"baseline.x", "value", k.Baseline.X, values)
	c.known(path+"x", "value", k.X, append([]string{xMost, xLeast, xMean, xAll}, values...))
	if k.X == "" && len(values) > 0 && !k.alongX() {
		c.fail(path+"x", "x is missing (allowed: %s, %s, %s, %s, %s)", strings.Join(values, ", "), xMost, xLeast, xMean, xAll)
	}
	needsBaseline := slices.Contains([]string{opChange, opRatio, opLessens, opAbout}, k.Operator)
	if needsBaseline == (k.Baseline == Baseline{}) {
		c.fail(path+"baseline", "baseline and operator %s do not match (expected a baseline with %s, %s, %s and %s, and only there)", k.Operator, opChange, opRatio, opLessens, opAbout)
	}
	if k.Operator == opLessens && (k.Baseline.Scheme == "" || k.Baseline.Case == "" && k.Baseline.X == "") {
		c.fail(path+"baseline", "incomplete baseline of %s (expected a scheme, and the case or value of x where the change is larger)", k.Operator)
	}
	c.about(path, k)
	perValue := slices.Contains([]string{opAbout, opOrder, opZero, opNonzero, opAbove, opBelow}, k.Operator)
	switch {
	case k.X == xAll && !perValue:
		c.fail(path+"x", "%s needs one number (expected one value, or %s, %s, %s of a %s)", k.Operator, xMost, xLeast, xMean, opChange)
	case k.X == xMost && (k.Operator == opOrder || k.Operator == opNonzero || k.Operator == opAbove || k.Operator == opBelow):
	case k.isSweep() && k.X != xAll && k.Operator != opChange && k.Operator != opRatio:
		c.fail(path+"x", "%q selects among changes (expected one value, %s, or %s with %s, %s, %s or %s)",
			k.X, xAll, xMost, opOrder, opNonzero, opAbove, opBelow)
	}
	switch k.Operator {
	case opOrder, opLessens, opZero, opNonzero:
		if k.Paper != "" {
			c.fail(path+"paper", "%s takes no number; fix: remove paper", k.Operator)
		}
	default:
		if k.Operator == opAbout && k.Paper == "" {
			return
		}
		if v, err := strconv.ParseFloat(k.Paper, 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			c.fail(path+"paper", "bad number: %q (expected the number as printed in the paper)", k.Paper)
		}
	}
}

func (c *checker) deviation(path string, d *Deviation) {
	var ids []string
	for _, k := range c.e.Claims {
		ids = append(ids, k.ID)
	}
	if d.Claim == "" || d.Verdict == "" || d.Why == "" {
		c.fail(path+"claim", "incomplete deviation (expected claim, verdict and why)")
	}
	c.known(path+"claim", "claim", d.Claim, ids)
	c.known(path+"scale", "scale", d.Scale, []string{Quick, Full})
	c.known(path+"cause", "cause", d.Cause, causes)
	c.known(path+"verdict", "verdict", d.Verdict, []string{string(Roughly), string(DirectionOnly), string(Inconclusive), string(NotReproduced)})
}

// order checks the order of a claim: schemes at x, or values of x of one scheme.
func (c *checker) order(path string, k *Claim, values []string) {
	what, names := "scheme", c.e.schemeNames()
	if k.alongX() {
		what, names = "value", values
	}
	if len(k.Order) < 2 || k.alongX() && k.X != "" {
		c.fail(path+"order", "bad order (expected at least two schemes in ascending order of the metric; or, with scheme and without x, at least two values of x)")
	}
	c.known(path+"scheme", "scheme", k.Scheme, c.e.schemeNames())
	for _, s := range k.Order {
		c.known(path+"order", what, s, names)
	}
}

// kind checks the kind and the row of a claim, and that unfinished flows are counted.
func (c *checker) kind(path string, k *Claim) {
	c.known(path+"kind", "kind", k.Kind, kinds)
	if k.Kind == "" {
		c.fail(path+"id", "kind is missing (allowed: %s)", strings.Join(kinds, ", "))
	}
	var rows []string
	for _, r := range c.e.Paper.Rows {
		rows = append(rows, r.ID)
	}
	if rows != nil && (k.Row != "" || k.Kind == kindHeadline) {
		if k.Row == "" {
			c.fail(path+"id", "row is missing (allowed: %s, the rows of %s)", strings.Join(rows, ", "), paperFile)
		}
		c.known(path+"row", "row", k.Row, rows)
	}
	m := c.e.metric(k.Metric)
	if m != nil && c.e.Simulated() && k.Kind != kindSanity && m.needsFinished() && len(c.e.unfinishedOf(m)) == 0 {
		c.fail("counts", "no count of unfinished flows for claim %s (expected a count such as {name: unfinished, summary: flows.unfinished, of: COUNT OF FINISHED FLOWS})", k.ID)
	}
}

// about checks that a claim of equality has a bound, and a scheme that exceeds the bound.
func (c *checker) about(path string, k *Claim) {
	if k.Operator != opAbout {
		if k.Within != 0 || k.Breaks != "" {
			c.fail(path+"within", "within or breaks is set for operator %s (expected only for %s)", k.Operator, opAbout)
		}
		return
	}
	if (k.Paper == "") == (k.Within == 0) || k.Within < 0 {
		c.fail(path+"within", "about needs one bound (expected either paper or within, in percentage points above 0)")
	}
	if k.Breaks == "" {
		c.fail(path+"breaks", "breaks is missing (expected a scheme that exceeds the bound: %s)", strings.Join(c.e.schemeNames(), ", "))
	}
	c.known(path+"breaks", "scheme", k.Breaks, c.e.schemeNames())
}

// check returns the first mistake in the rows of a paper.
func (p *Paper) check(at *yaml.Locations, list []*Experiment) error {
	c := &checker{at: at}
	c.unique("rows", len(p.Rows), func(i int) string { return p.Rows[i].ID })
	for i, row := range p.Rows {
		path := fmt.Sprintf("rows[%d]", i)
		if row.Text == "" || (row.Says == "") == (row.Open == "") {
			c.fail(path, "incomplete row (expected text with the statement of the paper, and either says with our result, or open with the reason for no verdict)")
		}
		judged := slices.ContainsFunc(list, func(e *Experiment) bool {
			return slices.ContainsFunc(e.Claims, func(k Claim) bool { return k.Row == row.ID && k.Kind != kindReading })
		})
		if judged == (row.Open != "") {
			c.fail(path, "claims and open of row %s do not match (expected either claims that name the row, or open with the reason for none)", row.ID)
		}
	}
	return c.err
}
