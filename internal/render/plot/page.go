package plot

import (
	"fmt"
	"strconv"
	"strings"
)

// This file writes the data for the script of a page. It does not repeat values: the script
// computes them from the paths and the ends of the axes.

// leastText is the smallest text size on a page, in pixels.
const leastText = 11

// legible returns the size of a text, at least leastText on a page.
func (s *scene) legible(size float64) float64 {
	if s.inline {
		return max(size, leastText)
	}
	return size
}

// only returns a class on pages, and "" elsewhere.
func (s *scene) only(class string) string {
	if s.inline {
		return class
	}
	return ""
}

var kindNames = [...]string{Lines: "lines", Bars: "bars", CDF: "cdf", Spans: "spans", Boxes: "boxes", Heat: "heat"}

// panel begins a panel. Its attributes are the kind, the data area and the axes. An axis has
// its ends, 1 if it is logarithmic, and its unit; the x axis also has 1 if panels share it.
func (s *scene) panel(p *plan) {
	if !s.inline {
		return
	}
	b := p.box
	attr := fmt.Sprintf(`data-k="%s" data-b="%s %s %s %s" data-x="%s %d" data-y="%s"`, kindNames[p.Kind],
		units(b.x0), units(b.y0), units(b.x1), units(b.y1), axisData(&p.x, p.X.Unit), truth(p.X.Common), axisData(&p.y, p.yAxis().Unit))
	if p.Kind.grouped() || p.Kind == Spans {
		attr += ` data-c="` + escape(strings.Join(p.Categories, "\n")) + `"`
	}
	s.tag(`<g class="panel" ` + attr + `>`)
}

func axisData(x *axis, u Unit) string {
	return fmt.Sprintf("%s %s %d %d", precise(x.lo), precise(x.hi), truth(x.log), u)
}

func precise(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// series begins the group of a series. Bars have few values, so the group lists them.
func (s *scene) series(d *Series) {
	if !s.inline {
		return
	}
	attr := ""
	if d.X == nil {
		var list []string
		for _, v := range d.Y {
			list = append(list, strconv.FormatFloat(v, 'g', 6, 64))
		}
		attr = ` data-v="` + strings.Join(list, " ") + `"`
	}
	s.tag(fmt.Sprintf(`<g class="series" data-s="%s"%s>`, escape(d.Name), attr))
}

// entry begins the legend entry of a series.
func (s *scene) entry(name string) {
	s.tag(fmt.Sprintf(`<g class="entry" data-s="%s">`, escape(name)))
}

// strokeGrid draws grid lines.
func (s *scene) strokeGrid(lines [][]point) {
	if len(lines) > 0 {
		s.add(shape{paths: lines, stroke: inkGrid, width: 100})
	}
}
