package chart

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/batch/reproduce"
	"github.com/xoff-net/xoff/internal/render/plot"
)

const storedFolder = "../../../docs/reproduction/data/"

// drawStored draws stored results.
func drawStored(t *testing.T, file string, q Query, where ...string) *Figure {
	t.Helper()
	d, err := Read([]string{storedFolder + file})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range where {
		if err := d.Where(w); err != nil {
			t.Fatal(err)
		}
	}
	f, err := d.Draw(&q)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return f
}

// seriesOf returns a series of a panel by name, or the only one.
func seriesOf(t *testing.T, p *plot.Panel, name string) *plot.Series {
	t.Helper()
	i := slices.IndexFunc(p.Series, func(s plot.Series) bool { return s.Name == name || len(p.Series) == 1 })
	if i < 0 {
		t.Fatalf("panel %q has no series %q", p.Title, name)
	}
	return &p.Series[i]
}

// near reports whether two lists agree to ten digits; gaps agree, too.
func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), 1e-3)
	})
}

// Figures of docs/reproduction are redrawn with the same numbers.
func TestRedrawsReproduction(t *testing.T) {
	published := func(file string) *plot.Figure {
		r, e, err := reproduce.LoadFile(storedFolder + file)
		if err != nil || e == nil {
			t.Fatal(e, err)
		}
		return e.Draw(r)
	}
	compare := func(name string, got, want []float64) {
		if len(want) == 0 || !near(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}

	want := published("bifrost-13-quick.json") // a series per scheme and metric
	f := drawStored(t, "bifrost-13-quick.json", Query{Kind: "bars", X: "scheme", Y: []string{"mean", "p99"}, Panels: "case"})
	for i, p := range f.Plot.Panels {
		w := &want.Panels[i%2]
		for k, scheme := range p.Categories {
			s := seriesOf(t, w, scheme+", "+[]string{"mean FCT", "p99 FCT"}[i/2])
			compare(p.Title+" "+scheme, []float64{p.Series[0].Y[k], p.Series[0].Low[k], p.Series[0].High[k]}, []float64{s.Y[0], s.Low[0], s.High[0]})
		}
	}

	want = published("roundabout-12a-quick.json")
	f = drawStored(t, "roundabout-12a-quick.json", Query{X: "x", Y: []string{"onset", "confirmed.min", "ended.min"}}, "scheme=Roundabout")
	if f.Kind != "lines" || len(f.Plot.Panels) != 3 {
		t.Errorf("kind %s with %d panels", f.Kind, len(f.Plot.Panels))
	}
	for i, p := range f.Plot.Panels {
		s := seriesOf(t, &want.Panels[i], "Roundabout")
		compare(p.Y.Label, p.Series[0].Y, s.Y)
		compare(p.Y.Label+", x", p.Series[0].X, s.X)
	}

	want = published("dsh-14-quick.json")
	f = drawStored(t, "dsh-14-quick.json", Query{Kind: "time", Y: []string{"f0"}, Panels: "case"})
	for i, p := range f.Plot.Panels {
		for k := range p.Series {
			s := seriesOf(t, &want.Panels[i], p.Series[k].Name)
			compare(p.Title, p.Series[k].Y, s.Y)
			var us []float64
			for _, x := range p.Series[k].X {
				us = append(us, x*1e6)
			}
			compare(p.Title+", time", us, s.X)
		}
	}
}

// Stored distributions are drawn from their quantiles, as CDF and as boxes.
func TestStoredDistributions(t *testing.T) {
	f := drawStored(t, "bifrost-4-quick.json", Query{Kind: "box", X: "scheme", Y: []string{"goodput"}, Panels: "case"}, "x=50", "case=inter-DC")
	for _, p := range f.points {
		if q := p.numbers; len(q) != 6 || q[0] > q[1] || q[1] > q[2] || q[2] > q[3] || q[3] > q[4] || q[5] < 1 {
			t.Errorf("box %v", p)
		}
	}
	if len(f.points) == 0 {
		t.Error("no boxes")
	}
}

func TestQuestionsWithoutAnswer(t *testing.T) {
	file := "bifrost-13-quick.json"
	for want, q := range map[string]Query{
		`unknown kind of figure "pie" (allowed: cdf, lines, bars, box, time, heat)`: {Kind: "pie", Y: []string{"mean"}},
		`unknown axis "z" (allowed: x, y, x,y, none)`:                               {Log: "z", Y: []string{"mean"}},
		`unknown metric "maen"; did you mean "mean"?`:                               {Y: []string{"maen"}},
		`unknown key "schem"; did you mean "scheme"? (allowed: scheme, case, run`:   {Y: []string{"mean"}, X: "schem"},
		`--y is missing`: {},
		`runs with case FB_Hadoop and web search would be averaged (expected case in`: {Y: []string{"mean"}, X: "scheme", By: []string{"seed"}},
		`stored results have no workloads`:                                            {Y: []string{"mean"}, Workloads: []string{"web"}},
		`key scheme is used twice`:                                                    {Y: []string{"mean"}, X: "scheme", By: []string{"scheme"}},
		`scheme has values that are not numbers`:                                      {Kind: "lines", Y: []string{"mean"}, X: "scheme"},
		`mean is one number per run`:                                                  {Kind: "time", Y: []string{"mean"}},
		`--x scheme has no effect with --kind cdf`:                                    {Kind: "cdf", Y: []string{"mean"}, X: "scheme"},
		`a heat map needs two keys`:                                                   {Kind: "heat", Y: []string{"mean"}, X: "scheme", Panels: "case"},
		`unknown distribution "fct" (allowed: none:`:                                  {Kind: "cdf", Y: []string{"fct"}},
	} {
		d, err := Read([]string{storedFolder + file})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = d.Draw(&q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
	d, err := Read([]string{storedFolder + file})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"scheme":       `invalid condition "scheme" (expected KEY=VALUE)`,
		"shceme=PFC":   `unknown key "shceme"; did you mean "scheme"?`,
		"scheme=PFCC":  `unknown value of scheme "PFCC"; did you mean "PFC"?`,
		"workload=web": `unknown key "workload"`,
	} {
		if err := d.Where(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestQuantity(t *testing.T) {
	for text, want := range map[string]float64{"0.5": 0.5, "1/8": 0.125, "10us": 1e-5, "64KB": 64e3, "100Gbps": 1e11, "-3": -3} {
		if got, _, ok := quantity(text); !ok || math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Errorf("%s: %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "dt", "up to 64KB", "{name: dt}", "1/0"} {
		if _, _, ok := quantity(text); ok {
			t.Errorf("%q is a number", text)
		}
	}
	if got := ordered([]string{"1/4", "1/16", "1/8"}); !slices.Equal(got, []string{"1/16", "1/8", "1/4"}) {
		t.Error(got)
	}
	if got := ordered([]string{"b", "a"}); !slices.Equal(got, []string{"b", "a"}) {
		t.Error(got)
	}
}

// Values of a run at the same time are added; runs give a mean with its extremes.
func TestMerge(t *testing.T) {
	got := merge([]rows{
		{times: []float64{1, 1, 2}, values: []float64{2, 3, 4}},
		{times: []float64{1, 3}, values: []float64{7, 1}},
	})
	want := []instant{{1, 6, 5, 7, 2}, {2, 4, 4, 4, 1}, {3, 1, 1, 1, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Unfinished flows are samples beyond every value; other missing values are none.
func TestGroup(t *testing.T) {
	keys := [][]string{{"a", "b", "a", "a"}}
	values, measured := []float64{1, 2, math.NaN(), 4}, []float64{1, 1, 1, 0}
	m := &metric{table: flowsTable, name: "slowdown"}
	got := m.group(values, measured, nil, []string{keyWorkload}, keys, "a")
	if len(got) != 1 || len(got[0].values) != 2 || got[0].values[0] != 1 || !math.IsInf(got[0].values[1], 1) {
		t.Errorf("%+v", got)
	}
	m.table = "ports"
	got = m.group(values, nil, nil, []string{"node"}, keys, "")
	if len(got) != 2 || !slices.Equal(got[0].values, []float64{1, 4}) || got[1].where[0] != [2]string{"node", "b"} {
		t.Errorf("%+v", got)
	}
}

// The CSV has the points of the figure.
func TestCSV(t *testing.T) {
	f := drawStored(t, "bifrost-13-quick.json", Query{Kind: "bars", X: "scheme", Y: []string{"mean"}, Panels: "case"})
	var b bytes.Buffer
	if err := f.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(lines) != 11 || f.Points() != 10 {
		t.Fatalf("%d lines, %d points, %v", len(lines), f.Points(), err)
	}
	if got := lines[1]; got[0] != "FB_Hadoop" || got[2] != "PFC" || got[6] != "5" {
		t.Errorf("first line %v", got)
	}
}

func TestStatistic(t *testing.T) {
	for word, want := range map[string]string{"p50": "median", "p99": "99th percentile", "p99_9": "99.9th percentile", "fct": "FCT", "peak_headroom": "peak headroom", "pauses": "pauses"} {
		if got := statistic(word); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
