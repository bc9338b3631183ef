package reproduce

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
)

// tablePath returns the path of a table of a run.
func tablePath(folder, table string) string { return filepath.Join(folder, table+".parquet") }

// columns reads columns of a run's table.
func columns(folder, table string, names ...string) ([][]float64, error) {
	list, err := metrics.ReadColumns(tablePath(folder, table), names...)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", table, err)
	}
	return list, nil
}

// rowNumber parses the value that a numeric column must have; true is 1 and false 0.
func rowNumber(text string) (float64, error) {
	switch text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid value %q (expected a number, true or false)", text)
	}
	return v, nil
}

// choose returns which rows of a table match; nil means all.
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

// equals returns for each row of a file whether a column has a value. Columns of text are
// compared as text.
func equals(path, column, want string) ([]bool, error) {
	words, ok, err := metrics.ReadWords(path, column)
	if err != nil {
		return nil, err
	}
	if ok {
		return matches(words, want), nil
	}
	number, err := rowNumber(want)
	if err != nil {
		return nil, err
	}
	list, err := metrics.ReadColumns(path, column)
	if err != nil {
		return nil, err
	}
	return matches(list[0], number), nil
}

func matches[T comparable](column []T, want T) []bool {
	same := make([]bool, len(column))
	for i, v := range column {
		same[i] = v == want
	}
	return same
}

// fillUnfinished sets the completion time or slowdown of unfinished flows as if they ended
// with the run, which is a lower bound. Flows that have not started are left unset.
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

// bySize returns keep without flows whose size the metric excludes, and makes slowdowns relative to
// the metric's base.
func (m *Metric) bySize(folder string, value []float64, keep []bool) ([]bool, error) {
	list, err := columns(folder, m.Table, "size_bytes", "ideal_ps")
	if err != nil {
		return nil, err
	}
	sizes, ideal := list[0], list[1]
	if keep = slices.Clone(keep); keep == nil { // others may share it
		keep = slices.Repeat([]bool{true}, len(value))
	}
	for i, size := range sizes {
		if m.Sizes != nil && (size < float64(m.Sizes[0]) || len(m.Sizes) == 2 && size >= float64(m.Sizes[1])) {
			keep[i] = false
		}
		if m.Base != (Base{}) {
			value[i] *= ideal[i] / float64(m.Base.RTT+m.Base.Rate.TxTime(units.Bytes(size)))
		}
	}
	return keep, nil
}
