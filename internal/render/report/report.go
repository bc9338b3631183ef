// Package report models documents (sections, tables, figures, code) and renders them as one
// self-contained HTML file, or as Markdown with separate figures. The reports of runs, sweeps
// and reproductions use it. The same document gives the same bytes.
package report

import "github.com/xoff-net/xoff/internal/render/plot"

// Document is a report.
type Document struct {
	Title    string
	Subtitle string
	Badges   []Badge // next to the title
	Sections []Section
}

// Section is a heading with blocks below it.
type Section struct {
	Heading string
	Level   int // 0 or 1: top level, 2: subsection, and so on
	Badges  []Badge
	Blocks  []Block
}

// Add appends blocks to the section.
func (s *Section) Add(blocks ...Block) { s.Blocks = append(s.Blocks, blocks...) }

// Block is a Lead, Paragraph, List, Facts, *Table, *Figure, *Code or Badges.
type Block interface{ block() string }

// Paragraph is plain text. Text between back quotes is code; there is no other markup.
type Paragraph string

// Lead is the main message, in one sentence.
type Lead string

// List is a list of paragraphs.
type List []string

// Facts is a list of keys and values.
type Facts []Fact

// Fact is a key and its value.
type Fact struct {
	Key, Value string
	Mark       Mark
}

// Mark is the emphasis of a text.
type Mark uint8

// Marks. Markdown shows Best and Bad in bold, Muted in italics.
const (
	Normal Mark = iota
	Good        // green
	Warn        // yellow
	Bad         // red
	Best        // bold: best value of its row
	Muted       // grey: less important
)

// Badge is a highlighted word, such as a verdict.
type Badge struct {
	Text string
	Mark Mark
}

// Badges is a line of badges.
type Badges []Badge

// Align is a column's alignment.
type Align uint8

// Alignments.
const (
	Left Align = iota
	Right
	Centre
)

// Table is a table. Every row has a cell for each column.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
	CSV     string // name of a file with the same cells, which Markdown writes and links; empty: none
}

// Column is the name and alignment of a column.
type Column struct {
	Name  string
	Align Align
}

// Cell is a table cell. Badge shows it as a badge; Link links it to a file, by its path
// relative to the document.
type Cell struct {
	Text  string
	Mark  Mark
	Badge bool
	Link  string
}

// Row appends a row of cells without marks.
func (t *Table) Row(texts ...string) {
	var cells []Cell
	for _, s := range texts {
		cells = append(cells, Cell{Text: s})
	}
	t.Rows = append(t.Rows, cells)
}

// Figure is a drawing. Name is the name of its file without extension, unique in the
// document.
type Figure struct {
	Name    string
	Plot    plot.Drawing
	Caption string
}

// Figures returns the figures of all sections, in order.
func (d *Document) Figures() []*Figure {
	var list []*Figure
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			if f, ok := b.(*Figure); ok {
				list = append(list, f)
			}
		}
	}
	return list
}

// Code is preformatted text, such as a scenario. Folded code shows only its caption until
// the reader opens it.
type Code struct {
	Language string // yaml, sh, ...; may be empty
	Text     string
	Caption  string
	Folded   bool
}

// Heads returns columns with the given names. A name that ends in | gives a right-aligned
// column.
func Heads(names ...string) []Column {
	var list []Column
	for _, n := range names {
		c := Column{Name: n}
		if n[len(n)-1] == '|' {
			c = Column{Name: n[:len(n)-1], Align: Right}
		}
		list = append(list, c)
	}
	return list
}

// The page template selects the layout of a block by its kind.
func (Paragraph) block() string { return "paragraph" }
func (Lead) block() string      { return "lead" }
func (List) block() string      { return "list" }
func (Facts) block() string     { return "facts" }
func (Badges) block() string    { return "badges" }
func (*Table) block() string    { return "table" }
func (*Figure) block() string   { return "figure" }
func (*Code) block() string     { return "code" }
