package plot

import "math"

// unit is a hundredth of a pixel. Coordinates are integers from here on, so that a fused
// multiply-add in their computation makes no difference.
type unit int32

// units rounds pixels to hundredths. The first of two rounding steps removes differences in
// the last bits, which matter for values halfway between two hundredths, such as halves and
// eighths of a panel.
func units(v float64) unit {
	const limit = 1e6 // pixels; keeps unclipped values in range
	v = min(max(v, -limit), limit)
	return unit(math.Round(math.Round(v*1e6) / 1e4))
}

type point struct{ x, y unit }

func at(x, y float64) point { return point{units(x), units(y)} }

// ink is the purpose of a colour. The tone depends on the page.
type ink uint8

const (
	noInk   ink = iota
	inkText     // titles, numbers
	inkSoft     // labels, small print
	inkGrid
	inkAxis
	inkPaper            // background
	inkData             // first colour of the palette; the others follow
	inkRamp  = ink(100) // value 0 of the ramp; the levels follow
	inkBad   = ink(110) // faults and highlights
	inkHeat  = ink(120) // lowest value of Heat; the levels follow
)

// shape is a path, filled or stroked, or a text.
type shape struct {
	paths        [][]point
	closed       bool
	stroke, fill ink
	width        unit
	dash         []unit
	faint        bool // translucent fill

	text   string
	at     point
	size   unit
	bold   bool
	anchor anchor
	up     bool // rotated by 90 degrees, reading upward

	class, attr string // for the script of a page
	tag         string // start or end tag of a group, instead of a shape, for the script of a page
}

type anchor uint8

const (
	start anchor = iota
	middle
	end
)

// scene is a drawing: shapes in drawing order.
type scene struct {
	width, height float64
	margin        float64
	printed       bool // has a size on paper
	title         string
	class         string // additional class of the SVG element
	inline        bool   // for a page, with data for its script
	ramp          bool   // uses the ramp
	heat          bool   // uses the colours of Heat
	shapes        []shape
}

// tag adds a start or end tag of a group, on pages only.
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

// write adds a text; y is its baseline.
func (s *scene) write(text string, x, y float64, t textStyle, a anchor) {
	if text != "" {
		s.add(shape{text: text, at: at(x, y), fill: t.ink, size: units(s.legible(t.size)), bold: t.bold, anchor: a})
	}
}

// writeUp adds a text that reads upward; x is its baseline.
func (s *scene) writeUp(text string, x, y float64, t textStyle, a anchor) {
	if text != "" {
		s.add(shape{text: text, at: at(x, y), fill: t.ink, size: units(t.size), bold: t.bold, anchor: a, up: true})
	}
}

// textStyle is the size, weight and colour of a text.
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
	styleMark   = textStyle{11, false, inkText}
	styleLegend = textStyle{12, false, inkText}
	styleNote   = textStyle{10.5, false, inkSoft}
)

func (t textStyle) widthOf(text string) float64 { return textWidth(text, t.size, t.bold) }

// box is a rectangle in pixels.
type box struct{ x0, y0, x1, y1 float64 }

// clipLine clips a line to the box. The result may have several parts.
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

// clip returns the part of a segment within the box, by the algorithm of Liang and Barsky.
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
	// Keep an end inside the box exactly, so that the next segment continues it.
	from, to := p, q
	if t0 > 0 {
		from = b.clamp(vec{p.x + float64(t0*dx), p.y + float64(t0*dy)})
	}
	if t1 < 1 {
		to = b.clamp(vec{p.x + float64(t1*dx), p.y + float64(t1*dy)})
	}
	return from, to, true
}

func (b box) contains(p vec) bool {
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
