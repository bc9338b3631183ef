package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/xoff-net/xoff/run"
)

// document is sweep.json. Its lists are written one element at a time, because the text of
// thousands of points would need more memory than everything else.
type document struct {
	Schema   int             `json:"schema"`
	Scenario string          `json:"scenario"`
	Axes     []Axis          `json:"axes"`
	Points   []documentPoint `json:"points"`
	Groups   []documentGroup `json:"groups"` // over seeds
}

type documentPoint struct {
	Values  map[string]string  `json:"values"`
	Seed    uint64             `json:"seed"`
	Folder  string             `json:"folder"`
	Verdict run.Verdict        `json:"verdict"`
	Metrics map[string]float64 `json:"metrics"`
}

type documentGroup struct {
	Values  map[string]string `json:"values"`
	Metrics map[string]Sample `json:"metrics"`
}

// WriteJSON writes every point with all metrics, and every combination of values with the
// statistics over its seeds.
func (t *Table) WriteJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	d := &documentWriter{out: out}
	d.field("{", "schema", SchemaVersion)
	d.field(",", "scenario", t.Scenario)
	d.field(",", "axes", append([]Axis{}, t.Axes...))
	d.list("points", len(t.Rows), func(i int) any { return t.documentPoint(i) })
	groups := t.Groups()
	d.list("groups", len(groups), func(i int) any { return t.documentGroup(&groups[i]) })
	d.text("\n}\n")
	if d.err != nil {
		return d.err
	}
	return out.Flush()
}

func (t *Table) documentPoint(row int) *documentPoint {
	r := &t.Rows[row]
	p := &documentPoint{t.named(r.Point.Values), r.Point.Seed, t.folder(r), r.Verdict, make(map[string]float64)}
	for _, m := range t.names {
		if v, ok := t.value(row, m); ok {
			p.Metrics[m] = v
		}
	}
	return p
}

func (t *Table) documentGroup(g *Group) *documentGroup {
	d := &documentGroup{t.named(g.Values), make(map[string]Sample)}
	for _, m := range t.names {
		if s, ok := sampleOf(t.over(g, m).values); ok {
			d.Metrics[m] = s
		}
	}
	return d
}

func (t *Table) named(values []string) map[string]string {
	m := make(map[string]string)
	for i, v := range values {
		m[t.Axes[i].Key] = v
	}
	return m
}

// documentWriter writes a JSON object piece by piece, with the same bytes as encode.
type documentWriter struct {
	out *bufio.Writer
	err error
}

func (d *documentWriter) text(s string) {
	if d.err == nil {
		_, d.err = d.out.WriteString(s)
	}
}

// value writes a value with a line prefix.
func (d *documentWriter) value(prefix string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent(prefix, "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil && d.err == nil {
		d.err = err
	}
	d.text(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

func (d *documentWriter) field(before, name string, v any) {
	d.text(before + "\n  \"" + name + "\": ")
	d.value("  ", v)
}

func (d *documentWriter) list(name string, n int, element func(int) any) {
	d.text(",\n  \"" + name + "\": [")
	for i := range n {
		if i > 0 {
			d.text(",")
		}
		d.text("\n    ")
		d.value("    ", element(i))
	}
	if n > 0 {
		d.text("\n  ")
	}
	d.text("]")
}
