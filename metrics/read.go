package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/base/probe"
)

// ReadColumns reads numeric columns from the file of a table. True is 1, and a missing value
// is NaN.
func ReadColumns(path string, names ...string) (list [][]float64, err error) {
	err = withTable(path, func(table *parquet.File) error {
		for _, name := range names {
			leaf, ok := table.Schema().Lookup(name)
			if !ok {
				var known []string
				for _, c := range table.Schema().Columns() {
					known = append(known, strings.Join(c, "."))
				}
				return fmt.Errorf("there is no column %q (allowed: %s)", name, strings.Join(known, ", "))
			}
			if k := leaf.Node.Type().Kind(); k != parquet.Int64 && k != parquet.Double && k != parquet.Boolean {
				return fmt.Errorf("column %q is not numeric (expected a numeric column)", name)
			}
			column, err := readColumn(table, leaf.ColumnIndex, number)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			list = append(list, column)
		}
		return nil
	})
	return list, err
}

// ReadWords reads a text column from the file of a table. It returns false if the column
// does not exist or is not text.
func ReadWords(path, name string) (words []string, ok bool, err error) {
	err = withTable(path, func(table *parquet.File) error {
		leaf, found := table.Schema().Lookup(name)
		if ok = found && leaf.Node.Type().Kind() == parquet.ByteArray; !ok {
			return nil
		}
		words, err = readColumn(table, leaf.ColumnIndex, func(v parquet.Value) string { return string(v.ByteArray()) })
		return err
	})
	return words, ok, err
}

func withTable(path string, read func(*parquet.File) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	table, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return read(table)
}

func readColumn[T any](table *parquet.File, index int, of func(parquet.Value) T) ([]T, error) {
	column := make([]T, 0, table.NumRows())
	err := eachValue(table, index, func(v parquet.Value) { column = append(column, of(v)) })
	return column, err
}

// eachValue calls use for every value of a column, in order.
func eachValue(table *parquet.File, index int, use func(parquet.Value)) error {
	for _, group := range table.RowGroups() {
		pages := group.ColumnChunks()[index].Pages()
		var err error
		for err == nil {
			var page parquet.Page
			if page, err = pages.ReadPage(); err == nil {
				err = eachInPage(page, use)
				parquet.Release(page)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err = errors.Join(err, pages.Close()); err != nil {
			return err
		}
	}
	return nil
}

func eachInPage(page parquet.Page, use func(parquet.Value)) error {
	var batch [1024]parquet.Value
	values := page.Values()
	for {
		n, err := values.ReadValues(batch[:])
		for _, v := range batch[:n] {
			use(v)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func number(v parquet.Value) float64 {
	switch {
	case v.IsNull():
		return math.NaN()
	case v.Kind() == parquet.Double:
		return v.Double()
	case v.Kind() == parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	}
	return float64(v.Int64())
}

// ReadSummary reads the summary of a run. Its schema version must be SchemaVersion.
func ReadSummary(folder string) (*Summary, error) {
	data, err := os.ReadFile(filepath.Join(folder, "summary.json"))
	if err != nil {
		return nil, err
	}
	var version struct{ Schema int }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, "summary.json"), err)
	}
	if version.Schema != SchemaVersion {
		return nil, fmt.Errorf("%s has results of schema %d (expected schema %d); fix: run the scenario again", folder, version.Schema, SchemaVersion)
	}
	s := new(Summary)
	return s, json.Unmarshal(data, s)
}

// ReadInts reads integer columns from the file of a table. True is 1, and a missing value is
// probe.Null.
func ReadInts(path string, names ...string) (list [][]int64, err error) {
	err = withTable(path, func(table *parquet.File) error {
		for _, name := range names {
			leaf, ok := table.Schema().Lookup(name)
			if !ok {
				return fmt.Errorf("%s: there is no column %q", path, name)
			}
			column, err := readColumn(table, leaf.ColumnIndex, whole)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			list = append(list, column)
		}
		return nil
	})
	return list, err
}

func whole(v parquet.Value) int64 {
	switch {
	case v.IsNull():
		return probe.Null
	case v.Kind() == parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	}
	return v.Int64()
}

// ReadTexts reads a text column from the file of a table. rows has the index into texts of
// each row, or -1 for a missing value.
func ReadTexts(path, name string) (rows []int32, texts []string, err error) {
	indexOf := make(map[string]int32)
	err = withColumn(path, name, func(table *parquet.File, index int) error {
		rows, err = readColumn(table, index, func(v parquet.Value) int32 {
			if v.IsNull() {
				return -1
			}
			at, known := indexOf[string(v.ByteArray())]
			if !known {
				at = int32(len(texts))
				texts = append(texts, string(v.ByteArray()))
				indexOf[texts[at]] = at
			}
			return at
		})
		return err
	})
	return rows, texts, err
}

// EachText calls use for every row of a text column, with the index of its value in known, or -1
// for a missing value. Other values are an error.
func EachText(path, name string, known []string, use func(v int64)) error {
	indexOf := make(map[string]int64, len(known))
	for i, text := range known {
		indexOf[text] = int64(i)
	}
	return withColumn(path, name, func(table *parquet.File, index int) error {
		unknown := ""
		err := eachValue(table, index, func(v parquet.Value) {
			if v.IsNull() {
				use(-1)
				return
			}
			at, ok := indexOf[string(v.ByteArray())]
			if !ok {
				unknown = string(v.ByteArray())
				return
			}
			use(at)
		})
		if err == nil && unknown != "" {
			err = fmt.Errorf("unknown value in column %s: %q (expected a file written by this version of xoff)", name, unknown)
		}
		return err
	})
}

// EachInt calls use for every row of an integer column, with the value that ReadInts returns.
func EachInt(path, name string, use func(v int64)) error {
	return withColumn(path, name, func(table *parquet.File, index int) error {
		return eachValue(table, index, func(v parquet.Value) { use(whole(v)) })
	})
}

// withColumn calls read with an open table and the index of a column.
func withColumn(path, name string, read func(table *parquet.File, index int) error) error {
	return withTable(path, func(table *parquet.File) error {
		leaf, ok := table.Schema().Lookup(name)
		if !ok {
			return fmt.Errorf("%s: there is no column %q", path, name)
		}
		if err := read(table, leaf.ColumnIndex); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// ReadRows returns the number of rows in the file of a table.
func ReadRows(path string) (n int64, err error) {
	err = withTable(path, func(table *parquet.File) error {
		n = table.NumRows()
		return nil
	})
	return n, err
}
