// Package sweepreport writes reports that compare several runs, for xoff compare, sweep and
// report.
package sweepreport

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/internal/render/runreport"
	"github.com/xoff-net/xoff/metrics"
)

// maxColumns is the maximum number of variants shown as columns; more become rows.
const maxColumns = 6

// maxRuns is the maximum number of runs whose flows are read for distributions.
const maxRuns = 60

// maxDiffer is the maximum number of differing keys in a table.
const maxDiffer = 40

// figureMetrics are the metrics in the overview figure.
var figureMetrics = []struct {
	name, title string
	axis        plot.Axis
}{
	{"slowdown.p50", "Slowdown, median", plot.Axis{Label: "slowdown"}},
	{"slowdown.p99", "Slowdown, 99th percentile", plot.Axis{Label: "slowdown"}},
	{"pauses.pauses", "Pauses", plot.Axis{Label: "pauses"}},
	{"buffer.peak_bytes", "Buffer peak of a switch", plot.Axis{Label: "bytes", Unit: plot.Bytes}},
	{"drops.lossless", "Lossless drops", plot.Axis{Label: "frames"}},
	{"drops.overflow", "Lossy drops", plot.Axis{Label: "frames"}},
}

// Document returns the report of result folders: of a single run, or a comparison of
// variants.
func Document(folders []string) (*report.Document, error) {
	variants, err := sweep.ReadVariants(folders)
	if err != nil {
		return nil, err
	}
	if len(variants) == 1 && len(variants[0].Runs) == 1 {
		r, err := runreport.Open(variants[0].Runs[0])
		if err != nil {
			return nil, err
		}
		return r.Document()
	}
	if len(variants) == 1 {
		// Only seeds differ: compare them.
		if variants, err = sweep.ReadVariants(variants[0].Runs); err != nil {
			return nil, err
		}
	}
	title := "Comparison"
	if len(folders) == 1 {
		title = sweep.ScenarioOf(folders[0])
	}
	return Compare(title, variants)
}

// Compare returns the report of a comparison of variants.
func Compare(title string, variants []*sweep.Variant) (*report.Document, error) {
	c, err := sweep.Compare(variants, nil)
	if err != nil {
		return nil, err
	}
	names := shortNames(variants)
	d := &report.Document{Title: title, Subtitle: fmt.Sprintf("%d variants; %s", len(variants), c.Confidence())}
	d.Badges = troubles(variants)
	figures := report.Section{Heading: "Figures"}
	if text := lead(c, names); text != "" {
		figures.Add(report.Lead(text))
	}
	if f := overview(c, names); len(f.Panels) > 0 {
		figures.Add(&report.Figure{Name: "metrics", Plot: f, Caption: caption(c)})
	}
	f, err := slowdowns(variants, names)
	if err != nil {
		return nil, err
	}
	if f != nil {
		figures.Add(&report.Figure{Name: "slowdown", Plot: f,
			Caption: "Mean over the seeds of a variant; the band spans them. Flows that did not finish are beyond the right edge."})
	}
	d.Sections = append(d.Sections, figures, variantSection(variants, names))
	d.Sections = append(d.Sections, metricSections(c, names)...)
	d.Sections = append(d.Sections, differSection(c, names))
	return d, nil
}

func troubles(variants []*sweep.Variant) []report.Badge {
	bad, partial := 0, 0
	for _, v := range variants {
		if v.Trouble != "" {
			bad++
		}
		if v.Partial {
			partial++
		}
	}
	var list []report.Badge
	if bad > 0 {
		list = append(list, report.Badge{Text: fmt.Sprintf("%d variants failed", bad), Mark: report.Bad})
	}
	if partial > 0 {
		list = append(list, report.Badge{Text: fmt.Sprintf("%d variants are partial", partial), Mark: report.Warn})
	}
	return list
}

// shortNames returns names of variants without their common parts: the varied key and
// parent folders. No name contains a path of the machine.
func shortNames(variants []*sweep.Variant) []string {
	name := func(v *sweep.Variant, bare bool) string {
		base := filepath.Base(filepath.Clean(v.Folder))
		if v.Label == "" {
			return base
		}
		switch _, value, _ := strings.Cut(v.Label, "="); {
		case !bare:
			return base + ": " + v.Label
		case len(v.Keys) == 1:
			return value
		}
		return v.Label
	}
	one := true
	for _, v := range variants {
		one = one && v.Folder == variants[0].Folder
	}
	seen := make(map[string]int)
	var list []string
	cut := 0
	if !one {
		var whole []string
		for _, v := range variants {
			whole = append(whole, name(v, false))
		}
		cut = shared(whole)
	}
	for _, v := range variants {
		n := name(v, one)[cut:]
		if seen[n]++; seen[n] > 1 {
			n = fmt.Sprintf("%s (%d)", n, seen[n])
		}
		list = append(list, n)
	}
	return list
}

// shared returns the length of the common prefix of all names, up to a word boundary.
func shared(names []string) int {
	prefix := names[0]
	for _, n := range names {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	at := strings.LastIndexAny(prefix, "-_. /") + 1
	for _, n := range names {
		if len(n) == at {
			return 0
		}
	}
	return at
}

func variantSection(variants []*sweep.Variant, names []string) report.Section {
	sec := report.Section{Heading: "Variants"}
	if v := variants[0]; len(v.Keys) > 0 {
		sec.Add(report.Paragraph("Varied: `" + strings.Join(v.Keys, "`, `") + "`"))
	}
	t := &report.Table{Columns: report.Heads("variant", "seeds", "state")}
	for i, v := range variants {
		var seeds []string
		for _, s := range v.Seeds {
			seeds = append(seeds, strconv.FormatUint(s, 10))
		}
		state := report.Cell{Text: "complete", Mark: report.Good}
		switch {
		case v.Trouble != "":
			state = report.Cell{Text: v.Trouble, Mark: report.Bad}
		case v.Partial:
			state = report.Cell{Text: "partial: a run was interrupted", Mark: report.Warn}
		}
		t.Rows = append(t.Rows, []report.Cell{{Text: names[i]}, {Text: strings.Join(seeds, ", ")}, state})
	}
	sec.Add(t)
	return sec
}

// metricSections returns the tables of metrics: one column per variant if they fit, with
// workloads and sizes in a section of their own, else one row per variant.
func metricSections(c *sweep.Comparison, names []string) []report.Section {
	sec := report.Section{Heading: "Metrics"}
	sec.Add(report.Paragraph("Mean over seeds ± half of the 95 % interval. * better than every other variant: the 95 % interval of each difference excludes 0. ~ best mean, perhaps by chance. = equal to the first variant."))
	var whole, parts []*sweep.Compared
	for i := range c.Metrics {
		if m := &c.Metrics[i]; m.Group == "" {
			whole = append(whole, m)
		} else {
			parts = append(parts, m)
		}
	}
	if len(names) > maxColumns {
		t := &report.Table{Columns: report.Heads("variant")}
		for _, m := range whole {
			t.Columns = append(t.Columns, report.Column{Name: metrics.Title(m.Name), Align: report.Right})
		}
		for k, n := range names {
			row := []report.Cell{{Text: n}}
			for _, m := range whole {
				row = append(row, metricCell(m, k))
			}
			t.Rows = append(t.Rows, row)
		}
		sec.Add(t)
		return []report.Section{sec}
	}
	sec.Add(metricTable(whole, names))
	list := []report.Section{sec}
	if len(parts) > 0 {
		list = append(list, report.Section{Heading: "Metrics by workload and size", Blocks: []report.Block{metricTable(parts, names)}})
	}
	return list
}

// metricTable returns a table with one row per metric and one column per variant.
func metricTable(list []*sweep.Compared, names []string) *report.Table {
	t := &report.Table{Columns: report.Heads("metric")}
	for _, n := range names {
		t.Columns = append(t.Columns, report.Column{Name: n, Align: report.Right})
	}
	for _, m := range list {
		row := []report.Cell{{Text: metrics.Title(m.Name)}}
		for k := range names {
			row = append(row, metricCell(m, k))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// metricCell returns the cell of a variant and marks the best one, and drops.
func metricCell(m *sweep.Compared, i int) report.Cell {
	cell := report.Cell{Text: m.Cell(i)}
	if i == m.Best {
		cell.Mark = report.Best
	}
	if strings.HasPrefix(m.Name, "drops.") && m.Samples[i] != nil && m.Samples[i].Mean > 0 {
		cell.Mark = report.Bad
	}
	return cell
}

func caption(c *sweep.Comparison) string {
	for _, v := range c.Variants {
		if len(v.Seeds) > 1 {
			return "Error bars are 95 % intervals of the mean over seeds, cut at zero."
		}
	}
	return ""
}

// overview draws metrics by variant: lines if a number was varied, else bars.
func overview(c *sweep.Comparison, names []string) *plot.Figure {
	f := &plot.Figure{Colours: colours.Of, Title: "Metrics by variant"}
	axis, xs, groups := numberAxis(c.Variants)
	for _, fm := range figureMetrics {
		for i := range c.Metrics {
			m := &c.Metrics[i]
			if m.Name != fm.name || strings.HasPrefix(m.Name, "drops.") && !nonZero(m) {
				continue
			}
			p := plot.Panel{Title: fm.title, Y: fm.axis}
			slowdown := strings.HasPrefix(m.Name, "slowdown.")
			if spread(m) && (slowdown || axis != "") { // other bars start at zero
				p.Y.Log = true
			}
			if one := 1.0; p.Y.Log && slowdown { // no flow is faster than its ideal
				p.Y.Min = &one
			}
			if axis == "" {
				p.Kind, p.Categories = plot.Bars, names
				p.Series = []plot.Series{seriesOf(m, "", nil, all(len(names)))}
			} else {
				p.X.Label = axis
				p.X.Log = plot.Powers(xs)
				for _, g := range groups {
					p.Series = append(p.Series, seriesOf(m, g.name, xs, g.at))
				}
			}
			f.Panels = append(f.Panels, p)
		}
	}
	if len(f.Panels) == 4 {
		f.Columns = 2
	}
	return f
}

// lead returns the most important facts: lossless drops, unfinished flows, and the variants
// with the best and worst tail.
func lead(c *sweep.Comparison, names []string) string {
	var list []string
	of := func(name string) *sweep.Compared {
		i := slices.IndexFunc(c.Metrics, func(m sweep.Compared) bool { return m.Name == name && m.Group == "" })
		if i < 0 {
			return nil
		}
		return &c.Metrics[i]
	}
	for _, name := range []string{"drops.lossless", "flows.unfinished"} {
		if m := of(name); m != nil {
			if _, k := extremes(m); k >= 0 && m.Samples[k].Mean > 0 {
				list = append(list, fmt.Sprintf("%s: %s with %s.", metrics.Title(name), m.Text(k), names[k]))
			}
		}
	}
	for _, name := range []string{"slowdown.p99", "fct_ps.p99"} {
		m := of(name)
		if m == nil {
			continue
		}
		least, most := extremes(m)
		if least >= 0 && m.Samples[least].Mean < m.Samples[most].Mean {
			list = append(list, fmt.Sprintf("%s: lowest with %s (%s), highest with %s (%s).", metrics.Title(name), names[least], m.Text(least), names[most], m.Text(most)))
			break
		}
	}
	return strings.Join(list, " ")
}

// extremes returns the variants with the lowest and the highest mean, the first of equals,
// or -1 if no mean is known.
func extremes(m *sweep.Compared) (least, most int) {
	least, most = -1, -1
	for k, s := range m.Samples {
		if s == nil {
			continue
		}
		if least < 0 || s.Mean < m.Samples[least].Mean {
			least = k
		}
		if most < 0 || s.Mean > m.Samples[most].Mean {
			most = k
		}
	}
	return least, most
}

// spread reports whether the means of a metric span powers of ten.
func spread(m *sweep.Compared) bool {
	var list []float64
	for _, s := range m.Samples {
		if s != nil {
			list = append(list, s.Mean)
		}
	}
	return plot.Powers(list)
}

func nonZero(m *sweep.Compared) bool {
	for _, s := range m.Samples {
		if s != nil && s.Mean != 0 {
			return true
		}
	}
	return false
}

func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// seriesOf returns the samples of the variants at as a series. xs is nil for bars.
func seriesOf(m *sweep.Compared, name string, xs []float64, at []int) plot.Series {
	s := plot.Series{Name: name}
	several := false
	for _, i := range at {
		y, lo, hi := math.NaN(), math.NaN(), math.NaN()
		if v := m.Samples[i]; v != nil {
			y, lo, hi = v.Mean, max(v.Mean-v.Half, 0), v.Mean+v.Half
			several = several || v.N > 1
		}
		s.Y, s.Low, s.High = append(s.Y, y), append(s.Low, lo), append(s.High, hi)
		if xs != nil {
			s.X = append(s.X, xs[i])
		}
	}
	if !several {
		s.Low, s.High = nil, nil
	}
	return s
}

// line is a line of a figure: variants that differ only in the x value.
type line struct {
	name string
	at   []int
}

// numberAxis selects the numeric key with the most values as the x axis; the other keys
// distinguish lines. The key is empty if there is none, or too many lines for a figure.
func numberAxis(variants []*sweep.Variant) (key string, xs []float64, lines []line) {
	best, most := -1, 2
	for k := range variants[0].Keys {
		distinct := make(map[float64]bool)
		for _, v := range variants {
			x, ok := 0.0, len(v.Values) > k && len(v.Keys) > k && v.Keys[k] == variants[0].Keys[k]
			if ok {
				x, ok = number(v.Values[k])
			}
			if !ok {
				distinct = nil
				break
			}
			distinct[x] = true
		}
		if len(distinct) > most {
			best, most = k, len(distinct)
		}
	}
	if best < 0 {
		return "", nil, nil
	}
	at := make(map[string]int)
	for i, v := range variants {
		x, _ := number(v.Values[best])
		xs = append(xs, x)
		var rest []string
		for k, value := range v.Values {
			if k != best {
				rest = append(rest, value)
			}
		}
		name := strings.Join(rest, ", ")
		g, ok := at[name]
		if !ok {
			g = len(lines)
			at[name] = g
			lines = append(lines, line{name: name})
		}
		lines[g].at = append(lines[g].at, i)
	}
	if len(lines) > runreport.MaxCurves {
		return "", nil, nil
	}
	key = variants[0].Keys[best]
	return key[strings.LastIndexByte(key, '.')+1:], xs, lines
}

// number parses a decimal or a fraction: 0.5 or 1/2.
func number(text string) (float64, bool) {
	over := 1.0
	if a, b, ok := strings.Cut(text, "/"); ok {
		v, err := strconv.ParseFloat(b, 64)
		if err != nil || v == 0 {
			return 0, false
		}
		text, over = a, v
	}
	v, err := strconv.ParseFloat(text, 64)
	return v / over, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// slowdowns draws the slowdown distribution of each variant. It returns nil if there are too
// many variants or runs.
func slowdowns(variants []*sweep.Variant, names []string) (*plot.Figure, error) {
	n := 0
	for _, v := range variants {
		n += len(v.Runs)
	}
	if len(variants) > runreport.MaxCurves || n > maxRuns || n == 0 {
		return nil, nil
	}
	p := plot.Panel{Kind: plot.CDF, X: plot.Axis{Label: "slowdown", Log: true}, Y: plot.Axis{Label: "flows"}}
	for i, v := range variants {
		var runs [][]float64
		for _, folder := range v.Runs {
			list, err := runreport.ReadSlowdowns(folder)
			if err != nil {
				return nil, err
			}
			var values []float64
			for _, w := range list {
				values = append(values, w.Values...)
			}
			runs = append(runs, values)
		}
		s := plot.Spread(names[i], runs...)
		if len(runs) < 2 {
			s.Low, s.High = nil, nil
		}
		p.Series = append(p.Series, s)
	}
	return &plot.Figure{Colours: colours.Of, Title: "Distribution of slowdown", Panels: []plot.Panel{p}}, nil
}

// differSection lists the keys in which the scenarios differ.
func differSection(c *sweep.Comparison, names []string) report.Section {
	sec := report.Section{Heading: "Scenarios"}
	switch {
	case len(c.Differ) == 0:
		sec.Add(report.Paragraph("The scenarios differ only in the seed."))
		return sec
	case len(names) > maxColumns:
		var keys []string
		for _, d := range c.Differ {
			keys = append(keys, d.Key)
		}
		sec.Add(report.Paragraph("The scenarios differ in: " + strings.Join(keys, ", ") + "."))
		return sec
	}
	t := &report.Table{Caption: "Keys whose values differ between scenarios", Columns: report.Heads("key")}
	for _, n := range names {
		t.Columns = append(t.Columns, report.Column{Name: n})
	}
	for i, d := range c.Differ {
		if i == maxDiffer {
			sec.Add(report.Paragraph(fmt.Sprintf("%d more keys differ.", len(c.Differ)-i)))
			break
		}
		row := []report.Cell{{Text: d.Key}}
		for _, v := range d.Values {
			if v == "" {
				v = "-"
			}
			row = append(row, report.Cell{Text: v})
		}
		t.Rows = append(t.Rows, row)
	}
	sec.Add(t)
	return sec
}
