package reproduce

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"sync"

	"github.com/xoff-net/xoff/internal/render/report"
)

// Single returns the results of an experiment that was run at one scale.
func Single(e *Experiment, r *Result) *Results {
	if r.Scale == Quick {
		return &Results{Experiment: e, Quick: r}
	}
	return &Results{Experiment: e, Paper: r}
}

// Stored returns the document of a paper from stored results. Computed experiments need no
// stored results. A paper without any simulated results is an error.
func Stored(list []*Experiment, paper, folder string) (*report.Document, error) {
	p, all, err := storedResults(list, paper, folder)
	if err != nil {
		return nil, err
	}
	if !simulated(all) {
		return nil, fmt.Errorf("%s has no results of %s (expected a folder written by `xoff reproduce %s --save`)", folder, paper, paper)
	}
	return PaperDocument(p, all), nil
}

// StoredPapers returns the names of the papers with stored results.
func StoredPapers(list []*Experiment, folder string) ([]string, error) {
	var names []string
	err := eachPaper(list, folder, func(p *Paper, all []*Results) {
		if simulated(all) {
			names = append(names, p.Name)
		}
	})
	return names, err
}

// StoredOverview returns the scoreboard of all papers.
func StoredOverview(list []*Experiment, folder string) (*report.Document, error) {
	var papers []*Paper
	var results [][]*Results
	err := eachPaper(list, folder, func(p *Paper, all []*Results) {
		papers, results = append(papers, p), append(results, all)
	})
	return Overview(papers, results), err
}

func eachPaper(list []*Experiment, folder string, visit func(*Paper, []*Results)) error {
	for i, e := range list {
		if i > 0 && list[i-1].Paper == e.Paper {
			continue
		}
		p, all, err := storedResults(list, e.Paper.Name, folder)
		if err != nil {
			return err
		}
		visit(p, all)
	}
	return nil
}

// storedResults returns the results of a paper, including empty ones of experiments that
// were not run.
func storedResults(list []*Experiment, paper, folder string) (*Paper, []*Results, error) {
	var all []*Results
	var p *Paper
	for _, e := range list {
		if e.Paper.Name != paper {
			continue
		}
		p = e.Paper
		r := &Results{Experiment: e}
		for _, scale := range []string{Quick, Full} {
			x, err := e.stored(folder, scale)
			if err != nil {
				return nil, nil, err
			}
			if scale == Quick {
				r.Quick = x
			} else {
				r.Paper = x
			}
		}
		all = append(all, r)
	}
	return p, all, nil
}

// simulated reports whether any simulated experiment of a paper was run.
func simulated(all []*Results) bool {
	return slices.ContainsFunc(all, func(r *Results) bool { return r.Experiment.Simulated() && r.largest() != nil })
}

// stored returns the stored result, or computes it if the experiment is not simulated.
func (e *Experiment) stored(folder, scale string) (*Result, error) {
	if e.Simulated() {
		return Load(folder, e.ID, scale)
	}
	points, err := e.computed(scale)
	return &Result{Schema: SchemaVersion, Experiment: e.ID, Scale: scale, Points: points}, err
}

// Check is a stored point that is run again for verification.
type Check struct {
	Plan   *Plan
	stored *PointResult
}

func (c *Check) String() string {
	return fmt.Sprintf("%s at scale %s, %s, seed %d", c.Plan.Experiments[0].ID, c.Plan.Scale, c.stored.Position, c.stored.Seed)
}

// Pick selects n stored points of simulated experiments at random. The text seeds the
// selection.
func Pick(list []*Experiment, scale, folder string, n int, text string) ([]*Check, error) {
	type candidate struct {
		e *Experiment
		p *PointResult
	}
	var all []candidate
	for _, e := range list {
		r, err := Load(folder, e.ID, scale)
		if err != nil {
			return nil, err
		}
		if r == nil || !e.Simulated() {
			continue
		}
		for i := range r.Points {
			all = append(all, candidate{e, &r.Points[i]})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no points at scale %s (expected a folder written by --save)", folder, scale)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	var checks []*Check
	for _, i := range random.Perm(len(all))[:min(n, len(all))] {
		plan, err := NewPlan([]*Experiment{all[i].e}, scale)
		if err != nil {
			return nil, err
		}
		if !plan.only(all[i].p) {
			return nil, fmt.Errorf("stored point %s, %s, seed %d is not in the experiment; fix: run the experiment again and store it", all[i].e.ID, all[i].p.Position, all[i].p.Seed)
		}
		checks = append(checks, &Check{plan, all[i].p})
	}
	return checks, nil
}

// only removes all but one point from a plan of one experiment, and the points that its metrics
// need. It reports whether the plan has the point.
func (p *Plan) only(point *PointResult) bool {
	for _, w := range p.wanted[0] {
		if w.Position == point.Position && w.point.Seed == point.Seed {
			p.wanted[0] = slices.DeleteFunc(p.wanted[0], func(other wanted) bool {
				return other.point != w.point && !(p.Experiments[0].common() && other.peers() == w.peers())
			})
			return true
		}
	}
	return false
}

// Compare compares the result of the plan with the stored one.
func (c *Check) Compare(r *Result) error {
	want, err := c.stored.encode()
	if err != nil {
		return err
	}
	why := "the run has no result"
	for i := range r.Points {
		point := &r.Points[i]
		if point.Position != c.stored.Position {
			continue
		}
		got, err := point.encode()
		if err != nil || got == want {
			return err
		}
		if why = "the model has changed, the scenario has not"; point.Scenario != c.stored.Scenario {
			why = "the scenario has changed"
		}
	}
	return fmt.Errorf("%s: the result differs from the stored one: %s; fix: run the experiment again and store it (xoff reproduce %s --scale %s --save, then --render)", c, why, c.Plan.Experiments[0].ID, c.Plan.Scale)
}

// Cost returns the number of points of a scale and their estimated CPU seconds.
func (e *Experiment) Cost(scale string) (points int, seconds float64) {
	if !e.Simulated() {
		return 0, 0
	}
	points = len(e.positions(scale)) * e.Scale(scale).Seeds
	return points, float64(points) * e.Scale(scale).Seconds
}

// builtIn reads the experiments once.
var builtIn = sync.OnceValues(BuiltIn)

// LoadFile reads a file of stored results, and returns its experiment if it is built in.
func LoadFile(path string) (*Result, *Experiment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	head := &Result{}
	if err := json.Unmarshal(data, head); err != nil || head.Experiment == "" {
		return nil, nil, fmt.Errorf("%s has no stored results (expected a file of `xoff reproduce --save`)", path)
	}
	r, err := load(path, head.Experiment, head.Scale)
	if err != nil {
		return nil, nil, err
	}
	all, err := builtIn()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range all {
		if e.ID == r.Experiment {
			return r, e, nil
		}
	}
	return r, nil, nil
}

// Label returns the title and unit of a metric, or empty texts if there is no such metric.
func (e *Experiment) Label(metric string) (title, unit string) {
	if m := e.metric(metric); m != nil {
		return m.Title, m.Unit
	}
	return "", ""
}
