package metrics

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/base/probe"
)

// Table writes a table as parquet, and optionally as CSV, from rows of words (see
// probe.Column). It keeps at most one row group in memory.
//
// Columns are encoded but not compressed: compressors choose their code by CPU, and the bytes
// of a result must not depend on it.
type Table struct {
	columns []probe.Column
	texts   [][]parquet.Value // by column: the values of a Text column
	out     *parquet.GenericWriter[any]
	batch   []int64         // by column: words of the rows since the last flush, at most rowBatch
	values  []parquet.Value // scratch: a column of the batch
	csv     *csv.Writer     // nil: no CSV
	fields  []string
	rows    int64
}

const (
	rowBatch = 256     // rows passed to the parquet writer at a time
	rowGroup = 1 << 14 // rows that the parquet writer buffers; a multiple of rowBatch
)

// NewTable begins a table. asCSV may be nil.
func NewTable(columns []probe.Column, w, asCSV io.Writer) (*Table, error) {
	t := &Table{columns: slices.Clone(columns), texts: make([][]parquet.Value, len(columns)), fields: make([]string, len(columns))}
	t.batch, t.values = make([]int64, rowBatch*len(columns)), make([]parquet.Value, rowBatch)
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		fields[i] = fieldOf(i, &c)
		for _, s := range c.Texts {
			t.texts[i] = append(t.texts[i], parquet.ByteArrayValue([]byte(s)))
		}
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	// The writer's default name contains its build; a fixed one gives the same bytes in every
	// binary.
	t.out = parquet.NewGenericWriter[any](w, schema, parquet.CreatedBy("xoff", strconv.Itoa(SchemaVersion), "none"))
	if asCSV != nil {
		t.csv = csv.NewWriter(asCSV)
		for i, c := range columns {
			t.fields[i] = c.Name
		}
		return t, t.csv.Write(t.fields)
	}
	return t, nil
}

// word returns the word for a value of a column whose texts are not known beforehand.
func (t *Table) word(column int, text string) int64 {
	c := &t.columns[column]
	i := slices.Index(c.Texts, text)
	if i < 0 {
		i = len(c.Texts)
		c.Texts = append(c.Texts, text)
		t.texts[column] = append(t.texts[column], parquet.ByteArrayValue([]byte(text)))
	}
	return int64(i)
}

// level returns the definition level of the values of a column that are not null.
func (t *Table) level(column int) int {
	if t.columns[column].Nullable {
		return 1
	}
	return 0
}

// fieldOf describes a column as a struct field for parquet-go.
func fieldOf(i int, c *probe.Column) reflect.StructField {
	kind, options := reflect.TypeFor[int64](), ",delta"
	switch c.Type {
	case probe.Text:
		kind, options = reflect.TypeFor[string](), ",dict"
	case probe.Bool:
		kind, options = reflect.TypeFor[bool](), ""
	case probe.Float:
		kind, options = reflect.TypeFor[float64](), ""
	}
	if c.Nullable {
		options = ",optional" + options
	}
	return reflect.StructField{Name: "F" + strconv.Itoa(i), Type: kind, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s%s"`, c.Name, options))}
}

// Row writes one row, with one word per column.
func (t *Table) Row(words []int64) error {
	if len(words) != len(t.columns) {
		panic(fmt.Sprintf("metrics: a row of %d words for %d columns", len(words), len(t.columns)))
	}
	at := int(t.rows % rowBatch)
	t.rows++
	for i, w := range words {
		t.batch[i*rowBatch+at] = w
	}
	if t.csv != nil {
		for i, w := range words {
			t.fields[i] = t.field(i, w)
		}
		if err := t.csv.Write(t.fields); err != nil {
			return err
		}
	}
	if t.rows%rowBatch == 0 {
		return t.flush(rowBatch)
	}
	return nil
}

// column returns the values of a column of the batch.
func (t *Table) column(i, rows int) []parquet.Value {
	words, values := t.batch[i*rowBatch:][:rows], t.values[:rows]
	level := t.level(i)
	switch t.columns[i].Type {
	case probe.Int:
		for k, w := range words {
			values[k] = parquet.Int64Value(w)
		}
	case probe.Text:
		texts, null := t.texts[i], t.columns[i].Nullable
		for k, w := range words {
			if !null || w != probe.Null {
				values[k] = texts[w]
			}
		}
	case probe.Bool:
		for k, w := range words {
			values[k] = parquet.BooleanValue(w != 0)
		}
	case probe.Float:
		for k, w := range words {
			values[k] = parquet.DoubleValue(math.Float64frombits(uint64(w)))
		}
	}
	if level == 0 {
		return values
	}
	for k, w := range words {
		if w == probe.Null {
			values[k] = parquet.NullValue()
		} else {
			values[k].SetDefinitionLevel(level)
		}
	}
	return values
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

// flush passes the batch to the parquet writer, column by column: assembling rows first costs
// more than encoding them.
func (t *Table) flush(rows int) error {
	for i, w := range t.out.ColumnWriters() {
		if _, err := w.WriteRowValues(t.column(i, rows)); err != nil {
			return err
		}
	}
	if t.rows%rowGroup == 0 {
		return t.out.Flush()
	}
	return nil
}

// Rows returns the number of rows written.
func (t *Table) Rows() int64 { return t.rows }

// Close flushes and completes the files. It does not close the writers.
func (t *Table) Close() error {
	if rows := int(t.rows % rowBatch); rows > 0 {
		if err := t.flush(rows); err != nil {
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
