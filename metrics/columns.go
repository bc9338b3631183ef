package metrics

import "github.com/xoff-net/xoff/internal/record/table"

// Column is a column of a table.
type Column struct {
	Name string
	Kind ColumnKind
}

// ColumnKind is the kind of values in a column.
type ColumnKind uint8

// Kinds of columns.
const (
	Whole ColumnKind = iota // integers
	Real                    // floating point
	Truth                   // true or false
	Words                   // text
)

// TableColumns returns the columns of the file of a table.
func TableColumns(path string) (list []Column, err error) {
	err = withTable(path, func(t *table.File) error {
		for _, c := range t.Columns {
			kind := map[table.Type]ColumnKind{table.Float: Real, table.Bool: Truth, table.Text: Words}[c.Type]
			list = append(list, Column{c.Name, kind})
		}
		return nil
	})
	return list, err
}
