package report

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/internal/render/plot"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected files")

// example returns a document with every kind of block.
func example() *Document {
	t := &Table{Caption: "Claims of Fig. 4", Columns: []Column{{Name: "claim"}, {"paper", Right}, {"here", Right}, {"verdict", Centre}}}
	t.Row("pauses | per link", "1.5", "1.4", "-")
	t.Rows = append(t.Rows, []Cell{{Text: "`phi` <of> a port & more"}, {Text: "10", Mark: Muted}, {Text: "11 *", Mark: Best}, {Text: "reproduced", Mark: Good, Badge: true}})
	t.Rows = append(t.Rows, []Cell{{Text: "drops", Link: "drops.md"}, {Text: "0"}, {Text: "7", Mark: Bad}, {Text: "not reproduced", Mark: Bad, Badge: true}})
	fig := &plot.Figure{Title: "One line", Panels: []plot.Panel{{Series: []plot.Series{{Name: "DSH", X: []float64{1, 2}, Y: []float64{3, 4}}}}}}
	return &Document{
		Title: "An example <of> it", Subtitle: "every block once", Badges: []Badge{{"passed", Good}},
		Sections: []Section{
			{Heading: "First", Badges: []Badge{{"look", Warn}}, Blocks: []Block{
				Paragraph("Text with `code <x>` and 2 * 3 * 4, snake_case and _this_."),
				Paragraph("1. not a list\nand *not* bold, [no](link)"),
				List{"one", "`two`", "- three"},
				Facts{{Key: "drops", Value: "0", Mark: Good}, {Key: "partial", Value: "yes", Mark: Bad}},
				Badges{{"reproduced", Good}, {"inconclusive", Warn}},
			}},
			{Heading: "Below", Level: 2, Blocks: []Block{t, &Figure{Name: "fig-1", Plot: fig, Caption: "Slowdown with `DSH`"}}},
			{Heading: "Scenario", Blocks: []Block{
				&Code{Language: "yaml", Text: "name: a\n# ``` is fine\nlist: [1, 2]\n", Caption: "the scenario", Folded: true},
				&Code{Text: "xoff run a.yaml <x>"},
			}},
		},
	}
}

func markdownOf(t *testing.T, d *Document) (string, map[string][]byte) {
	t.Helper()
	files := map[string][]byte{}
	var b bytes.Buffer
	err := d.Markdown(&b, func(name string, write func(io.Writer) error) error {
		var f bytes.Buffer
		err := write(&f)
		files[name] = f.Bytes()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), files
}

func TestGolden(t *testing.T) {
	var page bytes.Buffer
	if err := example().HTML(&page); err != nil {
		t.Fatal(err)
	}
	// The figure and the style sheets have separate tests.
	html := regexp.MustCompile(`(?s)<svg.*?</svg>`).ReplaceAllString(page.String(), "<svg/>")
	html = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(html, "<style/>")
	golden(t, "example.html", html)
	md, files := markdownOf(t, example())
	golden(t, "example.md", md)
	if len(files) != 1 || !bytes.HasPrefix(files["fig-1.svg"], []byte("<svg ")) {
		t.Errorf("%d figures", len(files))
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from the output; review it, then run go test ./internal/render/report -run Golden -rewrite", path)
	}
}

// wellFormed checks that a page is well-formed XML.
func wellFormed(page []byte) error {
	d := xml.NewDecoder(bytes.NewReader(page))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// A page is self-contained and has no script except the embedded one.
func TestPageStandsAlone(t *testing.T) {
	var b bytes.Buffer
	if err := example().HTML(&b); err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(b.Bytes()); err != nil {
		t.Error(err)
	}
	script := example().script()
	page := strings.ReplaceAll(b.String(), "http://www.w3.org/2000/svg", "") // the SVG namespace is never fetched
	if n := strings.Count(page, "<script>//<![CDATA[\n"+strings.ReplaceAll(script, "http://www.w3.org/2000/svg", "")+"//]]></script>"); n != 1 {
		t.Errorf("the page has its script %d times, want 1", n)
	}
	page = strings.ReplaceAll(page, strings.ReplaceAll(script, "http://www.w3.org/2000/svg", ""), "")
	page = strings.Replace(page, "<script>", "", 1)
	for _, bad := range []string{"<script", "http:", "https:", "src=", "@import", "url(", "<link", " onload"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme:dark", "default-src 'none'", "@media print", "<svg ", "<details>", `class="badge good"`, `class="r best"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// Texts never become markup.
func TestAnyText(t *testing.T) {
	words := rapid.OneOf(rapid.SampledFrom([]string{"</td>", "<script>alert(1)</script>", "a|b", "`", "``", "`a|b`", "]]>", "&amp;", "\x00", "\xff\xfe", "\n\n# x", "**b**", "\\"}), rapid.String())
	bar := regexp.MustCompile(`(^|[^\\])(\\\\)*\|`)
	trials.Check(t, func(t *rapid.T) {
		s := func(name string) string { return words.Draw(t, name) }
		table := &Table{Caption: s("caption"), Columns: []Column{{Name: s("a")}, {Name: s("b"), Align: Right}}}
		table.Row(s("c"), s("d"))
		table.Rows = append(table.Rows, []Cell{{Text: s("e"), Mark: Bad}, {Text: s("f"), Badge: true}})
		d := &Document{Title: s("title"), Subtitle: s("sub"), Badges: []Badge{{s("badge"), Warn}}, Sections: []Section{
			{Heading: s("heading"), Level: rapid.IntRange(-1, 9).Draw(t, "level"), Blocks: []Block{Paragraph(s("text")), List{s("item")}, Facts{{s("key"), s("value"), Good}}, table, &Code{Text: s("code"), Caption: s("name"), Folded: rapid.Bool().Draw(t, "folded")}}},
		}}
		var page bytes.Buffer
		if err := d.HTML(&page); err != nil {
			t.Fatal(err)
		}
		if err := wellFormed(page.Bytes()); err != nil {
			t.Fatal(err)
		}
		if strings.Count(page.String(), "<script") != 1 { // the one of its table
			t.Fatal("a text became an element")
		}
		// A row of two cells has three bars.
		m := &markdown{}
		m.table(table)
		lines := strings.Split(strings.TrimRight(m.String(), "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-4):] {
			if n := len(bar.FindAllString(line, -1)); n != 3 {
				t.Fatalf("%d bars in %q", n, line)
			}
		}
		if err := d.Markdown(io.Discard, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// everywhere returns a document that has the text s wherever a text can be.
func everywhere(s string) *Document {
	fig := &plot.Figure{Title: s, Panels: []plot.Panel{{
		Title: s, X: plot.Axis{Label: s}, Y: plot.Axis{Label: s}, Notes: []string{s},
		Series: []plot.Series{{Name: s, X: []float64{1, 2}, Y: []float64{3, 4}}},
	}}}
	table := &Table{Caption: s, Columns: []Column{{Name: s}, {Name: s}}, Rows: [][]Cell{{{Text: s}, {Text: s, Badge: true}}}}
	d := &Document{Title: s, Subtitle: s, Badges: []Badge{{Text: s}}}
	for range contentsFrom {
		d.Sections = append(d.Sections, Section{Heading: s})
	}
	d.Sections[0].Badges = []Badge{{Text: s}}
	d.Sections[0].Add(Paragraph(s), Paragraph("`"+s+"`"), List{s}, Facts{{Key: s, Value: s}}, Badges{{Text: s}}, table,
		&Figure{Name: "a", Plot: fig, Caption: s}, &Code{Text: s, Caption: s}, &Code{Text: s, Caption: s, Folded: true})
	return d
}

// skeleton returns the elements and attributes of a page, and the number of its texts that
// equal s. It omits the coordinates of figures, which depend on the length of texts.
func skeleton(t *testing.T, s string) (string, int) {
	t.Helper()
	var page bytes.Buffer
	if err := everywhere(s).HTML(&page); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	n := 0
	for d := xml.NewDecoder(&page); ; {
		token, err := d.Token()
		if err == io.EOF {
			return b.String(), n
		} else if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			b.WriteString("<" + token.Name.Local)
			for _, a := range token.Attr {
				b.WriteString(" " + a.Name.Local)
				if a.Name.Local == "class" || a.Name.Local == "href" || a.Name.Local == "id" {
					b.WriteString("=" + a.Value)
				}
			}
			b.WriteString(">\n")
		case xml.CharData:
			if strings.TrimSpace(string(token)) == s {
				n++
			}
		case xml.Comment:
			b.WriteString("a comment\n")
		}
	}
}

// A text changes no element and no attribute of a page, and a reader sees it unchanged.
func TestHostileText(t *testing.T) {
	// Head of the page 4, links and headings 2 x 6, badge 1, paragraphs, list, facts and
	// badges 6, table 5, figure 8 (its title appears twice) and 7 for narrow screens, code 4.
	const places = 47
	want, _ := skeleton(t, "harmless")
	for _, s := range []string{
		"harmless", "<script>alert(1)</script>", `" onload="alert(1)`, `' onload='alert(1)`, "]]>", "<![CDATA[", "<!--", "-->", "</title><b>", "</style>", "</svg>", "</td></table>",
		"&lt;b&gt;", "&#60;b>", "javascript:alert(1)", "{{.Title}}", `{{template "page" .}}`, "PAPER_LIGHT",
	} {
		got, n := skeleton(t, s)
		if got != want {
			t.Errorf("%q changes the page", s)
		}
		if n != places {
			t.Errorf("%q appears %d times, want %d", s, n, places)
		}
	}
}

func TestMarkdownText(t *testing.T) {
	for in, want := range map[string]string{
		"snake_case_name": "snake_case_name", "_em_": `\_em\_`, "a*b": `a\*b`, "<b>": `\<b>`, "a|b": `a\|b`, "x & y": "x & y", "&lt;": `\&lt;`, `\`: `\\`, "[a](b)": `\[a\](b)`,
	} {
		if got := mdText(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"# a": `\# a`, "1. a": `1\. a`, "12) a": `12\) a`, "1.5 times": `1\.5 times`, "- a": `\- a`, "a": "a", "": "", "12": "12"} {
		if got := mdFirst(in); got != want {
			t.Errorf("at the beginning of a line %q becomes %q, want %q", in, got, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	fig := &plot.Figure{}
	for want, blocks := range map[string][]Block{
		"has no plot":     {&Figure{Name: "a"}},
		`name: "../a"`:    {&Figure{Name: "../a", Plot: fig}},
		`name: "a b"`:     {&Figure{Name: "a b", Plot: fig}},
		"two figures":     {&Figure{Name: "a", Plot: fig}, &Figure{Name: "a", Plot: fig}},
		"row has 1 cells": {&Table{Columns: []Column{{}, {}}, Rows: [][]Cell{{{}}}}},
	} {
		d := &Document{Sections: []Section{{Blocks: blocks}}}
		if err := d.HTML(io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if err := d.Markdown(io.Discard, nil); err == nil {
			t.Errorf("Markdown accepts a document with the error %q", want)
		}
	}
}

// A table with a CSV file has the same cells in both.
func TestTableFile(t *testing.T) {
	table := &Table{CSV: "a.csv", Columns: Heads("name", "share|")}
	table.Row("x, y", "0.5")
	d := &Document{Title: "T", Sections: []Section{{Blocks: []Block{table}}}}
	files := map[string]string{}
	var text strings.Builder
	if err := d.Markdown(&text, func(name string, write func(io.Writer) error) error {
		var b strings.Builder
		err := write(&b)
		files[name] = b.String()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files["a.csv"] != "name,share\n\"x, y\",0.5\n" || !strings.Contains(text.String(), "[a.csv](a.csv)") {
		t.Errorf("%q\n%s", files, text.String())
	}
}
