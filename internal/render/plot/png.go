package plot

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"slices"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// scale is the number of PNG pixels per SVG pixel.
const scale = 2

// pixels draws a scene as an image. It computes everything, also glyphs, with integers, so
// that every machine gets the same pixels.
type pixels struct {
	canvas
	buf sfnt.Buffer
}

func (s *scene) png(w io.Writer) error {
	return png.Encode(w, s.image())
}

func (s *scene) image() *image.RGBA {
	width, height := int(units(s.width)*scale)/100, int(units(s.height)*scale)/100
	p := &pixels{canvas: canvas{img: image.NewRGBA(image.Rect(0, 0, width, height))}}
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(inkPaper.rgb()), image.Point{}, draw.Src)
	for i := range s.shapes {
		p.draw(&s.shapes[i])
	}
	return p.img
}

// fix converts hundredths of an SVG pixel to 64ths of an image pixel.
func (u unit) fix() fixed.Int26_6 { return fixed.Int26_6(int64(u) * 64 * scale / 100) }

func (p point) fix() fixed.Point26_6 { return fixed.Point26_6{X: p.x.fix(), Y: p.y.fix()} }

func (p *pixels) draw(sh *shape) {
	if sh.tag != "" {
		return
	}
	if sh.text != "" {
		p.text(sh)
		return
	}
	if sh.fill != noInk {
		c := sh.fill.rgb()
		if sh.faint {
			c = color.RGBA{c.R / 5, c.G / 5, c.B / 5, 51} // opacity 0.2, premultiplied
		}
		for _, pts := range sh.paths {
			if len(pts) > 2 {
				p.polygon(fix(pts)...)
				p.fill(c)
			}
		}
	}
	if sh.stroke != noInk {
		for _, pts := range sh.paths {
			if sh.closed && len(pts) > 0 {
				pts = append(append([]point{}, pts...), pts[0])
			}
			for _, dash := range cut(pts, sh.dash) {
				p.line(fix(dash), sh.width.fix()/2, sh.stroke.rgb())
			}
		}
	}
}

// line draws a line. The rasterizer counts how often a pixel is covered, up to about 8000
// times, so long lines are drawn in parts, which overlap by a segment.
func (p *pixels) line(pts []fixed.Point26_6, radius fixed.Int26_6, c color.RGBA) {
	const part = 1000
	for ; len(pts) > 1; pts = pts[min(part, len(pts)-1):] {
		p.stroke(pts[:min(part+2, len(pts))], radius)
		p.fill(c)
	}
}

// fix converts points to image coordinates and removes consecutive duplicates.
func fix(pts []point) []fixed.Point26_6 {
	list := make([]fixed.Point26_6, len(pts))
	for i, q := range pts {
		list[i] = q.fix()
	}
	return slices.Compact(list)
}

// cut splits a line into dashes by a pattern of lengths: on, off, on and so on.
func cut(pts []point, pattern []unit) [][]point {
	if len(pattern) == 0 {
		return [][]point{pts}
	}
	var out [][]point
	at, left := 0, int64(pattern[0])
	now := []point{pts[0]}
	flush := func() {
		if at%2 == 0 && len(now) > 1 {
			out = append(out, now)
		}
	}
	for i := 1; i < len(pts); i++ {
		from, to := pts[i-1], pts[i]
		dx, dy := int64(to.x-from.x), int64(to.y-from.y)
		length := root(dx*dx + dy*dy)
		for done := int64(0); done < length; {
			step := min(left, length-done)
			done += step
			left -= step
			q := to
			if done < length {
				q = point{from.x + unit(dx*done/length), from.y + unit(dy*done/length)}
			}
			now = append(now, q)
			if left == 0 {
				flush()
				at = (at + 1) % (2 * len(pattern))
				left = int64(pattern[at%len(pattern)])
				now = []point{q}
			}
		}
	}
	flush()
	return out
}

// text draws the outlines of glyphs.
func (p *pixels) text(sh *shape) {
	f := fontOf(sh.bold)
	ppem := sh.size.fix()
	advance := func(r rune) (sfnt.GlyphIndex, fixed.Int26_6) {
		g, err := f.GlyphIndex(&p.buf, r)
		if err != nil {
			return 0, 0
		}
		a, err := f.GlyphAdvance(&p.buf, g, ppem, font.HintingNone)
		if err != nil {
			return 0, 0
		}
		return g, a
	}
	text := sh.text
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	width := fixed.Int26_6(0)
	for _, r := range text {
		_, a := advance(r)
		width += a
	}
	x := fixed.Int26_6(0)
	switch sh.anchor {
	case middle:
		x = -width / 2
	case end:
		x = -width
	}
	origin := sh.at.fix()
	place := func(q fixed.Point26_6) fixed.Point26_6 {
		q.X += x
		if sh.up {
			q.X, q.Y = q.Y, -q.X
		}
		return q.Add(origin)
	}
	for _, r := range text {
		g, a := advance(r)
		if segments, err := f.LoadGlyph(&p.buf, g, ppem, nil); err == nil {
			p.glyph(segments, place)
		}
		x += a
	}
	p.fill(sh.fill.rgb())
}

// glyph adds the contours of a glyph. The embedded fonts have no cubic curves.
func (p *pixels) glyph(segments sfnt.Segments, place func(fixed.Point26_6) fixed.Point26_6) {
	var contour []fixed.Point26_6
	for _, s := range segments {
		q := place(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if len(contour) > 0 {
				p.polygon(contour...)
			}
			contour = []fixed.Point26_6{q}
		case sfnt.SegmentOpLineTo:
			contour = append(contour, q)
		case sfnt.SegmentOpQuadTo:
			contour = curve(contour, q, place(s.Args[1]))
		}
	}
	if len(contour) > 0 {
		p.polygon(contour...)
	}
}

// curve appends points of a quadratic curve from the last point via b to c.
func curve(pts []fixed.Point26_6, b, c fixed.Point26_6) []fixed.Point26_6 {
	const n = 8
	a := pts[len(pts)-1]
	for i := fixed.Int26_6(1); i <= n; i++ {
		j := n - i
		pts = append(pts, fixed.Point26_6{
			X: (j*j*a.X + 2*i*j*b.X + i*i*c.X) / (n * n),
			Y: (j*j*a.Y + 2*i*j*b.Y + i*i*c.Y) / (n * n),
		})
	}
	return pts
}
