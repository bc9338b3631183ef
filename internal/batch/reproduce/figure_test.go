package reproduce

import (
	"math"
	"reflect"
	"testing"
)

// A CDF over runs counts runs without the number: two of four.
func TestCDFOverSeeds(t *testing.T) {
	e := tiny()
	e.Scales.Quick.X = nil
	r := with("SIH : 30 10 0 0")
	delete(r.Points[2].Values, "fct")
	delete(r.Points[3].Values, "fct")
	s := e.cdfOverSeeds(r, &Panel{}, "SIH", "fct", "SIH")
	if len(s) != 1 || s[0].Name != "SIH" || !reflect.DeepEqual(s[0].X, []float64{0, 10, 30}) || !reflect.DeepEqual(s[0].Y, []float64{0, 0.25, 0.5}) {
		t.Errorf("%+v", s)
	}
}

// An unknown point is a gap and does not shift the following ones; values of x may be
// fractions, and bars need none.
func TestSeriesWithGaps(t *testing.T) {
	e := tiny()
	e.Scales.Quick.X = []string{"1/8", "0.25", "1"}
	r := with("SIH 1/8: 1 3", "SIH 0.25: 5 7", "SIH 1: 9 9")
	delete(r.Points[0].Values, "fct")
	s := e.series(r, &Panel{}, "SIH", "fct", "SIH")[0]
	if !reflect.DeepEqual(s.X, []float64{0.125, 0.25, 1}) || !math.IsNaN(s.Y[0]) || s.Y[1] != 6 || s.Y[2] != 9 || !math.IsNaN(s.Low[0]) || !math.IsNaN(s.High[2]) { // seeds change nothing at x = 1
		t.Errorf("%+v", s)
	}
	if _, lines := e.Cells(r); lines[0][2] != "3 (1 of 2 runs)" || lines[1][2] != "6 ± 13" {
		t.Errorf("%q", lines)
	}
	e.Scales.Quick.X = nil
	e.Panels = []Panel{{Kind: "bars", Metrics: []string{"fct"}}}
	if p := e.Draw(with("SIH : 1 3", "DSH : 5 7")).Panels[0]; len(p.Categories) != 1 || p.Series[0].Y[0] != 2 {
		t.Errorf("%+v", p)
	}
}

// A trace is the mean over seeds, with minimum and maximum; a seed with other times is
// skipped.
func TestTraces(t *testing.T) {
	e := tiny()
	e.Scales.Quick.X = nil
	r := with("SIH : 0 0 0")
	for i, y := range [][]float64{{1, 2}, {3, 6}, {9}} {
		r.Points[i].Distributions = map[string]*Distribution{"rate": {Trace: &Trace{X: []float64{10, 20}[:len(y)], Y: y}}}
	}
	s := e.traces(r, &Panel{}, "SIH", "rate", "SIH")
	if len(s) != 1 || !reflect.DeepEqual(s[0].Y, []float64{2, 4}) || !reflect.DeepEqual(s[0].Low, []float64{1, 2}) || !reflect.DeepEqual(s[0].High, []float64{3, 6}) {
		t.Errorf("%+v", s)
	}
	if !reflect.DeepEqual(r.Points[0].Distributions["rate"].Trace.Y, []float64{1, 2}) {
		t.Error("drawing changed the result")
	}
}

// Changes of a scale at some values or cases come last and do not affect others.
func TestAlso(t *testing.T) {
	e := tiny()
	e.Set = []string{"a=1"}
	e.Cases = []Variant{{Name: "slow", Set: []string{"b=1"}}, {Name: "fast"}}
	e.X.Set = []string{"c=$x"}
	e.Scales.Quick.Also = map[string][]string{"2": {"a=2"}, "slow": {"a=3"}}
	for _, c := range []struct {
		scale string
		at    Position
		want  []string
	}{
		{Quick, Position{"slow", "SIH", "1"}, []string{"a=1", "b=1", "c=1", "a=3"}},
		{Quick, Position{"fast", "SIH", "2"}, []string{"a=1", "c=2", "a=2"}},
		{Full, Position{"slow", "SIH", "2"}, []string{"a=1", "b=1", "c=2"}},
	} {
		if got := e.settings(c.scale, c.at); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %v: %v, want %v", c.scale, c.at, got, c.want)
		}
	}
}
