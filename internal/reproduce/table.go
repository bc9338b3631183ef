package reproduce

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/metrics"
)

// tablePath is the file of a table of a run.
func tablePath(folder, table string) string { return filepath.Join(folder, table+".parquet") }

// columns reads columns of a table of a run.
func columns(folder, table string, names ...string) ([][]float64, error) {
	list, err := metrics.ReadColumns(tablePath(folder, table), names...)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", table, err)
	}
	return list, nil
}

// rowNumber reads what a column of numbers must be; a truth value is 1 or 0.
func rowNumber(text string) (float64, error) {
	switch text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q; allowed: a number, true, false", text)
	}
	return v, nil
}

// choose tells which rows of a table have what columns must have; nil: all.
func choose(folder, table string, rows map[string]string) ([]bool, error) {
	var keep []bool
	for _, name := range sortedKeys(rows) {
		same, err := equals(tablePath(folder, table), name, rows[name])
		if err != nil {
			return nil, fmt.Errorf("table %s: rows.%s: %w", table, name, err)
		}
		if keep == nil {
			keep = same
			continue
		}
		for i := range keep {
			keep[i] = keep[i] && same[i]
		}
	}
	return keep, nil
}

// equals tells for each row of a file whether a column has a value, which is a word
// where the column holds text.
func equals(path, column, want string) ([]bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	table, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return nil, err
	}
	if leaf, ok := table.Schema().Lookup(column); ok && leaf.Node.Type().Kind() == parquet.ByteArray {
		return wordsEqual(table, leaf.ColumnIndex, want)
	}
	number, err := rowNumber(want)
	if err != nil {
		return nil, err
	}
	list, err := metrics.ReadColumns(path, column)
	if err != nil {
		return nil, err
	}
	same := make([]bool, len(list[0]))
	for i, v := range list[0] {
		same[i] = v == number
	}
	return same, nil
}

// wordsEqual compares a column of text.
func wordsEqual(table *parquet.File, column int, want string) ([]bool, error) {
	same := make([]bool, 0, table.NumRows())
	var batch [1024]parquet.Value
	for _, group := range table.RowGroups() {
		pages := group.ColumnChunks()[column].Pages()
		for {
			page, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, errors.Join(err, pages.Close())
			}
			values := page.Values()
			for {
				n, err := values.ReadValues(batch[:])
				for _, v := range batch[:n] {
					same = append(same, !v.IsNull() && string(v.ByteArray()) == want)
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return nil, errors.Join(err, pages.Close())
				}
			}
			parquet.Release(page)
		}
		if err := pages.Close(); err != nil {
			return nil, err
		}
	}
	return same, nil
}

// fillUnfinished gives flows without a completion time (or slowdown) the one that they
// would have if they ended with the run: a lower bound. Those that have not even started
// get none.
func (m *Metric) fillUnfinished(folder string, value []float64, end float64) error {
	list, err := columns(folder, m.Table, "finished", "start_ps", "ideal_ps")
	if err != nil {
		return err
	}
	finished, start, ideal := list[0], list[1], list[2]
	for i := range value {
		if finished[i] != 0 || start[i] > end {
			continue
		}
		value[i] = end - start[i]
		if m.Value == "slowdown" {
			value[i] /= ideal[i]
		}
	}
	return nil
}
