package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/xoff-net/xoff/internal/record/table"
)

// ReadColumns reads numeric columns from the file of a table. True is 1, and a missing value
// is NaN.
func ReadColumns(path string, names ...string) (list [][]float64, err error) {
	err = withTable(path, func(t *table.File) error {
		for _, name := range names {
			i := t.Find(name)
			if i < 0 {
				return fmt.Errorf("there is no column %q (allowed: %s)", name, t.Names())
			}
			if t.Columns[i].Type == table.Text {
				return fmt.Errorf("column %q is not numeric (expected a numeric column)", name)
			}
			column := make([]float64, 0, 1024)
			err := t.Each(i, func(words []int64) {
				for _, w := range words {
					column = append(column, number(&t.Columns[i], w))
				}
			})
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			list = append(list, column)
		}
		return nil
	})
	return list, err
}

// number returns a word of a numeric column.
func number(c *table.Column, w int64) float64 {
	switch {
	case c.Nullable && w == table.Null:
		return math.NaN()
	case c.Type == table.Float:
		return math.Float64frombits(uint64(w))
	}
	return float64(w)
}

// ReadWords reads a text column from the file of a table. It returns false if the column
// does not exist or is not text.
func ReadWords(path, name string) (words []string, ok bool, err error) {
	err = withTable(path, func(t *table.File) error {
		i := t.Find(name)
		if ok = i >= 0 && t.Columns[i].Type == table.Text; !ok {
			return nil
		}
		return t.Each(i, func(list []int64) {
			for _, w := range list {
				text := ""
				if w != table.Null {
					text = t.Columns[i].Texts[w]
				}
				words = append(words, text)
			}
		})
	})
	return words, ok, err
}

func withTable(path string, read func(*table.File) error) error {
	t, err := table.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }()
	return read(t)
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
	for _, name := range names {
		var column []int64
		if err := EachInt(path, name, func(v int64) { column = append(column, v) }); err != nil {
			return nil, err
		}
		list = append(list, column)
	}
	return list, nil
}

// ReadTexts reads a text column from the file of a table. rows has the index into texts of
// each row, or -1 for a missing value.
func ReadTexts(path, name string) (rows []int32, texts []string, err error) {
	err = withColumn(path, name, table.Text, func(words []int64, c *table.Column) {
		for _, w := range words {
			if w == table.Null {
				w = -1
			}
			rows = append(rows, int32(w))
		}
		texts = c.Texts
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
	var at []int64 // by word, the index in known
	unknown := ""
	err := withColumn(path, name, table.Text, func(words []int64, c *table.Column) {
		for _, text := range c.Texts[len(at):] {
			i, ok := indexOf[text]
			if !ok {
				i, unknown = -1, text
			}
			at = append(at, i)
		}
		for _, w := range words {
			if w == table.Null {
				use(-1)
			} else if at[w] >= 0 {
				use(at[w])
			}
		}
	})
	if err == nil && unknown != "" {
		err = fmt.Errorf("%s: unknown value in column %s: %q (expected a file written by this version of xoff)", path, name, unknown)
	}
	return err
}

// EachInt calls use for every row of an integer column, with the value that ReadInts returns.
func EachInt(path, name string, use func(v int64)) error {
	return withColumn(path, name, table.Int, func(words []int64, _ *table.Column) {
		for _, w := range words {
			use(w)
		}
	})
}

// withColumn calls read with the words of a column, page by page. A column of integers may also
// have truth values.
func withColumn(path, name string, kind table.Type, read func(words []int64, c *table.Column)) error {
	return withTable(path, func(t *table.File) error {
		i := t.Find(name)
		if i < 0 {
			return fmt.Errorf("%s: there is no column %q", path, name)
		}
		c := &t.Columns[i]
		if c.Type != kind && (kind != table.Int || c.Type != table.Bool) {
			return fmt.Errorf("%s: column %q has values of another type", path, name)
		}
		if err := t.Each(i, func(words []int64) { read(words, c) }); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// ReadRows returns the number of rows in the file of a table.
func ReadRows(path string) (n int64, err error) {
	err = withTable(path, func(t *table.File) error {
		n = t.Rows
		return nil
	})
	return n, err
}
