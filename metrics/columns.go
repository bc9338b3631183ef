package metrics

import "github.com/parquet-go/parquet-go"

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
	err = withTable(path, func(table *parquet.File) error {
		for _, path := range table.Schema().Columns() {
			leaf, ok := table.Schema().Lookup(path...)
			if !ok || len(path) != 1 {
				continue
			}
			kind := map[parquet.Kind]ColumnKind{parquet.Double: Real, parquet.Boolean: Truth, parquet.ByteArray: Words}[leaf.Node.Type().Kind()]
			list = append(list, Column{path[0], kind})
		}
		return nil
	})
	return list, err
}
