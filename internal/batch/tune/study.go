package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/optimise"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
)

// Goal is a metric to improve.
type Goal struct {
	Metric   string // full name
	Maximise bool
}

// cost returns a value of the goal such that less is better.
func (g *Goal) cost(v float64) float64 {
	if g.Maximise {
		return -v
	}
	return v
}

// Question is what a study is asked, as on the command line.
type Question struct {
	Vary, Minimise, Maximise, SubjectTo []string
}

// Study is a search for settings of a scenario.
type Study struct {
	Grid   *sweep.Grid // scenario with its changes; the study sets axes and seeds
	Ranges []*Range
	Goals  []Goal
	Limits []metrics.Condition
	Seeds  []uint64 // of the search
	Fresh  []uint64 // that confirm its result
	Notes  []string // keys that do not reach the whole fabric
	optimise.Options

	runner  *sweep.Runner
	options string                  // see sweep.OptionsKey
	today   []string                // today's value of each key, or ""
	found   map[string]*measurement // by label of a point
	points  []*sweep.Point          // that ran
	rows    []sweep.Row
	invalid error // first error of a setting that cannot run
}

// measurement is the outcome of a point.
type measurement struct {
	values []float64 // by goal, as in the summary; NaN if unknown
	broken []string  // constraints that it violates, with the values
}

// mistake names the flag of an error.
func mistake(flag string, err error) error {
	var in *scenario.InputError
	if errors.As(err, &in) {
		return err // it names the flag
	}
	return fmt.Errorf("--%s: %w", flag, err)
}

// NewStudy reads a question. The grid has the scenario and no axes.
func NewStudy(g *sweep.Grid, q *Question) (*Study, error) {
	s := &Study{Grid: g, found: make(map[string]*measurement)}
	base, err := g.Base()
	if err != nil {
		return nil, err
	}
	now, err := sweep.Values(base)
	if err != nil {
		return nil, err
	}
	if len(q.Vary) == 0 {
		return nil, fmt.Errorf("nothing to vary (expected --vary KEY=LOW..HIGH)")
	}
	if len(q.Vary) > optimise.MaxAxes {
		return nil, fmt.Errorf("--vary is given %d times (expected at most %d keys)", len(q.Vary), optimise.MaxAxes)
	}
	for _, text := range q.Vary {
		r, err := ParseRange(text, s.accepts)
		if err != nil {
			return nil, mistake("vary", err)
		}
		if slices.ContainsFunc(s.Ranges, func(o *Range) bool { return o.Key == r.Key }) {
			return nil, mistake("vary", fmt.Errorf("%s is varied twice (expected one range per key)", r.Key))
		}
		s.Ranges = append(s.Ranges, r)
		s.today = append(s.today, now[r.Key])
		if note := unreached(base, r.Key); note != "" {
			s.Notes = append(s.Notes, note)
		}
	}
	if n := len(q.Minimise) + len(q.Maximise); n < 1 || n > 2 {
		return nil, fmt.Errorf("found %d goals (expected --minimize METRIC or --maximize METRIC, once or twice)", n)
	}
	for _, r := range s.Ranges {
		g.Axes = append(g.Axes, sweep.Axis{Key: r.Key})
	}
	return s, nil
}

// maxMatches is the largest number of overrides that a note names.
const maxMatches = 3

// unreached returns a note on the overrides that set a key, so that a search does not change it
// there. It is empty if there are none.
func unreached(c *scenario.Config, key string) string {
	part, rest, _ := strings.Cut(key, ".")
	steps, ok := yaml.SplitPath(rest)
	list, known := map[string][]scenario.Override{"switch": c.Switch.Overrides, "hosts": c.Hosts.Overrides, "routing": c.Routing.Overrides}[part]
	if !ok || !known || steps[0].Key == "overrides" {
		return ""
	}
	var names []string
	first := -1
	for i := range list {
		if list[i].Keys.Has(steps...) {
			names = append(names, list[i].Match)
			if first < 0 {
				first = i
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	where := strings.Join(names, ", ")
	if more := len(names) - maxMatches; more > 0 {
		where = fmt.Sprintf("%s and %d more", strings.Join(names[:maxMatches], ", "), more)
	}
	return fmt.Sprintf("%s does not reach %s, where %s.overrides set it; to vary it there, remove it from these overrides, or also --vary %s.overrides[%d].%s", key, where, part, part, first, rest)
}

// accepts returns the error of a scenario that has a value for a key.
func (s *Study) accepts(key, value string) error {
	one := *s.Grid
	one.Axes = []sweep.Axis{{Key: key}}
	_, err := one.Point([]string{value}, 0)
	return err
}

// Prepare builds today's setting with every seed and resolves the metrics of the question. It
// returns the points of today's setting.
func (s *Study) Prepare(ctx context.Context, r *sweep.Runner, options string, q *Question) ([]*sweep.Point, error) {
	s.runner, s.options = r, options
	s.Options.Seeds, s.Confirm = len(s.Seeds), len(s.Fresh)
	s.Grid.Seeds = slices.Concat(s.Seeds, s.Fresh)
	var points []*sweep.Point
	for seed := range s.Grid.Seeds {
		point, err := s.point(optimise.Trial{Seed: seed})
		if err != nil {
			return nil, err
		}
		points = append(points, point)
	}
	names, errs, err := r.Add(ctx, s.Grid.Axes, points, options)
	if err != nil {
		return nil, err
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	for flag, list := range map[string][]string{"minimize": q.Minimise, "maximize": q.Maximise} {
		full, err := metrics.FullNames(list, names)
		if err != nil {
			return nil, mistake(flag, err)
		}
		for _, name := range full {
			s.Goals = append(s.Goals, Goal{name, flag == "maximize"})
		}
	}
	slices.SortStableFunc(s.Goals, func(a, b Goal) int { // minimised ones first, whatever the order of the map
		return map[bool]int{false: 0, true: 1}[a.Maximise] - map[bool]int{false: 0, true: 1}[b.Maximise]
	})
	if len(s.Goals) == 2 && s.Goals[0].Metric == s.Goals[1].Metric {
		return nil, fmt.Errorf("%s is a goal twice (expected two metrics)", metrics.Title(s.Goals[0].Metric))
	}
	for _, text := range q.SubjectTo {
		c, err := parseLimit(text, names)
		if err != nil {
			return nil, mistake("subject-to", err)
		}
		s.Limits = append(s.Limits, c)
	}
	for i, r := range s.Ranges {
		r.insert(s.today[i])
		s.Grid.Axes[i].Values = r.Values
		if !slices.Contains(r.Values, s.today[i]) { // today's points are in the table, too
			s.Grid.Axes[i].Values = append(slices.Clone(r.Values), s.today[i])
		}
	}
	return points, nil
}

// parseLimit parses a constraint; = means ==.
func parseLimit(text string, names []string) (metrics.Condition, error) {
	at := strings.IndexByte(text, '=')
	if at > 0 && !strings.ContainsAny(text[at-1:at], "<>!=") && !strings.HasPrefix(text[at+1:], "=") {
		text = text[:at] + "=" + text[at:]
	}
	return metrics.ParseCondition(text, names)
}

// problem returns the search for the optimiser.
func (s *Study) problem(run func([]optimise.Trial) ([]optimise.Outcome, error)) *optimise.Problem {
	p := &optimise.Problem{Goals: len(s.Goals), Run: run}
	for i, r := range s.Ranges {
		p.Axes = append(p.Axes, optimise.Axis{Levels: len(r.Values), Ordered: r.Ordered, Today: r.insert(s.today[i])})
	}
	return p
}

// Search runs the search.
func (s *Study) Search(ctx context.Context) (*Answer, error) {
	result, err := optimise.Search(s.problem(func(list []optimise.Trial) ([]optimise.Outcome, error) { return s.run(ctx, list) }), s.Options)
	if err != nil {
		return nil, err
	}
	return s.answer(result)
}

// Ran returns the number of finished runs, and the largest number that a search may need.
func (s *Study) Ran() (done, most int) { return len(s.rows), s.Runs }

// First prepares the points that a search runs whatever their outcomes are, for tasks on several
// machines.
func (s *Study) First(ctx context.Context) ([]*sweep.Point, error) {
	points, errs, err := s.add(ctx, optimise.First(s.problem(nil), s.Options))
	if err != nil {
		return nil, err
	}
	var valid []*sweep.Point
	for i, p := range points {
		if errs[i] == nil {
			p.Index = len(valid)
			valid = append(valid, p)
		}
	}
	return valid, nil
}

// values returns the values of a setting, by key; today's are "" if unknown.
func (s *Study) values(setting []int) []string {
	if setting == nil {
		return s.today
	}
	var list []string
	for i, level := range setting {
		list = append(list, s.Ranges[i].Values[level])
	}
	return list
}

// point parses the scenario of a trial.
func (s *Study) point(t optimise.Trial) (*sweep.Point, error) {
	if t.Setting != nil {
		return s.Grid.Point(s.values(t.Setting), s.Grid.Seeds[t.Seed])
	}
	today := *s.Grid
	today.Axes = nil
	p, err := today.Point(nil, s.Grid.Seeds[t.Seed])
	if err != nil {
		return nil, err
	}
	p.Values, p.Label = s.today, "today's setting, "+p.Label
	p.Blame = func(err error) error { return fmt.Errorf("%w (seed %d)", err, p.Seed) }
	return p, nil
}

// add prepares the points of trials. Errors of single points mean that their setting cannot run.
func (s *Study) add(ctx context.Context, list []optimise.Trial) ([]*sweep.Point, []error, error) {
	points, errs := make([]*sweep.Point, len(list)), make([]error, len(list))
	var parsed []*sweep.Point
	var index []int
	for i, t := range list {
		p, err := s.point(t)
		if points[i], errs[i] = p, err; err == nil {
			parsed, index = append(parsed, p), append(index, i)
		}
	}
	_, wrong, err := s.runner.Add(ctx, s.Grid.Axes, parsed, s.options)
	for i := range wrong {
		errs[index[i]] = wrong[i]
	}
	return points, errs, err
}

// run runs the points of trials and returns their outcomes.
func (s *Study) run(ctx context.Context, list []optimise.Trial) ([]optimise.Outcome, error) {
	points, errs, err := s.add(ctx, list)
	if err != nil {
		return nil, err
	}
	outcomes := make([]optimise.Outcome, len(list))
	var valid []*sweep.Point
	var index []int
	for i, p := range points {
		if errs[i] != nil {
			if s.invalid == nil {
				s.invalid = errs[i]
			}
			outcomes[i].Invalid = true
			s.found[name(list[i].Setting, list[i].Seed)] = s.unknown("cannot run: " + errs[i].Error())
			continue
		}
		p.Index = len(valid)
		valid, index = append(valid, p), append(index, i)
	}
	rows, err := s.runner.Sweep(ctx, valid)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		m, excess, err := s.measure(&rows[i])
		if err != nil {
			return nil, err
		}
		t := list[index[i]]
		s.found[name(t.Setting, t.Seed)] = m
		o := &outcomes[index[i]]
		o.Violation = excess
		for g, v := range m.values {
			o.Goals = append(o.Goals, s.Goals[g].cost(v))
		}
	}
	for i := range rows {
		rows[i].Point.Index = len(s.points)
		s.points, s.rows = append(s.points, rows[i].Point), append(s.rows, rows[i])
	}
	return outcomes, nil
}

// name identifies a trial.
func name(setting []int, seed int) string { return fmt.Sprint(setting, seed) }

// unknown returns a measurement without values.
func (s *Study) unknown(broken ...string) *measurement {
	m := &measurement{broken: broken}
	for range s.Goals {
		m.values = append(m.values, math.NaN())
	}
	return m
}

// measure reads the goals and constraints of a row.
func (s *Study) measure(r *sweep.Row) (m *measurement, excess float64, err error) {
	m = s.unknown()
	if r.Verdict.Code != 0 {
		m.broken = append(m.broken, "the run failed: "+r.Verdict.Message)
		excess = 1
	}
	if !r.Results {
		return m, math.Inf(1), nil
	}
	summary, err := metrics.ReadSummary(s.runner.Store.Path(r.Point))
	if err != nil {
		return nil, 0, err
	}
	known := make(map[string]float64)
	for _, x := range metrics.Measures(summary) {
		if x.Known {
			known[x.Name] = x.Value
		}
	}
	for i, g := range s.Goals {
		v, ok := known[g.Metric]
		if !ok {
			m.broken = append(m.broken, metrics.Title(g.Metric)+" is unknown: nothing to measure")
			excess = math.Inf(1)
			continue
		}
		m.values[i] = v
	}
	for i := range s.Limits {
		c := &s.Limits[i]
		v, ok := known[c.Metric]
		switch {
		case !ok:
			m.broken = append(m.broken, metrics.Title(c.Metric)+" is unknown: nothing to measure")
			excess = math.Inf(1)
		case !c.Holds(v):
			m.broken = append(m.broken, fmt.Sprintf("%s is %s (expected %s %s)", metrics.Title(c.Metric), metrics.Format(c.Metric, v), c.Op, metrics.Exact(c.Metric, c.Value)))
			excess += distance(c, v)
		}
	}
	return m, excess, nil
}

// distance returns by how much a value violates a condition, as a share of the bound.
func distance(c *metrics.Condition, v float64) float64 {
	const least = 1e-6 // of a strict bound that is met exactly
	d := math.Abs(v - c.Value)
	if c.Value != 0 {
		d /= math.Abs(c.Value)
	}
	return max(d, least)
}

// config returns the scenario with a setting.
func (s *Study) config(setting []int) (*scenario.Config, error) {
	p, err := s.point(optimise.Trial{Setting: setting})
	if err != nil {
		return nil, err
	}
	return p.Config, nil
}
