package reproduce

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
)

// Draw returns the figure of an experiment, or nil if it has none.
func (e *Experiment) Draw(r *Result) *plot.Figure {
	if len(e.Panels) == 0 {
		return nil
	}
	f := &plot.Figure{Colours: colours.Of, Title: e.Figure + ": " + e.Title}
	for i := range e.Panels {
		f.Panels = append(f.Panels, e.panel(r, &e.Panels[i]))
	}
	return f
}

func (e *Experiment) panel(r *Result, p *Panel) plot.Panel {
	first := e.metric(p.Metrics[0])
	label := cmp.Or(p.Y, first.Title)
	unit := first.Unit
	if p.Normalise != "" {
		label, unit = label+", "+p.Normalise+" = 1", ""
	}
	panel := plot.Panel{Title: p.Title, Y: axis(label, unit)}
	if p.Max > 0 {
		panel.Y.Max = &p.Max
	}
	switch p.Kind {
	case "cdf":
		panel.Kind, panel.X, panel.Y = plot.CDF, panel.Y, plot.Axis{}
	case "trace":
		panel.X.Label = "time (us)"
	case "bars":
		panel.Kind, panel.X.Label, panel.Categories = plot.Bars, e.X.Title, e.axis(r)
	default:
		panel.X.Label = e.X.Title
	}
	for _, scheme := range e.schemeNames() {
		if len(p.Schemes) > 0 && !slices.Contains(p.Schemes, scheme) {
			continue
		}
		for i, name := range p.Metrics {
			title := scheme
			if len(p.Metrics) > 1 {
				title += ", " + e.metric(name).Title
			}
			list := e.series
			switch {
			case p.Kind == "trace":
				list = e.traces
			case p.Kind == "cdf" && e.metric(name).Distribution():
				list = e.cdfs
			case p.Kind == "cdf":
				list = e.cdfOverSeeds
			}
			for _, s := range list(r, p, scheme, name, title) {
				if len(p.Metrics) > 1 { // one colour per scheme, solid lines for the first metric
					s.Style = plot.Style{Like: scheme, Dash: [...]plot.Dash{plot.Solid, plot.Dashed, plot.Dotted, plot.DashDot}[i%4]}
				}
				panel.Series = append(panel.Series, s)
			}
		}
		if values := p.Published.Values[scheme]; values != nil {
			panel.Series = append(panel.Series, e.published(r, p, scheme, values))
		}
	}
	return panel
}

// axis returns an axis whose label contains the unit: values are drawn unscaled.
func axis(label, unit string) plot.Axis {
	switch unit {
	case "":
		return plot.Axis{Label: label}
	case "%":
		return plot.Axis{Label: label, Unit: plot.Percent}
	}
	return plot.Axis{Label: label + " (" + unit + ")"}
}

// axis returns the values of x, or one empty value if there are none.
func (e *Experiment) axis(r *Result) []string {
	if xs := e.Scale(r.Scale).X; len(xs) > 0 {
		return xs
	}
	return []string{""}
}

// xNumber parses a value of x as a number: 0.5 or 1/2.
func xNumber(x string) (float64, bool) {
	if r, ok := new(big.Rat).SetString(x); ok {
		v, _ := r.Float64()
		return v, true
	}
	return 0, false
}

// each calls f for every value of x with its points, by seed.
func (e *Experiment) each(r *Result, c, scheme string, f func(x string, points []*PointResult)) {
	for _, x := range e.axis(r) {
		var points []*PointResult
		for i := range r.Points {
			if r.Points[i].Position == (Position{c, scheme, x}) {
				points = append(points, &r.Points[i])
			}
		}
		f(x, points)
	}
}

// traces returns a metric over time, one series per x: the mean over seeds, with minimum
// and maximum as a band. Seeds whose times differ from the first seed's are skipped.
func (e *Experiment) traces(r *Result, p *Panel, scheme, metric, title string) []plot.Series {
	var list []plot.Series
	e.each(r, p.Case, scheme, func(x string, points []*PointResult) {
		s := plot.Series{Name: strings.TrimSuffix(title+", "+x, ", "), Style: plot.Style{Plain: true}}
		n := 0.0
		for _, point := range points {
			d := point.Distributions[metric]
			if d == nil || d.Trace == nil || s.X != nil && !slices.Equal(s.X, d.Trace.X) {
				continue
			}
			n++
			if s.X == nil {
				s.X, s.Y = d.Trace.X, slices.Clone(d.Trace.Y)
				s.Low, s.High = slices.Clone(s.Y), slices.Clone(s.Y)
				continue
			}
			for i, y := range d.Trace.Y {
				s.Y[i] += y
				s.Low[i], s.High[i] = min(s.Low[i], y), max(s.High[i], y)
			}
		}
		for i := range s.Y {
			s.Y[i] /= n
		}
		list = append(list, s)
	})
	return list
}

// cdfOverSeeds returns the distribution of a number over runs, one series per x. Shares are
// relative to all runs, including runs without the number, so it may end below 1.
func (e *Experiment) cdfOverSeeds(r *Result, p *Panel, scheme, metric, title string) []plot.Series {
	var list []plot.Series
	e.each(r, p.Case, scheme, func(x string, points []*PointResult) {
		var values []float64
		for _, point := range points {
			if v, ok := point.Values[metric]; ok {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		s := plot.Series{Name: strings.TrimSuffix(title+", "+x, ", "), X: []float64{0}, Y: []float64{0}}
		for i, v := range values {
			s.X, s.Y = append(s.X, v), append(s.Y, float64(i+1)/float64(len(points)))
		}
		list = append(list, s)
	})
	return list
}

// cdfs returns the distributions of a metric, one series per x: the mean over seeds, with
// minimum and maximum as a band.
func (e *Experiment) cdfs(r *Result, p *Panel, scheme, metric, title string) []plot.Series {
	var list []plot.Series
	e.each(r, p.Case, scheme, func(x string, points []*PointResult) {
		var runs [][]float64
		for _, point := range points {
			if d := point.Distributions[metric]; d != nil && len(d.Quantiles) > 0 {
				runs = append(runs, d.Quantiles[1:]) // one sample per step
			}
		}
		list = append(list, plot.Spread(strings.TrimSuffix(title+", "+x, ", "), runs...))
	})
	return list
}

// series returns a metric over x with its interval over seeds; NaN is a gap.
func (e *Experiment) series(r *Result, p *Panel, scheme, metric, title string) []plot.Series {
	s := plot.Series{Name: title}
	for i, x := range e.axis(r) {
		values, ok := r.series(e, Position{p.Case, scheme, x}, metric, p.Statistic)
		if ok && p.Normalise != "" {
			base, known := r.series(e, Position{p.Case, p.Normalise, x}, metric, p.Statistic)
			values, ok = divided(values, base), known
		}
		at, numeric := xNumber(x)
		if !numeric {
			at = float64(i)
		}
		v, half := math.NaN(), math.NaN()
		if ok && len(values) > 0 {
			m := sample(values)
			if v = m.Mean; m.N > 1 && !r.sameForAllSeeds(Position{p.Case, scheme, x}) {
				half = m.Half
			}
		}
		s.X, s.Y, s.Low, s.High = append(s.X, at), append(s.Y, v), append(s.Low, v-half), append(s.High, v+half)
	}
	return []plot.Series{s}
}

// divided returns a[i]/b[i], or nil if the lengths differ or a divisor is 0.
func divided(a, b []float64) []float64 {
	if len(a) != len(b) {
		return nil
	}
	var list []float64
	for i := range a {
		if b[i] == 0 {
			return nil
		}
		list = append(list, a[i]/b[i])
	}
	return list
}
