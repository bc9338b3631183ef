package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
)

// published returns the values of a scheme from another source as a series.
func (e *Experiment) published(r *Result, p *Panel, scheme string, values map[string]float64) plot.Series {
	s := plot.Series{Name: scheme + ", " + p.Published.Name, Style: plot.Style{Like: scheme, Dash: plot.Dotted}}
	for _, x := range e.axis(r) {
		if y, ok := values[x]; ok {
			at, _ := xNumber(x)
			s.X, s.Y = append(s.X, at), append(s.Y, y)
		}
	}
	return s
}

// besidePublished returns a table of our values beside the published ones, with the median of the
// absolute differences, or nil if there are none.
func (e *Experiment) besidePublished(r *Result) *report.Table {
	t := &report.Table{
		CSV:     strings.ReplaceAll(e.ID, "/", "-") + "-published.csv",
		Columns: report.Heads("panel", "scheme", cmp.Or(e.X.Title, "x"), "published|", "xoff|", "low|", "high|", "difference|"),
	}
	var all []float64
	apart := make(map[string][]float64) // by scheme
	var sources []string
	for i := range e.Panels {
		p := &e.Panels[i]
		for _, scheme := range e.schemeNames() {
			values := p.Published.Values[scheme]
			if values == nil {
				continue
			}
			ours := e.series(r, p, scheme, p.Metrics[0], scheme)[0]
			for k, x := range e.axis(r) {
				want, known := values[x]
				if !known || math.IsNaN(ours.Y[k]) {
					continue
				}
				difference := ours.Y[k] - want
				all, apart[scheme] = append(all, math.Abs(difference)), append(apart[scheme], math.Abs(difference))
				low, high := "", ""
				if !math.IsNaN(ours.Low[k]) {
					low, high = threeDecimals(ours.Low[k]), threeDecimals(ours.High[k])
				}
				t.Row(p.Title, scheme, x, threeDecimals(want), threeDecimals(ours.Y[k]), low, high, fmt.Sprintf("%+.3f", difference))
				if !slices.Contains(sources, p.Published.Name) {
					sources = append(sources, p.Published.Name)
				}
			}
		}
	}
	if all == nil {
		return nil
	}
	var each []string
	for _, scheme := range e.schemeNames() {
		if list := apart[scheme]; list != nil {
			each = append(each, fmt.Sprintf("%s %s (%d)", scheme, threeDecimals(median(list)), len(list)))
		}
	}
	t.Caption = fmt.Sprintf("Beside %s: the median absolute difference of %d points is %s. By scheme: %s.",
		strings.Join(sources, ", "), len(all), threeDecimals(median(all)), strings.Join(each, ", "))
	return t
}

func threeDecimals(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
