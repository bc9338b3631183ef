package reproduce

import (
	"cmp"
	"fmt"
	"math"

	"github.com/xoff-net/xoff/internal/render/plot"
)

// Names of series in figures that compare a paper with xoff.
const (
	seriesOurs  = "xoff"
	seriesPaper = "paper"
	seriesBand  = "equal, with the band of 25 % or 5 points"
)

// comparisonColours returns the colours of these series.
func comparisonColours(name string) (plot.Colour, bool) {
	switch name {
	case seriesOurs:
		return plot.ColourNamed("sky")
	case seriesPaper:
		return plot.ColourNamed("vermillion")
	case seriesBand:
		return plot.ColourNamed("grey")
	}
	return 0, false
}

// Axes of comparisons end at limit per cent. Larger numbers are drawn at the end.
const limit = 100.0

func clamped(v float64) float64 { return min(max(v, -limit), limit) }

// changeAxis is an axis of changes.
func changeAxis(label string) plot.Axis {
	lo, hi := -limit, limit
	return plot.Axis{Label: label, Unit: plot.Percent, Min: &lo, Max: &hi}
}

// outlier is the distance in percentage points from which a point of the scatter plot has a
// label.
const outlier = 40.0

// scatter returns the plot of the published changes against ours, or nil if there are none.
func scatter(boards []*scoreboard) *plot.Figure {
	band := plot.Series{Name: seriesBand, Style: plot.Style{Dash: plot.Solid, Plain: true}}
	for x := -limit; x <= limit; x += 2 {
		width := max(closePoints, closeFraction*math.Abs(x))
		band.X, band.Y = append(band.X, x), append(band.Y, x)
		band.Low, band.High = append(band.Low, clamped(x-width)), append(band.High, clamped(x+width))
	}
	panel := plot.Panel{X: changeAxis("change in the paper"), Y: changeAxis("change in xoff"), Series: []plot.Series{band}}
	for _, b := range boards {
		s := plot.Series{Name: b.paper.short(), Style: plot.Style{Points: true}}
		for _, row := range b.rows {
			furthest := -1 // of the outliers of the row
			for _, p := range row.parts {
				paper, ours, ok := p.change()
				if !ok {
					continue
				}
				if off := math.Abs(ours - paper); off > outlier && (furthest < 0 || off > math.Abs(s.Y[furthest]-s.X[furthest])) {
					furthest = len(s.X)
				}
				low, high := math.NaN(), math.NaN()
				if p.j.Known {
					low, high = clamped(p.j.Low), clamped(p.j.High)
				}
				s.X, s.Y = append(s.X, clamped(paper)), append(s.Y, ours)
				s.Low, s.High = append(s.Low, low), append(s.High, high)
				s.Labels = append(s.Labels, "")
			}
			if furthest >= 0 {
				s.Labels[furthest] = row.ID
				if math.Abs(s.Y[furthest]) > limit {
					s.Labels[furthest] += fmt.Sprintf(" %+.0f %%", s.Y[furthest])
				}
			}
		}
		for i := range s.Y {
			s.Y[i] = clamped(s.Y[i])
		}
		if s.X != nil {
			panel.Series = append(panel.Series, s)
		}
	}
	if len(panel.Series) == 1 {
		return nil
	}
	return &plot.Figure{Title: "Published changes and ours", Panels: []plot.Panel{panel}, Height: 520, Colours: comparisonColours}
}

// draw returns the changes of a row: our bars, with the paper's ticks. It returns nil if
// there are none.
func (s *score) draw() *plot.Figure {
	ours := plot.Series{Name: seriesOurs}
	paper := plot.Series{Name: seriesPaper, Style: plot.Style{Points: true}}
	panel := plot.Panel{Kind: plot.Spans, X: changeAxis("change against the baseline")}
	for _, p := range s.parts {
		stated, got, ok := p.change()
		if !ok {
			continue
		}
		row := float64(len(panel.Categories))
		panel.Categories = append(panel.Categories, cmp.Or(s.label(p), p.metric()))
		low, high := math.NaN(), math.NaN()
		if p.j.Known {
			low, high = p.j.Low, p.j.High
		}
		ours.X, ours.Y, ours.Until = append(ours.X, min(got, 0)), append(ours.Y, row), append(ours.Until, max(got, 0))
		ours.Low, ours.High = append(ours.Low, low), append(ours.High, high)
		paper.X, paper.Y = append(paper.X, stated), append(paper.Y, row)
	}
	if panel.Categories == nil {
		return nil
	}
	panel.Series = []plot.Series{ours, paper}
	return &plot.Figure{Title: s.ID, Panels: []plot.Panel{panel}, Colours: comparisonColours}
}
