package plot

// rowHeight is the height of a row of spans, in pixels.
const rowHeight = 19.0

// tickWidth is the width of a tick in a row, in pixels.
const tickWidth = 3.0

// spans draws time spans, one row per category. It returns false if there is nothing to draw.
func (p *plan) spans(s *scene, l *looks) bool {
	any := false
	for i := range p.Series {
		d := &p.Series[i]
		var paths, errors [][]point
		for row := range p.Categories {
			y0 := p.box.y0 + float64(rowHeight*float64(row)) + 4
			if d.Style.Points {
				paths = append(paths, p.rowTicks(d, row, y0)...)
				continue
			}
			for _, b := range p.rowSpans(d, row) {
				paths = append(paths, []point{at(b.x0, y0), at(b.x1, y0), at(b.x1, y0+rowHeight-7), at(b.x0, y0+rowHeight-7)})
			}
			errors = append(errors, p.rowErrors(d, row, y0+(rowHeight-7)/2)...)
		}
		any = any || len(paths) > 0
		if len(paths) == 0 {
			continue
		}
		s.series(d)
		if ink := l.byName[d.Name].ink; d.Style.Points {
			s.add(shape{paths: paths, stroke: ink, width: units(tickWidth)})
		} else {
			s.add(shape{paths: paths, closed: true, fill: ink, class: "span"})
		}
		if len(errors) > 0 {
			s.add(shape{paths: errors, stroke: inkPaper, width: 320}) // a rim separates them from the span
			s.add(shape{paths: errors, stroke: inkText, width: 120})
		}
		s.tag("</g>")
	}
	return any
}

// rowTicks returns the ticks of a series in a row. Values outside the axis are at its end.
func (p *plan) rowTicks(d *Series, row int, y0 float64) [][]point {
	var list [][]point
	for i := range min(len(d.X), len(d.Y)) {
		x, ok := p.toX(d.X[i])
		if int(d.Y[i]) == row && ok {
			x = min(max(x, p.box.x0), p.box.x1)
			list = append(list, []point{at(x, y0-3), at(x, y0+rowHeight-4)})
		}
	}
	return list
}

// rowErrors returns the error bars of a series in a row, without caps beyond the axis.
func (p *plan) rowErrors(d *Series, row int, y float64) [][]point {
	const half = 3.0
	var list [][]point
	for i := range min(len(d.X), len(d.Y)) {
		lo, hi, ok := d.bounds(i)
		if int(d.Y[i]) != row || !ok {
			continue
		}
		x0, _ := p.toX(lo)
		x1, _ := p.toX(hi)
		for _, x := range []float64{x0, x1} {
			if x >= p.box.x0 && x <= p.box.x1 {
				list = append(list, []point{at(x, y-half), at(x, y+half)})
			}
		}
		if x0, x1 = max(x0, p.box.x0), min(x1, p.box.x1); x0 < x1 {
			list = append(list, []point{at(x0, y), at(x1, y)})
		}
	}
	return list
}

// rowSpans returns the spans of a series in a row, in pixels. It merges spans with invisible
// gaps and widens spans that are too short to see.
func (p *plan) rowSpans(d *Series, row int) []box {
	const visible, least = 0.25, 0.8
	var list []box
	for i := range min(len(d.X), len(d.Y), len(d.Until)) {
		x0, ok := p.toX(d.X[i])
		x1, fine := p.toX(d.Until[i])
		if int(d.Y[i]) != row || !ok || !fine || x1 < p.box.x0 || x0 > p.box.x1 {
			continue
		}
		x0, x1 = max(x0, p.box.x0), min(x1, p.box.x1)
		if x1-x0 < least {
			x0 = min(x0, p.box.x1-least)
			x1 = x0 + least
		}
		if n := len(list); n > 0 && x0-list[n-1].x1 < visible {
			list[n-1].x1 = max(list[n-1].x1, x1)
			continue
		}
		list = append(list, box{x0: x0, x1: x1})
	}
	return list
}
