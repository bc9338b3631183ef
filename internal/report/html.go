package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/xoff-net/xoff/internal/plot"
)

// style is the style sheet of pages. PAPER_LIGHT and PAPER_DARK stand for the
// backgrounds that figures are made for.
//
//go:embed style.css
var style string

// contentsFrom is from how many sections on a page begins with links to them.
const contentsFrom = 6

// HTML writes the document as one page that needs nothing else: styles and
// figures are in it, there are no scripts.
func (d *Document) HTML(w io.Writer) error {
	if err := d.check(); err != nil {
		return err
	}
	p := &page{}
	light, dark := plot.Paper()
	p.line(`<!DOCTYPE html>`)
	p.line(`<html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="color-scheme" content="light dark"/>`)
	p.line(`<title>%s</title>`, text(d.Title))
	p.line(`<style>%s%s</style></head><body><main>`, strings.NewReplacer("PAPER_LIGHT", light, "PAPER_DARK", dark).Replace(style), plot.CSS())
	p.line(`<header><h1>%s%s</h1>`, text(d.Title), badges(d.Badges))
	if d.Subtitle != "" {
		p.line(`<p class="sub">%s</p>`, inline(d.Subtitle))
	}
	p.line(`</header>`)
	p.contents(d)
	for i := range d.Sections {
		p.section(i, &d.Sections[i])
	}
	p.line(`</main></body></html>`)
	if p.err != nil {
		return p.err
	}
	_, err := w.Write(p.Bytes())
	return err
}

// page is HTML in the making; it keeps the first error.
type page struct {
	bytes.Buffer
	err error
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) contents(d *Document) {
	n := 0
	for _, s := range d.Sections {
		if s.level() == 1 && s.Heading != "" {
			n++
		}
	}
	if n < contentsFrom {
		return
	}
	p.line(`<nav>`)
	for i, s := range d.Sections {
		if s.level() == 1 && s.Heading != "" {
			p.line(`<a href="#s%d">%s</a>`, i+1, text(s.Heading))
		}
	}
	p.line(`</nav>`)
}

func (p *page) section(i int, s *Section) {
	p.line(`<section id="s%d">`, i+1)
	if s.Heading != "" {
		h := min(s.level()+1, 6)
		p.line(`<h%d>%s%s</h%d>`, h, text(s.Heading), badges(s.Badges), h)
	}
	for _, b := range s.Blocks {
		p.block(b)
	}
	p.line(`</section>`)
}

func (p *page) block(b Block) {
	switch b := b.(type) {
	case Paragraph:
		p.line(`<p>%s</p>`, inline(string(b)))
	case List:
		p.line(`<ul>`)
		for _, item := range b {
			p.line(`<li>%s</li>`, inline(item))
		}
		p.line(`</ul>`)
	case Facts:
		p.line(`<dl>`)
		for _, f := range b {
			p.line(`<div><dt>%s</dt><dd%s>%s</dd></div>`, inline(f.Key), class(f.Mark.class()), inline(f.Value))
		}
		p.line(`</dl>`)
	case Badges:
		p.line(`<p>%s</p>`, strings.TrimSpace(badges(b)))
	case *Table:
		p.table(b)
	case *Figure:
		p.line(`<figure>`)
		if err := b.Plot.Inline(p); p.err == nil {
			p.err = err
		}
		if b.Caption != "" {
			p.line(`<figcaption>%s</figcaption>`, inline(b.Caption))
		}
		p.line(`</figure>`)
	case *Code:
		p.code(b)
	}
}

// longName is the length from which on the first cell of a row is a sentence, which
// may be broken, rather than a name.
const longName = 40

func (p *page) table(t *Table) {
	if t.Caption != "" {
		p.line(`<p class="caption">%s</p>`, inline(t.Caption))
	}
	p.line(`<div class="wide"><table>`)
	p.line(`<thead><tr>`)
	for _, c := range t.Columns {
		p.line(`<th scope="col"%s>%s</th>`, class(c.Align.class()), inline(c.Name))
	}
	p.line(`</tr></thead><tbody>`)
	for _, row := range t.Rows {
		p.WriteString(`<tr>`)
		for i, c := range row {
			if c.Badge {
				fmt.Fprintf(p, `<td%s>%s</td>`, class(t.align(i).class()), badge(Badge{c.Text, c.Mark}))
				continue
			}
			long := ""
			if i == 0 && len(c.Text) > longName {
				long = "long"
			}
			fmt.Fprintf(p, `<td%s>%s</td>`, class(t.align(i).class(), c.Mark.class(), long), inline(c.Text))
		}
		p.line(`</tr>`)
	}
	p.line(`</tbody></table></div>`)
}

func (p *page) code(c *Code) {
	body := fmt.Sprintf(`<pre><code>%s</code></pre>`, text(c.Text))
	switch {
	case c.Folded:
		p.line(`<details><summary>%s</summary>%s</details>`, inline(c.caption()), body)
	case c.Caption != "":
		p.line(`<p class="caption">%s</p>%s`, inline(c.Caption), body)
	default:
		p.line(`%s`, body)
	}
}

func (a Align) class() string { return [...]string{"", "r", "c"}[a] }

func (m Mark) class() string { return [...]string{"", "good", "warn", "bad", "best", "muted"}[m] }

// class is the attribute of the names that are not empty.
func class(names ...string) string {
	if list := strings.Join(strings.Fields(strings.Join(names, " ")), " "); list != "" {
		return ` class="` + list + `"`
	}
	return ""
}

func badge(b Badge) string {
	return fmt.Sprintf(`<span%s>%s</span>`, class("badge", b.Mark.class()), text(b.Text))
}

func badges(list []Badge) string {
	var b strings.Builder
	for _, item := range list {
		b.WriteString(" " + badge(item))
	}
	return b.String()
}

// text makes text safe. Characters that a page cannot hold are replaced.
func text(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return html.EscapeString(clean)
}

// inline is text whose parts between back quotes are code.
func inline(s string) string {
	var b strings.Builder
	for _, part := range spans(s) {
		if part.code {
			b.WriteString("<code>" + text(part.text) + "</code>")
			continue
		}
		b.WriteString(text(part.text))
	}
	return b.String()
}
