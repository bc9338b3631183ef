package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"testing"

	"golang.org/x/image/math/fixed"
	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

var black = color.RGBA{A: 255}

func newCanvas(width, height int) *canvas {
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(c.img, c.img.Bounds(), image.White, image.Point{}, draw.Src)
	return c
}

func (c *canvas) at(x, y int) uint8 { return c.img.RGBAAt(x, y).R }

// px returns a point in 64ths of a pixel.
func px(x, y float64) fixed.Point26_6 {
	return fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}
}

// The darkness of a pixel is its covered share, in every tile. Its value is
// 255.99 x (1 - share), truncated.
func TestCoverage(t *testing.T) {
	for _, x0 := range []int{0, tile - 2, 2 * tile} {
		for _, y0 := range []int{0, tile - 1, 3*tile - 2} {
			c := newCanvas(4*tile, 4*tile)
			x, y := float64(x0), float64(y0)
			c.polygon(px(x+1.25, y+1), px(x+3.5, y+1), px(x+3.5, y+2.75), px(x+1.25, y+2.75))
			c.fill(black)
			want := [][]uint8{
				{255, 255, 255, 255, 255},
				{255, 63, 0, 127, 255},   // 3/4, 1, 1/2
				{255, 111, 63, 159, 255}, // 3/4 of the row above: 9/16, 3/4, 3/8
				{255, 255, 255, 255, 255},
			}
			for j, row := range want {
				for i, v := range row {
					if got := c.at(x0+i, y0+j); got != v {
						t.Errorf("at %d,%d pixel %d,%d is %d, want %d", x0, y0, i, j, got, v)
					}
				}
			}
		}
	}
}

// Long lines are straight and end at the right point.
func TestLongLines(t *testing.T) {
	for _, to := range []float64{20, 123, 501, 900} {
		c := newCanvas(1000, 1000)
		c.stroke([]fixed.Point26_6{px(500, 10), px(to, 990)}, 2<<6)
		c.fill(black)
		for _, y := range []int{12, 300, 612, 987} {
			sum, mean := 0.0, 0.0
			for x := range 1000 {
				ink := float64(255 - c.at(x, y))
				sum, mean = sum+ink, mean+ink*(float64(x)+0.5)
			}
			want := 500 + (to-500)*(float64(y)+0.5-10)/980
			if got := mean / sum; math.Abs(got-want) > 0.06 {
				t.Errorf("to %g: in row %d the line is at %.3f, want %.3f", to, y, got, want)
			}
		}
	}
}

// A vector of length 640 in the direction (1, -2) is 640/2.236 = (286.2, -572.4). Very short
// vectors are scaled accurately, too.
func TestOfLength(t *testing.T) {
	if got := ofLength(fixed.Point26_6{X: 1, Y: -2}, 640); got != (fixed.Point26_6{X: 286, Y: -572}) {
		t.Errorf("got %d %d", int(got.X), int(got.Y))
	}
}

// Joins are round. With a radius of 10, a bevel would end 7.1 from the corner, a mitre 14.1.
func TestJoins(t *testing.T) {
	for name, pts := range map[string][]fixed.Point26_6{
		"right turn":   {px(20, 50), px(50, 50), px(50, 80)},
		"left turn":    {px(50, 80), px(50, 50), px(20, 50)},
		"closed":       {px(50, 50), px(50, 80), px(20, 80), px(20, 50), px(50, 50)},
		"closed, back": {px(50, 50), px(20, 50), px(20, 80), px(50, 80), px(50, 50)},
	} {
		c := newCanvas(100, 100)
		c.stroke(pts, 10<<6)
		c.fill(black)
		for d, want := range map[int]uint8{0: 0, 5: 0, 8: 255, 9: 255} { // 5.5 x 1.41 = 7.8, 8.5 x 1.41 = 12.0
			if got := c.at(50+d, 49-d); got != want {
				t.Errorf("%s: the pixel %d right and above of the corner is %d, want %d", name, d, got, want)
			}
		}
	}
	// A line that turns back has a round end there; other ends are flat.
	c := newCanvas(100, 100)
	c.stroke([]fixed.Point26_6{px(20, 50), px(60, 50), px(40, 50)}, 10<<6)
	c.fill(black)
	for x, want := range map[int]uint8{19: 255, 20: 0, 68: 0, 70: 255} {
		if got := c.at(x, 50); got != want {
			t.Errorf("turned back: pixel %d is %d, want %d", x, got, want)
		}
	}
}

// strokeFlaw describes a pixel that is wrong for a line, or returns "".
func strokeFlaw(c *canvas, pts []fixed.Point26_6, radius float64) string {
	size := c.img.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			along, near := math.Inf(1), math.Inf(1) // distance from segments, without their ends, and from the line
			for i, q := range pts[1:] {
				a, b := pts[i], q
				ax, ay, dx, dy := float64(a.X)/64, float64(a.Y)/64, float64(b.X-a.X)/64, float64(b.Y-a.Y)/64
				px, py, length := float64(x)+0.5-ax, float64(y)+0.5-ay, math.Hypot(dx, dy)
				if length == 0 {
					continue
				}
				share := (px*dx + py*dy) / length
				if share > 1 && share < length-1 {
					along = min(along, math.Abs(px*dy-py*dx)/length)
				}
				share = min(max(share, 0), length) / length
				near = min(near, math.Hypot(px-share*dx, py-share*dy))
			}
			if got := c.at(x, y); along < radius-1 && got != 0 || near > radius+1 && got != 255 {
				return fmt.Sprintf("pixel %d,%d is %d, %.2f from the line, %.2f from a segment", x, y, got, near, along)
			}
		}
	}
	return ""
}

// A line has no holes and no stray pixels, also where it crosses itself or leaves the image.
func TestAnyLine(t *testing.T) { trials.Few(t, anyLine) }

func anyLine(t *rapid.T) {
	const size = tile + 40
	where := rapid.Custom(func(t *rapid.T) fixed.Point26_6 {
		at := rapid.IntRange(-20*64, (size+20)*64)
		return fixed.Point26_6{X: fixed.Int26_6(at.Draw(t, "x")), Y: fixed.Int26_6(at.Draw(t, "y"))}
	})
	pts := rapid.SliceOfNDistinct(where, 2, 12, rapid.ID).Draw(t, "points")
	radius := rapid.IntRange(40, 400).Draw(t, "radius")
	c := newCanvas(size, size)
	c.stroke(pts, fixed.Int26_6(radius))
	c.fill(black)
	if why := strokeFlaw(c, pts, float64(radius)/64); why != "" {
		t.Fatal(why)
	}
}

// strokeFlaw finds flaws.
func TestStrokeFlawsAreFound(t *testing.T) {
	pts := []fixed.Point26_6{px(10, 10), px(90, 30), px(20, 80)}
	for name, spoil := range map[string]func(*canvas){
		"hole":  func(c *canvas) { c.img.SetRGBA(50, 20, color.RGBA{1, 1, 1, 255}) },
		"stain": func(c *canvas) { c.img.SetRGBA(5, 90, color.RGBA{254, 254, 254, 255}) },
		"wider": func(c *canvas) { c.stroke(pts, 5<<6); c.fill(black) },
		"short": func(c *canvas) { c.img.SetRGBA(21, 78, color.RGBA{255, 255, 255, 255}) },
	} {
		c := newCanvas(100, 100)
		c.stroke(pts, 3<<6)
		c.fill(black)
		if why := strokeFlaw(c, pts, 3); why != "" {
			t.Fatalf("flaw in a good line: %s", why)
		}
		spoil(c)
		if strokeFlaw(c, pts, 3) == "" {
			t.Errorf("%s: no flaw found", name)
		}
	}
}

// scribble returns a scene with lines, bands and texts of many sizes and directions. All
// coordinates are integers.
func scribble() *scene {
	var d draws = 7
	n := func(below int) int { return int(d.next() * float64(below)) }
	s := &scene{width: 900, height: 700}
	for i := range 200 {
		sh := shape{stroke: inkData + ink(n(7)), width: unit(20 + n(500)), dash: dashes[n(len(dashes))]}
		reach := 1 + n([]int{500, 5000, 90000}[i%3])
		x, y := n(90000), n(70000)
		var pts []point
		for range 2 + n(20) {
			pts = append(pts, point{unit(x + n(reach)), unit(y + n(reach))})
		}
		sh.paths = [][]point{pts}
		if i%4 == 0 {
			sh.closed, sh.fill, sh.faint = true, inkData+ink(n(7)), i%8 == 0
		}
		s.add(sh)
		s.add(shape{text: "Äg%&8@ " + someTexts[i%len(someTexts)], at: point{unit(x), unit(y)}, fill: inkText, size: unit(500 + n(4000)), bold: i%3 == 0, anchor: anchor(i % 3), up: i%2 == 0})
	}
	return s
}

var someTexts = []string{"quick", "brown fox", "→∞", "\xff"}
