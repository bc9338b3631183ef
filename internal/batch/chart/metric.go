package chart

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/metrics"
)

// metric is what a panel draws: a number per run, or a column of a table of each run.
type metric struct {
	typed  string
	name   string   // number, without the part that it covers, or column
	table  string   // "" for numbers; stored distributions have storedTable
	groups []string // columns that can distinguish series
	timed  bool     // drawn over time
}

const (
	storedTable = "distribution"
	flowsTable  = "flows"
	probePrefix = "probe-"
	timeColumn  = "time_ps"
)

// unknownColumn is the error for a column that a table lacks.
type unknownColumn struct{ error }

// perRun reports whether the metric has one number per run.
func (m *metric) perRun() bool { return m.table == "" }

// part is a part of the flows of a run; empty names are all.
type part struct{ workload, size string }

// prefix returns the prefix of the metrics of a part.
func (p part) prefix() string {
	text := ""
	if p.workload != "" {
		text = "workloads." + p.workload + "."
	}
	if p.size != "" {
		text += "sizes." + p.size + "."
	}
	return text
}

// number returns the metric of a part in which every run has one number.
func (d *Data) number(typed string, p part) (*metric, error) {
	prefix := p.prefix()
	var names []string
	for _, n := range d.names {
		if rest, ok := strings.CutPrefix(n, prefix); ok {
			names = append(names, rest)
		}
	}
	full, err := metrics.FullNames([]string{typed}, names)
	if err != nil {
		return nil, err
	}
	return &metric{typed: typed, name: full[0]}, nil
}

// column returns the metric of a table, given as COLUMN of the flows, or as TABLE.COLUMN.
func (d *Data) column(typed string) (*metric, error) {
	r := d.records[0]
	if r.stored != nil {
		return d.storedColumn(typed)
	}
	tables, err := tablesOf(r.source)
	if err != nil {
		return nil, err
	}
	table, name, ok := strings.Cut(typed, ".")
	if !ok {
		table, name = flowsTable, typed
	}
	file := table
	if !slices.Contains(tables, table) && slices.Contains(tables, probePrefix+table) {
		file = probePrefix + table
	}
	if !slices.Contains(tables, file) {
		var shown []string
		for _, t := range tables {
			shown = append(shown, strings.TrimPrefix(t, probePrefix))
		}
		return nil, registry.Unknown("table", table, shown)
	}
	columns, err := metrics.TableColumns(tablePath(r.source, file))
	if err != nil {
		return nil, err
	}
	var numeric []string
	m := &metric{typed: typed, table: file}
	for _, c := range columns {
		switch c.Kind {
		case metrics.Words:
			m.groups = append(m.groups, c.Name)
			continue
		case metrics.Whole:
			m.groups = append(m.groups, c.Name)
		}
		numeric = append(numeric, c.Name)
		if c.Name == name || metrics.Title(c.Name) == name {
			m.name = c.Name
		}
	}
	if m.name == "" {
		return nil, &unknownColumn{registry.Unknown("column of "+table, name, metrics.Titles(numeric))}
	}
	return m, nil
}

func (d *Data) storedColumn(typed string) (*metric, error) {
	var names []string
	for name := range d.records[0].stored.Distributions {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Contains(names, typed) {
		if len(names) == 0 {
			names = []string{"none: these results have only numbers"}
		}
		return nil, registry.Unknown("distribution", typed, names)
	}
	return &metric{typed: typed, name: typed, table: storedTable}, nil
}

// tablesOf returns the names of the tables in a results folder.
func tablesOf(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".parquet"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

func tablePath(folder, table string) string { return filepath.Join(folder, table+".parquet") }

// choose returns the metric that a kind of figure draws.
func (d *Data) choose(typed, kind string, p part) (*metric, error) {
	m, err := d.number(typed, p)
	if err == nil {
		if kind == "time" {
			return nil, fmt.Errorf("%s is one number per run (expected PROBE.COLUMN with --kind time)", typed)
		}
		return m, nil
	}
	c, wrong := d.column(typed)
	_, hasTable := wrong.(*unknownColumn)
	distributions := kind == "cdf" || kind == "box" || kind == "time"
	switch {
	case wrong != nil && (kind == "time" || (hasTable || !strings.Contains(typed, ".")) && (distributions || kind == "" && d.records[0].stored == nil)):
		return nil, wrong
	case wrong != nil:
		return nil, err
	case !distributions && kind != "":
		return nil, fmt.Errorf("%s is a column with many values per run (expected a number such as %s.p99, or --kind cdf, box or time)", typed, metrics.Title(c.name))
	}
	if kind == "time" && c.table != storedTable {
		if columns, err := metrics.TableColumns(tablePath(d.records[0].source, c.table)); err != nil || !slices.ContainsFunc(columns, func(c metrics.Column) bool { return c.Name == timeColumn }) {
			return nil, errors.Join(err, fmt.Errorf("table %s has no times (expected PROBE.COLUMN with --kind time)", c.table))
		}
	}
	return c, nil
}

// label returns the axis of a metric.
func (d *Data) label(m *metric) plot.Axis {
	if d.experiment != nil {
		base, stat, _ := strings.Cut(m.name, ".")
		if title, unit := d.experiment.Label(base); title != "" {
			if stat != "" {
				title += ", " + statistic(stat)
			}
			if unit != "" {
				title += " (" + unit + ")"
			}
			return plot.Axis{Label: title}
		}
	}
	name := metrics.Title(m.name)
	if m.table != "" && m.table != flowsTable && m.table != storedTable {
		name = strings.TrimPrefix(m.table, probePrefix) + "." + name
	}
	return axis(name, m.name)
}

// MetricAxis returns the axis of a metric, and the factor from its values to the axis's unit.
func MetricAxis(name string) (plot.Axis, float64) {
	a := axis(metrics.Title(name), name)
	return a, scale(a.Unit)
}

// axis returns the axis of a metric or column with a title.
func axis(title, name string) plot.Axis {
	var words []string
	for _, w := range strings.Split(title, ".") {
		if w = statistic(w); w != "bytes" && w != "bps" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return plot.Axis{Label: strings.Join(words, ", "), Unit: unitOf(name)}
}

// statistic returns a part of a metric's name as words.
func statistic(word string) string {
	if rest, ok := strings.CutPrefix(word, "p"); ok {
		rest = strings.ReplaceAll(rest, "_", ".")
		if v, err := strconv.ParseFloat(rest, 64); err == nil {
			if v == 50 {
				return "median"
			}
			return rest + "th percentile"
		}
	}
	if word == "fct" {
		return "FCT"
	}
	return strings.ReplaceAll(word, "_", " ")
}

// unitOf returns the unit of a metric's or column's name.
func unitOf(name string) plot.Unit {
	switch {
	case strings.HasSuffix(name, "_ps") || strings.Contains(name, "_ps."):
		return plot.Seconds
	case strings.HasSuffix(name, "bytes"):
		return plot.Bytes
	case strings.HasSuffix(name, "bps") || strings.Contains(name, "_bps."):
		return plot.BitRate
	case strings.HasSuffix(name, "utilisation") || strings.Contains(name, "utilisation."):
		return plot.Share
	}
	return plot.Plain
}

// scale returns the factor from stored values to the unit of the axis.
func scale(u plot.Unit) float64 {
	if u == plot.Seconds {
		return 1e-12
	}
	return 1
}

// rows are the values of a column in one group of rows.
type rows struct {
	where  [][2]string // columns and their values
	values []float64   // +Inf: an unfinished flow or operation
	times  []float64
}

// read reads a column of a run, grouped by other columns.
func (m *metric) read(r *record, workload string, by []string) ([]rows, error) {
	if r.stored != nil {
		return m.readStored(r)
	}
	path := tablePath(r.source, m.table)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no table %s (expected in every run)", r.source, m.table)
	}
	columns, err := metrics.TableColumns(path)
	if err != nil {
		return nil, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(c metrics.Column) bool { return c.Name == name })
	}
	names := []string{m.name}
	for _, extra := range []string{"measured", timeColumn} {
		if has(extra) {
			names = append(names, extra)
		}
	}
	numbers, err := metrics.ReadColumns(path, names...)
	if err != nil {
		return nil, err
	}
	var measured, times []float64
	for i, n := range names[1:] {
		if n == "measured" {
			measured = numbers[1+i]
		} else {
			times = numbers[1+i]
		}
	}
	if workload != "" {
		if !has(keyWorkload) {
			return nil, fmt.Errorf("table %s has no workloads (expected a table with column workload, such as flows)", m.table)
		}
		by = append([]string{keyWorkload}, by...)
	}
	keys := make([][]string, len(by))
	for i, name := range by {
		words, isText, err := metrics.ReadWords(path, name)
		if err == nil && !isText {
			var ints [][]float64
			if ints, err = metrics.ReadColumns(path, name); err == nil {
				for _, v := range ints[0] {
					text := ""
					if !math.IsNaN(v) {
						text = strconv.FormatFloat(v, 'f', -1, 64)
					}
					words = append(words, text)
				}
			}
		}
		if err != nil {
			return nil, err
		}
		keys[i] = words
	}
	return m.group(numbers[0], measured, times, by, keys, workload), nil
}

// group splits the measured rows by the values of their keys.
func (m *metric) group(values, measured, times []float64, by []string, keys [][]string, workload string) []rows {
	endless := (m.table == flowsTable || m.table == "operations") && (strings.HasSuffix(m.name, "_ps") || m.name == "slowdown")
	var list []rows
	at := make(map[string]int)
	for i, v := range values {
		if measured != nil && measured[i] == 0 || workload != "" && keys[0][i] != workload {
			continue
		}
		name := ""
		for _, k := range keys {
			name += k[i] + "\x00"
		}
		g, ok := at[name]
		if !ok {
			g = len(list)
			at[name] = g
			list = append(list, rows{})
			for k := range keys {
				list[g].where = append(list[g].where, [2]string{by[k], keys[k][i]})
			}
		}
		if math.IsNaN(v) {
			if !endless {
				continue
			}
			v = math.Inf(1)
		}
		list[g].values = append(list[g].values, v)
		if times != nil {
			list[g].times = append(list[g].times, times[i])
		}
	}
	return list
}

// readStored reads a stored distribution: one value per quantile, or a trace with its times in
// picoseconds.
func (m *metric) readStored(r *record) ([]rows, error) {
	dist := r.stored.Distributions[m.name]
	if dist == nil || len(dist.Quantiles) == 0 {
		return nil, nil
	}
	one := rows{values: dist.Quantiles[1:]}
	if m.timed && dist.Trace != nil {
		one = rows{values: dist.Trace.Y}
		for _, us := range dist.Trace.X {
			one.times = append(one.times, us*1e6)
		}
	}
	return []rows{one}, nil
}
