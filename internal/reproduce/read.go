package reproduce

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/experiments"
	"github.com/xoff-net/xoff/internal/strict"
)

// Built returns the experiments that are part of the program.
func Built() ([]*Experiment, error) { return Read(experiments.Files, "experiments") }

// paperFile is what all experiments of a folder share.
const paperFile = "paper.yaml"

// idLetters can be part of an ID.
const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/"

// Read reads every experiment of a tree PAPER/FIGURE.yaml, in order of papers,
// then of figures. Messages name files below a folder.
func Read(files fs.FS, below string) ([]*Experiment, error) {
	names, err := fs.Glob(files, "*/"+paperFile)
	if err != nil {
		return nil, err
	}
	var list []*Experiment
	for _, name := range names {
		folder := path.Dir(name)
		p := &Paper{Name: folder}
		if _, err := decode(files, name, path.Join(below, name), "paper", &p.PaperSpec); err != nil {
			return nil, err
		}
		figures, err := fs.Glob(files, folder+"/*.yaml")
		if err != nil {
			return nil, err
		}
		figures = slices.DeleteFunc(figures, func(s string) bool { return path.Base(s) == paperFile })
		slices.SortFunc(figures, byNumber)
		for _, figure := range figures {
			e := &Experiment{ID: strings.TrimSuffix(figure, ".yaml"), Paper: p, file: path.Join(below, figure)}
			if strings.Trim(e.ID, idLetters) != "" {
				return nil, fmt.Errorf("%s: files of results have the name of the experiment; allowed: letters, digits, - and _", e.file)
			}
			places, err := decode(files, figure, e.file, "experiment", &e.Spec)
			if err != nil {
				return nil, err
			}
			if err := e.inherit(places, list); err != nil {
				return nil, err
			}
			if err := e.readBase(places, files); err != nil {
				return nil, err
			}
			if err := e.check(places); err != nil {
				return nil, err
			}
			list = append(list, e)
		}
	}
	return list, nil
}

func decode(files fs.FS, name, shown, what string, into any) (*strict.Places, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	return strict.Read(shown, data, what, into)
}

// inherit takes over what the experiment leaves to another one.
func (e *Experiment) inherit(at *strict.Places, before []*Experiment) error {
	if e.Like == "" {
		return nil
	}
	var names []string
	for _, other := range before {
		names = append(names, other.ID)
		if other.ID != e.Like {
			continue
		}
		fill(&e.Base, other.Base)
		fill(&e.Compute, other.Compute)
		fill(&e.Scales, other.Scales)
		if reflect.ValueOf(e.X).IsZero() {
			e.X = other.X.only(e.xValues())
		}
		fill(&e.Cases, other.Cases)
		fill(&e.Schemes, other.Schemes)
		fill(&e.Counts, other.Counts)
		e.Set = slices.Concat(other.Set, e.Set)
		return nil
	}
	if names == nil {
		return at.Errorf("like", "there is no experiment before this one; allowed: without like")
	}
	return at.Errorf("like", "%w", registry.Unknown("experiment before this one", e.Like, names))
}

// only is the sweep without changes at values that are not there.
func (x Sweep) only(values []string) Sweep {
	also := make(map[string][]string)
	for v, set := range x.Also {
		if slices.Contains(values, v) {
			also[v] = set
		}
	}
	x.Also = also
	return x
}

// readBase finds the scenario that points start from.
func (e *Experiment) readBase(at *strict.Places, files fs.FS) error {
	switch {
	case e.Base == "":
	case strings.HasSuffix(e.Base, ".yaml"):
		data, err := fs.ReadFile(files, path.Join(e.Paper.Name, e.Base))
		if err != nil || path.Dir(e.Base) == "." {
			return at.Errorf("base", "there is no scenario %q; allowed: an example, or a file in a folder beside the experiments, such as scenarios/mine.yaml", e.Base)
		}
		// Files that the scenario names are found beside it.
		e.base, e.scenario = path.Join(path.Dir(e.file), e.Base), string(data)
	default:
		x, err := examples.Get(e.Base)
		if err != nil {
			return at.Errorf("base", "%w", err)
		}
		e.base, e.scenario = e.Base, x.Text
	}
	return nil
}

// fill gives a value to what has none.
func fill[T any](v *T, from T) {
	if reflect.ValueOf(*v).IsZero() {
		*v = from
	}
}

// byNumber sorts dsh/5 and dsh/5-more before dsh/10, and words after numbers.
func byNumber(a, b string) int {
	number := func(s string) int {
		digits, _, _ := strings.Cut(strings.TrimSuffix(path.Base(s), ".yaml"), "-")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return 1 << 30
		}
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Choose returns the experiments that ids name: dsh/5, or dsh for all of a paper.
// None means all.
func Choose(all []*Experiment, ids []string) ([]*Experiment, error) {
	if len(ids) == 0 {
		return all, nil
	}
	var names []string
	for _, e := range all {
		if !slices.Contains(names, e.Paper.Name) {
			names = append(names, e.Paper.Name)
		}
		names = append(names, e.ID)
	}
	var chosen []*Experiment
	for _, id := range ids {
		if !slices.Contains(names, id) {
			return nil, registry.Unknown("experiment", id, names)
		}
	}
	for _, e := range all {
		if slices.Contains(ids, e.ID) || slices.Contains(ids, e.Paper.Name) {
			chosen = append(chosen, e)
		}
	}
	return chosen, nil
}

// At leaves out experiments that are not run at a scale. One that is named by its id
// is missed, and so is the first one when none is left.
func At(list []*Experiment, ids []string, scale string) ([]*Experiment, error) {
	var kept []*Experiment
	var missed *Experiment
	for _, e := range list {
		switch {
		case e.Has(scale):
			kept = append(kept, e)
		case missed == nil || slices.Contains(ids, e.ID):
			missed = e
		}
	}
	if missed != nil && (len(kept) == 0 || slices.Contains(ids, missed.ID)) {
		return nil, fmt.Errorf("%s has no %s scale; allowed: --scale %s", missed.ID, scale, Full)
	}
	return kept, nil
}

// check finds what decoding cannot: names that stand for nothing.
func (e *Experiment) check(at *strict.Places) error {
	c := &checker{e: e, at: at}
	c.source()
	if !e.Simulated() || !reflect.ValueOf(e.Scales.Quick).IsZero() {
		c.scale("scales.quick", &e.Scales.Quick)
	}
	c.scale("scales.paper", &e.Scales.Paper)
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
	at  *strict.Places
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
	case !e.Simulated():
		c.known("compute.function", "function", e.Compute.Function, []string{"chips"})
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
		c.fail(path, "nothing is run; allowed: only x, with the names of chips")
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
			c.fail(path+".table", "nothing is run; allowed: summary: %s", strings.Join(chipMeasures, ", "))
		case !e.Simulated():
			c.known(path+".summary", "number", m.Summary, chipMeasures)
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
	if k.Operator == opOrder {
		if len(k.Order) < 2 || k.Scheme != "" {
			c.fail(path+"order", "allowed: two schemes or more, the one with the least first, and no scheme beside it")
		}
		for _, s := range k.Order {
			c.known(path+"order", "scheme", s, e.schemeNames())
		}
	} else {
		if k.Scheme == "" || len(k.Order) > 0 {
			c.fail(path+"scheme", "there is none; allowed: %s", strings.Join(e.schemeNames(), ", "))
		}
		c.known(path+"scheme", "scheme", k.Scheme, e.schemeNames())
	}
	c.known(path+"baseline.scheme", "scheme", k.Baseline.Scheme, e.schemeNames())
	values := e.xValues()
	c.known(path+"baseline.x", "value", k.Baseline.X, values)
	c.known(path+"x", "value", k.X, append([]string{xMost, xLeast, xMean, xAll}, values...))
	if k.X == "" && len(values) > 0 {
		c.fail(path+"x", "there is none; allowed: %s, %s, %s, %s, %s", strings.Join(values, ", "), xMost, xLeast, xMean, xAll)
	}
	against := k.Operator == opChange || k.Operator == opRatio || k.Operator == opAbout
	if against == (k.Baseline == Baseline{}) {
		c.fail(path+"baseline", "%s; allowed: a baseline with %s, %s, %s, and only there", k.Operator, opChange, opRatio, opAbout)
	}
	each := k.Operator == opAbout || k.Operator == opOrder || k.Operator == opZero || k.Operator == opNonzero
	switch {
	case k.X == xAll && !each:
		c.fail(path+"x", "%s has one number; allowed: one value, or %s, %s, %s of a %s", k.Operator, xMost, xLeast, xMean, opChange)
	case k.X == xMost && k.Operator == opNonzero:
	case k.isSweep() && k.X != xAll && k.Operator != opChange && k.Operator != opRatio:
		c.fail(path+"x", "%q chooses among changes; allowed: one value, or %s where the claim is about each", k.X, xAll)
	}
	switch k.Operator {
	case opOrder, opZero, opNonzero:
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
	c.known(path+"verdict", "verdict", d.Verdict, []string{string(DirectionOnly), string(Inconclusive), string(NotReproduced)})
}

func namesOf(list []Variant) []string {
	var names []string
	for _, v := range list {
		names = append(names, v.Name)
	}
	return names
}

func (e *Experiment) caseNames() []string   { return namesOf(e.Cases) }
func (e *Experiment) schemeNames() []string { return namesOf(e.Schemes) }

func (e *Experiment) metricNames() []string {
	var names []string
	for _, m := range e.Metrics {
		names = append(names, m.Name)
	}
	return names
}

// xValues are the values of all scales.
func (e *Experiment) xValues() []string {
	values := slices.Clone(e.Scales.Paper.X)
	for _, v := range e.Scales.Quick.X {
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
