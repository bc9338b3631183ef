package plot

// maxMarked is the largest number of points that a line shows with markers and error bars.
// With more points markers would hide the line, and bounds become a band.
const maxMarked = 30

const (
	lineWidth  = 2.0
	thinWidth  = 1.1
	denseLine  = 1500
	markerSize = 3.4
)

// lines draws the series of a panel of lines. It returns false if there is nothing to draw.
func (p *plan) lines(s *scene, l *looks) bool {
	any := false
	type drawn struct {
		s    *Series
		look look
		runs [][]vec
		pts  []vec
	}
	var list []drawn
	for i := range p.Series {
		d := drawn{s: &p.Series[i], look: l.byName[p.Series[i].Name]}
		d.runs, d.pts = p.runs(d.s)
		any = any || len(d.pts) > 0
		list = append(list, d)
	}
	for _, d := range list {
		if d.s.banded() {
			s.series(d.s)
			p.band(s, d.s, d.look, false)
			s.tag("</g>")
		}
	}
	for _, d := range list {
		s.series(d.s)
		if !d.s.banded() {
			p.errorBars(s, d.s, d.look)
		}
		if !d.s.Style.Points {
			p.stroke(s, d.runs, d.look, widthFor(d.pts))
		}
		if d.s.marked() || isolated(d.runs) {
			p.markers(s, d.pts, d.look)
		}
		s.tag("</g>")
	}
	p.pointLabels(s)
	return any
}

// banded reports whether the bounds of a line are a band rather than error bars.
func (d *Series) banded() bool {
	return d.Low != nil && d.High != nil && len(d.Y) > maxMarked && !d.Style.Points
}

// marked reports whether the points of a line have markers.
func (d *Series) marked() bool {
	return d.Style.Points || !d.Style.Plain && len(d.Y) <= maxMarked
}

// isolated reports whether a line has a point without neighbours, which is invisible without
// a marker.
func isolated(runs [][]vec) bool {
	for _, r := range runs {
		if len(r) == 1 {
			return true
		}
	}
	return false
}

// runs maps a series to pixels. It returns the stretches between gaps, and all points within
// the panel.
func (p *plan) runs(s *Series) (runs [][]vec, inside []vec) {
	var now []vec
	for i := range min(len(s.X), len(s.Y)) {
		x, ok := p.toX(s.X[i])
		y, fine := p.toY(s.Y[i])
		if !ok || !fine {
			if now != nil {
				runs = append(runs, now)
			}
			now = nil
			continue
		}
		v := vec{x, y}
		now = append(now, v)
		if p.box.contains(v) {
			inside = append(inside, v)
		}
	}
	if now != nil {
		runs = append(runs, now)
	}
	return runs, inside
}

// stroke draws stretches of points as lines.
func (p *plan) stroke(s *scene, runs [][]vec, k look, width float64) {
	var paths [][]point
	for _, run := range runs {
		for _, part := range p.box.clipLine(thin(run)) {
			if pts := points(part); len(pts) > 1 {
				paths = append(paths, pts)
			}
		}
	}
	if len(paths) > 0 {
		s.add(shape{paths: paths, stroke: k.ink, width: units(width), dash: k.dash, class: s.only("ln")})
	}
}

// widthFor returns the width of a line, which is thin if it has very many points.
func widthFor(pts []vec) float64 {
	if len(pts) > denseLine {
		return thinWidth
	}
	return lineWidth
}

// thin removes points of a dense line that cannot be seen. Of the points in the same half
// pixel it keeps the first, last, highest and lowest. It does not change lines that turn
// back to the left.
func thin(run []vec) []vec {
	const dense = 2000
	if len(run) < dense {
		return run
	}
	for i := 1; i < len(run); i++ {
		if run[i].x < run[i-1].x {
			return run
		}
	}
	var out []vec
	for from := 0; from < len(run); {
		to, low, high := from, from, from
		for ; to < len(run) && int(run[to].x*2) == int(run[from].x*2); to++ {
			if run[to].y < run[low].y {
				low = to
			}
			if run[to].y > run[high].y {
				high = to
			}
		}
		last := -1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i > last {
				out = append(out, run[i])
				last = i
			}
		}
		from = to
	}
	return out
}

// band fills the area between the bounds of a series, in steps for a CDF.
func (p *plan) band(s *scene, d *Series, k look, steps bool) {
	var upper, lower []vec
	var paths [][]point
	flush := func() {
		if len(upper) > 1 {
			for i := len(lower) - 1; i >= 0; i-- {
				upper = append(upper, lower[i])
			}
			if pts := points(upper); len(pts) > 2 {
				paths = append(paths, pts)
			}
		}
		upper, lower = nil, nil
	}
	for i := range min(len(d.X), len(d.Y)) {
		lo, hi, ok := d.bounds(i)
		x, fine := p.toX(d.X[i])
		if !ok || !fine {
			flush()
			continue
		}
		a, b := p.box.clamp(vec{x, p.floorY(hi)}), p.box.clamp(vec{x, p.floorY(lo)})
		if n := len(upper); steps && n > 0 {
			upper, lower = append(upper, vec{a.x, upper[n-1].y}), append(lower, vec{b.x, lower[n-1].y})
		}
		upper, lower = append(upper, a), append(lower, b)
	}
	flush()
	if len(paths) > 0 {
		s.add(shape{paths: paths, closed: true, fill: k.ink, faint: true})
	}
}

// errorBars draws the bounds of a series as error bars.
func (p *plan) errorBars(s *scene, d *Series, k look) {
	width, half := unit(130), 3.5
	if p.crowded() {
		width, half = 70, 2
	}
	var paths [][]point
	for i := range min(len(d.X), len(d.Y)) {
		lo, hi, ok := d.bounds(i)
		x, fine := p.toX(d.X[i])
		if ok && fine && x >= p.box.x0-1e-6 && x <= p.box.x1+1e-6 {
			paths = append(paths, errorBar(x, p.floorY(lo), p.floorY(hi), half)...)
		}
	}
	if len(paths) > 0 {
		s.add(shape{paths: paths, stroke: k.ink, width: width, class: s.only("eb")})
	}
}

// crowded reports whether the panel has more than maxMarked points without lines. Their error
// bars are thin.
func (p *plan) crowded() bool {
	n := 0
	for i := range p.Series {
		if p.Series[i].Style.Points {
			n += len(p.Series[i].Y)
		}
	}
	return n > maxMarked
}

// errorBar returns the paths of an error bar with caps.
func errorBar(x, lo, hi, half float64) [][]point {
	return [][]point{
		{at(x, lo), at(x, hi)},
		{at(x-half, lo), at(x+half, lo)},
		{at(x-half, hi), at(x+half, hi)},
	}
}

// markers draws one marker per point, with a rim that separates it from lines.
func (p *plan) markers(s *scene, pts []vec, k look) {
	if len(pts) == 0 {
		return
	}
	outline := outlines[k.marker%len(outlines)]
	var paths [][]point
	for _, v := range pts {
		paths = append(paths, outline.at(v))
	}
	s.add(shape{paths: paths, closed: true, fill: k.ink, stroke: inkPaper, width: 80, class: s.only("mk")})
}

// outline is the shape of a marker, in units of its size.
type outline []vec

func (o outline) at(c vec) []point {
	list := make([]point, len(o))
	for i, v := range o {
		list[i] = at(c.x+float64(v.x*markerSize), c.y+float64(v.y*markerSize))
	}
	return list
}

// outlines are the markers: circle, square, triangle, diamond, inverted triangle, plus,
// cross.
var outlines = []outline{
	{{1, 0}, {.92, .38}, {.71, .71}, {.38, .92}, {0, 1}, {-.38, .92}, {-.71, .71}, {-.92, .38}, {-1, 0}, {-.92, -.38},
		{-.71, -.71}, {-.38, -.92}, {0, -1}, {.38, -.92}, {.71, -.71}, {.92, -.38}},
	{{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}},
	{{0, -1.2}, {1.1, .8}, {-1.1, .8}},
	{{0, -1.3}, {1.1, 0}, {0, 1.3}, {-1.1, 0}},
	{{0, 1.2}, {1.1, -.8}, {-1.1, -.8}},
	{{-.4, -1.2}, {.4, -1.2}, {.4, -.4}, {1.2, -.4}, {1.2, .4}, {.4, .4}, {.4, 1.2}, {-.4, 1.2}, {-.4, .4}, {-1.2, .4},
		{-1.2, -.4}, {-.4, -.4}},
	{{-1.1, -.6}, {-.6, -1.1}, {0, -.5}, {.6, -1.1}, {1.1, -.6}, {.5, 0}, {1.1, .6}, {.6, 1.1}, {0, .5}, {-.6, 1.1}, {-1.1, .6}, {-.5, 0}},
}

// sample draws the legend sample of a series; y is the middle of the line.
func (d *Series) sample(s *scene, kind Kind, k look, x, y, width float64) {
	if kind == Spans && d.Style.Points {
		s.line(k.ink, tickWidth, at(x+width/2, y-8), at(x+width/2, y+8))
		return
	}
	if kind == Spans {
		s.rect(k.ink, x, y-6, x+width, y+6)
		return
	}
	if kind == Boxes {
		d.Boxes[0].frame(s, k, box{x, y - 6, x + width, y + 6})
		return
	}
	if kind == Bars {
		hatched(s, k, box{x, y - 6, x + width, y + 6})
		return
	}
	if !d.Style.Points {
		s.add(shape{paths: [][]point{{at(x, y), at(x+width, y)}}, stroke: k.ink, width: units(lineWidth), dash: k.dash})
	}
	if kind == Lines && d.marked() {
		(&plan{}).markers(s, []vec{{x + width/2, y}}, k)
	}
}
