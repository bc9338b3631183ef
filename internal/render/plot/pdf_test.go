package plot

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/image/font/sfnt"
)

// pdfFile is what the tests read of a PDF.
type pdfFile struct {
	objects map[int]string // without streams
	streams map[int][]byte
}

// readPDF follows the cross-reference table of a PDF and unpacks its streams.
func readPDF(t *testing.T, data []byte) *pdfFile {
	t.Helper()
	number := func(text string) int {
		v, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	end := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(data)
	if end == nil {
		t.Fatal("the file has no startxref at its end")
	}
	table := string(data[number(string(end[1])):])
	entries := regexp.MustCompile(`(?m)^(\d{10}) 00000 n $`).FindAllStringSubmatch(table, -1)
	if want := fmt.Sprintf("xref\n0 %d\n", len(entries)+1); !strings.HasPrefix(table, want) {
		t.Fatalf("the table begins with %.20q, want %q", table, want)
	}
	f := &pdfFile{objects: make(map[int]string), streams: make(map[int][]byte)}
	for i, e := range entries {
		body := data[number(e[1]):]
		if head := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(body, []byte(head)) {
			t.Fatalf("object %d is not at its offset", i+1)
		}
		dict, rest, isStream := bytes.Cut(body[:bytes.Index(body, []byte("\nendobj"))], []byte("\nstream\n"))
		f.objects[i+1] = string(dict)
		if !isStream {
			continue
		}
		length := number(regexp.MustCompile(`/Length (\d+)`).FindStringSubmatch(f.objects[i+1])[1])
		if string(body[len(dict)+8+length:][:len("\nendstream")]) != "\nendstream" || len(rest) < length {
			t.Fatalf("object %d has another length than %d", i+1, length)
		}
		z, err := zlib.NewReader(bytes.NewReader(rest[:length]))
		if err != nil {
			t.Fatal(err)
		}
		if f.streams[i+1], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// texts returns the texts of the page, decoded by the maps of its fonts.
func (f *pdfFile) texts(t *testing.T) []string {
	t.Helper()
	maps := make(map[string]map[string]string) // by font
	for _, m := range regexp.MustCompile(`/(regular|bold) (\d+) 0 R`).FindAllStringSubmatch(f.objects[3], -1) {
		first, _ := strconv.Atoi(m[2])
		to := make(map[string]string)
		for _, pair := range regexp.MustCompile(`(?m)^<([0-9a-f]{4})> <([0-9a-f]+)>$`).FindAllSubmatch(f.streams[first+4], -1) {
			raw, err := hex.DecodeString(string(pair[2]))
			if err != nil {
				t.Fatal(err)
			}
			var units []uint16
			for i := 0; i < len(raw); i += 2 {
				units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
			}
			to[string(pair[1])] = string(utf16.Decode(units))
		}
		maps[m[1]] = to
	}
	var list []string
	for _, m := range regexp.MustCompile(`/(regular|bold) \S+ Tf .* Tm <([0-9a-f]+)> Tj`).FindAllSubmatch(f.streams[4], -1) {
		text := ""
		for code := range slices.Chunk(m[2], 4) {
			text += maps[string(m[1])][string(code)]
		}
		list = append(list, text)
	}
	return list
}

// printed returns figures of all kinds with a size on paper.
func printed() map[string]*Figure {
	all := gallery()
	all["boxes"] = &Figure{Panels: []Panel{{Kind: Boxes, Y: Axis{Label: "slowdown", Log: true}, Categories: []string{"web", "incast"}, Series: []Series{
		{Name: "dcqcn", Boxes: []Box{{1, 1.2, 1.5, 3, 20}, {1, 2, 4, 9, 80}}},
		{Name: "none", Boxes: []Box{{1, 2, 4, 8, 16}, {Low: math.NaN()}}},
	}}}}
	all["heat"] = &Figure{Panels: []Panel{{Kind: Heat, X: Axis{Label: "alpha"}, Y: Axis{Label: "load"}, Z: Axis{Label: "blocked", Unit: Seconds},
		Categories: []string{"1/16", "1/8", "1/4"}, Series: []Series{
			{Name: "0.3", Y: []float64{0, 1e-6, 2e-6}}, {Name: "0.9", Y: []float64{5e-6, 1e-5, math.NaN()}},
		}}}}
	for _, f := range all {
		f.Print = &Print{Width: 3.3 * 72}
	}
	return all
}

// Every text of a figure is a text of its PDF, in embedded fonts of the used glyphs.
func TestPDF(t *testing.T) {
	for name, f := range printed() {
		var a, b bytes.Buffer
		if err := f.PDF(&a); err != nil {
			t.Fatal(err)
		}
		if err := f.PDF(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two files of a figure differ (%v)", name, err)
		}
		file := readPDF(t, a.Bytes())
		var want []string
		s := f.scene(wide)
		for _, sh := range s.shapes {
			if sh.text != "" {
				want = append(want, sh.text)
			}
		}
		if got := file.texts(t); !slices.Equal(got, want) {
			t.Errorf("%s has the texts %q, want %q", name, got, want)
		}
		if box := "/MediaBox [0 0 237.6 "; !strings.Contains(file.objects[3], box) {
			t.Errorf("%s: %s has no %s", name, file.objects[3], box)
		}
		fonts := 0
		for i, o := range file.objects {
			if strings.Contains(o, "/Length1") {
				fonts++
				checkFont(t, file.streams[i])
			}
		}
		if fonts == 0 || a.Len() > 60_000 {
			t.Errorf("%s has %d fonts and %d bytes", name, fonts, a.Len())
		}
	}
}

// checkFont checks the tables of an embedded font.
func checkFont(t *testing.T, data []byte) {
	t.Helper()
	const required = 9
	if data[5] != required {
		t.Fatalf("an embedded font has %d tables, want %d", data[5], required)
	}
	for i := range required {
		r := data[12+16*i:][:16]
		word := func(at int) int { return int(r[at])<<24 | int(r[at+1])<<16 | int(r[at+2])<<8 | int(r[at+3]) }
		if word(8)+word(12) > len(data) || word(8)%4 != 0 {
			t.Fatalf("table %s lies at %d to %d of %d bytes", r[:4], word(8), word(8)+word(12), len(data))
		}
		if i > 0 && string(r[:4]) <= string(data[12+16*i-16:][:4]) {
			t.Errorf("table %s is not in alphabetical order", r[:4])
		}
	}
}

// A subset has the outlines of used glyphs and of their parts; others are empty.
func TestSubset(t *testing.T) {
	f := newFace(false)
	f.encode("aä")
	var glyphs []sfnt.GlyphIndex
	for g := range f.runes {
		glyphs = append(glyphs, g)
	}
	whole, part := glyphOutlines(f.data), glyphOutlines(subset(f.data, glyphs))
	if len(part) != len(whole) {
		t.Fatalf("%d glyphs, want %d", len(part), len(whole))
	}
	kept := 0
	for g := range part {
		if len(part[g]) > 0 {
			kept++
			if !bytes.Equal(part[g], whole[g]) {
				t.Errorf("glyph %d has another outline", g)
			}
			for _, c := range components(part[g]) {
				if len(part[c]) == 0 && len(whole[c]) > 0 {
					t.Errorf("glyph %d lacks its part %d", g, c)
				}
			}
		}
	}
	for _, g := range glyphs {
		if len(part[g]) == 0 {
			t.Errorf("used glyph %d is empty", g)
		}
	}
	if kept < 3 || kept > 5 { // missing glyph, a, ä and perhaps its dots
		t.Errorf("%d glyphs were kept", kept)
	}
}

// glyphOutlines returns the outlines in a TrueType file.
func glyphOutlines(data []byte) [][]byte {
	word := func(b []byte) int { return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]) }
	tables := make(map[string][]byte)
	for i := range int(data[4])<<8 | int(data[5]) {
		r := data[12+16*i:]
		tables[string(r[:4])] = data[word(r[8:]):][:word(r[12:])]
	}
	var list [][]byte
	loca, long := tables["loca"], tables["head"][51] != 0
	at := func(i int) int {
		if long {
			return word(loca[4*i:])
		}
		return 2 * (int(loca[2*i])<<8 | int(loca[2*i+1]))
	}
	for g := range int(tables["maxp"][4])<<8 | int(tables["maxp"][5]) {
		list = append(list, tables["glyf"][at(g):at(g+1)])
	}
	return list
}

// Poppler finds one page of the requested size, embedded fonts, and labels.
func TestPDFWithPoppler(t *testing.T) {
	for _, tool := range []string{"pdfinfo", "pdftotext", "pdffonts"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is missing (package poppler-utils)", tool)
		}
	}
	dir := os.Getenv("GALLERY")
	if dir == "" {
		dir = t.TempDir()
	}
	output := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return string(out)
	}
	for name, f := range printed() {
		f.Print.Height = 200
		path := filepath.Join(dir, name+".pdf")
		var data bytes.Buffer
		if err := f.PDF(&data); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		info := output("pdfinfo", path)
		if !regexp.MustCompile(`(?m)^Pages: +1$`).MatchString(info) || !strings.Contains(info, "Page size:       237.6 x ") || strings.Contains(info, "Error") {
			t.Errorf("%s: pdfinfo prints\n%s", name, info)
		}
		if fonts := output("pdffonts", path); !regexp.MustCompile(`(?m)^[A-Z]{6}\+Go-Regular +CID TrueType +Identity-H +yes yes yes`).MatchString(fonts) {
			t.Errorf("%s: pdffonts prints\n%s", name, fonts)
		}
		text := output("pdftotext", "-layout", path, "-")
		for _, p := range f.Panels {
			for _, s := range p.Series {
				if !strings.Contains(text, s.Name) {
					t.Errorf("%s: pdftotext does not find %q", name, s.Name)
				}
			}
		}
	}
}

func TestParsePrint(t *testing.T) {
	for text, want := range map[string]Print{"3in": {Width: 216}, "3x2in": {216, 144}, "3inx2in": {216, 144}, "254mm": {Width: 720}, "100pt": {Width: 100}, "2.54cm": {Width: 72}} {
		got, err := ParsePrint(text)
		if err != nil || math.Abs(got.Width-want.Width) > 1e-9 || got.Height != want.Height {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "3", "in", "3em", "x2in", "3xin", "0in", "-3in", "NaNin", "99in", "3x0.1in"} {
		if got, err := ParsePrint(text); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}

// A figure on paper has the size that was asked for, in every format.
func TestPrintSize(t *testing.T) {
	for name, f := range printed() {
		if f.Wide || name == "compare" { // rows of spans have a fixed height
			continue
		}
		f.Print = &Print{Width: 500, Height: 400}
		s := f.scene(wide)
		if w, h := s.width*pointsPerPixel, s.height*pointsPerPixel; math.Abs(w-500) > 1e-6 || math.Abs(h-400) > 0.5 {
			t.Errorf("%s is %.1f x %.1f points, want 500 x 400", name, w, h)
		}
		var svg bytes.Buffer
		if err := f.SVG(&svg); err != nil || !strings.Contains(svg.String(), ` width="500pt" height="`) {
			t.Errorf("%s: the SVG begins with %.200s", name, &svg)
		}
	}
}
