// Package report is a model of documents (sections, tables, figures, code) and
// renders them as one HTML file that needs nothing else, or as Markdown with its
// figures beside it. The same document gives the same bytes.
package report

import "github.com/xoff-net/xoff/internal/render/plot"

// Document is a report.
type Document struct {
	Title    string
	Subtitle string
	Badges   []Badge // beside the title
	Sections []Section
}

// Section is a heading and what stands below it.
type Section struct {
	Heading string
	Level   int // 0 or 1: a section of the document, 2: of the section before it, and so on
	Badges  []Badge
	Blocks  []Block
}

// Add appends blocks.
func (s *Section) Add(blocks ...Block) { s.Blocks = append(s.Blocks, blocks...) }

// Block is a Lead, Paragraph, List, Facts, *Table, *Figure, *Code or Badges.
type Block interface{ block() string }

// Paragraph is plain text. What stands between back quotes is code, nothing else
// has a meaning.
type Paragraph string

// Lead is what matters most, in a sentence.
type Lead string

// List is a list of paragraphs.
type List []string

// Facts is a list of keys and values.
type Facts []Fact

// Fact is one of Facts.
type Fact struct {
	Key, Value string
	Mark       Mark
}

// Mark says how something is to be seen.
type Mark uint8

// Marks. Markdown shows Best and Bad in bold, Muted in italics.
const (
	Normal Mark = iota
	Good        // green: as it should be
	Warn        // yellow: look at it
	Bad         // red: broken
	Best        // bold: the best of its line
	Muted       // grey: does not count
)

// Badge is a word that stands out, such as a verdict.
type Badge struct {
	Text string
	Mark Mark
}

// Badges is a line of them.
type Badges []Badge

// Align is that of a column.
type Align uint8

// Alignments.
const (
	Left Align = iota
	Right
	Centre
)

// Table is a table.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
}

// Column is the head of a column.
type Column struct {
	Name  string
	Align Align
}

// Cell is a cell; Badge shows it as one, Link makes it one to a file beside the document.
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

// Figure is a picture. Name is that of its file, without an ending, where it has
// one of its own; it must be different for every figure of a document.
type Figure struct {
	Name    string
	Plot    plot.Drawing
	Caption string
}

// Figures are those of all sections, in order.
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

// Code is text as it is, such as a scenario. A folded one shows its caption until
// it is opened; Markdown uses <details> for that.
type Code struct {
	Language string // yaml, sh, ...; may be empty
	Text     string
	Caption  string
	Folded   bool
}

// Heads makes the heads of columns; one that ends in a bar is aligned to the right.
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

// Their kinds, by which the layout of pages tells them apart.
func (Paragraph) block() string { return "paragraph" }
func (Lead) block() string      { return "lead" }
func (List) block() string      { return "list" }
func (Facts) block() string     { return "facts" }
func (Badges) block() string    { return "badges" }
func (*Table) block() string    { return "table" }
func (*Figure) block() string   { return "figure" }
func (*Code) block() string     { return "code" }
