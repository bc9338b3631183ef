package tune

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/chart"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/metrics"
)

// Page returns the answer as a page.
func (a *Answer) Page() *report.Document {
	d := &report.Document{Title: a.Scenario, Subtitle: fmt.Sprintf("%d runs of %d settings, %d seeds", a.Runs, len(a.Settings), len(a.Seeds))}
	mark := map[Verdict]report.Mark{Improved: report.Good, Infeasible: report.Bad}[a.Verdict]
	d.Badges = []report.Badge{{Text: string(a.Verdict), Mark: mark}}
	result := report.Section{Heading: "Result"}
	result.Add(report.Lead(a.Message))
	for _, n := range a.Notes {
		result.Add(report.Paragraph(n))
	}
	result.Add(table(a.GainTable()), table(a.KeyTable()))
	if len(a.Set) > 0 {
		var patch bytes.Buffer
		_ = a.WritePatch(&patch) // a buffer takes everything
		result.Add(&report.Code{Text: patch.String()})
	}
	d.Sections = append(d.Sections, result)
	figures := report.Section{Heading: "Figures"}
	if len(a.Goals) == 2 {
		figures.Add(&report.Figure{Name: "tradeoff", Plot: a.tradeoff(), Caption: "Settings that ran with all seeds. No other setting is better in both goals than one on the line."})
	}
	if f := a.byKey(); len(f.Panels) > 0 {
		figures.Add(&report.Figure{Name: "keys", Plot: f, Caption: fmt.Sprintf("%s of every setting with the first seed. Other keys vary, too.", metrics.Title(a.Goals[0].Metric))})
	}
	d.Sections = append(d.Sections, figures)
	if len(a.Front) > 0 {
		front := report.Section{Heading: "Trade-off"}
		front.Add(table(a.SettingTable(a.Front)))
		d.Sections = append(d.Sections, front)
	}
	settings := report.Section{Heading: "Settings"}
	settings.Add(table(a.SettingTable(a.all())))
	d.Sections = append(d.Sections, settings)
	return d
}

// Table is a table of text.
type Table struct {
	Head  []string
	Lines [][]string
}

func table(t *Table) *report.Table {
	r := &report.Table{Columns: report.Heads(t.Head...)}
	for _, l := range t.Lines {
		r.Row(l...)
	}
	return r
}

// GainTable compares the best setting with today's.
func (a *Answer) GainTable() *Table {
	t := &Table{Head: []string{"goal", "today", "best", "change", "95 % interval of the difference"}}
	for _, g := range a.Gains {
		change, interval := "-", "unknown: one seed"
		if g.Today.Mean != 0 {
			change = fmt.Sprintf("%+.1f %%", 100*g.Difference.Mean/g.Today.Mean)
		}
		if g.Difference.Known {
			interval = signed(g.Metric, g.Difference.Low) + " to " + signed(g.Metric, g.Difference.High)
		}
		t.Lines = append(t.Lines, []string{metrics.Title(g.Metric), metrics.Format(g.Metric, g.Today.Mean), metrics.Format(g.Metric, g.Best.Mean), change, interval})
	}
	return t
}

// signed formats a difference of a metric.
func signed(metric string, v float64) string {
	if v < 0 {
		return "-" + metrics.Format(metric, -v)
	}
	return "+" + metrics.Format(metric, v)
}

// KeyTable has the values of each key, and what its change contributes.
func (a *Answer) KeyTable() *Table {
	t := &Table{Head: []string{"key", "today", "best"}}
	reset := false
	for _, k := range a.Keys {
		reset = reset || k.Reset != nil || k.ResetViolates != ""
	}
	if reset {
		for _, g := range a.Goals {
			t.Head = append(t.Head, metrics.Title(g.Metric)+" if reset")
		}
	}
	for _, k := range a.Keys {
		line := []string{k.Key, k.Today, sweep.ShortValue(k.Best)}
		for i := 0; reset && i < len(a.Goals); i++ {
			text := "-"
			if k.ResetViolates != "" {
				text = "violates: " + k.ResetViolates
			} else if k.Reset != nil {
				d := k.Reset[i]
				text = signed(a.Goals[i].Metric, d.Mean)
				if d.Known {
					text += " ± " + metrics.Format(a.Goals[i].Metric, (d.High-d.Low)/2)
				}
			}
			line = append(line, text)
		}
		t.Lines = append(t.Lines, line)
	}
	return t
}

// SettingTable has one line per chosen setting.
func (a *Answer) SettingTable(chosen []int) *Table {
	var keys []string
	for _, k := range a.Keys {
		keys = append(keys, k.Key)
	}
	t := &Table{Head: append([]string{"setting"}, sweep.ShortKeys(keys)...)}
	t.Head = append(t.Head, "seeds")
	for _, g := range a.Goals {
		t.Head = append(t.Head, metrics.Title(g.Metric))
	}
	t.Head = append(t.Head, "state")
	for _, i := range chosen {
		x := &a.Settings[i]
		line := []string{a.role(i)}
		for _, v := range x.Values {
			line = append(line, sweep.ShortValue(v))
		}
		line = append(line, strconv.Itoa(x.Seeds))
		for g := range a.Goals {
			line = append(line, a.cell(x, g))
		}
		state := x.State
		if len(x.Violates) > 0 {
			state = "violates: " + x.Violates[0]
		}
		t.Lines = append(t.Lines, append(line, state))
	}
	return t
}

// axis returns the axis of a goal and its scale, without the name of a workload.
func (a *Answer) axis(goal int) (plot.Axis, float64) {
	name := a.Goals[goal].Metric
	if rest, ok := strings.CutPrefix(name, "workloads."); ok {
		if _, metric, ok := strings.Cut(rest, "."); ok {
			name = metric
		}
	}
	return chart.MetricAxis(name)
}

// tradeoff draws two goals of all complete settings.
func (a *Answer) tradeoff() *plot.Figure {
	x, scaleX := a.axis(0)
	y, scaleY := a.axis(1)
	others := plot.Series{Name: "settings", Style: plot.Style{Points: true}}
	front := plot.Series{Name: "trade-off", Style: plot.Style{}}
	today := plot.Series{Name: "today", Style: plot.Style{Points: true}}
	best := plot.Series{Name: "best", Style: plot.Style{Points: true}}
	add := func(s *plot.Series, i int) {
		if p := &a.Settings[i]; p.Goals[0] != nil && p.Goals[1] != nil {
			s.X, s.Y = append(s.X, p.Goals[0].Mean*scaleX), append(s.Y, p.Goals[1].Mean*scaleY)
		}
	}
	for i := range a.Settings {
		if s := &a.Settings[i]; s.Seeds == len(a.Seeds) && len(s.Violates) == 0 {
			add(&others, i)
		}
	}
	for _, i := range a.Front {
		add(&front, i)
	}
	add(&today, 0)
	if a.Best > 0 {
		add(&best, a.Best)
	}
	return &plot.Figure{Title: "Trade-off", Panels: []plot.Panel{{X: x, Y: y, Series: []plot.Series{others, front, today, best}}}}
}

// maxKeys is the number of keys in a figure.
const maxKeys = 6

// byKey draws the first goal with the first seed, which all settings have, over the values of each
// key with numbers.
func (a *Answer) byKey() *plot.Figure {
	f := &plot.Figure{Title: "Settings by key", Columns: 2}
	y, scaleY := a.axis(0)
	for k, r := range a.ranges {
		if !r.Ordered || len(f.Panels) == maxKeys {
			continue
		}
		x, scaleX := plot.Axis{Label: r.Key, Log: r.Scale == Log}, 1.0
		switch r.kind {
		case duration:
			x.Unit, scaleX = plot.Seconds, 1e-12
		case size:
			x.Unit = plot.Bytes
		case rate:
			x.Unit = plot.BitRate
		}
		all, best := plot.Series{Name: "settings", Style: plot.Style{Points: true}}, plot.Series{Name: "best", Style: plot.Style{Points: true}}
		today := plot.Series{Name: "today", Style: plot.Style{Points: true}}
		for i := range a.Settings {
			s := &a.Settings[i]
			into := &all
			level := -1
			switch {
			case i == 0:
				into, level = &today, r.insert(s.Values[k])
			case i == a.Best:
				into = &best
			}
			if s.levels != nil {
				level = s.levels[k]
			}
			first := a.study.found[name(s.levels, 0)]
			if level < 0 || first == nil || len(s.Violates) > 0 {
				continue
			}
			into.X, into.Y = append(into.X, r.Float(level)*scaleX), append(into.Y, first.values[0]*scaleY)
		}
		f.Panels = append(f.Panels, plot.Panel{Title: r.Key, X: x, Y: y, Series: []plot.Series{all, today, best}})
	}
	return f
}
