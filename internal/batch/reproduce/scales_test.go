package reproduce

import (
	"slices"
	"testing"
)

// Changes at common positions are listed once, although several claims use them; numbers
// are compared in per cent.
func TestCompareScales(t *testing.T) {
	change := func(x string) Claim {
		return Claim{ID: x, Metric: "fct", Scheme: "DSH", X: x, Baseline: Baseline{Scheme: "SIH"}, Operator: opChange, Paper: "-50"}
	}
	e := tiny(change(xMost), change(xLeast), change("2"), change("3"), Claim{ID: "zero", Metric: "fct", Scheme: "DSH", X: "2", Operator: opZero},
		Claim{ID: "above", Metric: "fct", Scheme: "DSH", X: "2", Operator: opAbove, Paper: "1"})
	e.Scales.Quick.Set = []string{"a=1"}
	e.Scales.Paper.X = []string{"2", "3"}
	r := &Results{
		Experiment: e,
		Quick:      with("SIH 1: 10 10", "DSH 1: 5 5", "SIH 2: 10 30", "DSH 2: 6 22"),
		Paper:      with("SIH 2: 100 100", "DSH 2: 90 70", "SIH 3: 1 1", "DSH 3: 1 1"),
	}
	r.Paper.Scale = Full
	var got []string
	for _, row := range r.compareScales().Rows {
		for _, c := range row {
			got = append(got, c.Text)
		}
	}
	// (6-10 + 22-30) / 2 is -6, of 20; (90-100 + 70-100) / 2 is -20, of 100. Two seeds: t is 12.706.
	want := []string{"mean FCT", "DSH, 2", "SIH, 2", "-30.0 (-157.1 .. +97.1) %", "-20.0 (-147.1 .. +107.1) %", "-10.0",
		// (6 + 22) / 2 is 14, (90 + 70) / 2 is 80; half widths are 12.706 x 8 and x 10.
		"mean FCT", "DSH, 2", "", "14 ± 102 us", "80 ± 127 us", "-82.5 %"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, r := range []*Results{{Experiment: e, Quick: r.Quick}, {Experiment: tiny(e.Claims...), Quick: r.Quick, Paper: r.Paper}, {Experiment: e, Quick: r.Quick, Paper: with("SIH 3: 1 1", "DSH 3: 1 1")}} {
		if table := r.compareScales(); table != nil {
			t.Errorf("%d lines, want no table: one scale, equal scales, or no common position", len(table.Rows))
		}
	}
}
