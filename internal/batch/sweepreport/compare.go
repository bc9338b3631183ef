// Package sweepreport writes reports that compare several runs, for xoff compare, sweep and
// report.
package sweepreport

import (
	"fmt"
	"math"
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

// maxPanels is the maximum number of chosen metrics in a figure.
const maxPanels = 12

// figureMetric is a metric in the overview figure.
type figureMetric struct {
	name, title string
	axis        plot.Axis
}

// figureMetrics are the metrics in the overview figure, unless the user chose others.
var figureMetrics = []figureMetric{
	{"slowdown.p50", "Slowdown, median", plot.Axis{Label: "slowdown"}},
	{"slowdown.p99", "Slowdown, 99th percentile", plot.Axis{Label: "slowdown"}},
	{"pauses.pauses", "Pauses", plot.Axis{Label: "pauses"}},
	{"buffer.peak_bytes", "Buffer peak of a switch", plot.Axis{Label: "bytes", Unit: plot.Bytes}},
	{"drops.lossless", "Lossless drops", plot.Axis{Label: "frames"}},
	{"drops.overflow", "Lossy drops", plot.Axis{Label: "frames"}},
}

// Document returns the report of result folders: of a single run, or a comparison of
// variants by the chosen metrics, or by the default ones if there are none.
func Document(folders, chosen []string) (*report.Document, error) {
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
	return Compare(title, variants, chosen)
}

// Compare returns the report of a comparison of variants. Chosen metrics select tables and
// figures; without any, both show what matters.
func Compare(title string, variants []*sweep.Variant, chosen []string) (*report.Document, error) {
	c, err := sweep.Compare(variants, chosen)
	if err != nil {
		return nil, err
	}
	names := sweep.ShortNames(variants)
	d := &report.Document{Title: title, Subtitle: fmt.Sprintf("%d variants; %s", len(variants), c.Confidence())}
	d.Badges = troubles(variants)
	figures := report.Section{Heading: "Figures"}
	if lines := c.Headline(names); len(lines) > 0 {
		figures.Add(report.Lead(lines[0]))
		if len(lines) > 1 {
			figures.Add(report.List(lines[1:]))
		}
	}
	if f := overview(c, names, len(chosen) > 0); len(f.Panels) > 0 {
		figures.Add(&report.Figure{Name: "metrics", Plot: f, Caption: caption(c)})
	}
	if len(chosen) == 0 || slices.ContainsFunc(c.Metrics, func(m sweep.Compared) bool { return strings.Contains(m.Name, "slowdown.") }) {
		list, err := slowdowns(variants, names)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			figures.Add(f)
		}
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

// metricSections returns the metrics that matter and a section with the others: one column per
// variant if they fit, else one row per variant.
func metricSections(c *sweep.Comparison, names []string) []report.Section {
	sec := report.Section{Heading: "Metrics"}
	sec.Add(report.Paragraph("Mean over seeds ± half of the 95 % interval. * better than every other variant: the 95 % interval of each difference excludes 0. ~ best mean, perhaps by chance. = equal to the first variant."))
	most, rest := c.Essence(sweep.Rows)
	table := metricTable
	if len(names) > maxColumns {
		table = variantTable
	}
	sec.Add(table(most.Metrics, names))
	list := []report.Section{sec}
	if len(rest.Metrics) > 0 {
		list = append(list, report.Section{Heading: "More metrics", Blocks: []report.Block{table(rest.Metrics, names)}})
	}
	return list
}

// variantTable returns a table with one row per variant and one column per metric.
func variantTable(list []sweep.Compared, names []string) *report.Table {
	t := &report.Table{Columns: report.Heads("variant")}
	for i := range list {
		t.Columns = append(t.Columns, report.Column{Name: metrics.Title(list[i].Name), Align: report.Right})
	}
	for k, n := range names {
		row := []report.Cell{{Text: n}}
		for i := range list {
			row = append(row, metricCell(&list[i], k))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// metricTable returns a table with one row per metric and one column per variant.
func metricTable(list []sweep.Compared, names []string) *report.Table {
	t := &report.Table{Columns: report.Heads("metric")}
	for _, n := range names {
		t.Columns = append(t.Columns, report.Column{Name: n, Align: report.Right})
	}
	for i := range list {
		m := &list[i]
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

// overview draws metrics by variant: lines if a number was varied, else bars. It draws
// figureMetrics, or all metrics of the comparison.
func overview(c *sweep.Comparison, names []string, all bool) *plot.Figure {
	f := &plot.Figure{Colours: colours.Of, Title: "Metrics by variant"}
	axis, xs, groups := numberAxis(c.Variants)
	chosen := figureMetrics
	if all {
		chosen = nil
		for i := range c.Metrics[:min(len(c.Metrics), maxPanels)] {
			name := c.Metrics[i].Name
			chosen = append(chosen, figureMetric{name, metrics.Title(name), axisOf(name)})
		}
	}
	for _, fm := range chosen {
		for i := range c.Metrics {
			m := &c.Metrics[i]
			if m.Name != fm.name || !all && strings.HasPrefix(m.Name, "drops.") && !nonZero(m) {
				continue
			}
			p := plot.Panel{Title: fm.title, Y: fm.axis}
			slowdown := strings.Contains(m.Name, "slowdown.")
			if spread(m) && (slowdown || axis != "") { // other bars start at zero
				p.Y.Log = true
			}
			if one := 1.0; p.Y.Log && slowdown { // no flow is faster than its ideal
				p.Y.Min = &one
			}
			if axis == "" {
				p.Kind, p.Categories = plot.Bars, names
				p.Series = []plot.Series{seriesOf(m, "", nil, upTo(len(names)))}
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

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// seriesOf returns the samples of the variants at as a series. xs is nil for bars.
func seriesOf(m *sweep.Compared, name string, xs []float64, at []int) plot.Series {
	s := plot.Series{Name: name}
	several, scale := false, 1.0
	if strings.Contains(m.Name, "_ps") {
		scale = 1e-12
	}
	for _, i := range at {
		y, lo, hi := math.NaN(), math.NaN(), math.NaN()
		if v := m.Samples[i]; v != nil {
			y, lo, hi = v.Mean*scale, max(v.Mean-v.Half, 0)*scale, (v.Mean+v.Half)*scale
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
