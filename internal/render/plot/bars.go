package plot

// bars draws groups of bars. It returns false if there is nothing to draw.
func (p *plan) bars(s *scene, l *looks) bool {
	n := len(p.Series)
	if n == 0 || len(p.Categories) == 0 {
		return false
	}
	const widest, used = 46.0, 0.8
	b := p.box
	slot := (b.x1 - b.x0) / float64(len(p.Categories))
	width := min(slot*used/float64(n), widest)
	zero := p.floorY(0)
	any := false
	for i := range p.Series {
		d := &p.Series[i]
		k := l.byName[d.Name]
		var errors [][]point
		s.series(d)
		for c := range p.Categories {
			middleOf := b.x0 + float64(slot*(float64(c)+0.5)) + float64(width*(float64(i)-float64(n-1)/2))
			if c >= len(d.Y) || !finite(d.Y[c]) {
				s.write("–", middleOf, zero-4, styleTick, middle) // unknown is not zero
				continue
			}
			any = true
			top := p.floorY(d.Y[c])
			half := width/2 - min(width*0.06, 1.5)
			hatched(s, k, box{middleOf - half, min(top, zero), middleOf + half, max(top, zero)})
			if lo, hi, ok := d.bounds(c); ok {
				errors = append(errors, errorBar(middleOf, p.floorY(lo), p.floorY(hi), min(4, half))...)
			}
		}
		if len(errors) > 0 {
			s.add(shape{paths: errors, stroke: inkText, width: 120})
		}
		s.tag("</g>")
	}
	s.line(inkAxis, 1, at(b.x0, zero), at(b.x1, zero))
	return any
}

// hatched fills a bar and draws its pattern, which distinguishes it without colour.
func hatched(s *scene, k look, b box) {
	s.rect(k.ink, b.x0, b.y0, b.x1, b.y1)
	var lines [][]point
	add := func(p, q vec) {
		if p, q, ok := b.clip(p, q); ok {
			if pts := points([]vec{p, q}); len(pts) == 2 {
				lines = append(lines, pts)
			}
		}
	}
	w, h := b.x1-b.x0, b.y1-b.y0
	const step = 7.0
	rising := func() {
		for d := step / 2; d < w+h; d += step {
			add(vec{b.x0, b.y1 - h + d}, vec{b.x0 + d, b.y0})
		}
	}
	falling := func() {
		for d := step / 2; d < w+h; d += step {
			add(vec{b.x0, b.y1 - d}, vec{b.x0 + d, b.y1})
		}
	}
	switch k.hatch {
	case 1:
		rising()
	case 2:
		falling()
	case 3:
		for y := b.y1 - step/2; y > b.y0; y -= step {
			add(vec{b.x0, y}, vec{b.x1, y})
		}
	case 4:
		rising()
		falling()
	case 5:
		for x := b.x0 + step/2; x < b.x1; x += step {
			add(vec{x, b.y0}, vec{x, b.y1})
		}
	}
	if len(lines) > 0 {
		s.add(shape{paths: lines, stroke: inkPaper, width: 90})
	}
}
