package metrics

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/internal/record/table"
)

// Table writes a table as Parquet, and optionally as CSV, from rows of words (see
// probe.Column). It keeps at most one row group in memory.
type Table struct {
	columns []probe.Column
	out     *table.Writer
	batch   [][]int64   // by column: words of the rows since the last row group
	csv     *csv.Writer // nil: no CSV
	fields  []string
	rows    int64
}

const rowGroup = 1 << 14 // rows in memory

// NewTable begins a table. asCSV may be nil.
func NewTable(columns []probe.Column, w, asCSV io.Writer) (*Table, error) {
	t := &Table{columns: slices.Clone(columns), batch: make([][]int64, len(columns)), fields: make([]string, len(columns))}
	list := make([]table.Column, len(columns))
	types := map[probe.Type]table.Type{probe.Int: table.Int, probe.Text: table.Text, probe.Bool: table.Bool, probe.Float: table.Float}
	for i, c := range columns {
		list[i] = table.Column{Name: c.Name, Type: types[c.Type], Nullable: c.Nullable, Texts: slices.Clone(c.Texts)}
		t.columns[i].Texts = list[i].Texts
	}
	t.out = table.NewWriter(w, writer, list)
	if asCSV != nil {
		t.csv = csv.NewWriter(asCSV)
		for i, c := range columns {
			t.fields[i] = c.Name
		}
		return t, t.csv.Write(t.fields)
	}
	return t, nil
}

// writer is the name of xoff in Parquet files. It has no version: every binary writes the same
// bytes.
var writer = fmt.Sprintf("xoff version %d", SchemaVersion)

// word returns the word for a value of a column whose texts are not known beforehand.
func (t *Table) word(column int, text string) int64 {
	c := &t.columns[column]
	i := slices.Index(c.Texts, text)
	if i < 0 {
		i = len(c.Texts)
		c.Texts = append(c.Texts, text)
		t.out.Columns[column].Texts = c.Texts
	}
	return int64(i)
}

// Row writes one row, with one word per column.
func (t *Table) Row(words []int64) error {
	if len(words) != len(t.columns) {
		panic(fmt.Sprintf("metrics: a row of %d words for %d columns", len(words), len(t.columns)))
	}
	t.rows++
	for i, w := range words {
		t.batch[i] = append(t.batch[i], w)
	}
	if t.csv != nil {
		for i, w := range words {
			t.fields[i] = t.field(i, w)
		}
		if err := t.csv.Write(t.fields); err != nil {
			return err
		}
	}
	if t.rows%rowGroup == 0 {
		return t.flush()
	}
	return nil
}

func (t *Table) field(i int, w int64) string {
	c := &t.columns[i]
	switch {
	case w == probe.Null && c.Nullable:
		return ""
	case c.Type == probe.Text:
		return c.Texts[w]
	case c.Type == probe.Bool:
		return strconv.FormatBool(w != 0)
	case c.Type == probe.Float:
		return strconv.FormatFloat(math.Float64frombits(uint64(w)), 'g', -1, 64)
	}
	return strconv.FormatInt(w, 10)
}

// flush writes a row group.
func (t *Table) flush() error {
	if err := t.out.Group(t.batch); err != nil {
		return err
	}
	for i := range t.batch {
		t.batch[i] = t.batch[i][:0]
	}
	return nil
}

// Rows returns the number of rows written.
func (t *Table) Rows() int64 { return t.rows }

// Close flushes and completes the files. It does not close the writers.
func (t *Table) Close() error {
	if t.rows%rowGroup > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if t.csv != nil {
		if t.csv.Flush(); t.csv.Error() != nil {
			return t.csv.Error()
		}
	}
	return t.out.Close()
}
