package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
)

// maxSeries is the largest number of series of a panel; maxTraces that over time.
const (
	maxSeries = 12
	maxTraces = 7
)

// Figure is a figure with the data behind it.
type Figure struct {
	Plot   *plot.Figure
	Kind   string
	plan   *plan
	points []point
	cells  []*cell
	names  []string             // of the panels, as in cells
	axes   map[string]plot.Axis // of the metric, by panel
}

// point is a drawn point, in the units of results.
type point struct {
	panel, series, x string
	numbers          []float64
}

// Draw returns the figure of a query.
func (d *Data) Draw(q *Query) (*Figure, error) {
	p, err := d.plan(q)
	if err != nil {
		return nil, err
	}
	f := &Figure{Kind: p.Kind, plan: p, axes: make(map[string]plot.Axis), Plot: &plot.Figure{Title: q.Title, Colours: colours.Of, Print: q.Print}}
	if f.cells, err = d.collect(p); err != nil {
		return nil, err
	}
	var panels []string
	for _, c := range f.cells {
		if !slices.Contains(panels, c.panel) {
			panels = append(panels, c.panel)
		}
	}
	empty := true
	for _, name := range panels {
		cells := slices.Clone(f.cells)
		cells = slices.DeleteFunc(cells, func(c *cell) bool { return c.panel != name })
		panel, err := f.panel(d, name, cells)
		if err != nil {
			return nil, err
		}
		f.names = append(f.names, name)
		f.Plot.Panels = append(f.Plot.Panels, *panel)
		for _, c := range cells {
			empty = empty && len(c.sources) == 0
		}
	}
	if len(panels) == 4 {
		f.Plot.Columns = 2
	}
	if empty {
		return nil, fmt.Errorf("no run has a value of %s (expected a metric that is known in some run)", p.metrics[0].typed)
	}
	return f, nil
}

// panel draws a panel.
func (f *Figure) panel(d *Data, name string, cells []*cell) (*plot.Panel, error) {
	m := cells[0].metric
	y := d.label(m)
	if f.plan.YLabel != "" {
		y.Label = f.plan.YLabel
	}
	f.axes[name] = y
	p := &plot.Panel{Title: name, Y: y}
	if f.plan.panels == "" { // the metrics are labels already
		p.Title = ""
	}
	if key := f.plan.x; key != "" {
		p.X.Label = strings.ReplaceAll(d.shortKey(key), "_", " ")
		if d.experiment != nil && key == "x" && d.experiment.X.Title != "" {
			p.X.Label = d.experiment.X.Title
		}
	}
	names, of := bySeries(cells)
	var err error
	switch f.Kind {
	case "cdf":
		f.cdf(p, names, of)
	case "time":
		f.overTime(p, names, of)
	case "lines":
		err = f.lines(d, p, names, of)
	default:
		f.categories(d, p, names, of)
	}
	if err == nil && len(p.Series) > maxSeries && f.Kind != "heat" {
		err = fmt.Errorf("a panel would have %d series (expected at most %d; choose keys with --by or --panels, or runs with --where KEY=VALUE)", len(p.Series), maxSeries)
	}
	f.finish(p)
	return p, err
}

// finish applies the labels and scales that the query names.
func (f *Figure) finish(p *plot.Panel) {
	if f.plan.XLabel != "" {
		p.X.Label = f.plan.XLabel
	}
	switch log := f.plan.Log; {
	case log == "none":
		p.X.Log, p.Y.Log, p.Z.Log = false, false, false
	case log != "":
		p.X.Log, p.Y.Log = strings.Contains(log, "x"), strings.Contains(log, "y")
		p.Z.Log = p.Y.Log
	}
	if len(p.Series) == 1 && f.Kind != "heat" {
		p.Series[0].Name = "" // one series needs no legend
	}
}

// bySeries groups cells by series, in order.
func bySeries(cells []*cell) (names []string, of map[string][]*cell) {
	of = make(map[string][]*cell)
	for _, c := range cells {
		if of[c.series] == nil {
			names = append(names, c.series)
		}
		of[c.series] = append(of[c.series], c)
	}
	return names, of
}

func (f *Figure) point(c *cell, x string, numbers ...float64) {
	f.points = append(f.points, point{c.panel, c.series, x, numbers})
}

func scaled(list []float64, by float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = v * by
	}
	return out
}

// cdf draws distributions: the mean of the runs, with their extremes as a band.
func (f *Figure) cdf(p *plot.Panel, names []string, of map[string][]*cell) {
	p.Kind, p.X, p.Y = plot.CDF, p.Y, plot.Axis{Label: "share"}
	var all []float64
	for _, name := range names {
		c := of[name][0]
		runs := make([][]float64, 0, len(c.runs))
		for _, r := range c.runs {
			runs = append(runs, r.values)
		}
		if c.metric.perRun() {
			runs = [][]float64{c.values} // over runs
		} else if c.sources[0].record.stored == nil && c.metric.table == flowsTable {
			p.Y.Label = "flows"
		}
		s := plot.Spread(name, runs...)
		for i := range s.X {
			f.point(c, number(s.X[i]), s.Y[i], s.Low[i], s.High[i], float64(len(c.sources)))
		}
		all = append(all, s.X...)
		s.X = scaled(s.X, scale(p.X.Unit))
		if len(runs) < 2 {
			s.Low, s.High = nil, nil
		}
		p.Series = append(p.Series, s)
	}
	p.X.Log = plot.Powers(all)
}

// sample returns the mean of values with the ends of its 95 % interval, cut at zero if no
// value is negative.
func sample(values []float64) (mean, low, high float64, ok bool) {
	s, ok := sweep.SampleOf(values)
	if !ok {
		return math.NaN(), math.NaN(), math.NaN(), false
	}
	low, high = s.Mean-s.Half, s.Mean+s.Half
	if s.Min >= 0 {
		low = max(low, 0)
	}
	return s.Mean, low, high, true
}

// lines draws means over a number.
func (f *Figure) lines(d *Data, p *plot.Panel, names []string, of map[string][]*cell) error {
	if key := f.plan.x; key == keySize || key == keyWorkload {
		return fmt.Errorf("%s has no numbers (expected --kind bars or box)", key)
	}
	values := d.xLevels(f.plan)
	xs, unit, ok := quantities(values)
	if !ok {
		return fmt.Errorf("%s has values that are not numbers of one unit, such as %s (expected another --x, or --kind bars)", f.plan.x, values[0])
	}
	if p.X.Unit = unit; unit == plot.Plain {
		p.X.Log = false
	}
	by := scale(p.Y.Unit)
	for _, name := range names {
		s := plot.Series{Name: name}
		several := false
		for i, v := range values {
			for _, c := range of[name] {
				if c.x != v {
					continue
				}
				if mean, low, high, ok := sample(c.values); ok {
					several = several || len(c.values) > 1
					s.X, s.Y = append(s.X, xs[i]), append(s.Y, mean*by)
					s.Low, s.High = append(s.Low, low*by), append(s.High, high*by)
					f.point(c, v, mean, low, high, float64(len(c.values)))
				}
			}
		}
		if !several {
			s.Low, s.High = nil, nil
		}
		p.Series = append(p.Series, s)
	}
	return nil
}

// categories draws bars, boxes or a heat map.
func (f *Figure) categories(d *Data, p *plot.Panel, names []string, of map[string][]*cell) {
	levels := d.xLevels(f.plan)
	levels = slices.DeleteFunc(levels, func(x string) bool { // none of this panel
		for _, cells := range of {
			if slices.ContainsFunc(cells, func(c *cell) bool { return c.x == x }) {
				return false
			}
		}
		return true
	})
	for _, x := range levels {
		p.Categories = append(p.Categories, sweep.ShortValue(x))
	}
	by := scale(p.Y.Unit)
	for _, name := range names {
		s := plot.Series{Name: name}
		several := false
		for _, x := range levels {
			at := slices.IndexFunc(of[name], func(c *cell) bool { return c.x == x })
			var c *cell
			if at >= 0 {
				c = of[name][at]
			}
			if f.Kind == "box" {
				s.Boxes = append(s.Boxes, f.box(c, by))
				continue
			}
			mean, low, high := math.NaN(), math.NaN(), math.NaN()
			if c != nil {
				var ok bool
				if mean, low, high, ok = sample(c.values); ok {
					several = several || len(c.values) > 1
					f.point(c, x, mean, low, high, float64(len(c.values)))
				}
			}
			s.Y, s.Low, s.High = append(s.Y, mean*by), append(s.Low, low*by), append(s.High, high*by)
		}
		if !several {
			s.Low, s.High = nil, nil
		}
		p.Series = append(p.Series, s)
	}
	switch f.Kind {
	case "bars":
		p.Kind = plot.Bars
	case "box":
		p.Kind = plot.Boxes
	case "heat":
		p.Kind, p.Z = plot.Heat, p.Y
		short := make([]string, len(f.plan.by))
		for i, k := range f.plan.by {
			short[i] = d.shortKey(k)
		}
		p.Y = plot.Axis{Label: strings.Join(short, ", ")}
		if len(short) == 1 { // the axis names the key
			for i := range p.Series {
				p.Series[i].Name = strings.TrimPrefix(p.Series[i].Name, short[0]+"=")
			}
		}
	}
}

// boxShares are the quantiles of a box.
var boxShares = [5]float64{0.01, 0.25, 0.5, 0.75, 0.99}

// box summarises the values of all runs of a cell.
func (f *Figure) box(c *cell, by float64) plot.Box {
	unknown := plot.Box{Low: math.NaN()}
	if c == nil {
		return unknown
	}
	values := slices.Clone(c.values)
	for _, r := range c.runs {
		values = append(values, r.values...)
	}
	values = slices.DeleteFunc(values, math.IsNaN)
	if len(values) == 0 {
		return unknown
	}
	slices.Sort(values)
	var q [5]float64
	numbers := make([]float64, 0, len(q)+1)
	for i, share := range boxShares {
		q[i] = values[max(int(math.Ceil(share*float64(len(values))))-1, 0)]
		numbers = append(numbers, q[i])
	}
	f.point(c, c.x, append(numbers, float64(len(values)))...)
	return plot.Box{Low: q[0] * by, Q1: q[1] * by, Median: q[2] * by, Q3: q[3] * by, High: q[4] * by}
}

// overTime draws columns over time. Values of a run at the same time are added. The line is
// the mean of the runs, the band spans them.
func (f *Figure) overTime(p *plot.Panel, names []string, of map[string][]*cell) {
	p.X = plot.Axis{Label: "time", Unit: plot.Seconds, Common: true}
	by := scale(p.Y.Unit)
	for _, name := range names {
		c := of[name][0]
		s := plot.Series{Name: name, Style: plot.Style{Plain: true}}
		for _, t := range merge(c.runs) {
			s.X, s.Y = append(s.X, t.time*1e-12), append(s.Y, t.mean*by)
			s.Low, s.High = append(s.Low, t.low*by), append(s.High, t.high*by)
			f.point(c, number(t.time), t.mean, t.low, t.high, float64(t.runs))
		}
		if len(c.runs) < 2 {
			s.Low, s.High = nil, nil
		}
		p.Series = append(p.Series, s)
	}
	if n := len(p.Series); n > maxTraces {
		panel := of[names[0]][0].panel
		slices.SortStableFunc(p.Series, func(a, b plot.Series) int {
			return -cmp.Compare(slices.Max(append(a.Y, 0)), slices.Max(append(b.Y, 0)))
		})
		p.Series = p.Series[:maxTraces]
		p.Notes = append(p.Notes, fmt.Sprintf("the %d largest of %d series", maxTraces, n))
		kept := func(pt point) bool {
			return slices.ContainsFunc(p.Series, func(s plot.Series) bool { return s.Name == pt.series })
		}
		f.points = slices.DeleteFunc(f.points, func(pt point) bool { return pt.panel == panel && !kept(pt) })
		f.cells = slices.DeleteFunc(f.cells, func(c *cell) bool {
			return c.panel == panel && !kept(point{series: c.series})
		})
	}
}

// instant is the value of a series at a time.
type instant struct {
	time, mean, low, high float64
	runs                  int
}

// merge joins the values of runs by time.
func merge(runs []rows) []instant {
	type key struct {
		time float64
		run  int
	}
	sums := make(map[key]float64)
	var times []float64
	for i, r := range runs {
		for k, t := range r.times {
			times = append(times, t)
			sums[key{t, i}] += r.values[k]
		}
	}
	slices.Sort(times)
	var list []instant
	for _, t := range slices.Compact(times) {
		in := instant{time: t, low: math.Inf(1), high: math.Inf(-1)}
		for i := range runs {
			if v, ok := sums[key{t, i}]; ok {
				in.runs++
				in.mean += v
				in.low, in.high = min(in.low, v), max(in.high, v)
			}
		}
		in.mean /= float64(in.runs)
		list = append(list, in)
	}
	return list
}

// Name returns a file name for the figure, without extension: its kind and metric.
func (f *Figure) Name() string {
	return f.Kind + "-" + strings.NewReplacer("/", "-", ".", "-", " ", "-").Replace(f.plan.metrics[0].typed)
}
