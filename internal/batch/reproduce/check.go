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

// check finds what decoding cannot: names that stand for nothing.
func (e *Experiment) check(at *yaml.Places) error {
	c := &checker{e: e, at: at}
	c.source()
	if !e.Simulated() || !reflect.ValueOf(e.Scales.Quick).IsZero() {
		c.scale("scales.quick", &e.Scales.Quick)
	}
	c.scale("scales.paper", &e.Scales.Paper)
	if !e.Simulated() {
		c.compute()
	}
	c.measured()
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

// checker keeps the first mistake.
type checker struct {
	e   *Experiment
	at  *yaml.Places
	err error
}

func (c *checker) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = c.at.Errorf(path, format, args...)
	}
}

// known checks that a word is one of a list. Nothing is one of any list.
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
			c.fail(fmt.Sprintf("%s[%d]", path, i), "there is no name; allowed: one of its own")
		case seen[s]:
			c.fail(fmt.Sprintf("%s[%d]", path, i), "%q is there twice; allowed: each name once", s)
		default:
			seen[s] = true
		}
	}
}

func (c *checker) source() {
	e := c.e
	if e.Title == "" || e.Figure == "" {
		c.fail("title", "title or figure is missing; allowed: both")
	}
	switch {
	case e.Simulated() == (e.Base == ""):
		c.fail("base", "allowed: either base (an example), or compute.function")
	}
	c.unique("schemes", len(e.Schemes), func(i int) string { return e.Schemes[i].Name })
	if len(e.Schemes) == 0 {
		c.fail("schemes", "there is none; allowed: at least one, each with a name")
	}
	c.unique("cases", len(e.Cases), func(i int) string { return e.Cases[i].Name })
	for x := range e.X.Also {
		c.known("x.also", "value", x, e.xValues())
	}
}

// maxSeeds bounds an experiment.
const maxSeeds = 1000

func (c *checker) scale(path string, s *Scale) {
	switch {
	case c.e.Simulated() && (s.Seeds < 1 || s.Seeds > maxSeeds):
		c.fail(path+".seeds", "%d seeds; allowed: 1 to %d", s.Seeds, maxSeeds)
	case !c.e.Simulated() && (s.Seeds != 0 || len(s.Set) > 0 || len(s.X) == 0):
		c.fail(path, "nothing is run; allowed: only x, which the function takes")
	case len(s.X) == 0 && len(c.e.X.Set) > 0:
		c.fail(path, "x is missing; allowed: the values of the axis")
	case len(s.X) > 0 && c.e.Simulated() && len(c.e.X.Set) == 0 && len(c.e.X.Also) == 0:
		c.fail(path+".x", "the values change nothing; allowed: with x.set, in which $x stands for the value")
	case s.Seconds < 0:
		c.fail(path+".cpu_seconds", "%g; allowed: 0 or more", s.Seconds)
	}
	c.unique(path+".x", len(s.X), func(i int) string { return s.X[i] })
	for _, name := range slices.Sorted(maps.Keys(s.Also)) {
		c.known(path+".also", "value or case", name, slices.Concat(s.X, c.e.caseNames()))
	}
}

func (c *checker) measured() {
	e := c.e
	c.unique("metrics", len(e.Metrics), func(i int) string { return e.Metrics[i].Name })
	for i, m := range e.Metrics {
		path := fmt.Sprintf("metrics[%d]", i)
		switch {
		case (m.Summary == "") == (m.Table == ""):
			c.fail(path, "allowed: either summary (a number), or table and value (a distribution)")
		case m.Table != "" && m.Value == "" || m.Table == "" && (m.Value+m.Over+m.Along != "" || len(m.Rows) > 0):
			c.fail(path, "allowed: value, and perhaps over, along and rows, are columns of a table")
		case !e.Simulated() && m.Table != "":
			c.fail(path+".table", "nothing is run; allowed: summary, with a number of the function")
		case !e.Simulated() && e.function() != nil:
			c.known(path+".summary", "number", m.Summary, e.function().measures)
		}
		c.known(path+".unfinished", "word", m.Unfinished, []string{unfinishedEnd})
		if m.Unfinished != unfinishedOut && (m.Table != "flows" || m.Value != "fct_ps" && m.Value != "slowdown" || m.Over != "") {
			c.fail(path+".unfinished", "only completion times have a bound; allowed: with table: flows and value: fct_ps or slowdown, without over")
		}
	}
	c.unique("counts", len(e.Counts), func(i int) string { return e.Counts[i].Name })
	for i, n := range e.Counts { // a column each
		if slices.Contains(e.metricNames(), n.Name) {
			c.fail(fmt.Sprintf("counts[%d].name", i), "%q is the name of a metric, too; allowed: each name once", n.Name)
		}
	}
	for i, n := range e.Counts {
		path := fmt.Sprintf("counts[%d]", i)
		if !e.Simulated() || (n.Summary == "") == (n.Table == "") || (n.Table == "") != (n.Distinct == "") || n.Table == "" && len(n.Rows) > 0 {
			c.fail(path, "allowed: of a run, either summary, or table and distinct, and perhaps rows")
		}
		c.known(path+".scheme", "scheme", n.Scheme, e.schemeNames())
		c.known(path+".of", "count", n.Of, c.e.countNames())
	}
}

func (c *checker) panel(path string, p *Panel) {
	c.known(path+"kind", "kind", p.Kind, []string{"lines", "bars", "cdf", "trace"})
	if p.Kind == "" || len(p.Metrics) == 0 {
		c.fail(path+"kind", "kind or metrics are missing; allowed: both")
	}
	for _, name := range p.Metrics {
		c.known(path+"metrics", "metric", name, c.e.metricNames())
		m := c.e.metric(name)
		if m == nil {
			return
		}
		switch {
		case p.Kind == "trace" && m.Along == "":
			c.fail(path+"metrics", "%s is not kept over time; allowed: a metric with along", name)
		case p.Kind == "cdf" || p.Kind == "trace":
			if p.Statistic != "" {
				c.fail(path+"statistic", "%s shows all values; allowed: none", p.Kind)
			}
		default:
			c.statistic(path, m, p.Statistic)
		}
	}
	for _, x := range c.e.xValues() {
		if _, ok := place(x); !ok && p.Kind == "lines" {
			c.fail(path+"kind", "lines are drawn over numbers, and %q of x is none; allowed: bars", x)
		}
	}
	c.known(path+"case", "case", p.Case, c.e.caseNames())
	c.known(path+"normalise", "scheme", p.Normalise, c.e.schemeNames())
	for _, s := range p.Schemes {
		c.known(path+"schemes", "scheme", s, c.e.schemeNames())
	}
	if len(c.e.Cases) > 0 && p.Case == "" {
		c.fail(path+"case", "there is none; allowed: %s", strings.Join(c.e.caseNames(), ", "))
	}
}

func (c *checker) statistic(path string, m *Metric, s string) {
	if !m.Distribution() {
		if s != "" {
			c.fail(path+"statistic", "%s has one value per run; allowed: none", m.Name)
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
		c.fail(path+"text", "there is none; allowed: what the paper says")
	}
	if k.Operator == "" || k.Metric == "" {
		c.fail(path+"id", "metric or operator is missing; allowed: both")
	}
	c.known(path+"operator", "operator", k.Operator, operators)
	c.known(path+"metric", "metric", k.Metric, e.metricNames())
	if m := e.metric(k.Metric); m != nil {
		c.statistic(path, m, k.Statistic)
	}
	c.known(path+"case", "case", k.Case, e.caseNames())
	c.known(path+"baseline.case", "case", k.Baseline.Case, e.caseNames())
	if k.Case == "" && len(e.Cases) > 0 {
		c.fail(path+"case", "there is none; allowed: %s", strings.Join(e.caseNames(), ", "))
	}
	values := e.xValues()
	if k.Operator == opOrder {
		c.order(path, k, values)
	} else {
		if k.Scheme == "" || len(k.Order) > 0 {
			c.fail(path+"scheme", "there is none; allowed: %s", strings.Join(e.schemeNames(), ", "))
		}
		c.known(path+"scheme", "scheme", k.Scheme, e.schemeNames())
	}
	c.known(path+"baseline.scheme", "scheme", k.Baseline.Scheme, e.schemeNames())
	c.kind(path, k)
	c.known(path+"baseline.x", "value", k.Baseline.X, values)
	c.known(path+"x", "value", k.X, append([]string{xMost, xLeast, xMean, xAll}, values...))
	if k.X == "" && len(values) > 0 && !k.alongX() {
		c.fail(path+"x", "there is none; allowed: %s, %s, %s, %s, %s", strings.Join(values, ", "), xMost, xLeast, xMean, xAll)
	}
	against := slices.Contains([]string{opChange, opRatio, opLessens, opAbout}, k.Operator)
	if against == (k.Baseline == Baseline{}) {
		c.fail(path+"baseline", "%s; allowed: a baseline with %s, %s, %s, %s, and only there", k.Operator, opChange, opRatio, opLessens, opAbout)
	}
	if k.Operator == opLessens && (k.Baseline.Scheme == "" || k.Baseline.Case == "" && k.Baseline.X == "") {
		c.fail(path+"baseline", "%s; allowed: a baseline with a scheme, and with the case or value of x where the change is larger", k.Operator)
	}
	c.about(path, k)
	each := slices.Contains([]string{opAbout, opOrder, opZero, opNonzero, opAbove, opBelow}, k.Operator)
	switch {
	case k.X == xAll && !each:
		c.fail(path+"x", "%s has one number; allowed: one value, or %s, %s, %s of a %s", k.Operator, xMost, xLeast, xMean, opChange)
	case k.X == xMost && k.Operator == opNonzero:
	case k.isSweep() && k.X != xAll && k.Operator != opChange && k.Operator != opRatio:
		c.fail(path+"x", "%q chooses among changes; allowed: one value, or %s where the claim is about each", k.X, xAll)
	}
	switch k.Operator {
	case opOrder, opLessens, opZero, opNonzero:
		if k.Paper != "" {
			c.fail(path+"paper", "%s has no number; allowed: none", k.Operator)
		}
	default:
		if k.Operator == opAbout && k.Paper == "" {
			return
		}
		if v, err := strconv.ParseFloat(k.Paper, 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			c.fail(path+"paper", "%q; allowed: the number of the paper, with its digits", k.Paper)
		}
	}
}

func (c *checker) deviation(path string, d *Deviation) {
	var ids []string
	for _, k := range c.e.Claims {
		ids = append(ids, k.ID)
	}
	if d.Claim == "" || d.Verdict == "" || d.Why == "" {
		c.fail(path+"claim", "something is missing; allowed: claim, verdict and why")
	}
	c.known(path+"claim", "claim", d.Claim, ids)
	c.known(path+"scale", "scale", d.Scale, []string{Quick, Full})
	c.known(path+"verdict", "verdict", d.Verdict, []string{string(Roughly), string(DirectionOnly), string(Inconclusive), string(NotReproduced)})
}

// order checks what is put in order: schemes at x, or values of x of one scheme.
func (c *checker) order(path string, k *Claim, values []string) {
	what, names := "scheme", c.e.schemeNames()
	if k.alongX() {
		what, names = "value", values
	}
	if len(k.Order) < 2 || k.alongX() && k.X != "" {
		c.fail(path+"order", "allowed: two schemes or more, the one with the least first; or, with scheme and without x, two values of x or more")
	}
	c.known(path+"scheme", "scheme", k.Scheme, c.e.schemeNames())
	for _, s := range k.Order {
		c.known(path+"order", what, s, names)
	}
}

// kind checks what a claim counts as.
func (c *checker) kind(path string, k *Claim) {
	c.known(path+"kind", "kind", k.Kind, kinds)
	if k.Kind == "" {
		c.fail(path+"id", "kind is missing; allowed: kind: %s", strings.Join(kinds, ", "))
	}
	var rows []string
	for _, r := range c.e.Paper.Rows {
		rows = append(rows, r.ID)
	}
	if rows != nil && (k.Row != "" || k.Kind == kindHeadline) {
		if k.Row == "" {
			c.fail(path+"id", "row is missing; allowed: %s, the rows of %s", strings.Join(rows, ", "), paperFile)
		}
		c.known(path+"row", "row", k.Row, rows)
	}
	m := c.e.metric(k.Metric)
	if m != nil && c.e.Simulated() && k.Kind != kindSanity && m.ofFlows() && len(c.e.unfinishedOf(m)) == 0 {
		c.fail("counts", "nothing counts unfinished flows, which can make %s inconclusive; allowed: a count such as {name: unfinished, summary: flows.unfinished, of: the count of finished ones}", k.ID)
	}
}

// about checks that a claim of equality can fail.
func (c *checker) about(path string, k *Claim) {
	if k.Operator != opAbout {
		if k.Within != 0 || k.Breaks != "" {
			c.fail(path+"within", "%s; allowed: within and breaks only with %s", k.Operator, opAbout)
		}
		return
	}
	if (k.Paper == "") == (k.Within == 0) || k.Within < 0 {
		c.fail(path+"within", "about the same needs one bound; allowed: paper, or within, in percentage points above 0")
	}
	if k.Breaks == "" {
		c.fail(path+"breaks", "there is none; allowed: a scheme that breaks the bound: %s", strings.Join(c.e.schemeNames(), ", "))
	}
	c.known(path+"breaks", "scheme", k.Breaks, c.e.schemeNames())
}

// check finds rows of a paper that no claim is about.
func (p *Paper) check(at *yaml.Places, list []*Experiment) error {
	c := &checker{at: at}
	c.unique("rows", len(p.Rows), func(i int) string { return p.Rows[i].ID })
	for i, row := range p.Rows {
		path := fmt.Sprintf("rows[%d]", i)
		if row.Text == "" || (row.Says == "") == (row.Open == "") {
			c.fail(path, "allowed: text (what the paper says), and either says (a sentence about what we see) or open (why it has no verdict)")
		}
		judged := slices.ContainsFunc(list, func(e *Experiment) bool {
			return slices.ContainsFunc(e.Claims, func(k Claim) bool { return k.Row == row.ID && k.Kind != kindReading })
		})
		if judged == (row.Open != "") {
			c.fail(path, "%s; allowed: claims that name the row, or open, which says why there are none", row.ID)
		}
	}
	return c.err
}
