package plot

import (
	"fmt"
	"strings"
	"sync"
)

// heatLevels is the number of colours of Heat.
const heatLevels = 24

// heatStops are colours from low to high, with rising contrast to the page.
var heatStops = []tone{
	{"#fdf3e0", "#241d16"},
	{"#eec78f", "#6b4a26"},
	{"#e8a04a", "#96611f"},
	{"#d8761a", "#c9791f"},
	{"#a94a08", "#f0a13c"},
	{"#6b1f00", "#ffdc9e"},
}

// heatTones are the colours between the stops.
var heatTones = sync.OnceValue(func() []tone {
	list := make([]tone, heatLevels)
	for i := range list {
		at := i * (len(heatStops) - 1)
		from := at / (heatLevels - 1)
		to := min(from+1, len(heatStops)-1)
		part := at % (heatLevels - 1)
		list[i] = tone{blend(heatStops[from].light, heatStops[to].light, part), blend(heatStops[from].dark, heatStops[to].dark, part)}
	}
	return list
})

// blend mixes two colours; part of heatLevels-1 is the share of the second.
func blend(a, b string, part int) string {
	var p, q [3]int
	for i, text := range []string{a, b} {
		into := [][]int{p[:], q[:]}[i]
		if _, err := fmt.Sscanf(text, "#%02x%02x%02x", &into[0], &into[1], &into[2]); err != nil {
			panic(err) // the table above has valid colours
		}
	}
	const all = heatLevels - 1
	for i := range p {
		p[i] = (p[i]*(all-part) + q[i]*part + all/2) / all
	}
	return fmt.Sprintf("#%02x%02x%02x", p[0], p[1], p[2])
}

// heatCSS returns the style rules of the colours of Heat.
func heatCSS() string {
	var b strings.Builder
	rules := func(pick func(tone) string) {
		for i, t := range heatTones() {
			fmt.Fprintf(&b, ".xoff .f%d{fill:%s}", int(inkHeat)+i, pick(t))
		}
	}
	rules(func(t tone) string { return t.light })
	b.WriteString("@media (prefers-color-scheme:dark){")
	rules(func(t tone) string { return t.dark })
	b.WriteString("}")
	return b.String()
}

// Sizes of the colour bar, in pixels.
const (
	barGap   = 12.0
	barWidth = 10.0
)

// colourAxis returns the axis of colours.
func (p *plan) colourAxis(height float64) axis {
	d := demand{ticks: max(int(height/34), 2)}
	for i := range p.Series {
		for _, v := range p.Series[i].Y {
			if finite(v) {
				d.values = append(d.values, v)
			}
		}
	}
	return newAxis(p.Z, d)
}

// rightRoom returns the width right of the data.
func (p *plan) rightRoom() float64 {
	if p.Kind != Heat {
		return rightEdge
	}
	const height = 150 // ticks of other heights are hardly wider
	z := p.colourAxis(height)
	room := 0.0
	for _, t := range z.ticks {
		room = max(room, styleTick.widthOf(t.label))
	}
	room = barGap + barWidth + 6 + room*slack
	if z.label != "" {
		room += 18
	}
	return room
}

// heat draws a table of coloured cells with their values, and the colour bar. It returns
// false if there is nothing to draw.
func (p *plan) heat(s *scene) bool {
	b := p.box
	rows, columns := len(p.Series), len(p.Categories)
	if rows == 0 || columns == 0 {
		return false
	}
	s.heat = true
	z := p.colourAxis(b.y1 - b.y0)
	level := func(v float64) (int, bool) {
		at, ok := z.share(v)
		return min(int(max(at, 0)*heatLevels), heatLevels-1), ok
	}
	width, height := (b.x1-b.x0)/float64(columns), (b.y1-b.y0)/float64(rows)
	any := false
	for r := range p.Series {
		d := &p.Series[r]
		s.series(d)
		for c := range columns {
			x, y := b.x0+float64(width*float64(c)), b.y0+float64(height*float64(r))
			if c >= len(d.Y) {
				continue
			}
			k, ok := level(d.Y[c])
			if !ok {
				s.write("–", x+width/2, y+height/2+4, styleTick, middle) // unknown is not zero
				continue
			}
			any = true
			s.rect(inkHeat+ink(k), x, y, x+width, y+height)
			text := p.Z.Unit.rounded(d.Y[c])
			if styleTick.widthOf(text)*slack < width-4 && height > styleTick.size+2 {
				t := styleTick
				if t.ink = inkText; k > heatLevels/2 {
					t.ink = inkPaper
				}
				s.write(text, x+width/2, y+height/2+4, t, middle)
			}
		}
		s.tag("</g>")
	}
	p.colourBar(s, &z)
	return any
}

// colourBar draws the colours with their axis, right of the data.
func (p *plan) colourBar(s *scene, z *axis) {
	b := p.box
	x := b.x1 + barGap
	step := (b.y1 - b.y0) / heatLevels
	for i := range heatLevels {
		y := b.y1 - float64(step*float64(i))
		s.rect(inkHeat+ink(i), x, y-step, x+barWidth, y)
	}
	for _, t := range z.ticks {
		at, _ := z.share(t.value)
		s.write(t.label, x+barWidth+6, b.y1-float64(at*(b.y1-b.y0))+3.8, styleTick, start)
	}
	s.writeUp(z.label, p.left+p.width-3, (b.y0+b.y1)/2, styleLabel, middle)
}
