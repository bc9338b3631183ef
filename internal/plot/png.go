package plot

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"unicode/utf8"

	"github.com/golang/freetype/raster"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// scale is how many pixels of a PNG stand for one of the SVG.
const scale = 2

// pixels is a scene as an image. The rasterizer, glyphs included, computes with
// integers, so every machine gets the same pixels.
type pixels struct {
	img    *image.RGBA
	raster *raster.Rasterizer
	paint  *raster.RGBAPainter
	buf    sfnt.Buffer
	held   int // points of lines that the rasterizer holds
}

func (s *scene) png(w io.Writer) error {
	return png.Encode(w, s.image())
}

func (s *scene) image() *image.RGBA {
	width, height := int(units(s.width)*scale)/100, int(units(s.height)*scale)/100
	p := &pixels{img: image.NewRGBA(image.Rect(0, 0, width, height)), raster: raster.NewRasterizer(width, height)}
	p.paint = raster.NewRGBAPainter(p.img)
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(inkPaper.rgb()), image.Point{}, draw.Src)
	for i := range s.shapes {
		p.draw(&s.shapes[i])
	}
	return p.img
}

// fix turns hundredths of a pixel into 64ths of one of the image.
func (u unit) fix() fixed.Int26_6 { return fixed.Int26_6(int64(u) * 64 * scale / 100) }

func (p point) fix() fixed.Point26_6 { return fixed.Point26_6{X: p.x.fix(), Y: p.y.fix()} }

func (p *pixels) draw(sh *shape) {
	if sh.text != "" {
		p.text(sh)
		return
	}
	if sh.fill != noInk {
		p.raster.Clear()
		p.raster.UseNonZeroWinding = true
		for _, pts := range sh.paths {
			if len(pts) > 2 {
				p.raster.AddPath(pathOf(pts, true))
			}
		}
		c := sh.fill.rgb()
		if sh.faint {
			c = color.RGBA{c.R / 5, c.G / 5, c.B / 5, 51} // 0.2, multiplied in
		}
		p.finish(c)
	}
	if sh.stroke != noInk {
		p.raster.Clear()
		p.raster.UseNonZeroWinding = true
		for _, pts := range sh.paths {
			if sh.closed && len(pts) > 0 {
				pts = append(append([]point{}, pts...), pts[0])
			}
			for _, dash := range cut(pts, sh.dash) {
				p.stroke(dash, sh.width, sh.stroke.rgb())
			}
		}
		p.finish(sh.stroke.rgb())
	}
}

// stroke adds a line. The rasterizer searches what it holds of a row of pixels, so
// long lines go to the image in parts, which overlap by a segment.
func (p *pixels) stroke(pts []point, width unit, c color.RGBA) {
	const part = 64
	for ; len(pts) > 1; pts = pts[min(part, len(pts)-1):] {
		now := pts[:min(part+2, len(pts))]
		p.raster.AddStroke(pathOf(now, false), width.fix(), raster.ButtCapper, raster.RoundJoiner)
		if p.held += len(now); p.held > part {
			p.finish(c)
			p.raster.Clear()
		}
	}
}

func (p *pixels) finish(c color.RGBA) {
	p.paint.SetColor(c)
	p.raster.Rasterize(p.paint)
	p.held = 0
}

func pathOf(pts []point, closed bool) raster.Path {
	var path raster.Path
	path.Start(pts[0].fix())
	for _, q := range pts[1:] {
		path.Add1(q.fix())
	}
	if closed {
		path.Add1(pts[0].fix())
	}
	return path
}

// cut cuts a line into dashes: on, off, on and so on.
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

// root is the square root, rounded down.
func root(n int64) int64 {
	x := int64(0)
	for bit := int64(1) << 31; bit > 0; bit >>= 1 {
		if y := x | bit; y*y <= n {
			x = y
		}
	}
	return x
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
	p.raster.Clear()
	p.raster.UseNonZeroWinding = true
	for _, r := range text {
		g, a := advance(r)
		if segments, err := f.LoadGlyph(&p.buf, g, ppem, nil); err == nil {
			p.glyph(segments, place)
		}
		x += a
	}
	p.finish(sh.fill.rgb())
}

func (p *pixels) glyph(segments sfnt.Segments, place func(fixed.Point26_6) fixed.Point26_6) {
	var path raster.Path
	for _, s := range segments {
		switch a := s.Args; s.Op {
		case sfnt.SegmentOpMoveTo:
			path.Start(place(a[0]))
		case sfnt.SegmentOpLineTo:
			path.Add1(place(a[0]))
		case sfnt.SegmentOpQuadTo:
			path.Add2(place(a[0]), place(a[1]))
		case sfnt.SegmentOpCubeTo:
			path.Add3(place(a[0]), place(a[1]), place(a[2]))
		}
	}
	p.raster.AddPath(path)
}
