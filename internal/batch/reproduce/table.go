package reproduce

import (
	"fmt"
	"path/filepath"
	"strconv"

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
	words, ok, err := metrics.ReadWords(path, column)
	if err != nil {
		return nil, err
	}
	if ok {
		return each(words, want), nil
	}
	number, err := rowNumber(want)
	if err != nil {
		return nil, err
	}
	list, err := metrics.ReadColumns(path, column)
	if err != nil {
		return nil, err
	}
	return each(list[0], number), nil
}

func each[T comparable](column []T, want T) []bool {
	same := make([]bool, len(column))
	for i, v := range column {
		same[i] = v == want
	}
	return same
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
