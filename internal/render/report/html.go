package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/xoff-net/xoff/internal/render/plot"
)

// style is the style sheet of pages. PAPER_LIGHT and PAPER_DARK stand for the
// backgrounds that figures are made for.
//
//go:embed style.css
var style string

// script lets figures answer. A page is complete without it.
//
//go:embed page.js
var script string

// layout has one template for each kind of block, as far as it is not a line.
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

// contentsFrom is from how many sections on a page begins with links to them.
const contentsFrom = 6

// page is a document as the layout takes it.
type page struct {
	*Document
	Style    template.CSS
	Script   template.JS // empty: there is nothing that it could do
	Parts    []part
	Contents []part // those that the page begins with links to
}

// part is a section with its number and the rank of its heading, 2 to 6.
type part struct {
	*Section
	Number, Depth int
}

// HTML writes the document as one page that needs nothing else: styles, figures and a
// script are in it, and it is told to load nothing.
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
	if len(d.Figures()) > 0 {
		p.Script = template.JS("//<![CDATA[\n" + script + "//]]>") // for those who read pages as XML
	}
	var b strings.Builder
	if err := layouts.ExecuteTemplate(&b, "page", p); err != nil {
		return err
	}
	_, err := io.WriteString(w, clean(b.String()))
	return err
}

func svg(f plot.Drawing) (template.HTML, error) {
	var b bytes.Buffer
	err := f.Inline(&b)
	return template.HTML(b.String()), err
}

// longName is the length from which on the first cell of a row is a sentence, which
// may be broken, rather than a name.
const longName = 40

// cellClass is that of a cell in column i. A badge has its mark itself.
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

// clean replaces characters that a page cannot hold, which escaping leaves alone.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
