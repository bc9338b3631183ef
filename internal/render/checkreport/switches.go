package checkreport

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
)

// severities are the levels of findings of switches in a picture.
var severities = []plot.Step{{Value: 0, Text: "no finding"}, {Value: note, Text: "note"},
	{Value: risk, Text: "warning"}, {Value: worst, Text: "error"}}

var values = map[rules.Severity]float64{rules.Note: note, rules.Warning: risk, rules.Error: worst}

var marks = map[rules.Severity]report.Mark{rules.Note: report.Normal, rules.Warning: report.Warn,
	rules.Error: report.Bad}

var verdicts = map[rules.Verdict]report.Mark{rules.Lossless: report.Good, rules.NothingLossless: report.Warn,
	rules.NotJudged: report.Warn, rules.NotLossless: report.Bad}

// Switches returns the page of a check of switch configurations. Bounds explains the bounds of
// headroom in its table.
func Switches(p *sonic.Plant, r *check.SwitchReport, bounds string) *report.Document {
	d := &report.Document{
		Title:    p.Name(),
		Subtitle: fmt.Sprintf("check of %s", plural(len(r.Switches), "switch configuration")),
		Badges: []report.Badge{{Text: string(r.Verdict), Mark: verdicts[r.Verdict]}, verdict(r.Errors, "error",
			report.Bad)},
	}
	if r.Warnings > 0 {
		d.Badges = append(d.Badges, report.Badge{Text: plural(r.Warnings, "warning"), Mark: report.Warn})
	}
	made, survey, err := check.PlanOf(p)
	found := merged(r.Switches)
	sec := report.Section{Heading: "Verdict"}
	sec.Add(report.Lead(leadOf(r)))
	if err == nil {
		sec.Add(drawn(made, survey, r, found))
	} else {
		sec.Add(report.Paragraph("The fabric cannot be drawn: " + err.Error() + "."))
	}
	sec.Add(switchTable(r.Switches))
	d.Sections = append(d.Sections, sec)
	if r.Against != nil {
		d.Sections = append(d.Sections, changed(r.Against))
	}
	d.Sections = append(d.Sections, ruleSections(found)...)
	if r.Fabric != nil && len(r.Fabric.Findings) > 0 {
		loops := findings(r.Fabric.Findings)
		loops[0].Heading = "Loops of buffers"
		d.Sections = append(d.Sections, loops...)
	}
	if s := groupSection(r.Switches, bounds); s != nil {
		d.Sections = append(d.Sections, *s)
	}
	d.Sections = append(d.Sections, assumptions(p, r, made))
	return d
}

// leadOf returns the verdict in a sentence.
func leadOf(r *check.SwitchReport) string {
	by := make(map[rules.Verdict]int)
	for _, s := range r.Switches {
		by[s.Verdict]++
	}
	var parts []string
	for i := len(rules.Verdicts) - 1; i >= 0; i-- {
		if n := by[rules.Verdicts[i]]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, rules.Verdicts[i]))
		}
	}
	text := fmt.Sprintf("Of %s, %s.", plural(len(r.Switches), "switch configuration"), strings.Join(parts, ", "))
	if len(r.Switches) == 1 {
		text = fmt.Sprintf("%s is %s.", r.Switches[0].Switch, r.Verdict)
		if r.Verdict == rules.NothingLossless {
			text = fmt.Sprintf("Nothing on %s is lossless.", r.Switches[0].Switch)
		}
	}
	if r.Fabric != nil && len(r.Fabric.Findings) > 0 {
		text += " Buffers can wait for each other in a loop."
	}
	return text
}

// same is a finding that several switches share.
type same struct {
	rules.Finding
	at       []string // switch, table and keys
	switches []string
	keys     map[string][]string // by switch
}

// merged returns the findings of all switches, worst first. Equal ones are merged.
func merged(list []*rules.Report) []*same {
	type key struct {
		rule             int
		severity         rules.Severity
		table, what, fix string
	}
	known := make(map[key]*same)
	var out []*same
	for _, s := range list {
		for _, f := range s.Findings {
			k := key{f.Rule, f.Severity, f.Table, f.What, f.Fix}
			x := known[k]
			if x == nil {
				x = &same{Finding: f, keys: make(map[string][]string)}
				known[k] = x
				out = append(out, x)
			}
			if x.keys[f.Switch] == nil {
				x.switches = append(x.switches, f.Switch)
			}
			x.keys[f.Switch] = append(x.keys[f.Switch], f.Keys...)
			for _, name := range f.Keys {
				at := f.Switch + ": " + f.Table + " " + name
				if f.Field != "" {
					at += ": " + f.Field
				}
				x.at = append(x.at, at)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *same) int { return cmp.Compare(values[b.Severity], values[a.Severity]) })
	return out
}

// drawn returns the picture of the fabric.
func drawn(made *convert.Imported, survey *check.Survey, r *check.SwitchReport, found []*same) report.Block {
	p := newPicture(survey.Graph, survey.Config.Topology.Name, 0, severities)
	ports := make(map[string][]convert.Port) // by switch
	for _, port := range made.Ports {
		ports[port.Switch] = append(ports[port.Switch], port)
	}
	for _, s := range r.Switches {
		if own := ports[s.Switch]; own != nil {
			p.describe(own[0].Node, fmt.Sprintf("%s; %s; %s, %s", s.Verdict, s.Chip, plural(s.Count(rules.Error), "error"),
				plural(s.Count(rules.Warning), "warning")))
		}
	}
	for i, f := range found {
		if f.Severity == rules.Note {
			continue // they repeat from switch to switch
		}
		var names []string
		for _, s := range f.switches {
			names = append(names, portsOf(ports[s], f.keys[s])...)
		}
		p.highlight(fmt.Sprintf("%d %s", i+1, f.Name), fmt.Sprintf("%d. %s: %s", i+1, f.Name,
			check.Brief(f.switches)), values[f.Severity], names)
	}
	if r.Fabric != nil {
		for i := range r.Fabric.Findings {
			f := &r.Fabric.Findings[i]
			p.highlight(fmt.Sprintf("loop %d", i+1), fmt.Sprintf("loop %d: %s", i+1, f.Kind), worst, places(f))
		}
	}
	return p.figure()
}

// portsOf returns the names in the scenario of the ports that keys of a table name, or of the
// whole switch if they name none.
func portsOf(ports []convert.Port, keys []string) []string {
	if ports == nil {
		return nil
	}
	var names []string
	for _, key := range keys {
		before, _, _ := strings.Cut(key, "|")
		for _, word := range strings.Split(before, ",") {
			name := strings.TrimSpace(word)
			if i := slices.IndexFunc(ports, func(p convert.Port) bool { return p.Name == name }); i >= 0 {
				names = append(names, fmt.Sprintf("%s.port%d", ports[i].Node, ports[i].Index))
			}
		}
	}
	if names == nil {
		return []string{ports[0].Node}
	}
	return names
}

func switchTable(list []*rules.Report) *report.Table {
	t := &report.Table{Caption: "Switches", Columns: report.Heads("switch", "chip", "buffer model", "verdict",
		"errors|", "warnings|", "notes|", "file")}
	for _, s := range list {
		row := []report.Cell{{Text: s.Switch}, {Text: s.Chip}, {Text: s.Model}, {Text: string(s.Verdict),
			Mark: verdicts[s.Verdict], Badge: true}}
		for _, severity := range rules.Severities {
			n := s.Count(severity)
			cell := report.Cell{Text: fmt.Sprint(n)}
			if n > 0 {
				cell.Mark = marks[severity]
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, append(row, report.Cell{Text: s.File}))
	}
	return t
}

// ruleSections returns errors and warnings in full and notes as a table.
func ruleSections(found []*same) []report.Section {
	var out []report.Section
	notes := &report.Table{Columns: report.Heads("rule|", "name", "switches", "note")}
	for i, f := range found {
		if f.Severity == rules.Note {
			notes.Row(fmt.Sprint(f.Rule), f.Name, check.Brief(f.switches), f.What)
			continue
		}
		if out == nil {
			out = append(out, report.Section{Heading: "Findings"})
		}
		sec := report.Section{Heading: fmt.Sprintf("%d. %s", i+1, f.Name), Level: 2,
			Badges: []report.Badge{{Text: string(f.Severity), Mark: marks[f.Severity]}}}
		sec.Add(report.Paragraph(fmt.Sprintf("%s: %s.", check.Brief(f.switches), f.What)))
		var numbers report.Facts
		for _, name := range slices.Sorted(maps.Keys(f.Numbers)) {
			numbers = append(numbers, report.Fact{Key: name, Value: units.Thousands(uint64(max(0, f.Numbers[name])))})
		}
		if len(numbers) > 0 && len(f.at) == 1 { // merged findings may differ in other numbers
			sec.Add(numbers)
		}
		sec.Add(&report.Code{Text: strings.Join(f.at, "\n"), Caption: fmt.Sprintf("where (rule %d, %s)", f.Rule,
			entries(len(f.at))), Folded: len(f.at) > 4},
			report.Paragraph("Why: "+f.Why+"."), report.Paragraph("Fix: "+f.Fix+"."))
		if f.Case != "" {
			sec.Add(report.Paragraph("Seen: " + f.Case + "."))
		}
		out = append(out, sec)
	}
	if len(notes.Rows) > 0 {
		out = append(out, report.Section{Heading: "Notes", Blocks: []report.Block{notes}})
	}
	return out
}

// groupSection returns the table of lossless priority groups, or nil. Equal groups of a switch
// share a row.
func groupSection(list []*rules.Report, bounds string) *report.Section {
	t := &report.Table{Columns: report.Heads("switch", "ports", "groups|", "rate|", "cable|", "least|", "need|",
		"need, small packets|", "exact|", "headroom|", "PFC at|", "drop at|", "spare|")}
	for _, s := range list {
		var order []rules.Group
		ports := make(map[rules.Group][]string)
		count := make(map[rules.Group]int)
		for _, g := range s.Groups {
			k := g
			k.Port, k.Group = "", 0
			if count[k]++; count[k] == 1 {
				order = append(order, k)
			}
			if !slices.Contains(ports[k], g.Port) {
				ports[k] = append(ports[k], g.Port)
			}
		}
		for _, g := range order {
			spare := report.Cell{Text: signed(g.Spare)}
			if g.Spare < 0 {
				spare.Mark = report.Bad
			}
			row := []report.Cell{{Text: s.Switch}, {Text: check.Brief(ports[g])}, {Text: fmt.Sprint(count[g])},
				{Text: g.Rate.String()}, {Text: cmp.Or(g.Cable, "-")}}
			for _, b := range []units.Bytes{g.Least, g.Need, g.Small, g.Exact, g.Have, g.PFC, g.Drop} {
				row = append(row, report.Cell{Text: bytes(b)})
			}
			t.Rows = append(t.Rows, append(row, spare))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return &report.Section{Heading: "Lossless priority groups",
		Blocks: []report.Block{report.Paragraph(strings.ReplaceAll(bounds, "need_small", "need, small packets,")), t}}
}

func signed(b units.Bytes) string {
	if b < 0 {
		return "-" + bytes(-b)
	}
	return bytes(b)
}

// changed returns the section about a comparison with an earlier configuration.
func changed(c *rules.Change) report.Section {
	sec := report.Section{Heading: "Changes", Badges: []report.Badge{verdict(c.Count(rules.Error), "new error",
		report.Bad)}}
	t := &report.Table{Caption: fmt.Sprintf("Findings that are new or gone (%d unchanged)", c.Kept),
		Columns: report.Heads("change", "severity", "rule|", "name", "switch", "finding")}
	add := func(word string, mark report.Mark, list []rules.Finding) {
		for _, f := range list {
			t.Rows = append(t.Rows, []report.Cell{{Text: word, Mark: mark, Badge: true}, {Text: string(f.Severity),
				Mark: marks[f.Severity]}, {Text: fmt.Sprint(f.Rule)}, {Text: f.Name}, {Text: f.Switch}, {Text: f.What}})
		}
	}
	add("new", report.Bad, c.New)
	add("gone", report.Good, c.Gone)
	if len(t.Rows) == 0 {
		sec.Add(report.Paragraph("No finding is new or gone."))
	} else {
		sec.Add(t)
	}
	if len(c.Groups) > 0 {
		g := &report.Table{Caption: "Priority groups that changed", Columns: report.Heads("switch", "port", "group|",
			"headroom|", "PFC at|", "drop at|")}
		for _, x := range c.Groups {
			g.Row(x.Switch, x.Port, fmt.Sprint(x.Group), bytes(x.Before.Have)+" → "+bytes(x.After.Have),
				bytes(x.Before.PFC)+" → "+bytes(x.After.PFC), bytes(x.Before.Drop)+" → "+bytes(x.After.Drop))
		}
		sec.Add(g)
	}
	return sec
}

// assumptions returns the section about what the check assumed and could not check.
func assumptions(p *sonic.Plant, r *check.SwitchReport, made *convert.Imported) report.Section {
	sec := report.Section{Heading: "What was assumed"}
	chips := make(map[string][]string)
	for _, s := range p.Switches {
		memory := "its known packet memory"
		if s.Rounded {
			memory = "the advertised, rounded packet memory"
		}
		text := fmt.Sprintf("chip %s with %s (%s)", s.Chip.Name, memory, bytes(s.Memory))
		chips[text] = append(chips[text], s.Name)
	}
	var list report.List
	for _, text := range slices.Sorted(maps.Keys(chips)) {
		list = append(list, check.Brief(chips[text])+": "+text+".")
	}
	list = append(list, fmt.Sprintf("%s between the switches: from a list of cables, or the neighbour tables.",
		plural(len(p.Wires), "cable")))
	switch f := r.Fabric; {
	case f == nil:
	case f.Skipped != "":
		list = append(list, "Loops of buffers were not checked: "+f.Skipped+".")
	case len(f.Findings) == 0:
		list = append(list, "No loops of buffers, also when any single link fails.")
	}
	if made != nil {
		for _, text := range made.Assumed {
			list = append(list, "Hosts on ports without a neighbour, "+text+".")
		}
	}
	skipped := make(map[string][]string)
	var order []string
	for _, s := range r.Switches {
		for _, x := range s.Skipped {
			text := fmt.Sprintf("not checked: rule %d: %s", x.Rule, x.Why)
			if skipped[text] == nil {
				order = append(order, text)
			}
			skipped[text] = append(skipped[text], s.Switch)
		}
		if len(s.Unread) > 0 {
			list = append(list, fmt.Sprintf("%s: tables not read: %s.", s.Switch, strings.Join(s.Unread, ", ")))
		}
	}
	for _, text := range order {
		list = append(list, check.Brief(skipped[text])+": "+text+".")
	}
	sec.Add(list)
	if made != nil {
		if len(made.Omitted) > 0 {
			sec.Add(&report.Code{Text: strings.Join(made.Omitted, "\n"),
				Caption: "settings that the drawing and the search for loops leave out", Folded: true})
		}
		sec.Add(&report.Code{Language: "yaml", Text: string(made.Text), Caption: "the fabric as a scenario",
			Folded: true})
	}
	return sec
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
