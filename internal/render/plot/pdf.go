package plot

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// pointsPerPixel is the size of a pixel on paper. It prints texts of 11 pixels at 7.15
// points.
const pointsPerPixel = 0.65

// pdf writes a scene as a PDF of one page. Text stays text, in embedded fonts that contain
// only the used glyphs. The file has no date, so the same scene gives the same bytes.
func (s *scene) pdf(w io.Writer) error {
	d := &pdfWriter{faces: map[bool]*face{}}
	content := d.content(s)
	width, height := units(s.width*pointsPerPixel), units(s.height*pointsPerPixel)

	d.buf.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	const catalog, pages, page, contents, info, firstFont = 1, 2, 3, 4, 5, 6
	d.object(catalog, fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R >>", pages))
	d.object(pages, fmt.Sprintf("<< /Type /Pages /Kids [%d 0 R] /Count 1 >>", page))
	var fonts strings.Builder
	next := firstFont
	for _, heavy := range []bool{false, true} {
		if f := d.faces[heavy]; f != nil {
			fmt.Fprintf(&fonts, "/%s %d 0 R ", f.name(), next)
			next += objectsPerFont
		}
	}
	d.object(page, fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %s %s] /Contents %d 0 R "+
		"/Resources << /Font << %s>> /ExtGState << /faint << /ca 0.2 >> /full << /ca 1 >> >> >> >>", pages, width, height, contents, &fonts))
	d.stream(contents, "", content)
	d.object(info, fmt.Sprintf("<< /Title %s /Creator (xoff) >>", utf16Text(s.title)))
	next = firstFont
	for _, heavy := range []bool{false, true} {
		if f := d.faces[heavy]; f != nil {
			f.write(d, next)
			next += objectsPerFont
		}
	}
	start := d.buf.Len()
	fmt.Fprintf(&d.buf, "xref\n0 %d\n0000000000 65535 f \n", next)
	for _, at := range d.offsets {
		fmt.Fprintf(&d.buf, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&d.buf, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", next, catalog, info, start)
	_, err := w.Write(d.buf.Bytes())
	return err
}

// pdfWriter builds a PDF. Objects are written in order of their numbers, from 1.
type pdfWriter struct {
	buf     bytes.Buffer
	offsets []int
	faces   map[bool]*face // by weight; only faces with text
}

func (d *pdfWriter) object(number int, body string) {
	if number != len(d.offsets)+1 {
		panic(fmt.Sprintf("plot: PDF object %d out of order", number))
	}
	d.offsets = append(d.offsets, d.buf.Len())
	fmt.Fprintf(&d.buf, "%d 0 obj\n%s\nendobj\n", number, body)
}

// stream writes a compressed stream with further entries of its dictionary.
func (d *pdfWriter) stream(number int, entries string, data []byte) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(data) // writing to a buffer cannot fail
	_ = z.Close()
	d.object(number, fmt.Sprintf("<< %s/Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", entries, packed.Len(), &packed))
}

// content returns the drawing operators of a scene. Coordinates are pixels, downward.
func (d *pdfWriter) content(s *scene) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%g 0 0 -%g 0 %s cm 1 j\n", pointsPerPixel, pointsPerPixel, units(s.height*pointsPerPixel))
	for i := range s.shapes {
		sh := &s.shapes[i]
		switch {
		case sh.tag != "":
		case sh.text != "":
			d.text(&b, sh)
		default:
			sh.pdf(&b)
		}
	}
	return b.Bytes()
}

// pdf writes a path.
func (sh *shape) pdf(b *bytes.Buffer) {
	paint := ""
	if sh.fill != noInk {
		fmt.Fprintf(b, "%s rg ", sh.fill.pdf())
		paint = "f"
	}
	if sh.stroke != noInk {
		fmt.Fprintf(b, "%s RG %s w [", sh.stroke.pdf(), sh.width)
		for _, on := range sh.dash {
			fmt.Fprintf(b, "%s ", on)
		}
		b.WriteString("] 0 d ")
		paint = map[string]string{"": "S", "f": "B"}[paint]
	}
	if paint == "" {
		return
	}
	if sh.faint {
		b.WriteString("/faint gs ")
	}
	for _, pts := range sh.paths {
		for i, p := range pts {
			fmt.Fprintf(b, "%s %s %s ", p.x, p.y, [...]string{"m", "l"}[min(i, 1)])
		}
		if sh.closed {
			b.WriteString("h ")
		}
	}
	b.WriteString(paint)
	if sh.faint {
		b.WriteString(" /full gs")
	}
	b.WriteByte('\n')
}

// text writes a text as glyphs of its face.
func (d *pdfWriter) text(b *bytes.Buffer, sh *shape) {
	f := d.faces[sh.bold]
	if f == nil {
		f = newFace(sh.bold)
		d.faces[sh.bold] = f
	}
	back := units(textWidth(sh.text, float64(sh.size)/100, sh.bold) * [...]float64{0, 0.5, 1}[sh.anchor])
	// The page points upward, texts do not: the matrix flips them again.
	matrix, x, y := "1 0 0 -1", sh.at.x-back, sh.at.y
	if sh.up {
		matrix, x, y = "0 -1 -1 0", sh.at.x, sh.at.y+back
	}
	fmt.Fprintf(b, "BT %s rg /%s %s Tf %s %s %s Tm <%s> Tj ET\n", sh.fill.pdf(), f.name(), sh.size, matrix, x, y, f.encode(sh.text))
}

// pdf returns the components of an ink on a light page.
func (i ink) pdf() string {
	c := i.rgb()
	return fmt.Sprintf("%.3f %.3f %.3f", float64(c.R)/255, float64(c.G)/255, float64(c.B)/255)
}

// utf16Text returns a text string of a PDF.
func utf16Text(text string) string {
	var b strings.Builder
	b.WriteString("<feff")
	for _, u := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, "%04x", u)
	}
	return b.String() + ">"
}
