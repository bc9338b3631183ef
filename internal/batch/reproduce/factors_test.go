package reproduce

import (
	"slices"
	"testing"
)

// Two factors with one seed: 1, 4, 2, 9 for the levels a1 b1, a1 b2, a2 b1, a2 b2. A adds
// ((2-1) + (9-4)) / 2 = 3, B ((4-1) + (9-2)) / 2 = 5, and B adds (9-4) - (2-1) = 4 to the effect of A.
func TestEffects(t *testing.T) {
	e := &Experiment{Spec: Spec{Factors: []Factor{
		{"a", []Variant{{Name: "a1"}, {Name: "a2", Set: []string{"x=1"}}}}, {"b", []Variant{{Name: "b1", Set: []string{"y=0"}}, {Name: "b2", Set: []string{"y=1"}}}},
	}, Schemes: []Variant{{Name: "more"}}, Metrics: []Metric{{Name: "m"}}}}
	if err := e.combine(nil); err != nil {
		t.Fatal(err)
	}
	if names := e.schemeNames(); !slices.Equal(names, []string{"a1, b1", "a1, b2", "a2, b1", "a2, b2", "more"}) {
		t.Fatalf("schemes are %q", names)
	}
	if set := e.Schemes[3].Set; !slices.Equal(set, []string{"x=1", "y=1"}) {
		t.Errorf("a2, b2 sets %q", set)
	}
	r := &Result{}
	for i, v := range []float64{1, 4, 2, 9, 100} {
		r.Points = append(r.Points, PointResult{Position: Position{Scheme: e.Schemes[i].Name}, Seed: 1, Values: map[string]float64{"m": v}})
	}
	want := map[string]float64{"a2 instead of a1": 3, "b2 instead of b1": 5, "a2 x b2": 4}
	for _, x := range e.effects() {
		if got, ok := x.of(e, r, "m"); !ok || got[0] != want[x.name(e)] {
			t.Errorf("%s is %v, want %g", x.name(e), got, want[x.name(e)])
		}
		delete(want, x.name(e))
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	r.Points[2].Values = nil
	if _, ok := e.effects()[0].of(e, r, "m"); ok {
		t.Error("a run without the metric has no effect")
	}
}
