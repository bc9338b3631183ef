package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FigureFile creates the file of a figure or a table and calls write with it. The name, such as
// fig-4.svg, is relative to the document.
type FigureFile func(name string, write func(io.Writer) error) error

// Markdown writes the document as GitHub Markdown, and its figures with file.
func (d *Document) Markdown(w io.Writer, file FigureFile) error {
	if err := d.check(); err != nil {
		return err
	}
	m := &markdown{file: file}
	m.para("# " + mdText(d.Title) + mdBadges(d.Badges))
	if d.Subtitle != "" {
		m.para(mdInline(d.Subtitle))
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Heading != "" {
			m.para(strings.Repeat("#", min(s.level()+1, 6)) + " " + mdText(s.Heading) + mdBadges(s.Badges))
		}
		for _, b := range s.Blocks {
			if err := m.block(b); err != nil {
				return err
			}
		}
	}
	_, err := w.Write(append(bytes.TrimRight(m.Bytes(), "\n"), '\n'))
	return err
}

type markdown struct {
	bytes.Buffer
	file FigureFile
}

// para writes a block, followed by an empty line.
func (m *markdown) para(s string) { fmt.Fprintf(m, "%s\n\n", s) }

func (m *markdown) block(b Block) error {
	switch b := b.(type) {
	case Paragraph:
		m.para(mdFirst(mdInline(string(b))))
	case Lead:
		m.para("**" + mdInline(string(b)) + "**")
	case List:
		for _, item := range b {
			fmt.Fprintf(m, "- %s\n", mdFirst(mdInline(item)))
		}
		m.WriteByte('\n')
	case Facts:
		for _, f := range b {
			fmt.Fprintf(m, "- %s: %s\n", mdInline(f.Key), mdMark(f.Mark, mdInline(f.Value)))
		}
		m.WriteByte('\n')
	case Badges:
		m.para(strings.TrimSpace(mdBadges(b)))
	case *Table:
		m.table(b)
		if b.CSV != "" {
			m.para("[" + mdText(b.CSV) + "](" + b.CSV + ")")
			return m.file(b.CSV, b.writeCSV)
		}
	case *Figure:
		name := b.Name + ".svg"
		alt := b.Caption
		if alt == "" {
			alt = b.Plot.Heading()
		}
		m.para("![" + mdText(alt) + "](" + name + ")")
		if b.Caption != "" {
			m.para("*" + mdInline(b.Caption) + "*")
		}
		return m.file(name, b.Plot.SVG)
	case *Code:
		m.code(b)
	}
	return nil
}

func (m *markdown) table(t *Table) {
	if t.Caption != "" {
		m.para(mdFirst(mdInline(t.Caption)))
	}
	if len(t.Columns) == 0 {
		return
	}
	line := func(cells []string) { fmt.Fprintf(m, "| %s |\n", strings.Join(cells, " | ")) }
	var head, rule []string
	for _, c := range t.Columns {
		head = append(head, mdInline(c.Name))
		rule = append(rule, [...]string{"---", "---:", ":---:"}[c.Align])
	}
	line(head)
	line(rule)
	for _, row := range t.Rows {
		cells := make([]string, len(t.Columns))
		for i, c := range row {
			cells[i] = mdMark(c.Mark, mdInline(c.Text))
			if c.Badge {
				cells[i] = mdBadge(Badge{c.Text, c.Mark})
			}
			if c.Link != "" {
				cells[i] = "[" + cells[i] + "](" + c.Link + ")"
			}
		}
		line(cells)
	}
	m.WriteByte('\n')
}

// writeCSV writes the names of the columns and the texts of the cells.
func (t *Table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var line []string
	for _, c := range t.Columns {
		line = append(line, c.Name)
	}
	lines := [][]string{line}
	for _, row := range t.Rows {
		line = nil
		for _, c := range row {
			line = append(line, c.Text)
		}
		lines = append(lines, line)
	}
	return out.WriteAll(lines)
}

func (m *markdown) code(c *Code) {
	fence := "```"
	for strings.Contains(c.Text, fence) {
		fence += "`"
	}
	body := fence + c.Language + "\n" + strings.TrimRight(strings.ToValidUTF8(c.Text, "\uFFFD"), "\n") + "\n" + fence
	switch {
	case c.Folded:
		m.para("<details><summary>" + html.EscapeString(clean(c.caption())) + "</summary>\n\n" + body + "\n\n</details>")
	case c.Caption != "":
		m.para(mdFirst(mdInline(c.Caption)) + "\n\n" + body)
	default:
		m.para(body)
	}
}

// mdMark formats a text according to its mark.
func mdMark(m Mark, s string) string {
	if s == "" {
		return s
	}
	switch m {
	case Bad, Best:
		return "**" + s + "**"
	case Muted:
		return "*" + s + "*"
	}
	return s
}

func mdBadge(b Badge) string {
	if b.Text == "" {
		return ""
	}
	return map[Mark]string{Good: "✅ ", Warn: "🟡 ", Bad: "❌ "}[b.Mark] + "**" + mdText(b.Text) + "**"
}

func mdBadges(list []Badge) string {
	var b strings.Builder
	for _, item := range list {
		b.WriteString(" " + mdBadge(item))
	}
	return b.String()
}

// mdInline formats a text on one line. Parts between back quotes are code.
func mdInline(s string) string {
	var b strings.Builder
	for _, part := range spans(strings.Join(strings.Fields(s), " ")) {
		if part.Code {
			// A bar ends a table cell even within code.
			b.WriteString("`" + strings.ReplaceAll(part.Text, "|", `\|`) + "`")
			continue
		}
		b.WriteString(mdText(part.Text))
	}
	return b.String()
}

// mdText escapes Markdown syntax. An underscore within a word needs no escape.
func mdText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	before := ' '
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		inWord := word(before) && word(after)
		switch {
		case strings.ContainsRune("\\`*[]<|~", r), r == '_' && !inWord, r == '&' && word(after) || r == '&' && after == '#':
			b.WriteByte('\\')
		case unicode.IsControl(r):
			r = ' '
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// mdFirst escapes Markdown syntax at the beginning of a line.
func mdFirst(s string) string {
	if s == "" {
		return s
	}
	if strings.ContainsRune("#-+=>", rune(s[0])) {
		return `\` + s
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') {
		return s[:digits] + `\` + s[digits:]
	}
	return s
}
