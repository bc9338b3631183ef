package metrics

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/dataplane"
)

// docs/results.md documents every table and every column, in the section of the table.
func TestEveryColumnIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string) // by the names in a heading
	for _, part := range strings.Split(string(data), "\n#")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		for _, name := range strings.Split(strings.Trim(head, "# "), ", ") {
			sections[name] = body
		}
	}
	check := func(section string, columns []probe.Column) {
		body, ok := sections[section]
		if !ok {
			t.Errorf("docs/results.md has no section %s", section)
		}
		for _, c := range columns {
			if !strings.Contains(body, "`"+c.Name+"`") {
				t.Errorf("docs/results.md, section %s: no column %s", section, c.Name)
			}
			if c.Doc == "" {
				t.Errorf("%s: column %s has no doc", section, c.Name)
			}
		}
	}
	for _, f := range (&Outcome{Flows: dataplane.NewFlows(nil), Watched: true, Trees: true}).Tables() {
		check(f.Name+".parquet", f.Columns)
	}
	check("ranks.parquet", (&Outcome{}).rankColumns())
	check("collectives.parquet", (&Outcome{}).collectiveColumns())
	check("operations.parquet", (&Outcome{}).operationColumns())
	for _, e := range probe.Kinds.All() {
		var params any
		if e.Params != nil {
			params = e.Params()
		}
		if s, ok := params.(*probe.SampleParams); ok && len(s.By) > 0 {
			s.By = []string{"port", "class"}
			if e.Name == "occupancy" {
				s.By = append(s.By, "pool")
			}
		}
		kind, err := e.New(params)
		if err != nil {
			t.Fatal(err)
		}
		check(e.Name, kind.Columns)
	}
	body := sections["summary.json"]
	for _, v := range []any{Summary{}, Counts{}, Part{}, Pauses{}, Deadlock{}, PauseTrees{}, PauseTree{}, Drops{}, Transport{}, Network{}, Buffer{}, Invariants{}, Times{}, Throughput{}, Rates{}, Operations{}, SlowestOperation{}, Job{}, JobCollective{}, Links{}} {
		kind := reflect.TypeOf(v)
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(body, "`"+name+"`") {
				t.Errorf("docs/results.md, section summary.json: no field %s of %s", name, kind.Name())
			}
		}
	}
	check("Probes", NewSeries("x", nil, nil).Columns())
}
