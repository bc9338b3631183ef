package reproduce

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/xoff-net/xoff/internal/render/report"
)

// Single are the results of an experiment that ran at one scale.
func Single(e *Experiment, r *Result) *Results {
	if r.Scale == Quick {
		return &Results{Experiment: e, Quick: r}
	}
	return &Results{Experiment: e, Paper: r}
}

// Stored makes the document of a paper from stored results. What is computed needs
// none; a paper of which nothing was simulated has no document.
func Stored(list []*Experiment, paper, folder string) (*report.Document, error) {
	p, all, err := storedResults(list, paper, folder)
	if err != nil {
		return nil, err
	}
	if !simulated(all) {
		return nil, fmt.Errorf("%s has no results of %s; allowed: a folder that `xoff reproduce %s --save` filled", folder, paper, paper)
	}
	return PaperDocument(p, all), nil
}

// StoredPapers names the papers that have stored results.
func StoredPapers(list []*Experiment, folder string) ([]string, error) {
	var names []string
	err := eachPaper(list, folder, func(p *Paper, all []*Results) {
		if simulated(all) {
			names = append(names, p.Name)
		}
	})
	return names, err
}

// StoredOverview makes the scoreboard of all papers.
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

// storedResults are those of a paper, also of experiments that were not run.
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

// simulated reports whether some simulated experiment of a paper was run.
func simulated(all []*Results) bool {
	return slices.ContainsFunc(all, func(r *Results) bool { return r.Experiment.Simulated() && r.largest() != nil })
}

// stored is a result of the folder, or one that is computed.
func (e *Experiment) stored(folder, scale string) (*Result, error) {
	if e.Simulated() {
		return Load(folder, e.ID, scale)
	}
	points, err := e.computed(scale)
	return &Result{Schema: SchemaVersion, Experiment: e.ID, Scale: scale, Points: points}, err
}

// Check is one stored point that is to be run again.
type Check struct {
	Plan   *Plan
	stored *PointResult
}

func (c *Check) String() string {
	return fmt.Sprintf("%s at scale %s, %s, seed %d", c.Plan.Experiments[0].ID, c.Plan.Scale, c.stored.Place, c.stored.Seed)
}

// Pick chooses n stored points of simulated experiments, the same ones for the same
// text.
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
		return nil, fmt.Errorf("%s has no points at scale %s; allowed: a folder that --save filled", folder, scale)
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
			return nil, fmt.Errorf("%s has no point %s, seed %d any more: run it again and store the results", all[i].e.ID, all[i].p.Place, all[i].p.Seed)
		}
		checks = append(checks, &Check{plan, all[i].p})
	}
	return checks, nil
}

// only leaves one point in a plan of one experiment.
func (p *Plan) only(point *PointResult) bool {
	for _, w := range p.wanted[0] {
		if w.Place == point.Place && w.point.Seed == point.Seed {
			p.wanted[0] = []wanted{w}
			return true
		}
	}
	return false
}

// Compare holds the result of the plan against what is stored.
func (c *Check) Compare(r *Result) error {
	want, err := c.stored.encode()
	if err != nil {
		return err
	}
	got, err := r.Points[0].encode()
	if err != nil || got == want {
		return err
	}
	why := "the scenario is the same, so the model has changed"
	if r.Points[0].Scenario != c.stored.Scenario {
		why = "the scenario is another one"
	}
	return fmt.Errorf("%s: the result is not the one that is stored: %s; run the experiment again and store it (xoff reproduce %s --scale %s --save, then --render)", c, why, c.Plan.Experiments[0].ID, c.Plan.Scale)
}

// Cost is how many points a scale has and how long they take, in CPU seconds.
func (e *Experiment) Cost(scale string) (points int, seconds float64) {
	if !e.Simulated() {
		return 0, 0
	}
	points = len(e.places(scale)) * e.Scale(scale).Seeds
	return points, float64(points) * e.Scale(scale).Seconds
}
