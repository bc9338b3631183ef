package plot

// rowHeight is that of a row of spans.
const rowHeight = 19.0

// spans draws times in which something holds, a row per category. It is false when there is
// nothing to draw.
func (p *plan) spans(s *scene, l *looks) bool {
	any := false
	for i := range p.Series {
		d := &p.Series[i]
		var paths [][]point
		for row := range p.Categories {
			y0 := p.box.y0 + float64(rowHeight*float64(row)) + 4
			for _, b := range p.rowSpans(d, row) {
				paths = append(paths, []point{at(b.x0, y0), at(b.x1, y0), at(b.x1, y0+rowHeight-7), at(b.x0, y0+rowHeight-7)})
			}
		}
		any = any || len(paths) > 0
		if len(paths) > 0 {
			s.series(d)
			s.add(shape{paths: paths, closed: true, fill: l.byName[d.Name].ink, class: "span"})
			s.tag("</g>")
		}
	}
	return any
}

// rowSpans are those of a series in a row, in pixels. Spans so close that no gap can be seen
// are one; what is short can be seen all the same.
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
