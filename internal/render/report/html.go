package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/xoff-net/xoff/internal/render/plot"
)

// style is the style sheet of pages. HTML replaces PAPER_LIGHT and PAPER_DARK by the
// background colours of figures.
//
//go:embed style.css
var style string

// Scripts of tables, and of figures. A page is complete without them.
var (
	//go:embed tables.js
	tableScript string
	//go:embed network.js
	networkScript string
	//go:embed page.js
	figureScript string
)

// layout is the template of pages.
//
//go:embed page.html
var layout string

var layouts = template.Must(template.New("").Funcs(template.FuncMap{
	"kind":        Block.block,
	"spans":       spans,
	"svg":         svg,
	"codeCaption": (*Code).caption,
	"markClass":   Mark.class,
	"alignClass":  Align.class,
	"cellClass":   (*Table).cellClass,
}).Parse(layout))

// contentsFrom is the smallest number of sections for which a page has a table of contents.
const contentsFrom = 6

// page is the data of the layout.
type page struct {
	*Document
	Style    template.CSS
	Script   template.JS // empty: the page has neither figures nor tables
	Parts    []part
	Contents []part // sections in the table of contents
}

// part is a section with its number and the level of its HTML heading, 2 to 6.
type part struct {
	*Section
	Number, Depth int
}

// HTML writes the document as one self-contained page with styles, figures and a script. Its
// content security policy forbids loading anything.
func (d *Document) HTML(w io.Writer) error {
	if err := d.check(); err != nil {
		return err
	}
	light, dark := plot.Paper()
	sheet := strings.NewReplacer("PAPER_LIGHT", light, "PAPER_DARK", dark).Replace(style)
	p := page{Document: d, Style: template.CSS(sheet + plot.CSS())}
	for i := range d.Sections {
		s := &d.Sections[i]
		now := part{s, i + 1, min(s.level()+1, 6)}
		p.Parts = append(p.Parts, now)
		if s.level() == 1 && s.Heading != "" {
			p.Contents = append(p.Contents, now)
		}
	}
	if len(p.Contents) < contentsFrom {
		p.Contents = nil
	}
	if script := d.script(); script != "" {
		p.Script = template.JS("//<![CDATA[\n" + script + "//]]>") // keeps the page valid XML
	}
	var b strings.Builder
	if err := layouts.ExecuteTemplate(&b, "page", p); err != nil {
		return err
	}
	_, err := io.WriteString(w, clean(b.String()))
	return err
}

// script returns the scripts that the page needs.
func (d *Document) script() string {
	tables := false
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			_, is := b.(*Table)
			tables = tables || is
		}
	}
	switch {
	case len(d.Figures()) > 0:
		return tableScript + networkScript + figureScript
	case tables:
		return tableScript
	}
	return ""
}

func svg(f plot.Drawing) (template.HTML, error) {
	var b bytes.Buffer
	err := f.Inline(&b)
	return template.HTML(b.String()), err
}

// longName is the length above which the first cell of a row may be broken into lines.
const longName = 40

// cellClass returns the classes of a cell in column i. The mark of a badge is on the badge.
func (t *Table) cellClass(i int, c Cell) string {
	names := []string{t.Columns[i].Align.class()}
	if !c.Badge {
		names = append(names, c.Mark.class())
		if i == 0 && len(c.Text) > longName {
			names = append(names, "long")
		}
	}
	return strings.Join(strings.Fields(strings.Join(names, " ")), " ")
}

func (a Align) class() string { return [...]string{"", "r", "c"}[a] }

func (m Mark) class() string { return [...]string{"", "good", "warn", "bad", "best", "muted"}[m] }

// clean replaces characters that are invalid in a page and that escaping does not handle.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
