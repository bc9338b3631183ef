package plot

// yAxis returns the y axis with the defaults of the panel's kind.
func (p *Panel) yAxis() Axis {
	a := p.Y
	if p.Kind == CDF && !a.Log {
		zero, one := 0.0, 1.0
		if a.Min == nil {
			a.Min = &zero
		}
		if a.Max == nil {
			a.Max = &one
		}
		if a.Unit == Plain {
			a.Unit = Share
		}
	}
	return a
}

func (p *Panel) xAxis() Axis { return p.X }

// yDemand returns the requirements for the y axis.
func (p *Panel) yDemand(height float64) demand {
	d := demand{zero: p.Kind == Bars, near: true, round: true, ticks: int(height / 42)}
	for i := range p.Series {
		s := &p.Series[i]
		for j, v := range s.Y {
			if !finite(v) {
				continue
			}
			d.values = append(d.values, v)
			if lo, hi, ok := s.bounds(j); ok {
				d.values = append(d.values, lo, hi)
			}
		}
		for _, b := range s.Boxes {
			if b.known() {
				d.values = append(d.values, b.Low, b.Q3)
				if finite(b.High) {
					d.values = append(d.values, b.High)
				}
			}
		}
		if p.Kind == CDF && s.Y == nil && len(s.X) > 0 {
			d.values = append(d.values, 1, 1/float64(len(s.X)))
		}
	}
	return d
}

// xDemand returns the requirements for the x axis.
func (p *Panel) xDemand(ticks int) demand {
	d := demand{ticks: ticks, beyond: p.Kind == CDF}
	for i := range p.Series {
		d.pad = d.pad || p.Kind == Lines && p.Series[i].marked()
		for j, v := range p.Series[i].X {
			if p.Kind == Spans && j < len(p.Series[i].Until) && finite(p.Series[i].Until[j]) {
				d.values = append(d.values, p.Series[i].Until[j])
			}
			if finite(v) && (p.Kind == CDF || j < len(p.Series[i].Y)) {
				d.values = append(d.values, v)
			}
		}
	}
	return d
}

// bounds returns the ends of the error bar of a point.
func (s *Series) bounds(i int) (lo, hi float64, ok bool) {
	if i >= len(s.Low) || i >= len(s.High) {
		return 0, 0, false
	}
	lo, hi = s.Low[i], s.High[i]
	return lo, hi, finite(lo) && finite(hi)
}

// toX maps an x value to a pixel. It returns false if the value has no position on the axis.
func (p *plan) toX(v float64) (float64, bool) {
	at, ok := p.x.share(v)
	return p.box.x0 + float64(at*(p.box.x1-p.box.x0)), ok
}

// toY maps a y value to a pixel, like toX.
func (p *plan) toY(v float64) (float64, bool) {
	at, ok := p.y.share(v)
	return p.box.y1 - float64(at*(p.box.y1-p.box.y0)), ok
}

// floorY is toY for the ends of bars: values without a position are at the bottom, and
// values outside the axis are at its end.
func (p *plan) floorY(v float64) float64 {
	y, ok := p.toY(v)
	if !ok {
		return p.box.y1
	}
	return min(max(y, p.box.y0), p.box.y1)
}

// draw draws a placed panel.
func (p *plan) draw(s *scene, l *looks) {
	b := p.box
	for i, line := range p.title {
		y := b.y0 - 12 - 16*float64(len(p.title)-1-i)
		s.write(line, p.left, y, stylePanel, start)
	}
	s.panel(p)
	p.grid(s)
	empty := true
	switch p.Kind {
	case Lines:
		empty = !p.lines(s, l)
	case CDF:
		empty = !p.cdf(s, l)
	case Bars:
		empty = !p.bars(s, l)
	case Spans:
		empty = !p.spans(s, l)
	case Boxes:
		empty = !p.boxes(s, l)
	case Heat:
		empty = !p.heat(s)
	}
	if empty {
		s.write("no data", (b.x0+b.x1)/2, (b.y0+b.y1)/2, styleLabel, middle)
	}
	p.labels(s)
	s.tag("</g>")
}

// grid draws grid lines, tick labels and the two axes.
func (p *plan) grid(s *scene) {
	b := p.box
	var lines [][]point
	for _, t := range p.y.ticks {
		y, _ := p.toY(t.value)
		if t.label != "" {
			lines = append(lines, []point{at(b.x0, y), at(b.x1, y)})
			s.write(t.label, b.x0-7, y+3.8, styleTick, end)
		}
	}
	if s.inline {
		// The script redraws the x ticks, so they have their own group.
		s.strokeGrid(lines)
		lines = nil
		s.tag(`<g class="xt">`)
	}
	var marks [][]point
	for _, t := range p.x.ticks {
		x, _ := p.toX(t.value)
		long := 3.0
		if t.label != "" {
			long = 5
			lines = append(lines, []point{at(x, b.y0), at(x, b.y1)})
			s.write(t.label, x, b.y1+17, styleTick, middle)
		}
		marks = append(marks, []point{at(x, b.y1), at(x, b.y1+long)})
	}
	s.strokeGrid(lines)
	if s.inline {
		if len(marks) > 0 {
			s.add(shape{paths: marks, stroke: inkAxis, width: 100})
		}
		marks = nil
		s.tag("</g>")
	}
	marks = append(marks, []point{at(b.x0, b.y0), at(b.x0, b.y1), at(b.x1, b.y1)})
	s.add(shape{paths: marks, stroke: inkAxis, width: 100})
}

// labels draws the labels of axes and categories, and the notes.
func (p *plan) labels(s *scene) {
	b := p.box
	s.writeUp(p.y.label, p.left+11, (b.y0+b.y1)/2, styleLabel, middle)
	notes := 0.0
	if len(p.notes) > 0 {
		notes = 4 + 14*float64(len(p.notes))
	}
	bottom := b.y1 + p.below() - notes
	s.write(p.x.label, (b.x0+b.x1)/2, bottom-2, styleLabel, middle)
	for i, n := range p.notes {
		s.write(n, p.left, bottom+14*float64(i+1), styleNote, start)
	}
	rows := p.rows()
	for i, r := range rows {
		s.write(r, b.x0-7, b.y0+(b.y1-b.y0)*(float64(i)+0.5)/float64(len(rows))+4.5, styleTick, end)
	}
	slot := (b.x1 - b.x0) / float64(max(len(p.Categories), 1))
	for i, c := range p.Categories {
		if !p.Kind.grouped() {
			break
		}
		x := b.x0 + slot*(float64(i)+0.5)
		if p.upright {
			s.writeUp(c, x+4, b.y1+7, styleTick, end)
			continue
		}
		for j, line := range p.categories[i] {
			s.write(line, x, b.y1+17+13*float64(j), styleTick, middle)
		}
	}
}
