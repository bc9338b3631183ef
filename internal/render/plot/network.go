package plot

import (
	"fmt"
	"io"
	"strings"
)

// Network is a drawing of nodes and links. The two directions of a link have separate
// colours: each colours the half of the line next to the sending node.
type Network struct {
	Title    string
	Nodes    []Node
	Links    []Link
	Measures []Measure // values that colour directions; a standalone drawing shows the first
	Shape    Shape
	Columns  int // columns of a Grid
}

// Shape is the arrangement of switches.
type Shape uint8

// Shapes. Hosts are always next to their switch.
const (
	// Layers arranges switches in layers by their distance from the nearest host.
	Layers Shape = iota
	// Circle arranges switches on an ellipse, in order.
	Circle
	// Grid arranges switches in rows.
	Grid
)

// Node is a host or a switch. A host has one link.
type Node struct {
	Name  string
	Host  bool
	Text  string // details, shown at the pointer
	Fault string // description of a fault; empty: none
	Mark  bool   // highlight the node
}

// Link connects two nodes. If one of them is a host, it is A.
type Link struct {
	A, B   int
	AB, BA Direction // from A to B, and from B to A
	Fault  string
}

// Direction is one direction of a link.
type Direction struct {
	Name   string
	Values []float64 // one per measure
	Text   string    // the values as text
	Mark   bool      // highlight the direction
	Loop   bool      // the direction is part of a deadlock loop
}

// Measure describes one of the values of directions.
type Measure struct {
	Name  string
	Title string // title of the drawing while it shows this measure; empty: the usual one
	Unit  Unit
	Max   float64 // end of the scale; 0: the largest value
	Steps []Step  // the only values, with their meanings; nil: any value
}

// Step is a value of a measure with its meaning.
type Step struct {
	Value float64
	Text  string
}

// levels is the number of colours for values above 0.
const levels = 5

// level returns 0 for v <= 0, levels above half of the scale, and one less for each halving.
func level(v, most float64) int {
	if !(v > 0) || most <= 0 {
		return 0
	}
	l := levels
	for edge := most / 2; l > 1 && v <= edge; edge /= 2 {
		l--
	}
	return l
}

// scales returns the end of the scale of each measure.
func (n *Network) scales() []float64 {
	list := make([]float64, len(n.Measures))
	for k := range n.Measures {
		list[k] = n.Measures[k].Max
		if list[k] > 0 {
			continue
		}
		for i := range n.Links {
			list[k] = max(list[k], n.Links[i].AB.value(k), n.Links[i].BA.value(k))
		}
	}
	return list
}

func (d *Direction) value(k int) float64 {
	if k >= len(d.Values) || !finite(d.Values[k]) {
		return 0
	}
	return d.Values[k]
}

// Heading returns the title.
func (n *Network) Heading() string { return n.Title }

// SVG writes the drawing as a standalone SVG.
func (n *Network) SVG(w io.Writer) error { return n.scene(false).svg(w, true) }

// Inline writes the drawing as SVG for a page that has the styles of CSS, with data for its
// script.
func (n *Network) Inline(w io.Writer) error { return n.scene(true).svg(w, false) }

// PNG writes the drawing on a white background.
func (n *Network) PNG(w io.Writer) error { return n.scene(false).png(w) }

// PDF writes the drawing as a page of its size.
func (n *Network) PDF(w io.Writer) error { return n.scene(false).pdf(w) }

// lineWidths are the widths of directions by level, which distinguish them without colour.
var lineWidths = [levels + 1]float64{1.2, 2, 2.6, 3.2, 4, 5}

// scene lays out and draws the network.
func (n *Network) scene(inline bool) *scene {
	l := n.layout()
	s := &scene{title: n.Title, inline: inline, ramp: true, width: max(l.width+2*margin, narrowScreen), class: "net"}
	y := margin
	s.tag(`<g class="heading">`)
	for _, line := range wrap(n.Title, styleTitle, s.width-2*margin) {
		y += 16
		s.write(line, margin, y, styleTitle, start)
		y += 4
	}
	s.tag("</g>")
	most := n.scales()
	y = n.legend(s, most, y)
	l.move(margin, y+14)
	s.tag(fmt.Sprintf(`<g class="map" data-b="%s %s %s %s">`, units(margin), units(y+14), units(margin+l.width), units(y+14+l.height)))
	for _, bar := range l.bars {
		s.line(inkAxis, 1, at(bar[0].x, bar[0].y), at(bar[1].x, bar[1].y))
	}
	n.directions(s, l, most)
	for i := range n.Nodes {
		n.node(s, l, i)
	}
	n.faults(s, l)
	s.tag(`<g class="note">`)
	for _, t := range l.texts {
		s.write(t.text, t.x, t.y, styleTick, t.anchor)
	}
	s.tag("</g></g>")
	s.height = y + 14 + l.height + margin
	return s
}

// directions draws the directions of links, the highest values last.
func (n *Network) directions(s *scene, l *netLayout, most []float64) {
	type half struct {
		d   *Direction
		pts []vec
	}
	var list []half
	for i := range n.Links {
		a, b := halves(l.lines[i])
		list = append(list, half{&n.Links[i].AB, a}, half{&n.Links[i].BA, b})
	}
	first := func(d *Direction) int {
		if len(most) == 0 {
			return 0
		}
		return level(d.value(0), most[0])
	}
	// Highlighted directions are drawn last, with a rim.
	for _, highlighted := range []bool{false, true} {
		if highlighted {
			s.tag(fmt.Sprintf(`<g class="about" data-w="%s" data-c="%d">`, strings.Trim(fmt.Sprint(lineWidths), "[]"), inkRamp))
			for _, h := range list {
				if h.d.Mark || h.d.Loop {
					s.add(shape{paths: [][]point{points(h.pts)}, stroke: inkBad, width: units(lineWidths[first(h.d)] + 8)})
				}
			}
		}
		for at := 0; at <= levels; at++ {
			for _, h := range list {
				if first(h.d) == at && (h.d.Mark || h.d.Loop) == highlighted {
					s.direction(h.d, h.pts, at, most)
				}
			}
		}
	}
	s.tag("</g>")
}

// direction draws a direction at a level. On a page it has the levels of all measures, for
// the script.
func (s *scene) direction(d *Direction, pts []vec, at int, most []float64) {
	attr := ""
	if s.inline {
		digits := ""
		for k := range most {
			digits += fmt.Sprint(level(d.value(k), most[k]))
		}
		attr = fmt.Sprintf(` data-n="%s" data-t="%s" data-l="%s"`, escape(d.Name), escape(d.Text), digits)
	}
	s.add(shape{paths: [][]point{points(pts)}, stroke: inkRamp + ink(at), width: units(lineWidths[at]), class: "way", attr: attr})
}

// halves splits a line in the middle.
func halves(line []vec) (a, b []vec) {
	total := 0.0
	for i := 1; i < len(line); i++ {
		total += dist(line[i-1], line[i])
	}
	done := 0.0
	for i := 1; i < len(line); i++ {
		d := dist(line[i-1], line[i])
		if d == 0 || done+d < total/2 {
			done += d
			continue
		}
		t := (total/2 - done) / d
		mid := vec{line[i-1].x + float64(t*(line[i].x-line[i-1].x)), line[i-1].y + float64(t*(line[i].y-line[i-1].y))}
		return append(append([]vec{}, line[:i]...), mid), append([]vec{mid}, line[i:]...)
	}
	return line, line
}

// node draws a box with its name.
func (n *Network) node(s *scene, l *netLayout, i int) {
	d, b := &n.Nodes[i], l.boxes[i]
	s.tag(fmt.Sprintf(`<g class="node" data-n="%s" data-t="%s">`, escape(d.Name), escape(d.Text)))
	rim, width := inkAxis, 1.0
	switch {
	case d.Fault != "" || d.Mark:
		rim, width = inkBad, 2.6
	case d.Host && !l.named:
		rim, width = inkSoft, 0.6
	}
	a, c := at(b.x0, b.y0), at(b.x1, b.y1)
	s.add(shape{paths: [][]point{{a, {c.x, a.y}, c, {a.x, c.y}}}, closed: true, fill: inkGrid, stroke: rim, width: units(width)})
	if name := l.labels[i]; name != "" {
		t := styleTick
		t.ink = inkText
		t.bold = d.Mark && !d.Host
		s.write(name, (b.x0+b.x1)/2, (b.y0+b.y1)/2+4, t, middle)
	}
	s.tag("</g>")
}

// faults draws a cross on links and nodes with a fault.
func (n *Network) faults(s *scene, l *netLayout) {
	cross := func(c vec, name, text string) {
		const r = 6.0
		s.tag(fmt.Sprintf(`<g class="fault" data-n="%s" data-t="%s">`, escape(name), escape(text)))
		for _, k := range []struct {
			ink   ink
			width float64
		}{{inkPaper, 5.5}, {inkBad, 2.8}} {
			s.add(shape{paths: [][]point{{at(c.x-r, c.y-r), at(c.x+r, c.y+r)}, {at(c.x-r, c.y+r), at(c.x+r, c.y-r)}},
				stroke: k.ink, width: units(k.width)})
		}
		s.tag("</g>")
	}
	for i := range n.Links {
		if f := n.Links[i].Fault; f != "" {
			a, _ := halves(l.lines[i])
			cross(a[len(a)-1], n.Nodes[n.Links[i].A].Name+"-"+n.Nodes[n.Links[i].B].Name, f)
		}
	}
	for i := range n.Nodes {
		if f := n.Nodes[i].Fault; f != "" {
			b := l.boxes[i]
			corner := vec{b.x1 + 4, b.y0 - 5}
			if n.Nodes[i].Host && !l.named {
				corner = vec{(b.x0 + b.x1) / 2, b.y1}
			}
			cross(corner, n.Nodes[i].Name, f)
		}
	}
}

// legend explains colours and signs and returns the y coordinate of its end.
func (n *Network) legend(s *scene, most []float64, y float64) float64 {
	y += 20
	room := s.width - margin
	bottom := y
	for k, m := range n.Measures {
		if k > 0 && !s.inline {
			break
		}
		hidden := ""
		if k > 0 {
			hidden = ` style="display:none"`
		}
		title := m.Title
		if title == "" {
			title = n.Title
		}
		s.tag(fmt.Sprintf(`<g class="scale" data-n="%s" data-h="%s"%s>`, escape(m.Name), escape(title), hidden))
		x, line := margin, y
		s.write(m.Name, x, line, styleLegend, start)
		x += styleLegend.widthOf(m.Name)*slack + 12
		put := func(at int, text string) {
			long := 25 + styleTick.widthOf(text)*slack
			if x+long > room {
				x, line = margin, line+17
			}
			s.line(inkRamp+ink(at), lineWidths[at], point{units(x), units(line - 4)}, point{units(x + 20), units(line - 4)})
			s.write(text, x+25, line, styleTick, start)
			x += long + 10
		}
		for _, step := range m.Steps {
			put(level(step.Value, most[k]), step.Text)
		}
		if m.Steps == nil {
			put(0, "0")
		}
		for at := 1; at <= levels && most[k] > 0 && m.Steps == nil; at++ {
			edge := most[k]
			for range levels - at {
				edge /= 2
			}
			put(at, "≤ "+m.Unit.rounded(edge))
		}
		s.width = max(s.width, x+margin-10)
		bottom = max(bottom, line)
		s.tag("</g>")
	}
	s.tag(`<g class="signs">`)
	defer s.tag("</g>")
	return n.signs(s, bottom)
}

// signs explains marks, loops and faults, if there are any, and returns the y coordinate of
// its end.
func (n *Network) signs(s *scene, y float64) float64 {
	mark, loop, fault := "", false, false
	for i := range n.Links {
		l := &n.Links[i]
		loop = loop || l.AB.Loop || l.BA.Loop
		fault = fault || l.Fault != ""
		for _, d := range []*Direction{&l.AB, &l.BA} {
			if d.Mark && mark == "" {
				mark = d.Name
			}
		}
	}
	for i := range n.Nodes {
		fault = fault || n.Nodes[i].Fault != ""
		if n.Nodes[i].Mark && mark == "" {
			mark = n.Nodes[i].Name
		}
	}
	x := margin
	y += 19
	rim := func(text string) {
		s.line(inkBad, 9, at(x, y-4), at(x+20, y-4))
		s.line(inkRamp, 2.6, at(x, y-4), at(x+20, y-4))
		s.write(text, x+25, y, styleLegend, start)
		x += 25 + styleLegend.widthOf(text)*slack + 16
	}
	if mark != "" {
		rim("origin: " + mark)
	}
	if loop {
		rim("deadlock loop")
	}
	if fault {
		s.add(shape{paths: [][]point{{at(x, y-9), at(x+9, y)}, {at(x, y), at(x+9, y-9)}}, stroke: inkBad, width: 280})
		s.write("fault", x+14, y, styleLegend, start)
		x += 14 + styleLegend.widthOf("fault")*slack + 16
	}
	note := "each half of a line is what its nearer node sends"
	if x > margin && x+styleTick.widthOf(note)*slack > s.width-margin {
		x, y = margin, y+17
	}
	s.write(note, x, y, styleTick, start)
	s.width = max(s.width, 2*margin+styleTick.widthOf(note)*slack)
	return y
}
