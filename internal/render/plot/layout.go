package plot

import (
	"slices"
	"strings"
)

// Sizes in pixels. Panels are narrower the more of them are side by side, so that a figure
// is readable on a page of about 1000 pixels.
const (
	margin    = 16.0
	gap       = 22.0
	rightEdge = 14.0 // room for half of the last number below the x axis
)

var (
	panelWidths = []float64{640, 440, 344}
	plotHeights = []float64{270, 220, 190}
)

// medium is the target of a layout.
type medium uint8

const (
	wide   medium = iota // a file
	inline               // a page
	narrow               // a page on a narrow screen
)

// narrowScreen is the width of a figure on a narrow screen, pageWidth the width of a wide
// figure on a page.
const (
	narrowScreen = 362.0
	pageWidth    = 1090.0
)

// plan is a panel with its position.
type plan struct {
	*Panel
	x, y        axis
	left, width float64 // position and width of the whole panel
	box         box     // area of the data
	title       []string
	categories  [][]string // category names, broken into lines
	upright     bool       // category names are rotated
	notes       []string
}

// scene lays out and draws a figure.
func (f *Figure) scene(m medium) *scene {
	if m == wide {
		f = f.fit()
	}
	return f.layout(m)
}

func (f *Figure) layout(m medium) *scene {
	columns, width, height := f.sizes(m)
	s := &scene{title: f.Title, inline: m != wide, margin: margin}
	if m == wide && f.Print != nil {
		s.margin, s.printed = printMargin, true
	}
	s.width = 2*s.margin + float64(columns)*width + float64(columns-1)*gap
	looks := newLooks(f)

	plans := make([]*plan, len(f.Panels))
	lefts := make([]float64, columns)
	for i := range f.Panels {
		p := &plan{Panel: &f.Panels[i], width: width}
		p.y = p.vertical(height)
		plans[i] = p
		lefts[i%columns] = max(lefts[i%columns], p.leftRoom())
	}

	y := s.margin
	for _, line := range wrap(f.Title, styleTitle, s.width-2*s.margin) {
		y += 16
		s.write(line, s.margin, y, styleTitle, start)
		y += 4
	}
	if !f.Wide {
		y = f.legend(s, looks, y)
	}
	for i := 0; i < len(plans); i += columns {
		row := plans[i:min(i+columns, len(plans))]
		if f.Wide {
			looks, y = f.heading(s, row[0], y)
		}
		y = s.row(row, lefts, height, y)
		for _, p := range row {
			p.draw(s, looks)
		}
		if i+columns < len(plans) {
			y += gap
		}
	}
	s.height = y + s.margin
	if !s.printed {
		s.height -= 4
	}
	return s
}

// sizes returns the number of columns, and the width and height of a panel.
func (f *Figure) sizes(m medium) (columns int, width, height float64) {
	columns = f.columns()
	low := plotHeights[len(plotHeights)-1]
	switch {
	case m == narrow:
		return 1, narrowScreen - 2*margin, low
	case f.Wide:
		return 1, pageWidth - 2*margin, low
	}
	if f.Print != nil {
		return f.printed(columns)
	}
	kind := min(columns, len(panelWidths)) - 1
	if height = f.Height; height == 0 {
		height = plotHeights[kind]
	}
	return columns, panelWidths[kind], height
}

// columns returns the number of panels side by side where there is room.
func (f *Figure) columns() int {
	columns := f.Columns
	if columns < 1 {
		columns = min(len(f.Panels), 3)
	}
	return max(min(columns, len(f.Panels)), 1)
}

// heading draws the title and the legend of one panel of a wide figure. It returns the looks
// of the panel's series and the y coordinate below the legend.
func (f *Figure) heading(s *scene, p *plan, y float64) (*looks, float64) {
	one := &Figure{Panels: []Panel{*p.Panel}, Colours: f.Colours}
	for _, line := range wrap(p.Title, stylePanel, p.width*0.92) { // widths of bold text differ most between fonts
		y += 18
		s.write(line, s.margin, y, stylePanel, start)
	}
	one.Panels[0].Title = ""
	p.Panel = &one.Panels[0]
	l := newLooks(one)
	return l, one.legend(s, l, y)
}

// row places the panels of a row and returns the y coordinate of its end.
func (s *scene) row(row []*plan, lefts []float64, height, y float64) float64 {
	titles := 0
	for i, p := range row {
		p.left = s.margin + float64(i)*(p.width+gap)
		p.box.x0, p.box.x1 = p.left+lefts[i], p.left+p.width-p.rightRoom()
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

// leftRoom returns the width left of the data, for the label and numbers of the y axis.
func (p *plan) leftRoom() float64 {
	room := 0.0
	for _, r := range p.rows() {
		room = max(room, styleTick.widthOf(r))
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

// rows returns the names left of the data.
func (p *Panel) rows() []string {
	switch p.Kind {
	case Spans:
		return p.Categories
	case Heat:
		var names []string
		for i := range p.Series {
			names = append(names, p.Series[i].Name)
		}
		return names
	}
	return nil
}

// slack allows for fonts that are wider than the embedded ones.
const slack = 1.06

// place computes the x axis. The width must be known.
func (p *plan) place() {
	width := p.box.x1 - p.box.x0
	p.notes = nil
	for _, n := range p.Notes {
		p.notes = append(p.notes, wrap(n, styleNote, p.width)...)
	}
	if !p.Kind.grouped() {
		// Reduce the number of ticks until their labels fit.
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

// fits reports whether the labels of the x axis do not touch.
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

// below returns the height needed below the data.
func (p *plan) below() float64 {
	room := 18.0
	switch {
	case p.upright:
		for _, c := range p.Categories {
			room = max(room, styleTick.widthOf(c)*slack+10)
		}
	case p.Kind.grouped():
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

// legend draws the name of every series once and returns the y coordinate of its end.
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
			if name := p.Series[j].Name; name != "" && !known && p.Kind != Heat {
				entries = append(entries, entry{p.Kind, &p.Series[j]})
			}
		}
	}
	if len(entries) == 0 {
		return y
	}
	const space = 22.0
	x := s.margin
	y += 20
	for _, e := range entries {
		sample := 30.0
		if e.kind == Bars || e.kind == Spans || e.kind == Boxes {
			sample = 22
		}
		width := sample + 6 + styleLegend.widthOf(e.series.Name)*slack
		if x > s.margin && x+width > s.width-s.margin {
			x, y = s.margin, y+19
		}
		s.entry(e.series.Name)
		e.series.sample(s, e.kind, l.byName[e.series.Name], x, y-4, sample)
		s.write(e.series.Name, x+sample+6, y, styleLegend, start)
		s.tag("</g>")
		x += width + space
	}
	return y + 4
}

// wrap breaks a text into lines at spaces. It does not break words.
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

// vertical computes the y axis. Panels of spans have rows instead.
func (p *plan) vertical(height float64) axis {
	switch p.Kind {
	case Spans:
		return axis{lo: 0, hi: float64(max(len(p.Categories), 1))}
	case Heat:
		return axis{lo: 0, hi: float64(max(len(p.Series), 1)), label: p.Y.Label}
	}
	return newAxis(p.yAxis(), p.yDemand(height))
}

// height returns the height of the data area.
func (p *plan) height(usual float64) float64 {
	if p.Kind == Spans {
		return rowHeight * float64(max(len(p.Categories), 1))
	}
	return usual
}
