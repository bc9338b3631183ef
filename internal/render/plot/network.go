package plot

import (
	"fmt"
	"io"
	"strings"
)

// Network is a picture of nodes and the links between them. Each direction of a link is
// coloured by a value of its own: the half of the line that is nearer to the node that sends.
type Network struct {
	Title    string
	Nodes    []Node
	Links    []Link
	Measures []Measure // what directions are coloured by; a picture that stands alone shows the first
	Shape    Shape
	Columns  int // of Grid
}

// Shape is how switches are laid out.
type Shape uint8

// Shapes. Hosts are always beside their switch.
const (
	// Layers puts a switch the higher the more links there are from it to the nearest host.
	Layers Shape = iota
	// Circle puts them on one, in order.
	Circle
	// Grid puts them in rows.
	Grid
)

// Node is a host or a switch. Hosts have one link.
type Node struct {
	Name  string
	Host  bool
	Text  string // more about it
	Fault string // what is wrong with it; empty: nothing
	Mark  bool   // it is what the picture is about
}

// Link joins two nodes; when one of them is a host, it is A.
type Link struct {
	A, B   int
	AB, BA Way // from A to B, and back
	Fault  string
}

// Way is one direction of a link.
type Way struct {
	Name   string
	Values []float64 // one for each measure
	Text   string    // the same in words
	Mark   bool      // it is what the picture is about
	Loop   bool      // it is part of a loop
}

// Measure is what the values of ways are.
type Measure struct {
	Name string
	Unit Unit
	Max  float64 // end of the scale; 0: the largest value
}

// levels is how many colours there are besides that of nothing.
const levels = 5

// level is 0 for nothing, and one less for each halving below the end of the scale.
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

// scales are the ends of the measures.
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

func (w *Way) value(k int) float64 {
	if k >= len(w.Values) || !finite(w.Values[k]) {
		return 0
	}
	return w.Values[k]
}

// Heading is the title.
func (n *Network) Heading() string { return n.Title }

// SVG writes the picture to stand alone.
func (n *Network) SVG(w io.Writer) error { return n.scene(false).svg(w, true) }

// Inline writes it for a page that has the styles of CSS, with what a script needs.
func (n *Network) Inline(w io.Writer) error { return n.scene(true).svg(w, false) }

// PNG writes it on a white background.
func (n *Network) PNG(w io.Writer) error { return n.scene(false).png(w) }

// wayWidths are the widths of lines by level, so that they are told apart without colour.
var wayWidths = [levels + 1]float64{1.2, 2, 2.6, 3.2, 4, 5}

// scene draws the picture.
func (n *Network) scene(inline bool) *scene {
	l := n.layout()
	s := &scene{title: n.Title, inline: inline, ramp: true, width: max(l.width+2*margin, narrowScreen), class: "net"}
	y := margin
	for _, line := range wrap(n.Title, styleTitle, s.width-2*margin) {
		y += 16
		s.write(line, margin, y, styleTitle, start)
		y += 4
	}
	most := n.scales()
	y = n.legend(s, most, y)
	l.move(margin, y+14)
	for _, bar := range l.bars {
		s.line(inkAxis, 1, at(bar[0].x, bar[0].y), at(bar[1].x, bar[1].y))
	}
	n.ways(s, l, most)
	for i := range n.Nodes {
		n.node(s, l, i)
	}
	n.faults(s, l)
	for _, t := range l.texts {
		s.write(t.text, t.x, t.y, styleTick, t.anchor)
	}
	s.height = y + 14 + l.height + margin
	return s
}

// ways draws the directions of links, those with the highest values last.
func (n *Network) ways(s *scene, l *netLayout, most []float64) {
	type half struct {
		w   *Way
		pts []vec
	}
	var list []half
	for i := range n.Links {
		a, b := halves(l.lines[i])
		list = append(list, half{&n.Links[i].AB, a}, half{&n.Links[i].BA, b})
	}
	first := func(w *Way) int {
		if len(most) == 0 {
			return 0
		}
		return level(w.value(0), most[0])
	}
	// What the picture is about lies above everything.
	for _, about := range []bool{false, true} {
		if about {
			s.tag(fmt.Sprintf(`<g class="about" data-w="%s" data-c="%d">`, strings.Trim(fmt.Sprint(wayWidths), "[]"), inkRamp))
			for _, h := range list {
				if h.w.Mark || h.w.Loop {
					s.add(shape{paths: [][]point{points(h.pts)}, stroke: inkBad, width: units(wayWidths[first(h.w)] + 8)})
				}
			}
		}
		for at := 0; at <= levels; at++ {
			for _, h := range list {
				if first(h.w) == at && (h.w.Mark || h.w.Loop) == about {
					s.way(h.w, h.pts, at, most)
				}
			}
		}
	}
	s.tag("</g>")
}

// way draws one at a level; the script knows those of all measures.
func (s *scene) way(w *Way, pts []vec, at int, most []float64) {
	attr := ""
	if s.inline {
		digits := ""
		for k := range most {
			digits += fmt.Sprint(level(w.value(k), most[k]))
		}
		attr = fmt.Sprintf(` data-n="%s" data-t="%s" data-l="%s"`, escape(w.Name), escape(w.Text), digits)
	}
	s.add(shape{paths: [][]point{points(pts)}, stroke: inkRamp + ink(at), width: units(wayWidths[at]), class: "way", attr: attr})
}

// halves cuts a line in the middle. The first is that of its beginning.
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

// faults draws a cross on what is broken.
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

// legend writes what colours and signs mean, and returns where it ends.
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
		s.tag(fmt.Sprintf(`<g class="scale" data-n="%s"%s>`, escape(m.Name), hidden))
		x, line := margin, y
		s.write(m.Name, x, line, styleLegend, start)
		x += styleLegend.widthOf(m.Name)*slack + 12
		put := func(at int, text string) {
			long := 25 + styleTick.widthOf(text)*slack
			if x+long > room {
				x, line = margin, line+17
			}
			s.line(inkRamp+ink(at), wayWidths[at], point{units(x), units(line - 4)}, point{units(x + 20), units(line - 4)})
			s.write(text, x+25, line, styleTick, start)
			x += long + 10
		}
		put(0, "0")
		for at := 1; at <= levels && most[k] > 0; at++ {
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
	return n.signs(s, bottom)
}

// signs explains what else is drawn, if it is.
func (n *Network) signs(s *scene, y float64) float64 {
	mark, loop, fault := "", false, false
	for i := range n.Links {
		l := &n.Links[i]
		loop = loop || l.AB.Loop || l.BA.Loop
		fault = fault || l.Fault != ""
		for _, w := range []*Way{&l.AB, &l.BA} {
			if w.Mark && mark == "" {
				mark = w.Name
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
		rim("it began at " + mark)
	}
	if loop {
		rim("loop that waits for itself")
	}
	if fault {
		s.add(shape{paths: [][]point{{at(x, y-9), at(x+9, y)}, {at(x, y), at(x+9, y-9)}}, stroke: inkBad, width: 280})
		s.write("fault", x+14, y, styleLegend, start)
		x += 14 + styleLegend.widthOf("fault")*slack + 16
	}
	note := "the half of a line at a node is what that node sends"
	if x > margin && x+styleTick.widthOf(note)*slack > s.width-margin {
		x, y = margin, y+17
	}
	s.write(note, x, y, styleTick, start)
	s.width = max(s.width, 2*margin+styleTick.widthOf(note)*slack)
	return y
}
