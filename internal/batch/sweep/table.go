package sweep

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/record/table"
	"github.com/xoff-net/xoff/metrics"
)

// Table is the outcome of a sweep: one row per point. Its files do not depend on the order
// in which points finished.
type Table struct {
	Scenario string
	Axes     []Axis
	Rows     []Row

	store   *Store
	names   []string          // all metrics
	columns map[string]int    // index into names by metric
	groups  map[string]string // groups by metric, see metrics.Measure
	values  [][]float64       // by row and column; NaN or beyond the end if unknown
}

// NewTable returns the table of rows and reads their metrics from the store.
func NewTable(g *Grid, rows []Row, store *Store) (*Table, error) {
	t := &Table{Axes: g.Axes, Rows: rows, store: store, columns: make(map[string]int), groups: make(map[string]string)}
	for i := range rows {
		t.Scenario = rows[i].Point.Config.Name
		var values []float64
		if rows[i].Results {
			summary, err := metrics.ReadSummary(store.Path(rows[i].Point))
			if err != nil {
				return nil, err
			}
			values = t.line(metrics.Measures(summary))
		}
		t.values = append(t.values, values)
	}
	return t, nil
}

// line arranges measures in columns. It appends columns for metrics that no earlier row had.
func (t *Table) line(list []metrics.Measure) []float64 {
	for _, m := range list {
		if _, ok := t.columns[m.Name]; !ok {
			t.columns[m.Name] = len(t.names)
			t.names = append(t.names, m.Name)
			t.groups[m.Name] = m.Group
		}
	}
	values := slices.Repeat([]float64{math.NaN()}, len(t.names))
	for _, m := range list {
		if m.Known {
			values[t.columns[m.Name]] = m.Value
		}
	}
	return values
}

// value returns a metric of a row, and whether it is known.
func (t *Table) value(row int, metric string) (float64, bool) {
	column, ok := t.columns[metric]
	if !ok || column >= len(t.values[row]) {
		return 0, false
	}
	v := t.values[row][column]
	return v, !math.IsNaN(v)
}

// Code returns the highest exit code of the points.
func (t *Table) Code() int {
	code := 0
	for _, r := range t.Rows {
		code = max(code, r.Verdict.Code)
	}
	return code
}

// Group is a set of points that differ only in their seed.
type Group struct {
	Values []string
	Rows   []int // indices into Rows
}

// Groups returns the combinations of values, in order.
func (t *Table) Groups() []Group {
	var groups []Group
	at := make(map[string]int)
	for i, r := range t.Rows {
		key := strings.Join(r.Point.Values, "\x00")
		g, ok := at[key]
		if !ok {
			g = len(groups)
			at[key] = g
			groups = append(groups, Group{Values: r.Point.Values})
		}
		groups[g].Rows = append(groups[g].Rows, i)
	}
	return groups
}

// over returns the known values of a metric in a group, by seed.
func (t *Table) over(g *Group, metric string) seeded {
	var s seeded
	for _, i := range g.Rows {
		if v, ok := t.value(i, metric); ok {
			s.seeds = append(s.seeds, t.Rows[i].Point.Seed)
			s.values = append(s.values, v)
		}
	}
	return s
}

// Sheet is a table of formatted text.
type Sheet struct {
	Head  []string
	Keys  int        // number of leading columns that identify a line
	Lines [][]string // a line with one cell is a heading
	Same  []string   // metrics that are equal in all lines, with their values
	// Trouble has the keys of lines with failed points and a message.
	Trouble [][]string
}

// Cells returns one line per combination of values, with the mean over its seeds and the
// half width of its 95 % interval. Without chosen metrics it uses DefaultMetrics. Metrics
// that no point has are omitted.
func (t *Table) Cells(chosen []string) *Sheet {
	if len(chosen) == 0 {
		chosen = DefaultMetrics
	}
	s := &Sheet{}
	var keys []string
	for _, a := range t.Axes {
		keys = append(keys, a.Key)
	}
	s.Head = ShortKeys(keys)
	groups := t.Groups()
	if len(groups) < len(t.Rows) {
		s.Head = append(s.Head, "seeds")
	}
	s.Keys = len(s.Head)
	for _, g := range groups {
		var line []string
		for _, v := range g.Values {
			line = append(line, ShortValue(v))
		}
		if trouble := t.trouble(&g); trouble != "" {
			s.Trouble = append(s.Trouble, append(slices.Clone(line), trouble))
		}
		if len(groups) < len(t.Rows) {
			line = append(line, strconv.Itoa(len(g.Rows)))
		}
		s.Lines = append(s.Lines, line)
	}
	for _, m := range t.known(chosen) {
		first := t.over(&groups[0], m)
		differs := func(g Group) bool { return !t.over(&g, m).same(first) }
		if len(groups) > 1 && !slices.ContainsFunc(groups, differs) {
			s.Same = append(s.Same, metrics.Title(m)+" "+cell(m, first.values))
			continue
		}
		s.Head = append(s.Head, metrics.Title(m))
		for i := range groups {
			s.Lines[i] = append(s.Lines[i], cell(m, t.over(&groups[i], m).values))
		}
	}
	return s
}

// known returns the full names of the metrics that some point has.
func (t *Table) known(names []string) []string {
	var list []string
	for _, n := range names {
		if full, err := metrics.FullNames([]string{n}, t.names); err == nil {
			list = append(list, full...)
		}
	}
	return list
}

func cell(metric string, values []float64) string {
	s, ok := sampleOf(values)
	if !ok {
		return "-"
	}
	return s.text(metric)
}

// trouble returns a message about the failed points of a group, or "".
func (t *Table) trouble(g *Group) string {
	var list []string
	for _, i := range g.Rows {
		if r := &t.Rows[i]; r.Verdict.Code != 0 {
			list = append(list, fmt.Sprintf("seed %d: %s", r.Point.Seed, r.Verdict.Message))
		}
	}
	if len(list) > 1 {
		return fmt.Sprintf("%s (and %d more seeds)", list[0], len(list)-1)
	}
	return strings.Join(list, "")
}

// folder returns the folder of a point's results, or "" if there are none.
func (t *Table) folder(r *Row) string {
	if !r.Results {
		return ""
	}
	return pointsFolder + "/" + r.Point.Folder
}

// WriteCSV writes one line per point with all metrics.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var head []string
	for _, a := range t.Axes {
		head = append(head, a.Key)
	}
	head = append(append(head, "seed", "folder", "code", "message"), t.names...)
	if err := out.Write(head); err != nil {
		return err
	}
	for i, r := range t.Rows {
		line := append([]string(nil), r.Point.Values...)
		line = append(line, strconv.FormatUint(r.Point.Seed, 10), t.folder(&r), strconv.Itoa(r.Verdict.Code), r.Verdict.Message)
		for _, m := range t.names {
			text := ""
			if v, ok := t.value(i, m); ok {
				text = strconv.FormatFloat(v, 'f', -1, 64)
			}
			line = append(line, text)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteParquet writes the same table as WriteCSV. A key with only plain numbers becomes a
// numeric column.
func (t *Table) WriteParquet(w io.Writer) error {
	var columns []table.Column
	words := [][]int64{}
	add := func(c table.Column, word func(row int, c *table.Column) int64) {
		for slices.ContainsFunc(columns, func(other table.Column) bool { return other.Name == c.Name }) {
			c.Name += "_"
		}
		list := make([]int64, len(t.Rows))
		for i := range list {
			list[i] = word(i, &c)
		}
		columns, words = append(columns, c), append(words, list)
	}
	text := func(name string, of func(row int) string) {
		add(table.Column{Name: name, Type: table.Text}, func(i int, c *table.Column) int64 { return c.Word(of(i)) })
	}
	for j, a := range t.Axes {
		value := func(i int) string { return t.Rows[i].Point.Values[j] }
		if !numeric(a.Values) {
			text(a.Key, value)
			continue
		}
		add(table.Column{Name: a.Key, Type: table.Float}, func(i int, _ *table.Column) int64 {
			x, _ := strconv.ParseFloat(value(i), 64)
			return int64(math.Float64bits(x))
		})
	}
	add(table.Column{Name: "seed", Unsigned: true}, func(i int, _ *table.Column) int64 { return int64(t.Rows[i].Point.Seed) })
	text("folder", func(i int) string { return t.folder(&t.Rows[i]) })
	add(table.Column{Name: "code"}, func(i int, _ *table.Column) int64 { return int64(t.Rows[i].Verdict.Code) })
	text("message", func(i int) string { return t.Rows[i].Verdict.Message })
	for _, m := range t.names {
		add(table.Column{Name: m, Type: table.Float, Nullable: true}, func(i int, _ *table.Column) int64 {
			if v, ok := t.value(i, m); ok {
				return int64(math.Float64bits(v))
			}
			return table.Null
		})
	}
	out := table.NewWriter(w, fmt.Sprintf("xoff version %d", SchemaVersion), columns)
	if len(t.Rows) > 0 {
		if err := out.Group(words); err != nil {
			return err
		}
	}
	return out.Close()
}

func numeric(values []string) bool {
	for _, v := range values {
		if _, err := strconv.ParseFloat(v, 64); err != nil || strings.ContainsAny(v, "xXnN_") {
			return false
		}
	}
	return true
}

// Save writes the table as CSV, Parquet and JSON.
func (s *Store) Save(t *Table) error {
	return errors.Join(s.file("sweep.csv", t.WriteCSV), s.file("sweep.parquet", t.WriteParquet), s.file("sweep.json", t.WriteJSON))
}

// Statistics returns, for a sweep over seeds only, one line per default metric with mean,
// interval, minimum and maximum. Metrics of parts of the flows follow under headings.
func (t *Table) Statistics() *Sheet {
	all := Group{}
	for i := range t.Rows {
		all.Rows = append(all.Rows, i)
	}
	whole := newVariant("", "")
	whole.groups = t.groups
	for _, m := range t.names {
		whole.values[m] = t.over(&all, m)
	}
	head := []string{"metric", fmt.Sprintf("mean of %d seeds ± 95 %% interval", len(t.Rows)), "min", "max"}
	sheet := &Sheet{Head: head, Keys: 1}
	group := ""
	for _, m := range withoutDuplicates(defaults(t.names), []*Variant{whole}) {
		s, ok := sampleOf(t.over(&all, m).values)
		if !ok {
			continue
		}
		line := []string{"", s.text(m), metrics.Format(m, s.Min), metrics.Format(m, s.Max)}
		if s.Min == s.Max {
			line[2], line[3] = "=", "="
		}
		sheet.add(&group, whole.groups[m], m, line)
	}
	if trouble := t.trouble(&all); trouble != "" {
		sheet.Trouble = [][]string{{"failed", trouble}}
	}
	return sheet
}

// add appends the line of a metric, below a heading if its group changes. It sets the first
// cell.
func (s *Sheet) add(last *string, group, metric string, line []string) {
	if group != *last && group != "" {
		s.Lines = append(s.Lines, []string{group})
	}
	*last = group
	if group == "" {
		line[0] = metrics.Title(metric)
	} else {
		line[0] = "  " + metrics.Title(strings.TrimPrefix(metric, group))
	}
	s.Lines = append(s.Lines, line)
}

// Sheet returns one line per metric and one column per variant, with the given names as
// headings.
func (c *Comparison) Sheet(names []string) *Sheet {
	s := &Sheet{Head: append([]string{"metric"}, names...), Keys: 1}
	group := ""
	for i := range c.Metrics {
		m := &c.Metrics[i]
		line := []string{""}
		for k := range m.Samples {
			line = append(line, m.Cell(k))
		}
		s.add(&group, m.Group, m.Name, line)
	}
	return s
}
