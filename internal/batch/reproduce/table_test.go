package reproduce

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// flowRow has the columns of flows.parquet that the tests use.
type flowRow struct {
	Workload string   `parquet:"workload,dict"`
	Start    int64    `parquet:"start_ps"`
	FCT      *int64   `parquet:"fct_ps,optional"`
	Ideal    int64    `parquet:"ideal_ps"`
	Size     int64    `parquet:"size_bytes"`
	Slowdown *float64 `parquet:"slowdown,optional"`
	Measured bool     `parquet:"measured"`
	Finished bool     `parquet:"finished"`
	Group    int64    `parquet:"group"`
}

func flowTable(t *testing.T) string {
	t.Helper()
	done := func(workload string, start, fct, ideal, group int64, measured bool) flowRow {
		slowdown := float64(fct) / float64(ideal)
		return flowRow{workload, start, &fct, ideal, 10 * fct, &slowdown, measured, true, group}
	}
	left := func(workload string, start, ideal int64) flowRow {
		return flowRow{Workload: workload, Start: start, Ideal: ideal, Measured: true, Group: -1}
	}
	folder := t.TempDir()
	rows := []flowRow{
		done("tcp", 0, 100, 50, -1, true), done("rdma", 0, 200, 50, 3, true), done("tcp", 100, 300, 100, -1, false),
		left("tcp", 400, 200), // if the run ends at 1000: at least 600, 3 times its ideal
		left("tcp", 1001, 10), // not started
		done("tcp", 500, 400, 100, -1, true),
	}
	if err := parquet.WriteFile(filepath.Join(folder, "flows.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Rows are selected by numbers, booleans and words, all of which must match.
func TestRowsByWords(t *testing.T) {
	folder := flowTable(t)
	for _, c := range []struct {
		rows map[string]string
		want []float64
	}{
		{nil, []float64{100, 200, 300, 400}},
		{map[string]string{"workload": "tcp"}, []float64{100, 300, 400}},
		{map[string]string{"workload": "rdma"}, []float64{200}},
		{map[string]string{"workload": "tc"}, []float64{}},
		{map[string]string{"workload": "tcp", "measured": "1"}, []float64{100, 400}},
		{map[string]string{"workload": "tcp", "measured": "false"}, []float64{300}},
		{map[string]string{"group": "-1", "measured": "true"}, []float64{100, 400}},
	} {
		m := &Metric{Table: "flows", Value: "fct_ps", Rows: c.rows}
		got, _, err := m.read(folder, 1000, nil)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.rows, got, err, c.want)
		}
	}
	m := &Metric{Table: "flows", Value: "fct_ps", Rows: map[string]string{"group": "three"}}
	if _, _, err := m.read(folder, 1000, nil); err == nil || !strings.Contains(err.Error(), `rows.group: invalid value "three" (expected a number, true or false)`) {
		t.Error(err)
	}
}

// Row filters may use columns of words, values may not; a numeric column needs a number.
// Mistakes are found before anything runs.
func TestCheckColumns(t *testing.T) {
	tables := map[string][]probe.Column{"flows": {{Name: "workload", Type: probe.Text}, {Name: "group"}, {Name: "fct_ps"}}}
	for _, c := range []struct {
		rows  map[string]string
		value string
		want  string
	}{
		{map[string]string{"workload": "tcp", "group": "3"}, "fct_ps", ""},
		{map[string]string{"workload": "7"}, "fct_ps", ""},
		{map[string]string{"group": "three"}, "fct_ps", `rows.group: invalid value "three" (expected a number, true or false)`},
		{map[string]string{"groups": "3"}, "fct_ps", `unknown column "groups"`},
		{nil, "workload", `unknown numeric column "workload"`},
	} {
		err := checkColumns(tables, "flows", c.rows, []string{c.value})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %s: %v, want %s", c.rows, c.value, err, c.want)
		}
	}
}

// The TCP flows of the table have a slowdown of 2 and 4, an ideal time of 50 and 100 ps, and 1000
// and 4000 B. Relative to 60 ps + size / 80 Tbps, 0.1 ps/B, they have 2 x 50 / 160 and 4 x 100 / 460.
func TestSizesAndBase(t *testing.T) {
	folder := flowTable(t)
	tcp := map[string]string{"workload": "tcp", "measured": "1"}
	base := Base{RTT: 60, Rate: 80_000 * units.Gbps}
	for _, c := range []struct {
		sizes []units.Bytes
		base  Base
		want  []float64
	}{
		{nil, Base{}, []float64{2, 4}},
		{[]units.Bytes{0, 4000}, Base{}, []float64{2}},
		{[]units.Bytes{4000}, Base{}, []float64{4}},
		{nil, base, []float64{0.625, 400. / 460}},
		{[]units.Bytes{1001}, base, []float64{400. / 460}},
	} {
		m := &Metric{Table: "flows", Value: "slowdown", Rows: tcp, Sizes: c.sizes, Base: c.base}
		got, _, err := m.read(folder, 1000, nil)
		if err != nil || len(got) != len(c.want) {
			t.Fatalf("%v, %v: %v, %v; want %v", c.sizes, c.base, got, err, c.want)
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%v, %v: %v; want %v", c.sizes, c.base, got, c.want)
			}
		}
	}
}

// With `end of run` an unfinished flow counts with the time until the end of the run:
// percentiles then cover all flows and are lower bounds.
func TestEndOfRun(t *testing.T) {
	folder := flowTable(t)
	tcp := map[string]string{"workload": "tcp", "measured": "1"}
	for _, c := range []struct {
		value, unfinished string
		want              []float64
		p99               float64
	}{
		{"fct_ps", unfinishedOut, []float64{100, 400}, 400},
		{"fct_ps", unfinishedEnd, []float64{100, 600, 400}, 600}, // 1000 - 400
		{"slowdown", unfinishedOut, []float64{2, 4}, 4},
		{"slowdown", unfinishedEnd, []float64{2, 3, 4}, 4}, // 600 / 200
	} {
		m := &Metric{Table: "flows", Value: c.value, Rows: tcp, Unfinished: c.unfinished}
		got, _, err := m.read(folder, 1000, nil)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %q: %v, %v; want %v", c.value, c.unfinished, got, err, c.want)
		}
		if d, err := describe(got, []string{"p99"}); err != nil || d.Statistics["p99"] != c.p99 {
			t.Errorf("%s, %q: %v, %v", c.value, c.unfinished, d, err)
		}
	}
	e := tiny(Claim{ID: "c", Metric: "fct", Statistic: "p99", Scheme: "DSH", X: "1", Operator: opAbove, Paper: "1"})
	e.Metrics = []Metric{{Name: "fct", Title: "FCT", Unit: "us", Table: "flows", Value: "fct_ps", Unfinished: unfinishedEnd}}
	if head, _ := e.Cells(with("DSH 1: 1 2")); head[2] != "FCT, p99 (us), unfinished: end of run as lower bound" {
		t.Errorf("%q", head)
	}
}
