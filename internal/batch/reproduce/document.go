package reproduce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xoff-net/xoff/internal/render/report"
)

// Results are those of an experiment, by scale; a scale that did not run is nil.
type Results struct {
	Experiment   *Experiment
	Quick, Paper *Result
}

// largest is the result that stands for the experiment: that of the paper's scale
// where it ran.
func (r *Results) largest() *Result {
	if r.Paper != nil {
		return r.Paper
	}
	return r.Quick
}

func (r *Results) both() []*Result {
	var list []*Result
	for _, x := range []*Result{r.Quick, r.Paper} {
		if x != nil {
			list = append(list, x)
		}
	}
	return list
}

// Report is the document of one experiment.
func Report(r *Results) (*report.Document, error) {
	e := r.Experiment
	d := &report.Document{Title: fmt.Sprintf("%s: %s", e.ID, e.Title), Subtitle: e.Paper.Title + ", " + e.Figure}
	for _, j := range e.Judge(r.largest()) {
		if j.Verdict != "" {
			d.Badges = append(d.Badges, report.Badge{Text: j.ID + " " + string(j.Verdict), Mark: mark(j.Verdict)})
		}
	}
	s := report.Section{Heading: e.Figure}
	e.describe(&s, r)
	d.Sections = append(d.Sections, s)
	d.Sections = append(d.Sections, decisions(e.Paper, 1))
	if e.Simulated() {
		text, err := e.resolved(r.largest())
		if err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, report.Section{Heading: "Scenario", Blocks: []report.Block{
			report.Paragraph("The first point with every default, as `xoff run` takes it; the others differ in what the table shows and in their seed."),
			&report.Code{Language: "yaml", Text: text, Caption: e.places(r.largest().Scale)[0].String()},
		}})
	}
	return d, nil
}

// resolved is the scenario of the first point.
func (e *Experiment) resolved(r *Result) (string, error) {
	cfg, err := e.config(r.Scale, e.places(r.Scale)[0])
	if err != nil {
		return "", err
	}
	cfg.Seed = firstSeed
	text, err := cfg.Marshal()
	return string(text), err
}

// PaperDocument is the document of all experiments of a paper. Those that were not run are
// described, too.
func PaperDocument(p *Paper, list []*Results) *report.Document {
	d := &report.Document{Title: "Reproduction: " + p.Title, Subtitle: p.Source}
	b := newScoreboard(p, list)
	board := report.Section{Heading: "Scoreboard"}
	board.Add(report.Paragraph(b.summary()), b.table())
	intro := report.Section{Heading: "All claims"}
	intro.Add(report.Paragraph(p.About))
	intro.Add(report.Paragraph("This page is rendered by `xoff reproduce " + p.Name + " --render` from the stored results in `data`, which carry the hash of each point's scenario and of the program that ran it. How claims are judged is described in docs/reproduce.md."))
	intro.Add(overview(list))
	d.Sections = append(d.Sections, board, intro, decisions(p, 1))
	for _, r := range list {
		s := report.Section{Heading: r.Experiment.Figure + ": " + r.Experiment.Title}
		if r.largest() == nil {
			s.Add(report.Paragraph(strings.TrimSpace(r.Experiment.About)))
		} else {
			r.Experiment.describe(&s, r)
		}
		if text := r.notRun(); text != "" {
			s.Add(report.Paragraph(text))
		}
		for _, x := range r.both() {
			if x.Seconds > 0 {
				s.Add(report.Paragraph(fmt.Sprintf("Scale %s: %d runs. The times from start to end of each, on one core that may have had other work, add up to %s (runs that several figures show are counted in each).",
					x.Scale, len(x.Points), time.Duration(x.Seconds)*time.Second)))
			}
		}
		d.Sections = append(d.Sections, s)
	}
	return d
}

func decisions(p *Paper, level int) report.Section {
	t := &report.Table{Columns: []report.Column{{Name: "open in the paper"}, {Name: "here, in all figures"}, {Name: "why"}}}
	for _, x := range p.Decisions {
		t.Row(x.What, x.Value, x.Why)
	}
	return report.Section{Heading: "Decisions", Level: level, Blocks: []report.Block{t}}
}

// claimColumns are those of tables of claims.
var claimColumns = report.Heads("claim", "kind", "paper", Quick, "grade", "paper scale", "grade")

// overview has a line per claim.
func overview(list []*Results) *report.Table {
	t := &report.Table{Columns: append([]report.Column{{Name: "experiment"}}, claimColumns...)}
	for _, r := range list {
		for _, line := range r.claims() {
			t.Rows = append(t.Rows, append([]report.Cell{{Text: r.Experiment.ID}}, line...))
		}
	}
	return t
}

// claims has a line per claim with both scales.
func (r *Results) claims() [][]report.Cell {
	e := r.Experiment
	judged := map[string][]*Judged{}
	for _, x := range r.both() {
		judged[x.Scale] = e.Judge(x)
	}
	var lines [][]report.Cell
	for i := range e.Claims {
		c := &e.Claims[i]
		line := []report.Cell{{Text: c.ID + ": " + c.Text}, {Text: c.Kind}, {Text: e.PaperNumber(c)}}
		for _, scale := range []string{Quick, Full} {
			if judged[scale] == nil || judged[scale][i].Verdict == "" {
				line = append(line, report.Cell{Text: "-", Mark: report.Muted}, report.Cell{Text: "not run", Mark: report.Muted})
				continue
			}
			j := judged[scale][i]
			line = append(line, report.Cell{Text: j.Number()}, report.Cell{Text: string(j.Verdict), Mark: mark(j.Verdict), Badge: true})
		}
		lines = append(lines, line)
	}
	return lines
}

// Number is what we have, with where and why.
func (j *Judged) Number() string {
	text := j.Ours
	if j.At != "" {
		text += " at " + j.At
	}
	if j.Reason != "" {
		text += " (" + j.Reason + ")"
	}
	return text
}

// PaperNumber is what the paper says.
func (e *Experiment) PaperNumber(c *Claim) string {
	switch c.Operator {
	case opChange:
		return c.Paper + " %"
	case opRatio:
		return "x " + c.Paper
	case opAbove:
		return "> " + withUnit(c.Paper, e.unitOf(c))
	case opBelow:
		return "< " + withUnit(c.Paper, e.unitOf(c))
	case opValue, opEqual:
		return withUnit(c.Paper, e.unitOf(c))
	case opAbout:
		if c.Paper != "" {
			return "within " + c.Paper + " %"
		}
		return fmt.Sprintf("about (%g %%)", c.Within)
	case opLessens:
		return "less than at " + or(c.Baseline.Case, c.Baseline.X)
	case opOrder:
		return strings.Join(c.Order, " < ")
	}
	return c.Operator
}

func mark(v Verdict) report.Mark {
	switch v {
	case Close:
		return report.Good
	case NotReproduced:
		return report.Bad
	}
	return report.Warn
}

// describe fills a section with everything about an experiment.
func (e *Experiment) describe(s *report.Section, r *Results) {
	s.Add(report.Paragraph(strings.TrimSpace(e.About)))
	if f := e.Draw(r.largest()); f != nil {
		s.Add(&report.Figure{Name: strings.ReplaceAll(e.ID, "/", "-"), Plot: f, Caption: e.figureCaption(r.largest())})
	}
	t := &report.Table{Columns: claimColumns, Rows: r.claims()}
	s.Add(t)
	var said []string
	for _, d := range e.Deviations {
		text := fmt.Sprintf("%s: %s", d.Claim, strings.TrimSpace(d.Why))
		if d.Scale != "" {
			text = fmt.Sprintf("%s (scale %s): %s", d.Claim, d.Scale, strings.TrimSpace(d.Why))
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if len(said) > 0 {
		s.Add(report.Paragraph("Known deviations, asserted by the command:"), report.List(said))
	}
	shown := r.both()
	if !e.Simulated() { // both scales are the same
		shown = shown[:1]
	}
	for _, x := range shown {
		s.Add(e.table(x))
	}
	if t := r.apart(); t != nil {
		s.Add(t)
	}
	command := "xoff reproduce " + e.ID
	if e.Simulated() {
		command += " --scale " + r.largest().Scale
	}
	s.Add(&report.Code{Language: "sh", Text: command + "\n"})
}

func (e *Experiment) figureCaption(r *Result) string {
	if !e.Simulated() {
		return e.Figure + ", computed"
	}
	return fmt.Sprintf("%s, scale %s", e.Figure, r.Scale)
}

// table has a line per place: metrics with their interval, counts, and flags.
func (e *Experiment) table(r *Result) *report.Table {
	t := &report.Table{Caption: e.caption(r)}
	head, lines := e.Cells(r)
	last := len(head) - 1
	if slices.ContainsFunc(lines, func(line []string) bool { return line[last] != "" }) {
		head[last] = "flags"
		last++
	}
	for i, h := range head[:last] {
		align := report.Right
		if i < e.labels(r) || i == len(head)-1 {
			align = report.Left
		}
		t.Columns = append(t.Columns, report.Column{Name: h, Align: align})
	}
	for _, line := range lines {
		t.Row(line[:last]...)
	}
	return t
}

func (e *Experiment) caption(r *Result) string {
	if !e.Simulated() {
		return "Computed"
	}
	text := fmt.Sprintf("Scale %s, %d seeds: mean over seeds with its 95 %% interval; counts are the least over seeds, unfinished flows the most. ", r.Scale, e.seeds(r))
	if slices.ContainsFunc(r.places(), r.once) {
		text += "Where seeds change nothing there is one run, and no interval. "
	}
	return text + "Program " + r.Executable[:12]
}

func (e *Experiment) seeds(r *Result) int {
	var seen []uint64
	for i := range r.Points {
		if !slices.Contains(seen, r.Points[i].Seed) {
			seen = append(seen, r.Points[i].Seed)
		}
	}
	return len(seen)
}

// labels is how many columns name a place.
func (e *Experiment) labels(r *Result) int {
	n := 1
	if len(e.Cases) > 0 {
		n++
	}
	if len(e.Scale(r.Scale).X) > 0 {
		n++
	}
	return n
}

// Cells is the table of a result: a head, and a line per place. The last cell is
// what is wrong with the place.
func (e *Experiment) Cells(r *Result) (head []string, lines [][]string) {
	if len(e.Cases) > 0 {
		head = append(head, "case")
	}
	head = append(head, "scheme")
	if len(e.Scale(r.Scale).X) > 0 {
		head = append(head, or(e.X.Title, "x"))
	}
	type column struct{ metric, stat string }
	var columns []column
	for i := range e.Metrics {
		m := &e.Metrics[i]
		if !m.Distribution() {
			columns = append(columns, column{m.Name, ""})
			head = append(head, withUnit(or(m.Title, m.Name), m.unitInHead()))
			continue
		}
		for _, s := range e.statistics(m.Name) {
			columns = append(columns, column{m.Name, s})
			text := fmt.Sprintf("%s, %s%s", or(m.Title, m.Name), s, m.statUnit(s))
			if m.Unfinished == unfinishedEnd {
				text += ", unfinished: end of run as lower bound"
			}
			head = append(head, text)
		}
		columns = append(columns, column{m.Name, "n"})
		head = append(head, "values")
	}
	for _, c := range e.Counts {
		head = append(head, c.Name)
	}
	for _, at := range r.places() {
		var line []string
		for i, s := range []string{at.Case, at.Scheme, at.X} {
			if i == 1 || s != "" {
				line = append(line, s)
			}
		}
		for _, c := range columns {
			line = append(line, e.cell(r, at, c.metric, c.stat))
		}
		for _, c := range e.Counts {
			line = append(line, extreme(r, at, c.Least == 0, func(p *PointResult) float64 { return p.Values[c.Name] }))
		}
		lines = append(lines, append(line, strings.Join(e.wrong(r, at), "; ")))
	}
	return append(head, ""), lines
}

func (m *Metric) unitInHead() string {
	if m.Unit == "" {
		return ""
	}
	return "(" + m.Unit + ")"
}

func (m *Metric) statUnit(stat string) string {
	switch {
	case strings.HasPrefix(stat, "below "):
		return " (% of values)"
	case stat == "count":
		return ""
	}
	if m.Unit == "" {
		return ""
	}
	return " (" + m.Unit + ")"
}

func (e *Experiment) cell(r *Result, at Place, metric, stat string) string {
	if stat == "n" {
		return extreme(r, at, false, func(p *PointResult) float64 {
			if d := p.Distributions[metric]; d != nil {
				return float64(d.N)
			}
			return 0
		})
	}
	values, all := r.series(e, at, metric, stat)
	if len(values) == 0 {
		return "-"
	}
	s := sample(values)
	text := digits(s.Mean)
	switch {
	case r.once(at):
		text += oneRun
	case s.N > 1:
		text = plusMinus(s.Mean, s.Half)
	}
	if !all { // such as the onset of a deadlock where some runs have none
		text += fmt.Sprintf(" (%d of %d runs)", s.N, r.runs(at))
	}
	return text
}

// extreme is the least, or the greatest, of a number over the seeds of a place.
func extreme(r *Result, at Place, greatest bool, of func(*PointResult) float64) string {
	first, found := true, 0.0
	for i := range r.Points {
		p := &r.Points[i]
		if v := of(p); p.Place == at && (first || v < found && !greatest || v > found && greatest) {
			first, found = false, v
		}
	}
	return strconv.FormatFloat(found, 'f', 0, 64)
}

// wrong says which counts of a place are too low and which runs failed.
func (e *Experiment) wrong(r *Result, at Place) []string {
	list := e.flags(r, at)
	for i := range r.Points {
		if p := &r.Points[i]; p.Place == at && p.Code != 0 {
			list = append(list, fmt.Sprintf("seed %d: %s", p.Seed, p.Message))
		}
	}
	return list
}
