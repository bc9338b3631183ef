package reproduce

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/internal/report"
)

// apart shows how far the quick scale is from the paper's: every change that a claim
// is about, at each point that both scales have. Claims about the most or the least
// of a sweep compare different points when the sweeps differ; this does not. Nil when
// there is nothing to compare.
func (r *Results) apart() *report.Table {
	e := r.Experiment
	if r.Quick == nil || r.Paper == nil || !e.Simulated() || slices.Equal(e.Scales.Quick.Set, e.Scales.Paper.Set) {
		return nil
	}
	t := &report.Table{
		Caption: "How far quick is from the paper scale, at the points that both have, in percentage points",
		Columns: []report.Column{{Name: "change of"}, {Name: "at"}, {Name: "against"}, {Name: Quick, Align: report.Right}, {Name: "paper scale", Align: report.Right}, {Name: "apart", Align: report.Right}},
	}
	var seen [][]string // several claims are about the same change
	for i := range e.Claims {
		for _, line := range r.changes(&e.Claims[i]) {
			if !slices.ContainsFunc(seen, func(other []string) bool { return slices.Equal(other, line) }) {
				seen = append(seen, line)
				t.Row(line...)
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// changes has a line per point of a claim with a baseline.
func (r *Results) changes(c *Claim) [][]string {
	e := r.Experiment
	if (c.Operator != opChange && c.Operator != opRatio && c.Operator != opAbout) || c.Baseline == (Baseline{}) {
		return nil
	}
	values := []string{c.X}
	if c.isSweep() {
		values = e.Scales.Quick.X
	}
	what := e.metric(c.Metric).Title
	if c.Statistic != "" {
		what += ", " + c.Statistic
	}
	var lines [][]string
	for _, x := range values {
		one := *c
		one.X = x
		quick, at, known := e.changeAt(r.Quick, &one)
		paper, _, there := e.changeAt(r.Paper, &one)
		if !known || !there {
			continue
		}
		lines = append(lines, []string{what, at.at.String(), at.against[0].String(), quick.Ours, paper.Ours, fmt.Sprintf("%+.1f", quick.Value-paper.Value)})
	}
	return lines
}

// changeAt is the change at the only point of a claim; false when the scale does not
// have it.
func (e *Experiment) changeAt(r *Result, c *Claim) (*Judged, pair, bool) {
	places, there := e.placesOf(r, c)
	if !there {
		return nil, pair{}, false
	}
	p := places[0]
	own, ok := r.series(e, p.at, c.Metric, c.Statistic)
	base, known := r.series(e, p.against[0], c.Metric, c.Statistic)
	if !ok || !known || len(own) != len(base) {
		return nil, pair{}, false
	}
	j, ok := changeOf(own, base)
	return j, p, ok
}
