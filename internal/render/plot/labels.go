package plot

// pointLabels writes the labels of points. It chooses the side of each point where a label
// covers the fewest other labels and markers.
func (p *plan) pointLabels(s *scene) {
	const away, up, down = 7.0, 8.0, 3.0 // distance from the point; height above and below the baseline
	type label struct {
		text string
		at   vec
	}
	var labels []label
	var markers, placed []box
	for i := range p.Series {
		d := &p.Series[i]
		for k := range min(len(d.X), len(d.Y)) {
			x, ok := p.toX(d.X[k])
			y, fine := p.toY(d.Y[k])
			if v := (vec{x, y}); ok && fine && p.box.contains(v) {
				if d.marked() {
					markers = append(markers, box{x - markerSize, y - markerSize, x + markerSize, y + markerSize})
				}
				if k < len(d.Labels) && d.Labels[k] != "" {
					labels = append(labels, label{d.Labels[k], v})
				}
			}
		}
	}
	for _, l := range labels {
		width := styleMark.widthOf(l.text) * slack
		best, least := vec{}, -1
		for _, v := range []vec{
			{l.at.x + away, l.at.y + 4}, {l.at.x - away - width, l.at.y + 4},
			{l.at.x - width/2, l.at.y - away}, {l.at.x - width/2, l.at.y + away + up},
			{l.at.x + away, l.at.y - away}, {l.at.x + away, l.at.y + away + up},
			{l.at.x - away - width, l.at.y - away}, {l.at.x - away - width, l.at.y + away + up},
		} {
			b := box{v.x, v.y - up, v.x + width, v.y + down}
			const worse = 100
			cost := b.touching(markers) + worse*b.touching(placed)
			if !p.box.contains(vec{b.x0, b.y0}) || !p.box.contains(vec{b.x1, b.y1}) {
				cost += worse * worse
			}
			if least < 0 || cost < least {
				best, least = v, cost
			}
		}
		placed = append(placed, box{best.x, best.y - up, best.x + width, best.y + down})
		s.write(l.text, best.x, best.y, styleMark, start)
	}
}

// touching returns the number of boxes that overlap the box.
func (b box) touching(list []box) int {
	n := 0
	for _, o := range list {
		if o.x0 < b.x1 && b.x0 < o.x1 && o.y0 < b.y1 && b.y0 < o.y1 {
			n++
		}
	}
	return n
}
