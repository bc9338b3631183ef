package reproduce

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xoff-net/xoff/internal/render/report"
)

// Results has the results of an experiment by scale; nil if the scale was not run.
type Results struct {
	Experiment   *Experiment
	Quick, Paper *Result
}

// largest returns the result of the paper scale if it was run, else of the quick scale.
func (r *Results) largest() *Result {
	if r.Paper != nil {
		return r.Paper
	}
	return r.Quick
}

// available returns the results of the scales that were run, quick first.
func (r *Results) available() []*Result {
	var list []*Result
	for _, x := range []*Result{r.Quick, r.Paper} {
		if x != nil {
			list = append(list, x)
		}
	}
	return list
}

// Report returns the document of one experiment.
func Report(r *Results) (*report.Document, error) {
	e := r.Experiment
	d := &report.Document{Title: fmt.Sprintf("%s: %s", e.ID, e.Title), Subtitle: e.Paper.Title + ", " + e.Figure}
	for _, j := range e.Judge(r.largest()) {
		if j.Verdict != "" {
			d.Badges = append(d.Badges, report.Badge{Text: j.ID + " " + string(j.Verdict), Mark: mark(j.Verdict)})
		}
	}
	s := report.Section{Heading: e.Figure}
	s.Add(partTable(r.parts()))
	e.describe(&s, r, nil)
	d.Sections = append(d.Sections, s, decisions(e.Paper))
	if e.Simulated() {
		text, err := e.resolved(r.largest())
		if err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, report.Section{Heading: "Scenario", Blocks: []report.Block{
			report.Paragraph("The first point with all defaults, ready for `xoff run`. The other points differ in the columns of the table and in their seed."),
			&report.Code{Language: "yaml", Text: text, Caption: e.positions(r.largest().Scale)[0].String()},
		}})
	}
	return d, nil
}

// resolved returns the scenario of the first point with all defaults.
func (e *Experiment) resolved(r *Result) (string, error) {
	cfg, err := e.config(r.Scale, e.positions(r.Scale)[0])
	if err != nil {
		return "", err
	}
	cfg.Seed = firstSeed
	text, err := cfg.Marshal()
	return string(text), err
}

// PaperDocument returns the document of all experiments of a paper, including those that
// were not run.
func PaperDocument(p *Paper, list []*Results) *report.Document {
	d := &report.Document{Title: "Reproduction: " + p.Title, Subtitle: p.Source}
	b := newScoreboard(p, list)
	if p.Own {
		d.Title = p.Title
		d.Sections = append(d.Sections, report.Section{Blocks: []report.Block{
			report.Paragraph(p.About), report.Paragraph("This page is rendered by `xoff reproduce " + p.Name + " --render` from the stored results in `data`."),
		}})
		return b.document(d, list)
	}
	first := report.Section{Heading: "Scoreboard"}
	direction, distance := agreement(b.parts())
	first.Add(report.Paragraph(p.About), report.Paragraph(bar(b.parts())+" "+reproduced(b.parts())+" parts are close or roughly. Direction agrees: "+direction+". Median distance: "+distance+"."))
	first.Add(report.Paragraph(b.summary()), b.table(""), report.Paragraph(legend()+". This page is rendered by `xoff reproduce "+p.Name+" --render` from the stored results in `data`. They contain the hash of each point's scenario and of the executable. docs/reproduce.md explains grades and causes."))
	d.Sections = append(d.Sections, first, report.Section{Heading: "Claims"})
	return b.document(d, list)
}

// document adds claims, decisions and experiments to a document.
func (b *scoreboard) document(d *report.Document, list []*Results) *report.Document {
	p, shown := b.paper, make(map[*Deviation]bool)
	for _, s := range b.rows {
		d.Sections = append(d.Sections, s.section(p, shown))
	}
	if b.sanity != nil {
		d.Sections = append(d.Sections, report.Section{Heading: "Sanity claims", Blocks: []report.Block{partTable(b.sanity)}})
	}
	d.Sections = append(d.Sections, decisions(p))
	for _, r := range list {
		s := report.Section{Heading: r.Experiment.Figure + ": " + r.Experiment.Title}
		if r.largest() == nil {
			s.Add(report.Paragraph(strings.TrimSpace(r.Experiment.About)))
		} else {
			r.Experiment.describe(&s, r, shown)
		}
		if text := r.notRun(); text != "" && !p.Own {
			s.Add(report.Paragraph(text))
		}
		for _, x := range r.available() {
			if x.Seconds > 0 {
				s.Add(report.Paragraph(fmt.Sprintf("Scale %s: %d runs, %s in total. Each run used one core, which other processes may have shared. Runs that several figures use are counted in each.",
					x.Scale, len(x.Points), time.Duration(x.Seconds)*time.Second)))
			}
		}
		d.Sections = append(d.Sections, s)
	}
	return d
}

// section returns the details of a headline claim: one line per part. It adds the deviations
// that it lists to shown.
func (s *score) section(p *Paper, shown map[*Deviation]bool) report.Section {
	sec := report.Section{Heading: s.ID, Level: 2}
	sec.Add(report.Paragraph("Paper: " + s.Text + "."))
	if text := cmp.Or(s.Says, s.Open); text != "" {
		sec.Add(report.Paragraph("xoff: " + text))
	}
	if f := s.draw(); f != nil {
		sec.Add(&report.Figure{Name: p.Name + "-" + anchor(s.ID) + "-parts", Plot: f})
	}
	if s.parts != nil {
		sec.Add(partTable(s.parts))
	}
	if s.readings != nil {
		t := partTable(s.readings)
		t.Caption = "Under another reading, never counted:"
		sec.Add(t)
	}
	var why report.List
	for _, part := range slices.Concat(s.parts, s.readings) {
		if d := part.j.Deviation; d != nil && !shown[d] {
			shown[d] = true
			why = append(why, d.text(""))
		}
	}
	if why != nil {
		sec.Add(report.Paragraph("Known deviations, which `xoff reproduce` checks:"), why)
	}
	return sec
}

// decisions lists the values that the paper does not state.
func decisions(p *Paper) report.Section {
	var list report.List
	for _, x := range p.Decisions {
		list = append(list, fmt.Sprintf("%s: %s (%s)", x.What, x.Value, x.Why))
	}
	text := "Values that the paper does not state, the same in all figures:"
	if p.Own {
		text = "The same in all figures:"
	}
	return report.Section{Heading: "Decisions", Blocks: []report.Block{report.Paragraph(text), list}}
}

// Number returns our number with its position and reason.
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

// PaperNumber returns the statement of the paper in short form.
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
		return "less than at " + cmp.Or(c.Baseline.Case, c.Baseline.X)
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

// text returns the explanation of a deviation, with its scale and cause.
func (d *Deviation) text(scale string) string {
	notes := strings.Join(slices.DeleteFunc([]string{scale, d.Cause}, func(s string) bool { return s == "" }), ", ")
	if notes != "" {
		notes = " (" + notes + ")"
	}
	return d.Claim + notes + ": " + strings.TrimSpace(d.Why)
}

// describe adds the description of an experiment to a section, with the deviations that are
// not shown elsewhere.
func (e *Experiment) describe(s *report.Section, r *Results, shown map[*Deviation]bool) {
	s.Add(report.Paragraph(strings.TrimSpace(e.About)))
	if f := e.Draw(r.largest()); f != nil {
		s.Add(&report.Figure{Name: strings.ReplaceAll(e.ID, "/", "-"), Plot: f, Caption: e.figureCaption(r.largest())})
	}
	var why report.List
	for i := range e.Deviations {
		if d := &e.Deviations[i]; !shown[d] && !slices.Contains(why, d.text(d.Scale)) {
			why = append(why, d.text(d.Scale))
		}
	}
	if why != nil && shown == nil {
		s.Add(report.Paragraph("Known deviations, which `xoff reproduce` checks:"), why)
	} else if why != nil {
		s.Add(report.Paragraph("Deviations of the other scale and of sanity claims:"), why)
	}
	if t := e.besidePublished(r.largest()); t != nil {
		s.Add(t)
	}
	scales := r.available()
	if !e.Simulated() { // both scales are equal
		scales = scales[:1]
	}
	for _, x := range scales {
		s.Add(e.table(x))
		if t := e.effectsTable(x); t != nil {
			s.Add(t)
		}
	}
	if t := r.compareScales(); t != nil {
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

// table returns one line per position: metrics with their interval, counts, and flags.
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
	text := fmt.Sprintf("Scale %s, %d seeds: mean over seeds with its 95 %% interval. Counts are the minimum over seeds, unfinished flows the maximum. ", r.Scale, e.seeds(r))
	if slices.ContainsFunc(r.positions(), r.sameForAllSeeds) {
		text += "Where seeds change nothing, one run is shown, without an interval. "
	}
	return text + "Executable " + r.Executable[:12]
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

// labels returns the number of columns that name a position.
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

// Cells returns the table of a result: a head, and one line per position. The last cell
// lists the problems of the position.
func (e *Experiment) Cells(r *Result) (head []string, lines [][]string) {
	if len(e.Cases) > 0 {
		head = append(head, "case")
	}
	head = append(head, "scheme")
	if len(e.Scale(r.Scale).X) > 0 {
		head = append(head, cmp.Or(e.X.Title, "x"))
	}
	type column struct{ metric, stat string }
	var columns []column
	for i := range e.Metrics {
		m := &e.Metrics[i]
		if !m.Distribution() {
			columns = append(columns, column{m.Name, ""})
			head = append(head, withUnit(cmp.Or(m.Title, m.Name), m.unitInHead()))
			continue
		}
		for _, s := range e.statistics(m.Name) {
			columns = append(columns, column{m.Name, s})
			text := fmt.Sprintf("%s, %s%s", cmp.Or(m.Title, m.Name), s, m.statUnit(s))
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
	for _, at := range r.positions() {
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
		lines = append(lines, append(line, strings.Join(e.problems(r, at), "; ")))
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

func (e *Experiment) cell(r *Result, at Position, metric, stat string) string {
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
	case r.sameForAllSeeds(at):
		text += oneRun
	case s.N > 1:
		text = plusMinus(s.Mean, s.Half)
	}
	if !all { // for example the onset of a deadlock that only some runs have
		text += fmt.Sprintf(" (%d of %d runs)", s.N, r.runs(at))
	}
	return text
}

// extreme returns the minimum, or the maximum, of a number over the seeds of a position.
func extreme(r *Result, at Position, greatest bool, of func(*PointResult) float64) string {
	first, found := true, 0.0
	for i := range r.Points {
		p := &r.Points[i]
		if v := of(p); p.Position == at && (first || v < found && !greatest || v > found && greatest) {
			first, found = false, v
		}
	}
	return strconv.FormatFloat(found, 'f', 0, 64)
}

// problems lists the counts of a position that are too low and the runs that failed.
func (e *Experiment) problems(r *Result, at Position) []string {
	list := e.flags(r, at)
	for i := range r.Points {
		if p := &r.Points[i]; p.Position == at && p.Code != 0 {
			list = append(list, fmt.Sprintf("seed %d: %s", p.Seed, p.Message))
		}
	}
	return list
}
