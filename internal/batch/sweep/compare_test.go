package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/metrics"
)

func summary(seed, pauses uint64, p99 float64) *metrics.Summary {
	s := &metrics.Summary{Schema: metrics.SchemaVersion, Seed: seed, Workloads: []metrics.Part{{Name: "web"}}}
	s.Pauses.Pauses = pauses
	if p99 > 0 {
		s.Slowdown = &metrics.Ratios{P99: p99}
	}
	return s
}

func TestMeasures(t *testing.T) {
	got := make(map[string]metrics.Measure)
	for _, m := range metrics.Measures(summary(3, 7, 2.5)) {
		got[m.Name] = m
	}
	for name, want := range map[string]metrics.Measure{
		"pauses.pauses": {Name: "pauses.pauses", Group: "", Value: 7, Known: true}, "slowdown.p99": {Name: "slowdown.p99", Group: "", Value: 2.5, Known: true}, "fct_ps.p99": {Name: "fct_ps.p99", Group: "", Value: 0, Known: false},
		"workloads.web.slowdown.p99_9": {Name: "workloads.web.slowdown.p99_9", Group: "workloads.web", Value: 0, Known: false},
		"workloads.web.measured":       {Name: "workloads.web.measured", Group: "workloads.web", Value: 0, Known: true},
	} {
		if got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
	for _, name := range []string{"schema", "seed", "scenario", "partial"} {
		if _, ok := got[name]; ok {
			t.Errorf("%s is reported as a metric", name)
		}
	}
}

func TestGoals(t *testing.T) {
	for name, want := range map[string]int{
		"fct_ps.p99": -1, "slowdown.mean": -1, "workloads.web.fct_ps.p50": -1, "sizes.up to 10KB.slowdown.max": -1, "pauses.blocked_ps": -1,
		"drops.lossless": -1, "flows.unfinished": -1, "flows.finished": 1, "workloads.web.finished": 1, "workloads.web.unfinished": -1,
		"network.hops": 0, "flows.offered": 0, "workloads.web.measured": 0, "end_ps": 0,
	} {
		if got := goalOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func variant(name string, runs ...*metrics.Summary) *Variant {
	v := newVariant(name, "")
	for _, s := range runs {
		v.add(s)
	}
	return v
}

func TestCompareMarks(t *testing.T) {
	a := variant("a", summary(1, 10, 5), summary(2, 20, 6), summary(3, 30, 0))
	b := variant("b", summary(1, 11, 4), summary(2, 21, 5), summary(3, 31, 0))
	c, err := Compare([]*Variant{a, b}, []string{"pauses.pauses", "slowdown.p99", "drops.lossless", "network.hops", "fct_ps.p50"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Metrics) != 4 { // no run has a completion time
		t.Fatalf("%+v", c.Metrics)
	}
	// One less with every seed is better, although values vary by ten between seeds.
	if m := c.Metrics[0]; m.Best != 0 || !m.Better || m.Goal != "lower" || !strings.HasSuffix(m.Cell(0), " *") || m.Versus[1].Mean != -1 {
		t.Errorf("pauses: %+v", m)
	}
	if m := c.Metrics[1]; m.Best != 1 || !m.Better || m.Samples[0].N != 2 {
		t.Errorf("slowdown: %+v", m)
	}
	if m := c.Metrics[2]; m.Best != -1 || m.Better {
		t.Errorf("equal values: %+v", m)
	}
	if m := c.Metrics[3]; m.Best != -1 || m.Goal != "" {
		t.Errorf("neither is better: %+v", m)
	}
	if got := c.Confidence(); !strings.Contains(got, "seed by seed") {
		t.Errorf("got %q", got)
	}
	// One seed never gives confidence.
	c, err = Compare([]*Variant{variant("a", summary(1, 10, 5)), variant("b", summary(1, 1000, 5))}, []string{"pauses.pauses"})
	if err != nil || c.Metrics[0].Best != 0 || c.Metrics[0].Better || c.Metrics[0].Cell(0) != "10 ~" || !strings.Contains(c.Confidence(), "no confidence") {
		t.Errorf("one seed: %+v, %v", c, err)
	}
	// The best must be better than all others, not only than one.
	c, err = Compare([]*Variant{a, b, variant("c", summary(1, 12, 5), summary(2, 5, 6), summary(3, 44, 0))}, []string{"pauses.pauses"})
	if err != nil || c.Metrics[0].Best != 0 || c.Metrics[0].Better {
		t.Errorf("three: %+v, %v", c, err)
	}
	if _, err := Compare([]*Variant{a}, nil); err == nil {
		t.Error("no error for one variant")
	}
	if _, err := Compare([]*Variant{a, b}, []string{"pauses"}); err == nil || !strings.Contains(err.Error(), "pauses.pauses") {
		t.Errorf("unknown metric: %v", err)
	}
}

func TestTableFiles(t *testing.T) {
	g := tinyGrid(1, 2)
	g.Axes = append(g.Axes, Axis{"workload[0].flows[0].start", []string{"0s"}}, Axis{"hosts.ack.every", []string{"1", "2"}})
	folder := t.TempDir()
	rows, err := sweepOnce(t, context.Background(), folder, g, &fake{}, 2, "")
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(g, rows, &Store{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	var csv, js, pq bytes.Buffer
	if err := table.WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(csv.String(), "\n"); len(lines) != 10 || !strings.HasPrefix(lines[0], "switch.policy.alpha,workload[0].flows[0].start,hosts.ack.every,seed,folder,code,message,end_ps,") || !strings.HasPrefix(lines[4], "1/8,0s,2,2,") {
		t.Errorf("%s", csv.String())
	}
	if err := table.WriteJSON(&js); err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(js.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	// Writing in pieces gives the same bytes as encode.
	var whole bytes.Buffer
	if err := encode(&whole, &doc); err != nil || whole.String() != js.String() {
		t.Errorf("%v: %s", err, js.String())
	}
	// Pauses are ten times the seed: the mean of 10 and 20 is 15.
	if len(doc.Points) != 8 || len(doc.Groups) != 4 || doc.Groups[3].Metrics["pauses.pauses"].Mean != 15 || doc.Groups[3].Values["hosts.ack.every"] != "2" {
		t.Errorf("%+v", doc.Groups)
	}
	if err := table.WriteParquet(&pq); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Alpha  string   `parquet:"switch.policy.alpha"`
		Every  float64  `parquet:"hosts.ack.every"`
		Seed   uint64   `parquet:"seed"`
		Pauses *float64 `parquet:"pauses.pauses,optional"`
		P99    *float64 `parquet:"fct_ps.p99,optional"`
	}
	got, err := parquet.Read[row](bytes.NewReader(pq.Bytes()), int64(pq.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 8 || got[7].Alpha != "1/4" || got[7].Every != 2 || got[7].Seed != 2 || got[7].Pauses == nil || *got[7].Pauses != 20 || got[7].P99 != nil {
		t.Errorf("%+v", got[7])
	}
}

// Rows may have different metrics: new ones are appended, and unknown values are omitted.
func TestColumnsOfRowsThatDiffer(t *testing.T) {
	table := &Table{columns: make(map[string]int), groups: make(map[string]string)}
	for _, list := range [][]metrics.Measure{
		{{Name: "a", Value: 1, Known: true}, {Name: "b"}},
		{{Name: "c", Group: "g", Value: 3, Known: true}, {Name: "b", Value: 2, Known: true}},
		nil, // without results
	} {
		table.values = append(table.values, table.line(list))
	}
	if got := strings.Join(table.names, " "); got != "a b c" || table.groups["c"] != "g" {
		t.Errorf("%s, %v", got, table.groups)
	}
	var got []string
	for row := range table.values {
		for _, name := range []string{"a", "b", "c", "d"} {
			if v, ok := table.value(row, name); ok {
				got = append(got, fmt.Sprint(row, name, v))
			}
		}
	}
	if s := strings.Join(got, ", "); s != "0a1, 1b2, 1c3" {
		t.Errorf("%s", s)
	}
	var js bytes.Buffer
	empty := `{
  "schema": 1,
  "scenario": "",
  "axes": [],
  "points": [],
  "groups": []
}
`
	if err := (&Table{}).WriteJSON(&js); err != nil || js.String() != empty {
		t.Errorf("%v: %s", err, js.String())
	}
}

func TestReadVariantsRefuses(t *testing.T) {
	write := func(name, data string) string {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	for folder, want := range map[string]string{
		t.TempDir():                           "has no results",
		write(summaryFile, `{"schema": 99}`):  "schema 99",
		write(summaryFile, `{`):               "JSON",
		write(manifestFile, `{"schema": 99}`): "a sweep of schema 99",
		write(manifestFile, `not a manifest`): "manifest.json",
		write(manifestFile, `{"schema": 1, "axes": [{"key": "a", "values": ["1"]}], "points": [{"values": ["1"], "folder": "x"}]}`): "is not complete",
		write(manifestFile, `{"schema": 1, "axes": [{"key": "a", "values": ["1"]}], "points": [{"values": [], "folder": "x"}]}`):    "0 values for 1 keys",
	} {
		if _, err := ReadVariants([]string{folder}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
