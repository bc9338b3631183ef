package reproduce

import (
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/plot"
)

// Draw makes the figure of an experiment; nil when it has none.
func (e *Experiment) Draw(r *Result) *plot.Figure {
	if len(e.Panels) == 0 {
		return nil
	}
	f := &plot.Figure{Title: e.Figure + ": " + e.Title}
	for i := range e.Panels {
		f.Panels = append(f.Panels, e.panel(r, &e.Panels[i]))
	}
	return f
}

func (e *Experiment) panel(r *Result, p *Panel) plot.Panel {
	first := e.metric(p.Metrics[0])
	label := or(p.Y, first.Title)
	unit := first.Unit
	if p.Normalise != "" {
		label, unit = label+", "+p.Normalise+" = 1", ""
	}
	panel := plot.Panel{Title: p.Title, Y: axis(label, unit)}
	if p.Max > 0 {
		panel.Y.Max = &p.Max
	}
	xs := e.Scale(r.Scale).X
	switch p.Kind {
	case "cdf":
		panel.Kind, panel.X, panel.Y = plot.CDF, panel.Y, plot.Axis{}
	case "bars":
		panel.Kind, panel.X.Label, panel.Categories = plot.Bars, e.X.Title, xs
	default:
		panel.X.Label = e.X.Title
	}
	for _, scheme := range e.schemeNames() {
		if len(p.Schemes) > 0 && !has(p.Schemes, scheme) {
			continue
		}
		for i, name := range p.Metrics {
			title := scheme
			if len(p.Metrics) > 1 {
				title += ", " + e.metric(name).Title
			}
			list := e.cdfs
			if p.Kind != "cdf" {
				list = e.series
			}
			for _, s := range list(r, p, scheme, name, title) {
				if len(p.Metrics) > 1 { // one colour for a scheme, the first metric stands out
					s.Style = plot.Style{Like: scheme, Dash: [...]plot.Dash{plot.Solid, plot.Dashed, plot.Dotted, plot.DashDot}[i%4]}
				}
				panel.Series = append(panel.Series, s)
			}
		}
	}
	return panel
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// axis labels an axis with a unit of its own: values come as they are to be shown.
func axis(label, unit string) plot.Axis {
	switch unit {
	case "":
		return plot.Axis{Label: label}
	case "%":
		return plot.Axis{Label: label, Unit: plot.Percent}
	}
	return plot.Axis{Label: label + " (" + unit + ")"}
}

// cdfs are the distributions of a metric, one per x: the mean over seeds, within
// the least and greatest.
func (e *Experiment) cdfs(r *Result, p *Panel, scheme, metric, title string) []plot.Series {
	xs := e.Scale(r.Scale).X
	if len(xs) == 0 {
		xs = []string{""}
	}
	var list []plot.Series
	for _, x := range xs {
		var runs [][]float64
		for i := range r.Points {
			d := r.Points[i].Distributions[metric]
			if r.Points[i].Place == (Place{p.Case, scheme, x}) && d != nil && len(d.Quantiles) > 0 {
				runs = append(runs, d.Quantiles[1:]) // as many samples as there are steps
			}
		}
		list = append(list, plot.Spread(strings.TrimSuffix(title+", "+x, ", "), runs...))
	}
	return list
}

// series is a metric over x with its interval over seeds.
func (e *Experiment) series(r *Result, p *Panel, scheme, metric, title string) []plot.Series {
	s := plot.Series{Name: title}
	xs := e.Scale(r.Scale).X
	if len(xs) == 0 {
		xs = []string{""}
	}
	for i, x := range xs {
		values, ok := r.series(e, Place{p.Case, scheme, x}, metric, p.Statistic)
		if ok && p.Normalise != "" {
			base, known := r.series(e, Place{p.Case, p.Normalise, x}, metric, p.Statistic)
			values, ok = divided(values, base), known && len(base) == len(values)
		}
		if !ok || len(values) == 0 {
			continue
		}
		at, err := strconv.ParseFloat(x, 64)
		if err != nil {
			at = float64(i)
		}
		v := sample(values)
		s.X, s.Y = append(s.X, at), append(s.Y, v.Mean)
		if v.N > 1 {
			s.Low, s.High = append(s.Low, v.Mean-v.Half), append(s.High, v.Mean+v.Half)
		}
	}
	return []plot.Series{s}
}

// divided is a over b, seed by seed; nil where that is not possible.
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
