package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// svg writes a scene as SVG. Text stays text. Colours are classes, so that a style sheet
// selects light or dark. There are no ids, so that a page can contain many drawings.
func (s *scene) svg(w io.Writer, alone bool) error {
	var b bytes.Buffer
	width, height := units(s.width), units(s.height)
	class := strings.TrimSpace("xoff " + s.class)
	shown := [2]string{width.String(), height.String()}
	if s.printed {
		shown = [2]string{units(s.width*pointsPerPixel).String() + "pt", units(s.height*pointsPerPixel).String() + "pt"}
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" role="img" viewBox="0 0 %s %s" width="%s" height="%s">`+"\n", class, width, height, shown[0], shown[1])
	if s.title != "" {
		fmt.Fprintf(&b, "<title>%s</title>\n", escape(s.title))
	}
	if alone {
		sheet := css()
		if s.ramp {
			sheet += rampCSS()
		}
		if s.heat {
			sheet += heatCSS()
		}
		fmt.Fprintf(&b, "<style>%s</style>\n", escape(sheet))
		fmt.Fprintf(&b, `<rect class="f%d" width="%s" height="%s"/>`+"\n", inkPaper, width, height)
	}
	for i := range s.shapes {
		s.shapes[i].svg(&b)
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func (sh *shape) svg(b *bytes.Buffer) {
	switch {
	case sh.tag != "":
		b.WriteString(sh.tag + "\n")
		return
	case sh.text != "":
		sh.svgText(b)
		return
	}
	var class []string
	if sh.class != "" {
		class = append(class, sh.class)
	}
	attr := ""
	if sh.stroke != noInk {
		class = append(class, fmt.Sprintf("s%d", sh.stroke))
		attr += fmt.Sprintf(` stroke-width="%s"`, sh.width)
		if len(sh.dash) > 0 {
			var list []string
			for _, d := range sh.dash {
				list = append(list, d.String())
			}
			attr += fmt.Sprintf(` stroke-dasharray="%s"`, strings.Join(list, " "))
		}
	}
	if sh.fill != noInk {
		class = append(class, fmt.Sprintf("f%d", sh.fill))
		if sh.faint {
			attr += ` fill-opacity="0.2"`
		}
	} else {
		attr += ` fill="none"`
	}
	fmt.Fprintf(b, `<path class="%s"%s%s d="`, strings.Join(class, " "), attr, sh.attr)
	for _, p := range sh.paths {
		path(b, p, sh.closed)
	}
	b.WriteString("\"/>\n")
}

// path writes points with the shortest path commands.
func path(b *bytes.Buffer, pts []point, closed bool) {
	for i, p := range pts {
		text := b.AvailableBuffer()
		switch {
		case i == 0:
			text = p.y.append(append(p.x.append(append(text, 'M')), ' '))
		case p.y == pts[i-1].y:
			text = p.x.append(append(text, 'H'))
		case p.x == pts[i-1].x:
			text = p.y.append(append(text, 'V'))
		default:
			text = p.y.append(append(p.x.append(append(text, 'L')), ' '))
		}
		b.Write(text)
	}
	if closed {
		b.WriteByte('Z')
	}
}

func (sh *shape) svgText(b *bytes.Buffer) {
	fmt.Fprintf(b, `<text class="f%d" x="%s" y="%s" font-size="%s"`, sh.fill, sh.at.x, sh.at.y, sh.size)
	if sh.bold {
		b.WriteString(` font-weight="600"`)
	}
	if sh.anchor != start {
		fmt.Fprintf(b, ` text-anchor="%s"`, [...]string{"start", "middle", "end"}[sh.anchor])
	}
	if sh.up {
		fmt.Fprintf(b, ` transform="rotate(-90 %s %s)"`, sh.at.x, sh.at.y)
	}
	fmt.Fprintf(b, ">%s</text>\n", escape(sh.text))
}

// String formats pixels without trailing zeros.
func (u unit) String() string { return string(u.append(nil)) }

func (u unit) append(b []byte) []byte {
	if u < 0 {
		b, u = append(b, '-'), -u
	}
	b = strconv.AppendInt(b, int64(u/100), 10)
	switch cents := byte(u % 100); {
	case cents == 0:
		return b
	case cents%10 == 0:
		return append(b, '.', '0'+cents/10)
	default:
		return append(b, '.', '0'+cents/10, '0'+cents%10)
	}
}

// escape escapes a text for the content of an element or attribute.
func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // writing to a buffer cannot fail
	return b.String()
}
