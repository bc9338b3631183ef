package reproduce

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/internal/render/report"
)

// compareScales returns a table that compares the quick scale with the paper scale: every
// change and number of a claim, at each position that both scales have. A claim about the
// largest or smallest change is compared at every position of its sweep. It returns nil if
// there is nothing to compare.
func (r *Results) compareScales() *report.Table {
	e := r.Experiment
	if r.Quick == nil || r.Paper == nil || !e.Simulated() || slices.Equal(e.Scales.Quick.Set, e.Scales.Paper.Set) {
		return nil
	}
	t := &report.Table{
		Caption: "Difference between the quick and the paper scale at common points: changes in percentage points, numbers in per cent of the paper scale",
		Columns: []report.Column{{Name: "metric"}, {Name: "at"}, {Name: "compared with"}, {Name: Quick, Align: report.Right}, {Name: "paper scale", Align: report.Right}, {Name: "difference", Align: report.Right}},
	}
	var seen [][]string // rows so far: several claims may use the same change
	for i := range e.Claims {
		for _, row := range r.scaleRows(&e.Claims[i]) {
			if !slices.ContainsFunc(seen, func(other []string) bool { return slices.Equal(other, row) }) {
				seen = append(seen, row)
				t.Row(row...)
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// scaleRows returns one row per position of a claim about a change or a number.
func (r *Results) scaleRows(c *Claim) [][]string {
	e := r.Experiment
	switch c.Operator {
	case opOrder, opLessens, opZero, opNonzero, opEqual:
		return nil
	}
	values := []string{c.X}
	if c.isSweep() {
		values = e.Scales.Quick.X
	}
	title := e.metric(c.Metric).Title
	if c.Statistic != "" {
		title += ", " + c.Statistic
	}
	var rows [][]string
	for _, x := range values {
		one := *c
		one.X = x
		quick, at, hasQuick := e.numberAt(r.Quick, &one)
		paper, _, hasPaper := e.numberAt(r.Paper, &one)
		if !hasQuick || !hasPaper {
			continue
		}
		baseline, difference := "", "-"
		if at.against != nil {
			baseline, difference = at.against[0].String(), fmt.Sprintf("%+.1f", quick.Value-paper.Value)
		} else if paper.Value != 0 {
			difference = fmt.Sprintf("%+.1f %%", 100*(quick.Value-paper.Value)/paper.Value)
		}
		rows = append(rows, []string{title, at.at.String(), baseline, quick.Ours, paper.Ours, difference})
	}
	return rows
}

// numberAt returns the result of a claim with a single position, and the position. The result
// is a change, or a number if the claim has no baseline. It returns false if the scale lacks
// the position.
func (e *Experiment) numberAt(r *Result, c *Claim) (*Judged, pair, bool) {
	positions, ok := e.positionsOf(r, c)
	if !ok {
		return nil, pair{}, false
	}
	s, ok := e.read(r, c, positions)
	if !ok {
		return nil, pair{}, false
	}
	if s.other == nil {
		return s.sample(s.own[0]), positions[0], true
	}
	j, ok := s.change(0)
	return j, positions[0], ok
}
