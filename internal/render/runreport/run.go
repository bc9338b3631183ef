package runreport

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/metrics"
)

// Document returns the report of the run.
func (r *Run) Document() (*report.Document, error) {
	text, use, err := r.scenario()
	if err != nil {
		return nil, err
	}
	s := r.Summary
	d := &report.Document{
		Title: s.Scenario,
		Subtitle: fmt.Sprintf("seed %d, %s simulated on %s; flow control %s, buffer policy %s, congestion control %s, ECN %s",
			s.Seed, s.End.Human(), use.Topology.Name, use.Switch.FlowControl.Name, use.Switch.Policy.Name, use.Hosts.CC.Name, use.Switch.ECN.Name),
		Badges: Badges(s),
	}
	first, err := r.answer(use)
	if err != nil {
		return nil, err
	}
	d.Sections = append(d.Sections, first...)
	d.Sections = append(d.Sections, report.Section{Heading: "Summary", Blocks: []report.Block{facts(s)}})
	for _, part := range []func() ([]report.Section, error){r.details, r.flows, r.operations, r.fabric, r.series} {
		sections, err := part()
		if err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, sections...)
	}
	d.Sections = append(d.Sections, report.Section{Heading: "Scenario", Blocks: []report.Block{
		report.Paragraph("The scenario with all defaults, as in `scenario.resolved.yaml`. `xoff run scenario.resolved.yaml` gives the same results."),
		&report.Code{Language: "yaml", Text: text, Caption: "resolved scenario", Folded: true},
	}})
	return d, nil
}

// Badges returns the verdicts of a run.
func Badges(s *metrics.Summary) []report.Badge {
	var list []report.Badge
	add := func(text string, m report.Mark) { list = append(list, report.Badge{Text: text, Mark: m}) }
	if s.Partial {
		add("interrupted: partial results", report.Warn)
	}
	if s.Drops.Lossless > 0 {
		add(units.Thousands(s.Drops.Lossless)+" lossless drops", report.Bad)
	} else {
		add("no lossless drops", report.Good)
	}
	if s.Invariants.Broken > 0 {
		add("invariants broken", report.Bad)
	} else if s.Invariants.Checked {
		add("invariants held", report.Good)
	}
	switch {
	case s.Deadlock.Standing > 0:
		add("deadlocked", report.Bad)
	case s.Deadlock.Found > 0:
		add("resolved deadlocks", report.Warn)
	}
	if s.Flows.Unfinished > 0 {
		add(fmt.Sprintf("%d flows unfinished", s.Flows.Unfinished), report.Warn)
	}
	return list
}

// facts returns the main numbers of a run.
func facts(s *metrics.Summary) report.Facts {
	var f report.Facts
	add := func(key, value string) { f = append(f, report.Fact{Key: key, Value: value}) }
	lost := func(key string, n uint64, m report.Mark) {
		if n == 0 {
			m = report.Normal
		}
		f = append(f, report.Fact{Key: key, Value: units.Thousands(n), Mark: m})
	}
	add("flows measured", units.Thousands(uint64(s.Flows.Measured)))
	lost("flows unfinished", uint64(s.Flows.Unfinished), report.Warn)
	if s.FCT != nil {
		add("FCT mean", s.FCT.Mean.Human())
		add("FCT p50", s.FCT.P50.Human())
		add("FCT p99", s.FCT.P99.Human())
		add("slowdown mean", ratio(s.Slowdown.Mean))
		add("slowdown p50", ratio(s.Slowdown.P50))
		add("slowdown p99", ratio(s.Slowdown.P99))
	}
	if o := s.Operations; o != nil && o.Time != nil {
		add("operations", units.Thousands(uint64(o.Measured)))
		add("operation completion time p50", o.Time.P50.Human())
		add("operation completion time p99", o.Time.P99.Human())
	}
	if s.Throughput.Flows != nil {
		add("total goodput", rate(s.Throughput.Rate))
		add("goodput per flow p50", rate(s.Throughput.Flows.P50))
	}
	add("pauses", units.Thousands(s.Pauses.Pauses))
	add("paused time of all queues", s.Pauses.Blocked.Human())
	if s.Pauses.MaxDepth > 0 {
		add("longest chain of pauses", fmt.Sprint(s.Pauses.MaxDepth))
	}
	lost("lossless drops", s.Drops.Lossless, report.Bad)
	lost("lossy drops", s.Drops.Overflow, report.Bad)
	if s.Drops.Expelled > 0 {
		lost("lossy frames expelled", s.Drops.Expelled, report.Bad)
	}
	lost("drops by links", s.Drops.Link, report.Bad)
	lost("drops without a route", s.Drops.NoRoute, report.Bad)
	if s.Drops.Handler > 0 {
		lost("drops by a deadlock handler", s.Drops.Handler, report.Bad)
	}
	lost("retransmissions", s.Transport.Retransmissions, report.Warn)
	lost("timeouts", s.Transport.Timeouts, report.Warn)
	add("ECN marks", units.Thousands(s.Network.Marks))
	add("CNPs", units.Thousands(s.Transport.CNPs))
	add("buffer peak of a switch", s.Buffer.Peak.Human())
	add("headroom peak of a switch", s.Buffer.PeakHeadroom.Human())
	add("frame hops", units.Thousands(s.Network.Hops))
	if s.Invariants.Broken > 0 {
		f = append(f, report.Fact{Key: "first broken invariant", Value: s.Invariants.First, Mark: report.Bad})
	}
	return f
}

func ratio(v float64) string { return fmt.Sprintf("%.2f", v) }

// flows returns the section about flow completion times.
func (r *Run) flows() ([]report.Section, error) {
	sec := report.Section{Heading: "Flows"}
	sec.Add(report.Paragraph("FCT (flow completion time) is the time from the start of a flow to its last ACK. Slowdown is FCT over the FCT of the flow alone in an empty network. Only flows that started in the measurement window count."), r.groups())
	list, err := ReadSlowdowns(r.Folder)
	if err != nil {
		return nil, err
	}
	if f := r.bySize(); f != nil {
		sec.Add(&report.Figure{Name: "slowdown-by-size", Plot: f})
	}
	if f := distributions(list); f != nil {
		sec.Add(&report.Figure{Name: "slowdown", Plot: f,
			Caption: "Unfinished flows are beyond the right edge: a curve with unfinished flows ends below 100 %."})
	}
	return []report.Section{sec}, nil
}

// groups returns the table of flows by workload or class, and by size.
func (r *Run) groups() *report.Table {
	t := &report.Table{}
	for i, name := range []string{"flows", "measured", "unfinished", "FCT mean", "p50", "p95", "p99", "max", "slowdown mean",
		"p50", "p95", "p99", "p99.9"} {
		c := report.Column{Name: name, Align: report.Right}
		if i == 0 {
			c.Align = report.Left
		}
		t.Columns = append(t.Columns, c)
	}
	s := r.Summary
	all := metrics.Part{Measured: s.Flows.Measured, Unfinished: s.Flows.Unfinished, FCT: s.FCT, Slowdown: s.Slowdown}
	t.Rows = append(t.Rows, part("all", report.Best, &all))
	sizes := func(prefix string, parts []metrics.Part) {
		for _, p := range parts {
			if p.Measured > 0 {
				t.Rows = append(t.Rows, part(prefix+p.Name, report.Normal, &p))
			}
		}
	}
	sizes("", s.Sizes)
	for _, g := range groupsOf(s) {
		t.Rows = append(t.Rows, part(g.Name, report.Best, &g))
		sizes(g.Name+", ", g.Sizes)
	}
	return t
}

// groupsOf returns the groups of a summary, or nil if there is only one.
func groupsOf(s *metrics.Summary) []metrics.Part {
	groups := s.Workloads
	if s.GroupBy == "class" {
		groups = s.Classes
	}
	if len(groups) < 2 {
		return nil
	}
	return groups
}

func part(name string, m report.Mark, p *metrics.Part) []report.Cell {
	cells := []report.Cell{{Text: name, Mark: m}, {Text: units.Thousands(uint64(p.Measured))}, {Text: units.Thousands(uint64(p.Unfinished))}}
	if p.Unfinished > 0 {
		cells[2].Mark = report.Warn
	}
	values := []string{"-", "-", "-", "-", "-", "-", "-", "-", "-", "-"}
	if f, s := p.FCT, p.Slowdown; f != nil {
		values = []string{
			f.Mean.Human(), f.P50.Human(), f.P95.Human(), f.P99.Human(), f.Max.Human(),
			ratio(s.Mean), ratio(s.P50), ratio(s.P95), ratio(s.P99), ratio(s.P999),
		}
	}
	for _, v := range values {
		cells = append(cells, report.Cell{Text: v})
	}
	return cells
}

// maxPanels is the largest number of panels of a figure.
const maxPanels = 6

// bySize returns the figure of slowdowns by flow size, with one panel for all flows or one
// per group. It returns nil if no flow finished.
func (r *Run) bySize() *plot.Figure {
	s := r.Summary
	f := &plot.Figure{Colours: colours.Of, Title: "Slowdown by flow size"}
	groups := groupsOf(s)
	if len(groups) == 0 {
		groups = []metrics.Part{{Sizes: s.Sizes}}
	}
	for _, g := range groups {
		if p := sizePanel(g.Name, g.Sizes); p != nil && len(f.Panels) < maxPanels {
			f.Panels = append(f.Panels, *p)
		}
	}
	if len(f.Panels) == 0 {
		return nil
	}
	if len(groups) > len(f.Panels) && len(f.Panels) == maxPanels {
		last := &f.Panels[len(f.Panels)-1]
		last.Notes = append(last.Notes, fmt.Sprintf("the first %d of %d groups", maxPanels, len(groups)))
	}
	return f
}

// sizePanel returns the panel of slowdowns by flow size, or nil if no flow finished.
func sizePanel(title string, sizes []metrics.Part) *plot.Panel {
	p := &plot.Panel{Title: title, Kind: plot.Bars, X: plot.Axis{Label: "flow size"}, Y: plot.Axis{Label: "slowdown"}}
	series := []plot.Series{{Name: "median"}, {Name: "95th percentile"}, {Name: "99th percentile"}}
	most := 0.0
	for _, b := range sizes {
		if b.Slowdown == nil {
			continue
		}
		p.Categories = append(p.Categories, b.Name)
		for i, v := range []float64{b.Slowdown.P50, b.Slowdown.P95, b.Slowdown.P99} {
			series[i].Y = append(series[i].Y, v)
			most = max(most, v)
		}
	}
	if len(p.Categories) == 0 {
		return nil
	}
	if most > 30 {
		one := 1.0 // no slowdown is below 1
		p.Y.Log, p.Y.Min = true, &one
	}
	p.Series = series
	return p
}

// MaxCurves is the largest number of distributions in a panel.
const MaxCurves = 7

// distributions returns the figure of the slowdowns of measured flows, with one curve per
// workload, or nil if there are none.
func distributions(list []Slowdowns) *plot.Figure {
	p := plot.Panel{Kind: plot.CDF, X: plot.Axis{Label: "slowdown", Log: true}, Y: plot.Axis{Label: "flows"}}
	for _, w := range list[:min(MaxCurves, len(list))] {
		p.Series = append(p.Series, plot.Series{Name: w.Workload, X: w.Values})
	}
	if len(list) == 0 {
		return nil
	}
	if len(list) > MaxCurves {
		p.Notes = []string{fmt.Sprintf("the first %d of %d workloads", MaxCurves, len(list))}
	}
	return &plot.Figure{Colours: colours.Of, Title: "Distribution of slowdown", Panels: []plot.Panel{p}}
}
