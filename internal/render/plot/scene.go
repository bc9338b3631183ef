package plot

import "math"

// unit is a hundredth of a pixel. Everything from here on is integers: a
// coordinate that was computed with a fused multiply-add and one that was not are
// the same.
type unit int32

// units rounds pixels. It does so in two steps: values that lie near the middle
// between two hundredths on purpose (halves, eighths of a panel) meet there
// exactly, whatever the last bits were.
func units(v float64) unit {
	const limit = 1e6 // pixels; keeps what should have been clipped in range
	v = min(max(v, -limit), limit)
	return unit(math.Round(math.Round(v*1e6) / 1e4))
}

type point struct{ x, y unit }

func at(x, y float64) point { return point{units(x), units(y)} }

// ink is a colour by its purpose: what it looks like depends on the page.
type ink uint8

const (
	noInk   ink = iota
	inkText     // titles, numbers
	inkSoft     // labels, small print
	inkGrid
	inkAxis
	inkPaper            // the background
	inkData             // the first of the palette; the others follow
	inkRamp  = ink(100) // nothing, on a scale; the levels follow
	inkBad   = ink(110) // what is wrong
)

// shape is a path, filled or stroked, or a text.
type shape struct {
	paths        [][]point
	closed       bool
	stroke, fill ink
	width        unit
	dash         []unit
	faint        bool // a band: fill shines through

	text   string
	at     point
	size   unit
	bold   bool
	anchor anchor
	up     bool // turned by 90 degrees, to be read from below

	class, attr string // for scripts of a page
	tag         string // instead of a shape: what begins or ends a group, for scripts of a page
}

type anchor uint8

const (
	start anchor = iota
	middle
	end
)

// scene is a picture: shapes in the order in which they are drawn.
type scene struct {
	width, height float64
	title         string
	class         string // besides that of all pictures
	inline        bool   // for a page: with what its script needs
	ramp          bool   // has the colours of a scale
	shapes        []shape
}

// tag adds the beginning or end of a group to a picture of a page.
func (s *scene) tag(text string) {
	if s.inline {
		s.add(shape{tag: text})
	}
}

func (s *scene) add(sh shape) { s.shapes = append(s.shapes, sh) }

// line strokes a path of points.
func (s *scene) line(color ink, width float64, points ...point) {
	s.add(shape{paths: [][]point{points}, stroke: color, width: units(width)})
}

// rect fills a rectangle.
func (s *scene) rect(fill ink, x0, y0, x1, y1 float64) {
	a, b := at(x0, y0), at(x1, y1)
	s.add(shape{paths: [][]point{{a, {b.x, a.y}, b, {a.x, b.y}}}, closed: true, fill: fill})
}

// write puts a text; y is its baseline.
func (s *scene) write(text string, x, y float64, t textStyle, a anchor) {
	if text != "" {
		s.add(shape{text: text, at: at(x, y), fill: t.ink, size: units(s.legible(t.size)), bold: t.bold, anchor: a})
	}
}

// writeUp puts a text that is read from below; x is its baseline.
func (s *scene) writeUp(text string, x, y float64, t textStyle, a anchor) {
	if text != "" {
		s.add(shape{text: text, at: at(x, y), fill: t.ink, size: units(t.size), bold: t.bold, anchor: a, up: true})
	}
}

// textStyle is how a text looks.
type textStyle struct {
	size float64
	bold bool
	ink  ink
}

var (
	styleTitle  = textStyle{15, true, inkText}
	stylePanel  = textStyle{12.5, true, inkText}
	styleLabel  = textStyle{12, false, inkSoft}
	styleTick   = textStyle{11, false, inkSoft}
	styleLegend = textStyle{12, false, inkText}
	styleNote   = textStyle{10.5, false, inkSoft}
)

func (t textStyle) widthOf(text string) float64 { return textWidth(text, t.size, t.bold) }

// box is a rectangle of the plane in which data is drawn.
type box struct{ x0, y0, x1, y1 float64 }

// clipLine cuts a run of points at the box. What is left may be several runs.
func (b box) clipLine(run []vec) [][]vec {
	var out [][]vec
	var now []vec
	flush := func() {
		if len(now) > 1 {
			out = append(out, now)
		}
		now = nil
	}
	for i := 1; i < len(run); i++ {
		p, q, ok := b.clip(run[i-1], run[i])
		if !ok {
			flush()
			continue
		}
		if len(now) == 0 || now[len(now)-1] != p {
			flush()
			now = []vec{p}
		}
		now = append(now, q)
	}
	flush()
	return out
}

type vec struct{ x, y float64 }

// clip is Liang and Barsky's: the part of a segment within the box.
func (b box) clip(p, q vec) (vec, vec, bool) {
	t0, t1 := 0.0, 1.0
	dx, dy := q.x-p.x, q.y-p.y
	for _, e := range [4][2]float64{{-dx, p.x - b.x0}, {dx, b.x1 - p.x}, {-dy, p.y - b.y0}, {dy, b.y1 - p.y}} {
		d, r := e[0], e[1]
		switch {
		case d == 0 && r < 0:
			return p, q, false
		case d < 0:
			t0 = max(t0, r/d)
		case d > 0:
			t1 = min(t1, r/d)
		}
	}
	if t0 > t1 {
		return p, q, false
	}
	// An end inside stays as it is, so that the next segment continues it.
	from, to := p, q
	if t0 > 0 {
		from = b.clamp(vec{p.x + float64(t0*dx), p.y + float64(t0*dy)})
	}
	if t1 < 1 {
		to = b.clamp(vec{p.x + float64(t1*dx), p.y + float64(t1*dy)})
	}
	return from, to, true
}

func (b box) holds(p vec) bool {
	const edge = 1e-6
	return p.x >= b.x0-edge && p.x <= b.x1+edge && p.y >= b.y0-edge && p.y <= b.y1+edge
}

// clamp moves a point into the box.
func (b box) clamp(p vec) vec { return vec{min(max(p.x, b.x0), b.x1), min(max(p.y, b.y0), b.y1)} }

func points(run []vec) []point {
	list := make([]point, 0, len(run))
	for _, v := range run {
		if p := at(v.x, v.y); len(list) == 0 || list[len(list)-1] != p {
			list = append(list, p)
		}
	}
	return list
}
