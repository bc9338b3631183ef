package reproduce

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// Three schemes with the flows 0 to 3: flow 1 does not finish under DSH, flow 3 under none. The run
// of another seed does not count, nor does a run without results.
func TestCommonFlows(t *testing.T) {
	store := &sweep.Store{Folder: t.TempDir()}
	var list []wanted
	var rows []sweep.Row
	add := func(scheme string, seed uint64, fct ...int64) *wanted {
		p := &sweep.Point{Index: len(list), Seed: seed, Folder: scheme + string(rune('0'+seed)), Label: scheme}
		list = append(list, wanted{Position: Position{"c", scheme, "1"}, point: p})
		rows = append(rows, sweep.Row{Point: p, Results: fct != nil})
		var table []flowRow
		for i := range fct {
			f := flowRow{Workload: "web", Measured: true, Finished: fct[i] > 0}
			if f.Finished {
				f.FCT = &fct[i]
			}
			table = append(table, f)
		}
		if err := os.MkdirAll(store.Path(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := parquet.WriteFile(filepath.Join(store.Path(p), "flows.parquet"), table); err != nil {
			t.Fatal(err)
		}
		return &list[len(list)-1]
	}
	add("SIH", 1, 10, 20, 30, 40)
	add("DSH", 1, 1, 0, 3, 4)
	add("none", 1, 5, 6, 7, 0)
	add("lost", 1)
	add("SIH", 2, 0, 0, 0, 1)
	f := finishers{store: store, rows: rows, plan: list, known: map[peers][]bool{}}
	among, err := f.of(list[0].peers())
	if want := []bool{true, false, true, false}; err != nil || !slices.Equal(among, want) {
		t.Fatalf("%v finished under all schemes (%v), want %v", among, err, want)
	}
	for scheme, want := range map[string][]float64{"SIH1": {10, 30}, "DSH1": {1, 3}, "none1": {5, 7}} {
		m := Metric{Table: "flows", Value: "fct_ps", Rows: map[string]string{"workload": "web"}, Common: true}
		got, _, err := m.read(store.Path(&sweep.Point{Folder: scheme}), 100, among)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v (%v), want %v", scheme, got, err, want)
		}
	}
	if !f.complete(list[0].peers()) {
		t.Error("all schemes ran, but they are not complete")
	}
	rows[1].Point = nil
	if f.complete(list[0].peers()) || !f.complete(list[4].peers()) {
		t.Error("a scheme that did not run is not missed, or another seed misses it")
	}
	add("few", 2, 1, 2)
	f = finishers{store: store, rows: rows, plan: list, known: map[peers][]bool{}}
	if _, err := f.of(list[4].peers()); err == nil || err.Error() != "few has 2 flows, the other schemes have 4 (expected the same flows)" {
		t.Errorf("different flows: %v", err)
	}
}

// A part is used only where it has all schemes.
func TestDropIncomplete(t *testing.T) {
	p := func(scheme string, seed uint64, part *PointResult) wanted {
		return wanted{Position: Position{"", scheme, ""}, point: &sweep.Point{Seed: seed}, part: part}
	}
	done := &PointResult{}
	list := []wanted{p("SIH", 1, done), p("DSH", 1, nil), p("SIH", 2, done), p("DSH", 2, done)}
	dropIncomplete(list)
	var used []bool
	for _, w := range list {
		used = append(used, w.part != nil)
	}
	if !slices.Equal(used, []bool{false, false, true, true}) {
		t.Errorf("parts are used: %v", used)
	}
}

// A case may have only some schemes.
func TestSchemesOfCase(t *testing.T) {
	e := tiny()
	e.Cases = []Variant{{Name: "a", Schemes: []string{"none", "SIH"}}, {Name: "b"}}
	e.Scales.Quick.X = nil
	want := []Position{{"a", "SIH", ""}, {"a", "none", ""}, {"b", "SIH", ""}, {"b", "DSH", ""}, {"b", "none", ""}}
	if got := e.positions(Quick); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// Ours is 2/4 and 6/4 of SIH, the published values are 0.4 and 1.75: 0.1 and 0.25 apart.
func TestBesidePublished(t *testing.T) {
	e := tiny()
	e.Panels = []Panel{{Title: "web", Kind: "lines", Metrics: []string{"fct"}, Normalise: "SIH", Published: Published{"table 3", map[string]map[string]float64{"DSH": {"1": 0.4, "2": 1.75}}}}}
	r := with("SIH 1: 4", "DSH 1: 2", "SIH 2: 4", "DSH 2: 6")
	table := e.besidePublished(r)
	if want := "Beside table 3: the median absolute difference of 2 points is 0.175. By scheme: DSH 0.175 (2)."; table.Caption != want {
		t.Error(table.Caption)
	}
	if table.CSV != "toy-1-published.csv" || len(table.Rows) != 2 || table.Rows[1][3].Text != "1.750" || table.Rows[1][4].Text != "1.500" || table.Rows[1][7].Text != "-0.250" {
		t.Errorf("%+v", table)
	}
	if s := e.Draw(r).Panels[0].Series; len(s) != 4 || s[2].Name != "DSH, table 3" || !reflect.DeepEqual(s[2].Y, []float64{0.4, 1.75}) {
		t.Errorf("%+v", s)
	}
	e.Panels[0].Published = Published{}
	if e.besidePublished(r) != nil {
		t.Error("a table without published values")
	}
}
