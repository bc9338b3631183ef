package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

var (
	sizeOf   = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
	pathData = regexp.MustCompile(` d="([^"]*)"`)
	content  = regexp.MustCompile(`>[^<]*<`)
	command  = regexp.MustCompile(`[MLHVZ][^MLHVZ]*`)
)

// flaw describes a flaw in the SVG of a figure, or returns "".
func flaw(f *Figure, svg []byte) string {
	texts, err := readSVG(svg)
	if err != nil {
		return err.Error()
	}
	s := string(svg)
	numbers := content.ReplaceAllString(s, "><")
	for _, bad := range []string{"NaN", "Inf", "e+", "e-0"} {
		if strings.Contains(numbers, bad) {
			return "a coordinate is " + bad
		}
	}
	size := sizeOf.FindStringSubmatch(s)
	if size == nil {
		return "the size is missing"
	}
	width, _ := strconv.ParseFloat(size[1], 64)
	height, _ := strconv.ParseFloat(size[2], 64)
	for _, d := range pathData.FindAllStringSubmatch(s, -1) {
		if why := outside(d[1], width, height); why != "" {
			return why
		}
	}
	for _, p := range f.Panels {
		for _, series := range p.Series {
			if name := clean(series.Name); name != "" && !strings.Contains(texts, name) {
				return fmt.Sprintf("series %q is missing", series.Name)
			}
		}
	}
	return ""
}

// clean returns a name with the characters that XML cannot represent replaced.
func clean(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s))
	text, _ := readSVG([]byte("<a>" + b.String() + "</a>"))
	return strings.TrimSuffix(text, "\n")
}

// readSVG returns all texts of an SVG.
func readSVG(svg []byte) (string, error) {
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		if c, ok := token.(xml.CharData); ok {
			b.Write(c)
			b.WriteByte('\n')
		}
	}
}

// outside describes a point of a path that is outside the drawing, or returns "".
func outside(path string, width, height float64) string {
	for _, c := range command.FindAllString(path, -1) {
		var x, y float64
		var err error
		switch fields := strings.Fields(c[1:]); {
		case c[0] == 'H':
			x, err = strconv.ParseFloat(c[1:], 64)
		case c[0] == 'V':
			y, err = strconv.ParseFloat(c[1:], 64)
		case c[0] != 'Z' && len(fields) == 2:
			x, err = strconv.ParseFloat(fields[0], 64)
			if err == nil {
				y, err = strconv.ParseFloat(fields[1], 64)
			}
		}
		if err != nil {
			return err.Error()
		}
		if x < 0 || y < 0 || x > width || y > height {
			return fmt.Sprintf("%s is outside the drawing (%g x %g)", c, width, height)
		}
	}
	return ""
}

// number generates extreme and ordinary values.
func number() *rapid.Generator[float64] {
	odd := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300, 1e-280, 1e300, 1e15, 1e15 + 1, 0.1, 0.3, math.Copysign(0, -1)}
	return rapid.OneOf(rapid.SampledFrom(odd), rapid.Float64Range(-100, 100), rapid.Float64(), rapid.Map(rapid.IntRange(-5, 5), func(i int) float64 { return float64(i) }))
}

func figures() *rapid.Generator[*Figure] {
	return rapid.Custom(func(t *rapid.T) *Figure {
		axis := func(name string) Axis {
			a := Axis{Label: rapid.SampledFrom([]string{"", "load", "FCT <&> \"x\""}).Draw(t, name), Unit: Unit(rapid.IntRange(0, int(BitRate)).Draw(t, "unit")), Log: rapid.Bool().Draw(t, "log")}
			if rapid.IntRange(0, 4).Draw(t, "min") == 0 {
				a.Min = new(number().Draw(t, "minimum"))
			}
			if rapid.IntRange(0, 4).Draw(t, "max") == 0 {
				a.Max = new(number().Draw(t, "maximum"))
			}
			return a
		}
		f := &Figure{Title: rapid.SampledFrom([]string{"", "A title", "]]> & <script>", strings.Repeat("long ", 60)}).Draw(t, "title"), Columns: rapid.IntRange(-1, 5).Draw(t, "columns")}
		for range rapid.IntRange(0, 4).Draw(t, "panels") {
			p := Panel{Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind")), X: axis("x"), Y: axis("y"), Title: rapid.SampledFrom([]string{"", "(a)"}).Draw(t, "panel")}
			p.Categories = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "", "web search of many words", "leaf0→spine11111111111111111111"}), 0, 9).Draw(t, "categories")
			for range rapid.IntRange(0, 6).Draw(t, "series") {
				s := Series{Name: rapid.OneOf(rapid.SampledFrom([]string{"", "SIH", "DSH", "DSH, DCQCN", "a<b>&\"'", "\x00\xff"}), rapid.StringN(0, 8, 20)).Draw(t, "name")}
				n := rapid.SampledFrom([]int{0, 1, 2, 3, 8, 31}).Draw(t, "n")
				many := func(label string, n int) []float64 { return rapid.SliceOfN(number(), n, n).Draw(t, label) }
				s.X = many("X", n)
				if p.Kind != CDF || rapid.Bool().Draw(t, "ready") {
					s.Y = many("Y", max(0, n+rapid.IntRange(-1, 1).Draw(t, "more")))
				}
				if rapid.Bool().Draw(t, "bounds") {
					s.Low, s.High = many("low", len(s.Y)), many("high", len(s.Y))
				}
				s.Style = Style{Dash: Dash(rapid.IntRange(0, 4).Draw(t, "dash")), Points: rapid.Bool().Draw(t, "points"), Plain: rapid.Bool().Draw(t, "plain"), Like: rapid.SampledFrom([]string{"", "PFC"}).Draw(t, "like")}
				p.Series = append(p.Series, s)
			}
			f.Panels = append(f.Panels, p)
		}
		return f
	})
}

// For any numbers, the SVG of a figure is well-formed, contains every series, and has every
// point within its edges.
func TestAnyFigure(t *testing.T) { trials.Few(t, anyFigure) }

func anyFigure(t *rapid.T) {
	f := figures().Draw(t, "figure")
	var a, b bytes.Buffer
	if err := f.SVG(&a); err != nil {
		t.Fatal(err)
	}
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	if why := flaw(f, a.Bytes()); why != "" {
		t.Fatal(why)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Fatal("two drawings of the same figure differ")
	}
	if rapid.IntRange(0, 39).Draw(t, "png") == 0 {
		if err := f.PNG(io.Discard); err != nil {
			t.Fatal(err)
		}
	}
}

// flaw finds flaws.
func TestFlawsAreFound(t *testing.T) {
	f := gallery()["lines"]
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	if why := flaw(f, b.Bytes()); why != "" {
		t.Fatalf("flaw in a good figure: %s", why)
	}
	for name, bad := range map[string]string{
		"not a number":   strings.Replace(good, `d="M`, `d="MNaN `, 1),
		"infinite":       strings.Replace(good, `stroke-width="1"`, `stroke-width="+Inf"`, 1),
		"outside":        strings.Replace(good, `d="M`, `d="M9999 1L`, 1),
		"negative":       strings.Replace(good, `d="M`, `d="M-1 1L`, 1),
		"series missing": strings.ReplaceAll(good, "Oversubscription", ""),
		"not closed":     strings.Replace(good, "</svg>", "", 1),
		"not escaped":    strings.Replace(good, "average", "a & b <c>", 1),
		"without a size": strings.Replace(good, "viewBox", "box", 1),
	} {
		if flaw(f, []byte(bad)) == "" {
			t.Errorf("%s: no flaw found", name)
		}
	}
}

// A series with data is drawn in its colour.
func TestEverySeriesIsDrawn(t *testing.T) {
	for name, f := range gallery() {
		looks := newLooks(f)
		drawn := map[ink]int{}
		for _, sh := range f.scene(wide).shapes {
			drawn[sh.stroke]++
			drawn[sh.fill]++
		}
		for _, p := range f.Panels {
			for _, s := range p.Series {
				// The legend counts as one.
				if drawn[looks.byName[s.Name].ink] < 2 {
					t.Errorf("%s: %q is not drawn", name, s.Name)
				}
			}
		}
	}
}
