package plot

import (
	"slices"
	"strings"
)

// Sizes in pixels. The width of a panel goes down as more stand side by side, so
// that a figure stays readable where a page shows it a thousand pixels wide.
const (
	margin    = 16.0
	gap       = 22.0
	rightEdge = 14.0 // room for half of the last number below the x axis
)

var (
	panelWidths = []float64{640, 440, 344}
	plotHeights = []float64{270, 220, 190}
)

// medium is what a figure is laid out for.
type medium uint8

const (
	wide   medium = iota // a file
	inline               // a page
	narrow               // a page on a narrow screen
)

// narrowScreen is the width of a figure there, and pageWidth that of a wide one elsewhere.
const (
	narrowScreen = 362.0
	pageWidth    = 1090.0
)

// plan is a panel with its place.
type plan struct {
	*Panel
	x, y        axis
	left, width float64 // of the whole panel
	box         box     // of the data
	title       []string
	categories  [][]string // lines of their names
	upright     bool       // names of categories are turned
	notes       []string
}

// scene lays a figure out.
func (f *Figure) scene(m medium) *scene {
	columns, width, height := f.sizes(m)
	s := &scene{title: f.Title, inline: m != wide}
	s.width = 2*margin + float64(columns)*width + float64(columns-1)*gap
	looks := newLooks(f)

	plans := make([]*plan, len(f.Panels))
	lefts := make([]float64, columns)
	for i := range f.Panels {
		p := &plan{Panel: &f.Panels[i], width: width}
		p.y = p.vertical(height)
		plans[i] = p
		lefts[i%columns] = max(lefts[i%columns], p.leftRoom())
	}

	y := margin
	for _, line := range wrap(f.Title, styleTitle, s.width-2*margin) {
		y += 16
		s.write(line, margin, y, styleTitle, start)
		y += 4
	}
	if !f.Wide {
		y = f.legend(s, looks, y)
	}
	for i := 0; i < len(plans); i += columns {
		row := plans[i:min(i+columns, len(plans))]
		if f.Wide {
			looks, y = f.apart(s, row[0], y)
		}
		y = s.row(row, lefts, height, y)
		for _, p := range row {
			p.draw(s, looks)
		}
		if i+columns < len(plans) {
			y += gap
		}
	}
	s.height = y + margin - 4
	return s
}

// sizes are how many panels stand side by side, and those of each.
func (f *Figure) sizes(m medium) (columns int, width, height float64) {
	columns = f.Columns
	if columns < 1 {
		columns = min(len(f.Panels), 3)
	}
	columns = max(min(columns, len(f.Panels)), 1)
	low := plotHeights[len(plotHeights)-1]
	switch {
	case m == narrow:
		return 1, narrowScreen - 2*margin, low
	case f.Wide:
		return 1, pageWidth - 2*margin, low
	}
	kind := min(columns, len(panelWidths)) - 1
	return columns, panelWidths[kind], plotHeights[kind]
}

// apart writes the title and the legend of one panel, and returns where they end.
func (f *Figure) apart(s *scene, p *plan, y float64) (*looks, float64) {
	one := &Figure{Panels: []Panel{*p.Panel}, Colours: f.Colours}
	for _, line := range wrap(p.Title, stylePanel, p.width*0.92) { // bold texts differ most between fonts
		y += 18
		s.write(line, margin, y, stylePanel, start)
	}
	one.Panels[0].Title = ""
	p.Panel = &one.Panels[0]
	l := newLooks(one)
	return l, one.legend(s, l, y)
}

// row places the panels of a row and returns where it ends.
func (s *scene) row(row []*plan, lefts []float64, height, y float64) float64 {
	titles := 0
	for i, p := range row {
		p.left = margin + float64(i)*(p.width+gap)
		p.box.x0, p.box.x1 = p.left+lefts[i], p.left+p.width-rightEdge
		p.title = wrap(p.Title, stylePanel, p.width)
		titles = max(titles, len(p.title))
	}
	y += 12 + float64(titles)*19
	bottom := y
	for _, p := range row {
		p.box.y0, p.box.y1 = y, y+p.height(height)
		p.place()
		bottom = max(bottom, p.box.y1+p.below())
	}
	return bottom
}

// leftRoom is what stands left of the data: a label and numbers.
func (p *plan) leftRoom() float64 {
	room := 0.0
	if p.Kind == Spans {
		for _, c := range p.Categories {
			room = max(room, styleTick.widthOf(c))
		}
	}
	for _, t := range p.y.ticks {
		room = max(room, styleTick.widthOf(t.label))
	}
	room = room*slack + 8
	if p.y.label != "" {
		room += 20
	}
	return room
}

// slack is for readers whose font is wider than ours.
const slack = 1.06

// place finds the x axis, now that the width is known.
func (p *plan) place() {
	width := p.box.x1 - p.box.x0
	p.notes = nil
	for _, n := range p.Notes {
		p.notes = append(p.notes, wrap(n, styleNote, p.width)...)
	}
	if p.Kind != Bars {
		// Narrow the number of ticks until their labels fit side by side.
		for n := max(int(width/42), 2); ; n-- {
			p.x = newAxis(p.xAxis(), p.xDemand(n))
			if n <= 2 || p.fits() {
				return
			}
		}
	}
	p.x = axis{label: p.X.Label, lo: 0, hi: 1}
	slot := width / float64(max(len(p.Categories), 1))
	for _, c := range p.Categories {
		lines := wrap(c, styleTick, slot-6)
		p.categories = append(p.categories, lines)
		for _, l := range lines {
			p.upright = p.upright || styleTick.widthOf(l)*slack > slot-6
		}
		p.upright = p.upright || len(lines) > 3
	}
}

// fits says that the numbers below the x axis do not touch.
func (p *plan) fits() bool {
	last := -1e9
	for _, t := range p.x.ticks {
		if t.label == "" {
			continue
		}
		at, _ := p.x.share(t.value)
		half := styleTick.widthOf(t.label)*slack/2 + 5
		centre := at * (p.box.x1 - p.box.x0)
		if centre-half < last {
			return false
		}
		last = centre + half
	}
	return true
}

// below is the room under the data.
func (p *plan) below() float64 {
	room := 18.0
	switch {
	case p.upright:
		for _, c := range p.Categories {
			room = max(room, styleTick.widthOf(c)*slack+10)
		}
	case p.Kind == Bars:
		for _, lines := range p.categories {
			room = max(room, 6+13*float64(len(lines)))
		}
	}
	if p.x.label != "" {
		room += 18
	}
	if len(p.notes) > 0 {
		room += 4 + 14*float64(len(p.notes))
	}
	return room
}

// legend draws the names of all series once and returns where it ends.
func (f *Figure) legend(s *scene, l *looks, y float64) float64 {
	type entry struct {
		kind   Kind
		series *Series
	}
	var entries []entry
	for i := range f.Panels {
		p := &f.Panels[i]
		for j := range p.Series {
			known := slices.ContainsFunc(entries, func(e entry) bool { return e.series.Name == p.Series[j].Name })
			if name := p.Series[j].Name; name != "" && !known {
				entries = append(entries, entry{p.Kind, &p.Series[j]})
			}
		}
	}
	if len(entries) == 0 {
		return y
	}
	const space = 22.0
	x := margin
	y += 20
	for _, e := range entries {
		sample := 30.0
		if e.kind == Bars || e.kind == Spans {
			sample = 22
		}
		width := sample + 6 + styleLegend.widthOf(e.series.Name)*slack
		if x > margin && x+width > s.width-margin {
			x, y = margin, y+19
		}
		s.entry(e.series.Name)
		e.series.sample(s, e.kind, l.byName[e.series.Name], x, y-4, sample)
		s.write(e.series.Name, x+sample+6, y, styleLegend, start)
		s.tag("</g>")
		x += width + space
	}
	return y + 4
}

// wrap breaks a text into lines at spaces. A word that is too long stays whole.
func wrap(text string, t textStyle, width float64) []string {
	var lines []string
	now := ""
	for _, word := range strings.Fields(text) {
		if now != "" && t.widthOf(now+" "+word)*slack > width {
			lines = append(lines, now)
			now = ""
		}
		if now != "" {
			now += " "
		}
		now += word
	}
	if now != "" {
		lines = append(lines, now)
	}
	return lines
}

// vertical finds the y axis; rows of spans have none.
func (p *plan) vertical(height float64) axis {
	if p.Kind == Spans {
		return axis{lo: 0, hi: float64(max(len(p.Categories), 1))}
	}
	return newAxis(p.yAxis(), p.yDemand(height))
}

// height is that of the data.
func (p *plan) height(usual float64) float64 {
	if p.Kind == Spans {
		return rowHeight * float64(max(len(p.Categories), 1))
	}
	return usual
}
