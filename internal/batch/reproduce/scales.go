package reproduce

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/internal/render/report"
)

// apart shows how far the quick scale is from the paper's: every change and number that a
// claim is about, at each point that both scales have. Claims about the most or the least
// of a sweep compare different points when the sweeps differ; this does not. Nil when
// there is nothing to compare.
func (r *Results) apart() *report.Table {
	e := r.Experiment
	if r.Quick == nil || r.Paper == nil || !e.Simulated() || slices.Equal(e.Scales.Quick.Set, e.Scales.Paper.Set) {
		return nil
	}
	t := &report.Table{
		Caption: "How far quick is from the paper scale, at the points that both have: changes in percentage points, numbers in per cent of that of the paper scale",
		Columns: []report.Column{{Name: "of"}, {Name: "at"}, {Name: "against"}, {Name: Quick, Align: report.Right}, {Name: "paper scale", Align: report.Right}, {Name: "apart", Align: report.Right}},
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

// changes has a line per point of a claim about a change or a number.
func (r *Results) changes(c *Claim) [][]string {
	e := r.Experiment
	switch c.Operator {
	case opOrder, opLessens, opZero, opNonzero, opEqual:
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
		quick, at, known := e.numberAt(r.Quick, &one)
		paper, _, there := e.numberAt(r.Paper, &one)
		if !known || !there {
			continue
		}
		against, apart := "", "-"
		if at.against != nil {
			against, apart = at.against[0].String(), fmt.Sprintf("%+.1f", quick.Value-paper.Value)
		} else if paper.Value != 0 {
			apart = fmt.Sprintf("%+.1f %%", 100*(quick.Value-paper.Value)/paper.Value)
		}
		lines = append(lines, []string{what, at.at.String(), against, quick.Ours, paper.Ours, apart})
	}
	return lines
}

// numberAt is the change, or without a baseline the number, at the only point of a claim;
// false when the scale does not have it.
func (e *Experiment) numberAt(r *Result, c *Claim) (*Judged, pair, bool) {
	places, there := e.placesOf(r, c)
	if !there {
		return nil, pair{}, false
	}
	s, ok := e.read(r, c, places)
	if !ok {
		return nil, pair{}, false
	}
	if s.other == nil {
		return s.sample(s.own[0]), places[0], true
	}
	j, ok := s.change(0)
	return j, places[0], ok
}
