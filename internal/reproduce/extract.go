package reproduce

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/xoff-net/xoff/internal/sweep"
	"github.com/xoff-net/xoff/metrics"
)

// extract reads the metrics and counts of an experiment from the results of a run.
func (e *Experiment) extract(row *sweep.Row, folder string) (map[string]float64, map[string]*Distribution, error) {
	numbers := make(map[string]float64)
	for _, m := range sweep.Measures(row.Summary) {
		if m.Known {
			numbers[m.Name] = m.Value
		}
	}
	values, spreads := make(map[string]float64), make(map[string]*Distribution)
	for i := range e.Metrics {
		m := &e.Metrics[i]
		if !m.Distribution() {
			if v, ok := numbers[m.Summary]; ok {
				values[m.Name] = float64(v * m.factor())
			}
			continue
		}
		rows, err := columns(folder, m.Table, m.Value, m.Over)
		if err != nil {
			return nil, nil, err
		}
		if spreads[m.Name], err = describe(m.ratios(rows), e.statistics(m.Name)); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range e.Counts {
		if c.Summary != "" {
			if v, ok := numbers[c.Summary]; ok {
				values[c.Name] = v
			}
			continue
		}
		rows, err := columns(folder, c.Table, c.Distinct)
		if err != nil {
			return nil, nil, err
		}
		values[c.Name] = distinct(rows[0])
	}
	return values, spreads, nil
}

func (m *Metric) factor() float64 {
	if m.Times == 0 {
		return 1
	}
	return m.Times
}

// ratios turns columns into the values of the metric. Rows without a value, or
// that would be divided by nothing, do not count.
func (m *Metric) ratios(columns [][]float64) []float64 {
	values := make([]float64, 0, len(columns[0]))
	for i, v := range columns[0] {
		if m.Over != "" {
			if columns[1][i] == 0 {
				continue
			}
			v /= columns[1][i]
		}
		if !math.IsNaN(v) {
			values = append(values, float64(v*m.factor()))
		}
	}
	return values
}

// distinct counts the different values that are not negative.
func distinct(column []float64) float64 {
	seen := make(map[float64]bool)
	for _, v := range column {
		if v >= 0 {
			seen[v] = true
		}
	}
	return float64(len(seen))
}

// statistics are those that claims and panels want of a metric.
func (e *Experiment) statistics(metric string) []string {
	var names []string
	add := func(m, s string) {
		if m == metric && s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	for _, c := range e.Claims {
		add(c.Metric, c.Statistic)
	}
	for _, p := range e.Panels {
		for _, m := range p.Metrics {
			add(m, p.Statistic)
		}
	}
	slices.Sort(names)
	return names
}

// columns reads columns of a table of a run; an empty name is left out.
func columns(folder, table string, names ...string) ([][]float64, error) {
	names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
	list, err := metrics.ReadColumns(filepath.Join(folder, table+".parquet"), names...)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", table, err)
	}
	return list, nil
}
