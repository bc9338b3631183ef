package reproduce

import (
	"maps"
	"math"
	"slices"

	"github.com/xoff-net/xoff/metrics"
)

// extract reads the metrics and counts of an experiment from the results of a run. Metrics of
// common flows are taken among the given rows.
func (e *Experiment) extract(folder string, among []bool) (map[string]float64, map[string]*Distribution, error) {
	summary, err := metrics.ReadSummary(folder)
	if err != nil {
		return nil, nil, err
	}
	numbers := make(map[string]float64)
	for _, m := range metrics.Measures(summary) {
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
		values, times, err := m.read(folder, float64(summary.End), among)
		if err != nil {
			return nil, nil, err
		}
		trace := trace(times, values) // before describe sorts them
		if spreads[m.Name], err = describe(values, e.statistics(m.Name)); err != nil {
			return nil, nil, err
		}
		spreads[m.Name].Trace = trace
	}
	for _, c := range e.Counts {
		if c.Summary != "" {
			if v, ok := numbers[c.Summary]; ok {
				values[c.Name] = v
			}
			continue
		}
		m := Metric{Table: c.Table, Value: c.Distinct, Rows: c.Rows}
		rows, _, err := m.read(folder, 0, nil)
		if err != nil {
			return nil, nil, err
		}
		values[c.Name] = distinct(rows)
	}
	return values, spreads, nil
}

func (m *Metric) factor() float64 {
	if m.Times == 0 {
		return 1
	}
	return m.Times
}

// sortedKeys returns the columns of a row filter in a fixed order.
func sortedKeys(rows map[string]string) []string { return slices.Sorted(maps.Keys(rows)) }

// read returns the values of the metric and, with Along, their times. The run ended at end. Common
// flows are among the given rows.
func (m *Metric) read(folder string, end float64, among []bool) (values, times []float64, err error) {
	names := []string{m.Value}
	if m.Over != "" {
		names = append(names, m.Over)
	}
	if m.Along != "" {
		names = append(names, m.Along)
	}
	list, err := columns(folder, m.Table, names...)
	if err != nil {
		return nil, nil, err
	}
	keep, err := choose(folder, m.Table, m.Rows)
	if err != nil {
		return nil, nil, err
	}
	if m.Common {
		keep = both(keep, among)
	}
	if m.Unfinished == unfinishedEnd {
		if err := m.fillUnfinished(folder, list[0], end); err != nil {
			return nil, nil, err
		}
	}
	if m.Sizes != nil || m.Base != (Base{}) {
		if keep, err = m.bySize(folder, list[0], keep); err != nil {
			return nil, nil, err
		}
	}
	values, times = m.ratios(keep, list)
	return values, times, nil
}

// ratios turns columns (value, over, along) into the values of the metric. It skips rows
// that are not kept, have no value, or would be divided by zero.
func (m *Metric) ratios(keep []bool, columns [][]float64) (values, times []float64) {
	value, rest := columns[0], columns[1:]
	var over []float64
	if m.Over != "" {
		over, rest = rest[0], rest[1:]
	}
	values = make([]float64, 0, len(value))
	for i, v := range value {
		if keep != nil && !keep[i] {
			continue
		}
		if over != nil {
			if over[i] == 0 {
				continue
			}
			v /= over[i]
		}
		if math.IsNaN(v) {
			continue
		}
		values = append(values, float64(v*m.factor()))
		if m.Along != "" {
			times = append(times, rest[0][i])
		}
	}
	return values, times
}

// trace returns a copy of values with their times in microseconds.
func trace(times, values []float64) *Trace {
	if times == nil {
		return nil
	}
	t := &Trace{Y: slices.Clone(values)}
	for _, x := range times {
		t.X = append(t.X, float64(x/1e6))
	}
	return t
}

// distinct counts the different non-negative values.
func distinct(column []float64) float64 {
	seen := make(map[float64]bool)
	for _, v := range column {
		if v >= 0 {
			seen[v] = true
		}
	}
	return float64(len(seen))
}

// statistics returns the statistics of a metric that claims and panels use.
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
