// Package checkreport writes the result of a check as a page, for xoff check --html: verdict,
// findings with evidence and fix, the fabric with the findings highlighted, and what was assumed.
package checkreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
)

// levels are the levels of findings of a scenario in a picture.
var levels = []plot.Step{{Value: 0, Text: "no finding"}, {Value: note, Text: "note"}, {Value: risk, Text: "warning"},
	{Value: worst, Text: "problem"}}

// Values of levels, far enough apart for different colours.
const (
	note  = 0.2
	risk  = 0.45
	worst = 1.0
)

var levelValues = map[check.Level]float64{check.Note: note, check.Warning: risk, check.Problem: worst}

var levelMarks = map[check.Level]report.Mark{check.Note: report.Normal, check.Warning: report.Warn,
	check.Problem: report.Bad}

// Scenario returns the page of a check of a scenario in a file. Against is nil, or the comparison
// with an earlier version in another file.
func Scenario(file string, cfg *scenario.Config, r *check.Report, o check.Options, against *check.Comparison, earlier string) *report.Document {
	g := r.Graph()
	d := &report.Document{
		Title: cfg.Name,
		Subtitle: fmt.Sprintf("check of %s: %s with %d hosts and %d switches; %s", file, cfg.Topology.Name, g.Hosts,
			g.Nodes()-g.Hosts, cfg.Schemes()),
		Badges: []report.Badge{verdict(r.Problems, "problem", report.Bad)},
	}
	for _, level := range []check.Level{check.Warning, check.Note} {
		n := 0
		for i := range r.Findings {
			if r.Findings[i].Level == level {
				n++
			}
		}
		if n > 0 {
			d.Badges = append(d.Badges, report.Badge{Text: plural(n, string(level)), Mark: levelMarks[level]})
		}
	}
	sec := report.Section{Heading: "Verdict"}
	sec.Add(report.Lead(lead(r)))
	pic := newPicture(g, cfg.Topology.Name, columns(cfg), levels)
	for _, b := range r.Budgets {
		for _, s := range b.Switches {
			pic.describe(s, fmt.Sprintf("buffer %s; headroom %s; shared %s", bytes(b.Size), bytes(b.Headroom),
				bytes(b.Shared)))
		}
	}
	list := &report.Table{Columns: report.Heads("finding|", "level", "kind", "where")}
	for i := range r.Findings {
		f := &r.Findings[i]
		name := fmt.Sprintf("%d %s", i+1, f.Kind)
		where := subject(f)
		pic.highlight(name, fmt.Sprintf("%d. %s: %s", i+1, f.Kind, where), levelValues[f.Level], places(f))
		list.Rows = append(list.Rows, []report.Cell{{Text: fmt.Sprint(i + 1)},
			{Text: string(f.Level), Mark: levelMarks[f.Level], Badge: true},
			{Text: string(f.Kind)}, {Text: where}})
	}
	sec.Add(pic.figure())
	if len(list.Rows) > 0 {
		sec.Add(list)
	}
	d.Sections = append(d.Sections, sec)
	if against != nil {
		d.Sections = append(d.Sections, changes(against, earlier))
	}
	d.Sections = append(d.Sections, findings(r.Findings)...)
	d.Sections = append(d.Sections, budgets(r.Budgets), assumed(cfg, r, o))
	return d
}

func columns(cfg *scenario.Config) int {
	if p, ok := cfg.Topology.Params.(*topo.TorusParams); ok {
		return p.Columns
	}
	return 0
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func verdict(n int, word string, bad report.Mark) report.Badge {
	if n == 0 {
		return report.Badge{Text: "no " + word + "s", Mark: report.Good}
	}
	return report.Badge{Text: plural(n, word), Mark: bad}
}

// lead returns the verdict in a sentence.
func lead(r *check.Report) string {
	if r.Problems == 0 {
		return "The check found no problem: nothing that drops lossless frames, blocks them for ever, or stops a run."
	}
	var kinds []string
	for _, f := range r.Findings {
		if f.Level == check.Problem && !slices.Contains(kinds, string(f.Kind)) {
			kinds = append(kinds, string(f.Kind))
		}
	}
	return fmt.Sprintf("The check found %s: %s.", plural(r.Problems, "problem"), strings.Join(kinds, ", "))
}

// subject names what a finding is about, in a few words.
func subject(f *check.Finding) string {
	switch {
	case len(f.Cycles) > 0:
		var names []string
		for _, h := range f.Cycles[0].Hops {
			names = append(names, h.Switch)
		}
		return check.Brief(names)
	case len(f.Failures) > 0:
		return "after failures"
	case len(f.Where) == 0:
		return f.At
	}
	return check.Brief(f.Where)
}

// places returns the names of ports, nodes and links that a finding is about.
func places(f *check.Finding) []string {
	names := slices.Concat(f.Where, f.Links)
	for _, c := range f.Cycles {
		names = append(names, hops(&c)...)
	}
	for _, b := range f.Failures {
		names = append(names, b.Links...)
		for _, c := range b.Cycles {
			names = append(names, hops(&c)...)
		}
	}
	for _, c := range f.CutOffs {
		names = append(names, c.Links...)
	}
	return names
}

// hops returns the two ports of each cable of a loop.
func hops(c *check.Cycle) []string {
	var names []string
	for _, h := range c.Hops {
		names = append(names, h.In, h.From+".to-"+h.Switch)
	}
	return names
}

// findings returns a section with one part for each finding.
func findings(list []check.Finding) []report.Section {
	if len(list) == 0 {
		return nil
	}
	out := []report.Section{{Heading: "Findings"}}
	for i := range list {
		f := &list[i]
		sec := report.Section{Heading: fmt.Sprintf("%d. %s", i+1, f.Kind), Level: 2,
			Badges: []report.Badge{{Text: string(f.Level), Mark: levelMarks[f.Level]}}}
		sec.Add(report.Paragraph(f.What + "."))
		if facts := evidence(f); len(facts) > 0 {
			sec.Add(facts)
		}
		if lines := f.Evidence(); len(lines) > 0 {
			sec.Add(&report.Code{Text: strings.Join(lines, "\n"), Caption: "evidence", Folded: len(lines) > 12})
		}
		if len(f.Where) > 4 {
			sec.Add(&report.Code{Text: strings.Join(f.Where, "\n"), Caption: fmt.Sprintf("all %d places",
				len(f.Where)), Folded: true})
		}
		if f.At != "" {
			sec.Add(report.Paragraph("Written at `" + f.At + "`."))
		}
		if len(f.Advice) > 0 {
			t := &report.Table{Columns: report.Heads("key", "now", "advice", "rule", "source")}
			for _, a := range f.Advice {
				t.Row("`"+a.Key+"`", a.Now, a.Value, a.Rule, a.Source)
			}
			sec.Add(t)
		}
		if f.Fix != "" {
			sec.Add(report.Paragraph("Fix: " + f.Fix + "."))
		}
		out = append(out, sec)
	}
	return out
}

// evidence returns the numbers of a finding.
func evidence(f *check.Finding) report.Facts {
	var list report.Facts
	add := func(key, value string) { list = append(list, report.Fact{Key: key, Value: value}) }
	if g := f.Headroom; g != nil {
		add("headroom of a queue", bytes(g.Have))
		add("bytes in flight after a pause", bytes(g.Need))
		add("missing", bytes(g.Short))
		add("link", g.Rate)
		add("delay from the peer", g.Delay)
		add("delay to the peer", g.Back)
		add("reaction of the peer", g.Processing)
		add("MTU", bytes(g.MTU))
	}
	if b := f.Buffer; b != nil {
		add("buffer", bytes(b.Size))
		add("headroom", bytes(b.Headroom))
		add("private segments", bytes(b.Private))
		add("ports", fmt.Sprint(b.Ports))
	}
	if l := f.Late; l != nil {
		add("marks above", bytes(l.Marks))
		add("longest queue before a pause", bytes(l.Reach))
		add("with one feeding port", bytes(l.Alone))
	}
	return list
}

// budgets returns the section about the division of buffers.
func budgets(list []check.Budget) report.Section {
	t := &report.Table{Caption: "How switches divide their buffer", Columns: report.Heads("switches", "ports|",
		"buffer|", "headroom|", "private|", "shared|", "of the buffer|")}
	for _, b := range list {
		row := []report.Cell{{Text: check.Brief(b.Switches)}, {Text: fmt.Sprint(b.Ports)}, {Text: bytes(b.Size)},
			{Text: bytes(b.Headroom)}, {Text: bytes(b.Private)},
			{Text: bytes(b.Shared)}, {Text: fmt.Sprintf("%.1f %%", 100*float64(b.Shared)/float64(max(b.Size, 1)))}}
		if b.Shared <= 0 {
			row[5].Mark = report.Bad
		}
		t.Rows = append(t.Rows, row)
	}
	return report.Section{Heading: "Buffers", Blocks: []report.Block{t}}
}

// assumed returns the section about what the check assumed and covered.
func assumed(cfg *scenario.Config, r *check.Report, o check.Options) report.Section {
	traffic := "Every host may send to every other host in every lossless class, on every path that routing may choose."
	if o.Flows {
		traffic = "Only pairs of hosts with flows in the scenario send, in the classes of these flows."
	}
	failures := fmt.Sprintf("Up to %s between switches fail at the same time.", plural(o.Failures, "link"))
	if o.Failures == 0 {
		failures = "No link fails."
	}
	list := report.List{traffic, failures,
		"Bytes in flight after a pause are the worst case of rate, delay, frame sizes and reaction time; senders send at line rate until the pause takes effect."}
	for _, line := range r.Coverage() {
		list = append(list, strings.ToUpper(line[:1])+line[1:]+".")
	}
	sec := report.Section{Heading: "What was assumed", Blocks: []report.Block{list}}
	if text, err := cfg.Marshal(); err == nil {
		sec.Add(&report.Code{Language: "yaml", Text: string(text), Caption: "scenario with all defaults",
			Folded: true})
	}
	return sec
}

// changes returns the section about a comparison with an earlier version.
func changes(c *check.Comparison, earlier string) report.Section {
	sec := report.Section{Heading: "Changes", Badges: []report.Badge{verdict(c.Problems, "new problem", report.Bad)}}
	if len(c.Worse)+len(c.Better) == 0 {
		sec.Add(report.Paragraph("Nothing is better or worse than in `" + earlier + "`."))
		return sec
	}
	t := &report.Table{Caption: "Compared with `" + earlier + "`", Columns: report.Heads("change", "kind", "now",
		"before")}
	for _, x := range slices.Concat(c.Worse, c.Better) {
		word, mark, kind, now, before := "worse", report.Bad, "", x.What, ""
		if x.Better {
			word, mark = "better", report.Good
		}
		if x.Now != nil {
			kind, now = string(x.Now.Kind), x.Now.What
		}
		if x.Before != nil {
			kind, before = string(x.Before.Kind), x.Before.What
		}
		t.Rows = append(t.Rows, []report.Cell{{Text: word, Mark: mark, Badge: true}, {Text: kind}, {Text: now},
			{Text: before}})
	}
	sec.Add(t)
	return sec
}
