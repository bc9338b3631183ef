package plot

import (
	"image"
	"image/color"

	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// tile is the side, in pixels, of the areas that are rasterized one by one. Above 512 the
// rasterizer adds in floating point, in an order that depends on the machine.
const tile = 256

// canvas fills polygons. It passes only straight lines to the rasterizer: that would split
// curves in floating point, where a fused multiply-add changes the result.
type canvas struct {
	img    *image.RGBA
	raster vector.Rasterizer
	shape  [][]fixed.Point26_6 // polygons of the next fill
}

func (c *canvas) polygon(pts ...fixed.Point26_6) { c.shape = append(c.shape, pts) }

// fill paints the polygons added since the last call, as one shape. Overlapping polygons
// must have the same orientation.
func (c *canvas) fill(paint color.RGBA) {
	box := bounds(c.shape).Intersect(c.img.Bounds())
	for y := box.Min.Y; y < box.Max.Y; y += tile {
		for x := box.Min.X; x < box.Max.X; x += tile {
			part := image.Rect(x, y, x+tile, y+tile).Intersect(box)
			c.raster.Reset(part.Dx(), part.Dy())
			for _, pts := range c.shape {
				c.trace(pts, fixed.P(x, y))
			}
			c.raster.Draw(c.img, part, image.NewUniform(paint), image.Point{})
		}
	}
	c.shape = nil
}

// bounds returns the smallest rectangle of pixels that contains the polygons.
func bounds(shape [][]fixed.Point26_6) image.Rectangle {
	var box image.Rectangle
	for _, pts := range shape {
		for _, p := range pts {
			x, y := p.X.Floor(), p.Y.Floor()
			box = box.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	return box
}

// trace passes a polygon to the rasterizer; origin is the corner of the tile.
func (c *canvas) trace(pts []fixed.Point26_6, origin fixed.Point26_6) {
	// The rasterizer rounds once per row, always in the same direction. A long line would
	// miss its end by a pixel, so it is split.
	const rows = 16 << 6
	from := pts[len(pts)-1].Sub(origin)
	c.raster.MoveTo(float32(from.X)/64, float32(from.Y)/64)
	for _, p := range pts {
		to := p.Sub(origin)
		n := 1 + max(to.Y-from.Y, from.Y-to.Y)/rows
		for i := range n {
			x, y := from.X+share(to.X-from.X, i+1, n), from.Y+share(to.Y-from.Y, i+1, n)
			c.raster.LineTo(float32(x)/64, float32(y)/64)
		}
		from = to
	}
}

func share(v, i, n fixed.Int26_6) fixed.Int26_6 {
	return fixed.Int26_6(int64(v) * int64(i) / int64(n))
}

// stroke adds a line: a rectangle per segment and a round join between segments. A closed
// line also has a join at its ends. Consecutive points must differ.
func (c *canvas) stroke(pts []fixed.Point26_6, radius fixed.Int26_6) {
	var first, last fixed.Point26_6
	for i, b := range pts[1:] {
		a := pts[i]
		n := ofLength(turned(b.Sub(a)), radius)
		c.polygon(a.Add(n), b.Add(n), b.Sub(n), a.Sub(n))
		if i == 0 {
			first = n
		} else {
			c.join(a, last, n, radius)
		}
		last = n
	}
	if end := pts[len(pts)-1]; len(pts) > 2 && end == pts[0] {
		c.join(end, last, first, radius)
	}
}

// join fills the gap at a point between segments whose normals are n and m.
func (c *canvas) join(at, n, m fixed.Point26_6, radius fixed.Int26_6) {
	if cross(n, m) > 0 {
		n, m = neg(m), neg(n) // the gap is on the other side
	}
	pts := []fixed.Point26_6{at, at.Add(n)}
	if dot(n, m) < 0 { // more than a quarter of a turn
		quarter := neg(turned(n))
		pts = arc(pts, at, n, quarter, radius)
		n = quarter
	}
	c.polygon(arc(pts, at, n, m, radius)...)
}

// arc appends the points of an arc around at, from n, the last point of pts, to m. The arc
// is at most a quarter of a circle.
func arc(pts []fixed.Point26_6, at, n, m fixed.Point26_6, radius fixed.Int26_6) []fixed.Point26_6 {
	const straight = 48 // 3/4 of a pixel: about a tenth of a pixel away from the arc
	if d := m.Sub(n); dot(d, d) < straight*straight {
		return append(pts, at.Add(m))
	}
	half := ofLength(n.Add(m), radius)
	return arc(arc(pts, at, n, half, radius), at, half, m, radius)
}

// turned returns v rotated by 90 degrees.
func turned(v fixed.Point26_6) fixed.Point26_6 { return fixed.Point26_6{X: -v.Y, Y: v.X} }

func neg(v fixed.Point26_6) fixed.Point26_6 { return fixed.Point26_6{X: -v.X, Y: -v.Y} }

func cross(v, w fixed.Point26_6) int64 { return int64(v.X)*int64(w.Y) - int64(v.Y)*int64(w.X) }

func dot(v, w fixed.Point26_6) int64 { return int64(v.X)*int64(w.X) + int64(v.Y)*int64(w.Y) }

// ofLength returns v, which must not be zero, scaled to a length.
func ofLength(v fixed.Point26_6, length fixed.Int26_6) fixed.Point26_6 {
	const fine = 64 // limits the rounding error of short vectors
	is := root(dot(v, v) * fine * fine)
	scale := func(a fixed.Int26_6) fixed.Int26_6 { return fixed.Int26_6(int64(a) * int64(length) * fine / is) }
	return fixed.Point26_6{X: scale(v.X), Y: scale(v.Y)}
}

// root returns the square root, rounded down.
func root(n int64) int64 {
	x := int64(0)
	for bit := int64(1) << 31; bit > 0; bit >>= 1 {
		if y := x | bit; y*y <= n {
			x = y
		}
	}
	return x
}
