package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/render/report"
)

// scoreboard is what counts of a paper: its headline claims, each once, and its sanity
// claims apart. Readings are in neither.
type scoreboard struct {
	rows   []*score
	sanity []part
}

// score is a headline claim, which is made of parts.
type score struct {
	Row
	parts []part
}

// part is an atomic claim at the largest scale that has it.
type part struct {
	e     *Experiment
	j     *Judged
	scale string
}

// newScoreboard finds what counts of a paper. Rows have the order of the paper, or that
// of their first claims.
func newScoreboard(p *Paper, list []*Results) *scoreboard {
	b := &scoreboard{}
	for _, row := range p.Rows {
		b.rows = append(b.rows, &score{Row: row})
	}
	for _, r := range list {
		for i := range r.Experiment.Claims {
			c := &r.Experiment.Claims[i]
			switch c.Kind {
			case kindSanity:
				b.sanity = append(b.sanity, r.part(i))
			case kindHeadline:
				s := b.row(c.row())
				if s == nil {
					s = &score{Row: Row{ID: c.row(), Text: c.Text}}
					b.rows = append(b.rows, s)
				}
				s.parts = append(s.parts, r.part(i))
			}
		}
	}
	// What has only sanity claims is no headline claim, but one without any claim is open.
	b.rows = slices.DeleteFunc(b.rows, func(s *score) bool { return len(s.parts) == 0 && s.Open == "" })
	return b
}

func (b *scoreboard) row(id string) *score {
	for _, s := range b.rows {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// part is a claim at the scale of the paper where it ran.
func (r *Results) part(claim int) part {
	p := part{e: r.Experiment, j: &Judged{Claim: &r.Experiment.Claims[claim]}}
	for _, x := range r.both() { // that of the paper is the last
		if j := r.Experiment.Judge(x)[claim]; j.Verdict != "" {
			p.j, p.scale = j, x.Scale
		}
	}
	return p
}

// grade is the worst of the parts; empty when none has one.
func (s *score) grade() Verdict {
	var worst Verdict
	for _, p := range s.parts {
		if p.j.Verdict.rank() > worst.rank() {
			worst = p.j.Verdict
		}
	}
	return worst
}

// label is what tells a part from the others.
func (s *score) label(p part) string {
	own := p.words()
	var list []string
	for i, w := range own {
		differs := func(q part) bool { other := q.words()[i]; return other != "" && other != w }
		if w != "" && slices.ContainsFunc(s.parts, differs) {
			list = append(list, w)
		}
	}
	return strings.Join(list, ", ")
}

// words are what a part is about. An order names its schemes and points itself.
func (p part) words() []string {
	c := p.j.Claim
	m := p.e.metric(c.Metric)
	title := or(m.Title, m.Name)
	if c.Statistic != "" {
		title += ", " + c.Statistic
	}
	x := c.X
	switch {
	case c.Operator == opOrder:
		x = ""
	case x == xAll:
		x = "everywhere"
	case x != "" && !c.isSweep():
		x = "at " + x
	}
	return []string{c.Case, c.Scheme, title, x}
}

// each joins what there is to say about parts.
func (s *score) each(text func(part) string) string {
	var list []string
	for _, p := range s.parts {
		if label := s.label(p); label != "" {
			list = append(list, label+": "+text(p))
		} else {
			list = append(list, text(p))
		}
	}
	return strings.Join(list, "; ")
}

// ours is the number of a part, with its grade where there are several.
func (s *score) ours(p part) string {
	if p.j.Verdict == "" {
		return "not run"
	}
	text := p.j.Brief
	if p.j.At != "" {
		text += " at " + p.j.At
	}
	var more []string
	if p.j.Once {
		more = append(more, "one run")
	}
	if len(s.parts) > 1 {
		more = append(more, string(p.j.Verdict))
	}
	if more != nil {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// figures are where in the paper the parts are.
func (s *score) figures() string {
	var list []string
	for _, p := range s.parts {
		if !slices.Contains(list, p.e.Figure) {
			list = append(list, p.e.Figure)
		}
	}
	return strings.Join(list, ", ")
}

// scales are those of the parts.
func (s *score) scales() string {
	var list []string
	for _, scale := range []string{Full, Quick} {
		if slices.ContainsFunc(s.parts, func(p part) bool { return p.scale == scale }) {
			list = append(list, scale)
		}
	}
	return strings.Join(list, ", ")
}

// table has a line per headline claim.
func (b *scoreboard) table() *report.Table {
	t := &report.Table{Columns: report.Heads("claim", "figure", "scale", "paper", "here", "grade", "in a sentence")}
	for _, s := range b.rows {
		grade := report.Cell{Text: noVerdict, Mark: report.Muted}
		if v := s.grade(); v != "" {
			grade = report.Cell{Text: string(v), Mark: mark(v), Badge: true}
		}
		paper := s.each(func(p part) string { return p.e.PaperNumber(p.j.Claim) })
		t.Rows = append(t.Rows, []report.Cell{
			{Text: s.ID + ": " + s.Text}, {Text: s.figures()}, {Text: s.scales()}, {Text: paper}, {Text: s.each(s.ours)},
			grade, {Text: or(s.Says, s.Open)},
		})
	}
	return t
}

const noVerdict = "no verdict"

// counts are the numbers of rows by grade, and last of those without one.
func (b *scoreboard) counts() []int {
	n := make([]int, len(verdicts)+1)
	for _, s := range b.rows {
		if rank := s.grade().rank(); rank >= 0 {
			n[rank]++
		} else {
			n[len(verdicts)]++
		}
	}
	return n
}

// held is how many sanity claims hold, of how many that ran.
func (b *scoreboard) held() (held, all int, failed []string) {
	for _, p := range b.sanity {
		if p.j.Verdict == "" {
			continue
		}
		if all++; p.j.Verdict == Close {
			held++
		} else {
			failed = append(failed, p.j.ID)
		}
	}
	return held, all, failed
}

// summary says how many rows have which grade.
func (b *scoreboard) summary() string {
	var list []string
	for i, n := range b.counts() {
		word := noVerdict
		if i < len(verdicts) {
			word = string(verdicts[i])
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, word))
		}
	}
	text := fmt.Sprintf("%d headline claims: %s. A claim that has several parts has the worst grade of them.", len(b.rows), strings.Join(list, ", "))
	if held, all, failed := b.held(); all > 0 {
		text += fmt.Sprintf(" Counted apart, %d of %d sanity claims hold", held, all)
		if failed != nil {
			text += " (not " + strings.Join(failed, ", ") + ")"
		}
		text += "."
	}
	return text
}

// Overview is the scoreboard of all papers, each with its results.
func Overview(papers []*Paper, results [][]*Results) *report.Document {
	d := &report.Document{Title: "Reproduced papers"}
	heads := []string{"paper", "headline claims|"}
	for _, v := range verdicts {
		heads = append(heads, string(v)+"|")
	}
	t := &report.Table{Columns: report.Heads(append(heads, noVerdict+"|", "sanity|")...)}
	first := report.Section{Blocks: []report.Block{
		report.Paragraph("How claims of papers came out in xoff. This page is rendered by `xoff reproduce --render` from the stored results in `data`; docs/reproduce.md says what grades mean and what counts."), t,
	}}
	d.Sections = append(d.Sections, first)
	for i, p := range papers {
		b := newScoreboard(p, results[i])
		if !simulated(results[i]) {
			t.Rows = append(t.Rows, b.notRun(p))
			continue
		}
		line := []report.Cell{{Text: p.Title, Link: p.Name + ".md"}, {Text: fmt.Sprint(len(b.rows))}}
		for _, n := range b.counts() {
			line = append(line, report.Cell{Text: fmt.Sprint(n)})
		}
		held, all, _ := b.held()
		t.Rows = append(t.Rows, append(line, report.Cell{Text: fmt.Sprintf("%d of %d", held, all)}))
		s := report.Section{Heading: p.Title}
		s.Add(report.Paragraph(b.summary()), b.table())
		d.Sections = append(d.Sections, s)
	}
	return d
}

// notRun is the line of a paper of which nothing was run: it has claims and no grades.
func (b *scoreboard) notRun(p *Paper) []report.Cell {
	line := []report.Cell{{Text: p.Title}, {Text: fmt.Sprint(len(b.rows))}}
	for range verdicts {
		line = append(line, report.Cell{Text: "-", Mark: report.Muted})
	}
	return append(line, report.Cell{Text: fmt.Sprint(len(b.rows))}, report.Cell{Text: "not run yet", Mark: report.Muted})
}
