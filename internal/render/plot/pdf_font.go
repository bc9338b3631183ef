package plot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// objectsPerFont is the number of PDF objects of an embedded font.
const objectsPerFont = 5

// face is a font of a PDF and the glyphs that texts use.
type face struct {
	heavy bool
	font  *sfnt.Font
	data  []byte
	runes map[sfnt.GlyphIndex]rune
	buf   sfnt.Buffer
}

func newFace(heavy bool) *face {
	f := &face{heavy: heavy, font: fontOf(heavy), data: goregular.TTF, runes: make(map[sfnt.GlyphIndex]rune)}
	if heavy {
		f.data = gobold.TTF
	}
	return f
}

// name returns the name of the font on the page.
func (f *face) name() string {
	if f.heavy {
		return "bold"
	}
	return "regular"
}

// encode returns the glyph numbers of a text in hexadecimal, and keeps the glyphs.
func (f *face) encode(text string) string {
	var b strings.Builder
	for _, r := range text {
		g, err := f.font.GlyphIndex(&f.buf, r)
		if err != nil {
			g = 0
		}
		f.runes[g] = r
		fmt.Fprintf(&b, "%04x", g)
	}
	return b.String()
}

// write writes the objects of the font, from number first.
func (f *face) write(d *pdfWriter, first int) {
	glyphs := slices.Sorted(maps.Keys(f.runes))
	program := subset(f.data, glyphs)
	sum := sha256.Sum256(program)
	tag := make([]byte, 6) // the name of a subset begins with six letters
	for i := range tag {
		tag[i] = 'A' + sum[i]%26
	}
	name := fmt.Sprintf("%s+Go-%s", tag, strings.ToUpper(f.name()[:1])+f.name()[1:])
	em := fixed.I(int(f.font.UnitsPerEm()))
	per1000 := func(v fixed.Int26_6) int { return int(int64(v) * 1000 / int64(em)) }

	var widths strings.Builder
	for _, g := range glyphs {
		a, err := f.font.GlyphAdvance(&f.buf, g, em, font.HintingNone)
		if err != nil {
			panic(err) // the embedded fonts are complete
		}
		fmt.Fprintf(&widths, "%d [%d] ", g, per1000(a))
	}
	box, err := f.font.Bounds(&f.buf, em, font.HintingNone)
	if err != nil {
		panic(err)
	}
	m, err := f.font.Metrics(&f.buf, em, font.HintingNone)
	if err != nil {
		panic(err)
	}
	d.object(first, fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>",
		name, first+1, first+4))
	d.object(first+1, fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "+
		"/FontDescriptor %d 0 R /CIDToGIDMap /Identity /W [%s] >>", name, first+2, &widths))
	d.object(first+2, fmt.Sprintf("<< /Type /FontDescriptor /FontName /%s /Flags 4 /FontBBox [%d %d %d %d] /ItalicAngle 0 /Ascent %d /Descent %d /CapHeight %d /StemV %d /FontFile2 %d 0 R >>",
		name, per1000(box.Min.X), -per1000(box.Max.Y), per1000(box.Max.X), -per1000(box.Min.Y),
		per1000(m.Ascent), -per1000(m.Descent), per1000(m.CapHeight), map[bool]int{false: 80, true: 140}[f.heavy], first+3))
	d.stream(first+3, fmt.Sprintf("/Length1 %d ", len(program)), program)
	d.stream(first+4, "", f.toUnicode(glyphs))
}

// toUnicode returns the map from glyphs to text that search and copying use.
func (f *face) toUnicode(glyphs []sfnt.GlyphIndex) []byte {
	var b strings.Builder
	b.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n")
	for part := range slices.Chunk(glyphs, 100) { // the largest permitted block
		fmt.Fprintf(&b, "%d beginbfchar\n", len(part))
		for _, g := range part {
			fmt.Fprintf(&b, "<%04x> <", g)
			for _, u := range utf16.Encode([]rune{f.runes[g]}) {
				fmt.Fprintf(&b, "%04x", u)
			}
			b.WriteString(">\n")
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return []byte(b.String())
}

// keptTables are the tables that a PDF needs, in the order of a font file.
var keptTables = []string{"cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep"}

// subset returns a TrueType font without the outlines of other glyphs. Glyphs keep their
// numbers.
func subset(data []byte, glyphs []sfnt.GlyphIndex) []byte {
	tables := make(map[string][]byte)
	be := binary.BigEndian
	for i := range int(be.Uint16(data[4:])) {
		r := data[12+16*i:]
		tables[string(r[:4])] = data[be.Uint32(r[8:]):][:be.Uint32(r[12:])]
	}
	const longOffsets = 51 // in table head: whether offsets have four bytes
	long := tables["head"][longOffsets] != 0
	old, glyf := tables["loca"], tables["glyf"]
	offset := func(i int) uint32 {
		if long {
			return be.Uint32(old[4*i:])
		}
		return 2 * uint32(be.Uint16(old[2*i:]))
	}
	count := int(be.Uint16(tables["maxp"][4:]))
	keep := make([]bool, count)
	var visit func(g int)
	visit = func(g int) {
		if g >= count || keep[g] {
			return
		}
		keep[g] = true
		for _, part := range components(glyf[offset(g):offset(g+1)]) {
			visit(part)
		}
	}
	visit(0)
	for _, g := range glyphs {
		visit(int(g))
	}
	var outlines, loca []byte
	for g := range count + 1 {
		if long {
			loca = be.AppendUint32(loca, uint32(len(outlines)))
		} else {
			loca = be.AppendUint16(loca, uint16(len(outlines)/2))
		}
		if g < count && keep[g] {
			outlines = append(outlines, glyf[offset(g):offset(g+1)]...)
		}
	}
	tables["glyf"], tables["loca"] = outlines, loca
	return fontFile(tables)
}

// components returns the glyphs of which an outline consists, if it is composite.
func components(outline []byte) []int {
	const header, moreParts = 10, 0x20
	be := binary.BigEndian
	if len(outline) < header || int16(be.Uint16(outline)) >= 0 {
		return nil
	}
	var list []int
	for at := header; ; {
		flags := be.Uint16(outline[at:])
		list = append(list, int(be.Uint16(outline[at+2:])))
		at += 4 + 2
		if flags&1 != 0 { // offsets are words
			at += 2
		}
		switch {
		case flags&0x08 != 0: // one scale
			at += 2
		case flags&0x40 != 0: // two
			at += 4
		case flags&0x80 != 0: // a matrix
			at += 8
		}
		if flags&moreParts == 0 {
			return list
		}
	}
}

// fontFile arranges tables as a TrueType file.
func fontFile(tables map[string][]byte) []byte {
	be := binary.BigEndian
	var names []string
	for _, n := range keptTables {
		if tables[n] != nil {
			names = append(names, n)
		}
	}
	power, log := 1, 0
	for power*2 <= len(names) {
		power, log = power*2, log+1
	}
	file := be.AppendUint32(nil, 0x00010000)
	for _, v := range []int{len(names), 16 * power, log, 16 * (len(names) - power)} {
		file = be.AppendUint16(file, uint16(v))
	}
	at := len(file) + 16*len(names)
	var body []byte
	for _, n := range names {
		t := slices.Clone(tables[n])
		if n == "head" {
			be.PutUint32(t[8:], 0) // the checksum of the file is optional
		}
		file = append(file, n...)
		padded := append(slices.Clone(t), make([]byte, (4-len(t)%4)%4)...)
		sum := uint32(0)
		for i := 0; i < len(padded); i += 4 {
			sum += be.Uint32(padded[i:])
		}
		file = be.AppendUint32(be.AppendUint32(be.AppendUint32(file, sum), uint32(at+len(body))), uint32(len(t)))
		body = append(body, padded...)
	}
	return append(file, body...)
}
