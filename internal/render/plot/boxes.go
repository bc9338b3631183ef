package plot

import "math"

// known reports whether the box can be drawn. Its highest quantile may be +Inf: beyond the axis.
func (b *Box) known() bool {
	return finite(b.Low) && finite(b.Q1) && finite(b.Median) && finite(b.Q3) && !math.IsNaN(b.High)
}

// boxes draws groups of boxes. It returns false if there is nothing to draw.
func (p *plan) boxes(s *scene, l *looks) bool {
	n := len(p.Series)
	if n == 0 || len(p.Categories) == 0 {
		return false
	}
	const widest, used, cap = 40.0, 0.8, 4.0
	b := p.box
	slot := (b.x1 - b.x0) / float64(len(p.Categories))
	width := min(slot*used/float64(n), widest)
	any := false
	for i := range p.Series {
		d := &p.Series[i]
		k := l.byName[d.Name]
		s.series(d)
		for c := range p.Categories {
			x := b.x0 + float64(slot*(float64(c)+0.5)) + float64(width*(float64(i)-float64(n-1)/2))
			if c >= len(d.Boxes) || !d.Boxes[c].known() {
				s.write("–", x, b.y1-4, styleTick, middle) // unknown is not zero
				continue
			}
			any = true
			v, half := &d.Boxes[c], width/2-min(width*0.1, 2)
			low, high, q1, q3 := p.floorY(v.Low), p.floorY(min(v.High, huge)), p.floorY(v.Q1), p.floorY(v.Q3)
			end := min(cap, half)
			s.add(shape{paths: [][]point{
				{at(x, low), at(x, q1)}, {at(x, q3), at(x, high)},
				{at(x-end, low), at(x+end, low)}, {at(x-end, high), at(x+end, high)},
			}, stroke: k.ink, width: 120})
			v.frame(s, k, box{x - half, min(q1, q3), x + half, max(q1, q3)})
			s.line(inkText, 1.6, at(x-half, p.floorY(v.Median)), at(x+half, p.floorY(v.Median)))
		}
		s.tag("</g>")
	}
	return any
}

// frame draws the box between the quartiles. The dash pattern distinguishes it without
// colour.
func (*Box) frame(s *scene, k look, b box) {
	path := []point{at(b.x0, b.y0), at(b.x1, b.y0), at(b.x1, b.y1), at(b.x0, b.y1)}
	s.add(shape{paths: [][]point{path}, closed: true, fill: inkPaper})
	s.add(shape{paths: [][]point{path}, closed: true, fill: k.ink, faint: true})
	s.add(shape{paths: [][]point{path}, closed: true, stroke: k.ink, width: 130, dash: k.dash})
}
