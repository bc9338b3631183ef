package reproduce

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/render/report"
)

// part is an atomic claim at the scale that counts.
type part struct {
	e     *Experiment
	j     *Judged
	scale string // empty if it was not run
}

// parts returns all claims of an experiment at the scale that counts.
func (r *Results) parts() []*part {
	var quick, paper []*Judged
	if r.Quick != nil {
		quick = r.Experiment.Judge(r.Quick)
	}
	if r.Paper != nil {
		paper = r.Experiment.Judge(r.Paper)
	}
	var list []*part
	for i := range r.Experiment.Claims {
		c := &r.Experiment.Claims[i]
		p := &part{e: r.Experiment, j: &Judged{Claim: c, ID: c.ID, Kind: c.Kind, Row: c.row()}}
		if quick != nil && quick[i].Verdict != "" {
			p.j, p.scale = quick[i], Quick
		}
		if paper != nil && paper[i].Verdict != "" && (p.scale == "" || !r.quickCounts(c)) {
			p.j, p.scale = paper[i], Full
		}
		list = append(list, p)
	}
	return list
}

// quickCounts reports whether the quick scale decides a claim that both scales have: the
// fabric is the same, it has more seeds, and all points of the claim.
func (r *Results) quickCounts(c *Claim) bool {
	e := r.Experiment
	quick, paper := &e.Scales.Quick, &e.Scales.Paper
	return e.seeds(r.Quick) > e.seeds(r.Paper) && slices.Equal(quick.fabric(), paper.fabric()) &&
		(!c.isSweep() || slices.Equal(quick.X, paper.X))
}

// fabric returns the changes of a scale to the fabric: all except time, number of requests
// and probes.
func (s *Scale) fabric() []string {
	var list []string
	for _, set := range s.Set {
		if !strings.HasPrefix(set, "run.") && !strings.HasPrefix(set, "probes") && !strings.HasPrefix(set, "workload.") {
			list = append(list, set)
		}
	}
	return list
}

// change returns the paper's change and ours in per cent. It returns false if the claim is
// not about a change or was not run.
func (p *part) change() (paper, ours float64, ok bool) {
	c := p.j.Claim
	if c.Operator != opChange && c.Operator != opRatio || p.j.Verdict == "" || p.j.Brief == "-" {
		return 0, 0, false
	}
	return c.paperChange(), p.j.Value, true
}

// cause returns why the part is open, or "" if it is not.
func (p *part) cause() string {
	if p.j.Verdict == "" || p.j.Verdict.Reproduced() || p.j.Deviation == nil {
		return ""
	}
	return p.j.Deviation.Cause
}

// metric returns the metric of a part with its statistic.
func (p *part) metric() string {
	c := p.j.Claim
	m := p.e.metric(c.Metric)
	title := cmp.Or(m.Title, m.Name)
	if c.Statistic != "" {
		title += ", " + c.Statistic
	}
	return title
}

// at returns the case and the value of x of a part.
func (p *part) at() string {
	c := p.j.Claim
	x := c.X
	switch x {
	case xMost:
		x = "best point"
	case xLeast:
		x = "least"
	case xMean:
		x = "mean over x"
	case xAll:
		x = "everywhere"
	}
	return strings.Join(slices.DeleteFunc([]string{c.Case, x}, func(s string) bool { return s == "" }), ", ")
}

// schemes returns the scheme of a part and what it is compared with.
func (p *part) schemes() (scheme, baseline string) {
	c := p.j.Claim
	switch {
	case c.alongX():
		return c.Scheme, "along x"
	case c.Operator == opOrder:
		return c.Order[0], strings.Join(c.Order[1:], ", ")
	case c.Baseline == Baseline{}:
		return c.Scheme, "a number"
	}
	b := []string{cmp.Or(c.Baseline.Scheme, c.Scheme), c.Baseline.Case, c.Baseline.X}
	return c.Scheme, strings.Join(slices.DeleteFunc(b, func(s string) bool { return s == "" }), ", ")
}

// names returns the properties that may distinguish a part from others.
func (p *part) names() []string {
	scheme, baseline := p.schemes()
	c := p.j.Claim
	switch {
	case c.Operator == opOrder || c.Baseline == Baseline{}:
		baseline = "" // the numbers contain it
	case c.Operator == opLessens:
		baseline = "against " + c.Baseline.Scheme
	default:
		baseline = "against " + baseline
	}
	if c.Operator == opOrder && !c.alongX() {
		scheme = ""
	}
	at := p.at()
	if c.X != "" && !c.isSweep() {
		at = strings.TrimPrefix(c.Case+", at "+c.X, ", ")
	}
	if c.Operator == opOrder {
		at = c.Case
	}
	return []string{at, p.metric(), scheme, baseline}
}

// label returns the properties that distinguish a part from the others of its row.
func (s *score) label(p *part) string {
	var list []string
	for i, name := range p.names() {
		differs := func(q *part) bool { other := q.names()[i]; return other != "" && other != name }
		if name != "" && slices.ContainsFunc(s.parts, differs) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// words returns a part in words: what it is, the paper's number, and ours.
func (s *score) words(p *part) string {
	text := "paper " + p.e.PaperNumber(p.j.Claim) + ", xoff " + p.j.Brief
	if p.j.At != "" {
		text += " at " + p.j.At
	}
	if label := s.label(p); label != "" {
		text = cutTo(label, maxText-len(text)-2) + ": " + text
	}
	if p.j.Verdict == Inconclusive && p.j.Reason != "" {
		text += " (" + p.j.Reason + ")"
	}
	return text
}

// partTable returns a table with one line per part.
func partTable(parts []*part) *report.Table {
	t := &report.Table{Columns: report.Heads("part", "metric", "at", "scheme", "baseline", "paper|", "xoff|", "grade", "scale")}
	for _, p := range parts {
		scheme, baseline := p.schemes()
		grade, ours := "not run", "-"
		if p.j.Verdict != "" {
			grade, ours = string(p.j.Verdict), p.j.Number()
		}
		t.Rows = append(t.Rows, []report.Cell{
			{Text: p.j.ID}, {Text: p.metric()}, {Text: p.at()}, {Text: scheme}, {Text: baseline},
			{Text: cut(p.e.PaperNumber(p.j.Claim))}, {Text: cut(ours)}, {Text: p.j.Verdict.symbol() + " " + grade}, {Text: p.scale},
		})
	}
	return t
}
