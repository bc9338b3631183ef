package reproduce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
)

// Plan has the points that must run to judge experiments at one scale. Points that several
// experiments share run once.
type Plan struct {
	Scale       string
	Experiments []*Experiment
	Points      []*sweep.Point // without duplicates

	wanted [][]wanted // by experiment
	parts  []*Result  // by experiment: part of an interrupted command, or nil
	dealt  bool       // only the points of one task are left
}

// wanted is a point of an experiment.
type wanted struct {
	Position
	point *sweep.Point
	part  *PointResult // result from a part, or nil
}

// firstSeed is the first seed of every experiment; further seeds count up.
const firstSeed = 1

// NewPlan parses the scenario of every point of the experiments.
func NewPlan(list []*Experiment, scale string) (*Plan, error) {
	p := &Plan{Scale: scale, Experiments: list}
	known := make(map[string]*sweep.Point)
	for _, e := range list {
		var all []wanted
		if e.Simulated() {
			var err error
			if all, err = e.points(scale, known); err != nil {
				return nil, err
			}
		}
		p.wanted = append(p.wanted, all)
	}
	p.parts = make([]*Result, len(list))
	return p, nil
}

// positions returns the positions of the figure at a scale.
func (e *Experiment) positions(scale string) []Position {
	cases, xs := e.caseNames(), e.Scale(scale).X
	if len(cases) == 0 {
		cases = []string{""}
	}
	if len(xs) == 0 {
		xs = []string{""}
	}
	var list []Position
	for _, c := range cases {
		for _, s := range e.Schemes {
			if !e.has(c, s.Name) {
				continue
			}
			for _, x := range xs {
				list = append(list, Position{c, s.Name, x})
			}
		}
	}
	return list
}

// has reports whether a case has a scheme.
func (e *Experiment) has(name, scheme string) bool {
	for _, c := range e.Cases {
		if c.Name == name && len(c.Schemes) > 0 {
			return slices.Contains(c.Schemes, scheme)
		}
	}
	return true
}

// settings returns the changes to the base scenario at a position.
func (e *Experiment) settings(scale string, at Position) []string {
	set := slices.Concat(e.Set, e.Scale(scale).Set)
	set = append(set, settingsOf(e.Cases, at.Case)...)
	set = append(set, settingsOf(e.Schemes, at.Scheme)...)
	if at.X != "" {
		for _, s := range slices.Concat(e.X.Set, e.X.Also[at.X]) {
			set = append(set, strings.ReplaceAll(s, "$x", at.X))
		}
		set = append(set, e.Scale(scale).Also[at.X]...)
	}
	if at.Case != "" {
		set = append(set, e.Scale(scale).Also[at.Case]...)
	}
	return set
}

func settingsOf(list []Variant, name string) []string {
	for _, v := range list {
		if v.Name == name {
			return v.Set
		}
	}
	return nil
}

// points returns the points of the experiment. It reuses known points with the same source,
// because many figures share runs and building a scenario takes a second.
func (e *Experiment) points(scale string, known map[string]*sweep.Point) ([]wanted, error) {
	var all []wanted
	for _, at := range e.positions(scale) {
		source := e.source(scale, at)
		for i := range e.Scale(scale).Seeds {
			seed := firstSeed + uint64(i)
			key := fmt.Sprintf("%s\x00%d", source, seed)
			if known[key] == nil {
				cfg, err := e.config(scale, at)
				if err != nil {
					return nil, err
				}
				cfg.Seed = seed
				known[key] = &sweep.Point{
					Seed: seed, Config: cfg, Cost: e.Scale(scale).Seconds, Label: fmt.Sprintf("%s: %s, seed %d", e.ID, at, seed),
					Blame: func(err error) error { return e.blame(err, scale, at) },
				}
			}
			all = append(all, wanted{Position: at, point: known[key]})
		}
	}
	return all, nil
}

// config returns the scenario of a position.
func (e *Experiment) config(scale string, at Position) (*scenario.Config, error) {
	cfg, err := scenario.Parse(e.base, []byte(e.scenario), e.settings(scale, at)...)
	if err != nil {
		return nil, e.blame(err, scale, at)
	}
	return cfg, nil
}

// blame attributes an input error to the experiment's file, which the parser sees as --set.
func (e *Experiment) blame(err error, scale string, at Position) error {
	var in *scenario.InputError
	if errors.As(err, &in) {
		if set, ok := strings.CutPrefix(in.File, "--set "); ok {
			in.File = fmt.Sprintf("%s: %s", e.file, set)
		}
	}
	return fmt.Errorf("%w (%s at scale %s, %s)", err, e.ID, scale, at)
}

// different returns the points without duplicates of the same source.
func (p *Plan) different() []*sweep.Point {
	var all []*sweep.Point
	listed := make(map[*sweep.Point]bool)
	for _, list := range p.wanted {
		for _, w := range list {
			if !listed[w.point] {
				listed[w.point] = true
				all = append(all, w.point)
			}
		}
	}
	return all
}

// KeepShard keeps only the points of one task. It is called before Prepare, because building a
// scenario takes a second. Points that turn out to be equal after building may run in two
// tasks, with the same results.
func (p *Plan) KeepShard(s sweep.Shard) {
	all := p.different()
	costs := make([]float64, len(all))
	for i, point := range all {
		costs[i] = point.Cost
	}
	own := make(map[*sweep.Point]bool)
	for i, task := range sweep.AssignTasks(costs, s.Of) {
		own[all[i]] = task == s.Index
	}
	for i, list := range p.wanted {
		p.wanted[i] = slices.DeleteFunc(list, func(w wanted) bool { return !own[w.point] })
	}
	p.dealt = true
}

// Prepare builds every point and merges equal ones.
func (p *Plan) Prepare(ctx context.Context, r *sweep.Runner, options string) error {
	known, err := r.Ready(ctx, p.different(), options)
	if err != nil {
		return err
	}
	for i, e := range p.Experiments {
		if p.dealt {
			break // the process with all points checks them
		}
		if err := e.checkMeasures(r, p.wanted[i], known); err != nil {
			return fmt.Errorf("%s: %w", e.file, err)
		}
	}
	seen := make(map[string]*sweep.Point)
	p.Points = nil
	for i := range p.wanted {
		for k := range p.wanted[i] {
			w := &p.wanted[i][k]
			first := seen[w.point.Key.Scenario]
			if first == nil {
				first = w.point
				first.Index = len(p.Points)
				first.Folder = fmt.Sprintf("%s-seed%d-%s", first.Config.Name, first.Seed, first.Key.Scenario[:12])
				seen[w.point.Key.Scenario] = first
				p.Points = append(p.Points, first)
			}
			w.point = first
		}
	}
	return nil
}

// checkMeasures returns an error if the runs will not have a metric or count.
func (e *Experiment) checkMeasures(r *sweep.Runner, points []wanted, known []string) error {
	if !e.Simulated() {
		return nil
	}
	built, err := r.BuildPoint(points[0].point)
	if err != nil {
		return err
	}
	tables := make(map[string][]probe.Column)
	run := metrics.Outcome{Watched: built.Spec.WatchDeadlocks || built.Spec.StopAtDeadlock, Trees: built.Spec.LogPauses}
	for _, f := range run.Tables() {
		tables[f.Name] = f.Columns
	}
	for _, s := range built.Probes {
		tables[s.Name] = s.Columns()
	}
	check := func(summary, table string, rows map[string]string, columns ...string) error {
		if summary != "" {
			return metrics.CheckNames([]string{summary}, known)
		}
		return checkColumns(tables, table, rows, columns)
	}
	for _, m := range e.Metrics {
		if err := check(m.Summary, m.Table, m.Rows, m.Value, m.Over, m.Along); err != nil {
			return fmt.Errorf("metric %s: %w", m.Name, err)
		}
	}
	for _, c := range e.Counts {
		if err := check(c.Summary, c.Table, c.Rows, c.Distinct); err != nil {
			return fmt.Errorf("count %s: %w", c.Name, err)
		}
	}
	return nil
}

// checkColumns returns an error if a table does not have a column. Values need columns of
// numbers; row filters may use any.
func checkColumns(tables map[string][]probe.Column, table string, rows map[string]string, columns []string) error {
	if tables[table] == nil {
		return registry.Unknown("table", table, slices.Sorted(maps.Keys(tables)))
	}
	var all, numbers []string
	for _, c := range tables[table] {
		all = append(all, c.Name)
		if c.Type != probe.Text {
			numbers = append(numbers, c.Name)
		}
	}
	for _, name := range sortedKeys(rows) {
		if !slices.Contains(all, name) {
			return registry.Unknown("column", name, all)
		}
		if slices.Contains(numbers, name) {
			if _, err := rowNumber(rows[name]); err != nil {
				return fmt.Errorf("rows.%s: %w", name, err)
			}
		}
	}
	for _, c := range columns {
		if c != "" && !slices.Contains(numbers, c) {
			return registry.Unknown("numeric column", c, numbers)
		}
	}
	return nil
}

// Collect turns the rows of the points into results, one per experiment. Points that an
// interrupted command did not reach are omitted. If a metric needs the runs of all schemes, so are
// points without them.
func (p *Plan) Collect(store *sweep.Store, rows []sweep.Row) ([]*Result, error) {
	program, err := sweep.Executable()
	if err != nil {
		return nil, err
	}
	var list []*Result
	for i, e := range p.Experiments {
		r := &Result{Schema: SchemaVersion, Experiment: e.ID, Scale: p.Scale, Executable: program, Points: []PointResult{}}
		if !e.Simulated() {
			if r.Points, err = e.computed(p.Scale); err != nil {
				return nil, err
			}
		}
		among := finishers{store: store, rows: rows, plan: p.wanted[i], known: make(map[peers][]bool)}
		for _, w := range p.wanted[i] {
			if w.part != nil {
				r.Points = append(r.Points, *w.part)
				continue
			}
			if rows[w.point.Index].Point == nil || e.common() && !among.complete(w.peers()) {
				continue
			}
			point, err := e.collect(&w, &rows[w.point.Index], store.Path(w.point), &among)
			if err != nil {
				return nil, fmt.Errorf("%s: %w; fix: if the results are damaged, delete %s to compute the point again", w.point.Label, err, store.Path(w.point))
			}
			r.Points = append(r.Points, *point)
		}
		r.Seconds = p.took(i, rows)
		list = append(list, r)
	}
	return list, nil
}

// took returns the core seconds of the runs of an experiment, or 0 unless all are known.
func (p *Plan) took(experiment int, rows []sweep.Row) float64 {
	sum := 0.0
	if part := p.parts[experiment]; part != nil {
		if part.Seconds == 0 {
			return 0
		}
		sum = part.Seconds
	}
	for _, w := range p.wanted[experiment] {
		if w.part != nil || rows[w.point.Index].Point == nil {
			continue
		}
		s := rows[w.point.Index].Seconds
		if s == 0 {
			return 0
		}
		sum += s
	}
	return sum
}

func (e *Experiment) collect(w *wanted, row *sweep.Row, folder string, f *finishers) (*PointResult, error) {
	p := &PointResult{
		Position: w.Position, Seed: w.point.Seed, Scenario: w.point.Key.Scenario,
		Code: row.Verdict.Code, Message: row.Verdict.Message, Values: map[string]float64{},
	}
	if row.Verdict.Unfinished > 0 { // counts of unfinished flows decide instead
		p.Code, p.Message = 0, ""
	}
	if !row.Results {
		return p, nil
	}
	var among []bool
	var err error
	if e.common() {
		if among, err = f.of(w.peers()); err != nil {
			return nil, err
		}
	}
	p.Values, p.Distributions, err = e.extract(folder, among)
	return p, err
}
