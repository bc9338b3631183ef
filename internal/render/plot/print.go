package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Print is the size of a figure on paper, in points of 1/72 inch. Tick labels have 7 points.
type Print struct{ Width, Height float64 } // Height 0: in proportion

// paperUnits are the units of sizes, in points.
var paperUnits = []struct {
	name   string
	points float64
}{{"in", 72}, {"cm", 72 / 2.54}, {"mm", 72 / 25.4}, {"pt", 1}}

// Bounds of sizes, in points.
const (
	leastPrint = 72
	mostPrint  = 72 * 40
)

// ParsePrint parses a width such as 3.3in, or width and height: 3.3x2in. Units are in, cm,
// mm and pt.
func ParsePrint(text string) (*Print, error) {
	bad := fmt.Errorf("invalid size %q (expected WIDTH or WIDTHxHEIGHT with a unit, such as 3.3in, 84mm or 3.3x2in; units: in, cm, mm, pt)", text)
	for _, u := range paperUnits {
		numbers, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		width, height, both := strings.Cut(numbers, "x")
		p := &Print{}
		for i, n := range []string{strings.TrimSuffix(width, u.name), height} {
			if i == 1 && !both {
				break
			}
			v, err := strconv.ParseFloat(n, 64)
			if err != nil || math.IsNaN(v) {
				return nil, bad
			}
			v *= u.points
			if v < leastPrint || v > mostPrint {
				return nil, fmt.Errorf("size %s is out of range (expected 1in to 40in)", text)
			}
			if i == 0 {
				p.Width = v
			} else {
				p.Height = v
			}
		}
		return p, nil
	}
	return nil, bad
}

// printMargin is the margin of a figure on paper, in pixels.
const printMargin = 3.0

// printed returns the number of columns, and the width and height of a panel on paper.
func (f *Figure) printed(columns int) (int, float64, float64) {
	const leastPanel, proportion, leastHeight = 200, 0.56, 90
	total := f.Print.Width/pointsPerPixel - 2*printMargin
	for columns > 1 && (total-float64(columns-1)*gap)/float64(columns) < leastPanel {
		columns--
	}
	width := (total - float64(columns-1)*gap) / float64(columns)
	height := f.Height
	if height == 0 {
		height = math.Round(max(width*proportion, leastHeight))
	}
	return columns, width, height
}

// fit chooses the height of panels so that the figure has the height of its Print.
func (f *Figure) fit() *Figure {
	if f.Print == nil || f.Print.Height == 0 {
		return f
	}
	const least, rounds = 40, 4
	g := *f
	columns, _, height := g.printed(g.columns())
	rows := float64((len(g.Panels) + columns - 1) / columns)
	for range rounds { // ticks and so the width of labels depend on the height
		g.Height = height
		missing := g.Print.Height/pointsPerPixel - g.layout(wide).height
		height = max(height+missing/max(rows, 1), least)
	}
	g.Height = height
	return &g
}

// enlarge multiplies all lengths.
func (s *scene) enlarge(by float64) {
	grow := func(u unit) unit { return unit(math.Round(float64(u) * by)) }
	s.width, s.height = s.width*by, s.height*by
	for i := range s.shapes {
		sh := &s.shapes[i]
		sh.width, sh.size, sh.at = grow(sh.width), grow(sh.size), point{grow(sh.at.x), grow(sh.at.y)}
		var dash []unit // looks share theirs
		for _, d := range sh.dash {
			dash = append(dash, grow(d))
		}
		sh.dash = dash
		paths := make([][]point, len(sh.paths)) // shapes may share theirs, too
		for k, pts := range sh.paths {
			for _, p := range pts {
				paths[k] = append(paths[k], point{grow(p.x), grow(p.y)})
			}
		}
		sh.paths = paths
	}
}

// PrintSize returns the width and height of the figure on paper, in points.
func (f *Figure) PrintSize() (width, height float64) {
	s := f.scene(wide)
	return s.width * pointsPerPixel, s.height * pointsPerPixel
}

// PanelColumns returns the number of panels side by side.
func (f *Figure) PanelColumns() int {
	columns, _, _ := f.sizes(wide)
	return columns
}

// Colour returns the colour of a series on a light page, such as #0072b2.
func (f *Figure) Colour(series string) string { return newLooks(f).byName[series].ink.tone().light }
