package reproduce

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// tiny is an experiment with two schemes at two points, a number and a count.
func tiny(claims ...Claim) *Experiment {
	e := &Experiment{ID: "toy/1", Paper: &Paper{Name: "toy"}}
	e.Schemes = []Variant{{Name: "SIH"}, {Name: "DSH"}, {Name: "none"}}
	e.Scales.Quick.X = []string{"1", "2"}
	e.Metrics = []Metric{{Name: "fct", Title: "mean FCT", Unit: "us", Summary: "fct_ps.mean"}}
	e.Claims = claims
	return e
}

// with makes a result of rows such as "DSH 1: 10 20 30", a value per seed.
func with(rows ...string) *Result {
	r := &Result{Schema: SchemaVersion, Experiment: "toy/1", Scale: Quick}
	for _, row := range rows {
		name, values, _ := strings.Cut(row, ": ")
		scheme, x, _ := strings.Cut(name, " ")
		for seed, word := range strings.Fields(values) {
			var v float64
			if _, err := fmt.Sscan(word, &v); err != nil {
				panic(err)
			}
			r.Points = append(r.Points, PointResult{Place: Place{"", scheme, x}, Seed: uint64(seed), Values: map[string]float64{"fct": v}})
		}
	}
	return r
}

// Student's t for 95 %: 4.303 with 2 degrees of freedom, 2.776 with 4.
func TestVerdicts(t *testing.T) {
	change := func(paper string) Claim {
		return Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Baseline: Baseline{Scheme: "SIH"}, Operator: opChange, Paper: paper}
	}
	of := func(operator, paper string) Claim {
		return Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Operator: operator, Paper: paper}
	}
	against := func(operator string) Claim {
		return Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Baseline: Baseline{Scheme: "SIH"}, Operator: operator}
	}
	at := func(c Claim, x string) Claim { c.X = x; return c }
	for _, c := range []struct {
		name  string
		claim Claim
		rows  []string
		want  Verdict
		ours  string
	}{
		// Differences -50, -49, -51: mean -50, deviation 1, half 4.303 / sqrt(3) = 2.484;
		// of a mean of 100: -50 (-52.484 .. -47.516) %.
		{"as the paper", change("-52.8"), []string{"SIH 1: 100 90 110", "DSH 1: 50 41 59"}, Reproduced, "-50.0 (-52.5 .. -47.5) %"},
		// 15 points: 35 - 15 = 20. Half of the paper's 18 is 9, the points are wider.
		{"15 points off", change("-35"), []string{"SIH 1: 100 100 100", "DSH 1: 80 79 81"}, Reproduced, "-20.0 (-22.5 .. -17.5) %"},
		// -20.1 % for -5: 15.1 points.
		{"more than 15 points off", change("-5"), []string{"SIH 1: 100 100 100", "DSH 1: 79.9 78.9 80.9"}, DirectionOnly, "-20.1 (-22.6 .. -17.6) %"},
		// Half of 90.6 is 45.3: from -45.3 on.
		{"half of the figure off", change("-90.6"), []string{"SIH 1: 100 100 100", "DSH 1: 54 53 55"}, Reproduced, "-46.0 (-48.5 .. -43.5) %"},
		{"further off", change("-90.6"), []string{"SIH 1: 100 100 100", "DSH 1: 55 54 56"}, DirectionOnly, "-45.0 (-47.5 .. -42.5) %"},
		{"the other way", change("-50"), []string{"SIH 1: 100 100 100", "DSH 1: 110 109 111"}, NotReproduced, "+10.0 (+7.5 .. +12.5) %"},
		// Differences -10, 0, 1: mean -3, deviation 6.083, half 15.11.
		{"may be chance", change("-50"), []string{"SIH 1: 100 100 100", "DSH 1: 90 100 101"}, Inconclusive, "-3.0 (-18.1 .. +12.1) %"},
		{"one seed", change("-50"), []string{"SIH 1: 100", "DSH 1: 50"}, Inconclusive, "-50.0 %"},
		{"baseline of zero", change("-50"), []string{"SIH 1: 0 0", "DSH 1: 1 1"}, Inconclusive, "-"},
		{"steady", change("-10"), []string{"SIH 1: 100 100", "DSH 1: 90 90"}, Reproduced, "-10.0 (-10.0 .. -10.0) %"},

		// x 1.781 is +78.1 %; 39.05 to 117.15 is within half of it.
		{"ratio", Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Baseline: Baseline{X: "2"}, Operator: opRatio, Paper: "1.781"}, []string{"DSH 1: 140 141 139", "DSH 2: 100 100 100"}, Reproduced, "+40.0 (+37.5 .. +42.5) %"},

		// -20 % at 1 and -40 % at 2.
		{"up to", at(change("-50"), xMost), []string{"SIH 1: 10 10", "SIH 2: 10 10", "DSH 1: 8 8", "DSH 2: 6 6"}, Reproduced, "-40.0 (-40.0 .. -40.0) %"},
		{"at least", at(change("-50"), xLeast), []string{"SIH 1: 10 10", "SIH 2: 10 10", "DSH 1: 8 8", "DSH 2: 6 6"}, DirectionOnly, "-20.0 (-20.0 .. -20.0) %"},
		// Seed 0: (-20 - 40) / 2, seed 1 the same.
		{"on average", at(change("-30"), xMean), []string{"SIH 1: 10 20", "SIH 2: 10 40", "DSH 1: 8 16", "DSH 2: 6 24"}, Reproduced, "-30.0 (-30.0 .. -30.0) %"},

		// Mean 10, deviation 1, half 2.484 around: -2.484 .. +2.484 %.
		{"about", against(opAbout), []string{"SIH 1: 100 100 100", "DSH 1: 100 101 99"}, Reproduced, "+0.0 (-2.5 .. +2.5) %"},
		{"about, unclear", against(opAbout), []string{"SIH 1: 100 100 100", "DSH 1: 114 115 113"}, Inconclusive, "+14.0 (+11.5 .. +16.5) %"},
		{"not about", against(opAbout), []string{"SIH 1: 100 100 100", "DSH 1: 140 141 139"}, NotReproduced, "+40.0 (+37.5 .. +42.5) %"},

		// 5 +- 2.5 is allowed.
		{"value", of(opValue, "5"), []string{"DSH 1: 5 5.1 4.9"}, Reproduced, "5 ± 0.25 us"},
		{"value at the bound", of(opValue, "5"), []string{"DSH 1: 7.5 7.6 7.4"}, Inconclusive, "7.5 ± 0.25 us"},
		{"another value", of(opValue, "5"), []string{"DSH 1: 8 8.1 7.9"}, NotReproduced, "8 ± 0.25 us"},
		{"above", of(opAbove, "20"), []string{"DSH 1: 30 31 29"}, Reproduced, "30 ± 2.5 us"},
		{"above, unclear", of(opAbove, "20"), []string{"DSH 1: 21 22 20"}, Inconclusive, "21 ± 2.5 us"},
		{"not above", of(opAbove, "20"), []string{"DSH 1: 10 11 9"}, NotReproduced, "10 ± 2.5 us"},
		{"just the bound is not above", of(opAbove, "20"), []string{"DSH 1: 20 20"}, NotReproduced, "20 ± 0 us"},
		{"below", of(opBelow, "20"), []string{"DSH 1: 10 11 9"}, Reproduced, "10 ± 2.5 us"},
		{"one seed has no interval", of(opAbove, "20"), []string{"DSH 1: 30"}, Inconclusive, "30 us"},

		{"digits, cut", of(opEqual, "67"), []string{"DSH 1: 67.77"}, Reproduced, "67.77 us"},
		{"digits, rounded", of(opEqual, "68"), []string{"DSH 1: 67.77"}, Reproduced, "67.77 us"},
		{"other digits", of(opEqual, "67.7"), []string{"DSH 1: 67.83"}, NotReproduced, "67.83 us"},

		{"zero", of(opZero, ""), []string{"DSH 1: 0 0 0"}, Reproduced, "0 ± 0 us"},
		{"zero but once", of(opZero, ""), []string{"DSH 1: 0 0 6"}, Inconclusive, "2 ± 8.6 us"},
		{"not zero", of(opZero, ""), []string{"DSH 1: 1 1"}, NotReproduced, "1 ± 0 us"},
		{"nonzero somewhere", at(of(opNonzero, ""), xMost), []string{"DSH 1: 0 9", "DSH 2: 2 2"}, Reproduced, "2 ± 0 us"},
		{"nonzero somewhere, once", at(of(opNonzero, ""), xMost), []string{"DSH 1: 0 0 0", "DSH 2: 0 0 6"}, Inconclusive, "2 ± 8.6 us"},
		{"nonzero nowhere", at(of(opNonzero, ""), xMost), []string{"DSH 1: 0 0", "DSH 2: 0 0"}, NotReproduced, "0 ± 0 us"},
		{"nonzero", of(opNonzero, ""), []string{"DSH 1: 1 1"}, Reproduced, "1 ± 0 us"},

		{"order", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH", "none"}}, []string{"DSH 1: 1 2", "SIH 1: 2 3", "none 1: 4 5"}, Reproduced, "DSH < SIH at 1, SIH < none at 1"},
		{"order, unclear", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH"}}, []string{"DSH 1: 1 2", "SIH 1: 2 1"}, Inconclusive, "DSH ~ SIH at 1"},
		{"another order", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH", "none"}}, []string{"DSH 1: 1 1", "SIH 1: 1 1", "none 1: 0 0"}, NotReproduced, "DSH ~ SIH at 1, SIH > none at 1"},

		{"order everywhere", Claim{ID: "c", Metric: "fct", X: xAll, Operator: opOrder, Order: []string{"DSH", "SIH"}}, []string{"DSH 1: 1 2", "SIH 1: 2 3", "DSH 2: 3 4", "SIH 2: 1 2"}, NotReproduced, "DSH < SIH at 1, DSH > SIH at 2"},
		{"zero everywhere", at(of(opZero, ""), xAll), []string{"DSH 1: 0 0", "DSH 2: 0 4"}, Inconclusive, "1 ± 3.2 us"},
		// Differences -4, -5, -6 of 100: -5 (-7.484 .. -2.516) %.
		{"within 8 %", func() Claim { c := against(opAbout); c.Paper = "8"; return c }(), []string{"SIH 1: 100 100 100", "DSH 1: 96 95 94"}, Reproduced, "-5.0 (-7.5 .. -2.5) %"},
		{"hardly within 6 %", func() Claim { c := against(opAbout); c.Paper = "6"; return c }(), []string{"SIH 1: 100 100 100", "DSH 1: 96 95 94"}, Inconclusive, "-5.0 (-7.5 .. -2.5) %"},

		{"no such point", at(change("-50"), "3"), []string{"SIH 1: 1", "DSH 1: 1"}, "", ""},
		{"a run without the value", of(opValue, "5"), []string{"DSH 1: NaN 1"}, Inconclusive, "-"},
	} {
		r := with(c.rows...)
		for i := range r.Points {
			if math.IsNaN(r.Points[i].Values["fct"]) {
				delete(r.Points[i].Values, "fct")
			}
		}
		j := tiny(c.claim).Judge(r)[0]
		if j.Verdict != c.want || j.Ours != c.ours {
			t.Errorf("%s: %q, %q (%s); want %q, %q", c.name, j.Verdict, j.Ours, j.Reason, c.want, c.ours)
		}
	}
}

// A point with too little in it proves nothing, and a verdict other than the
// asserted one is a surprise.
func TestCountsAndDeviations(t *testing.T) {
	e := tiny(Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Operator: opAbove, Paper: "20"})
	r := with("DSH 1: 30 31 29", "SIH 1: 1 1 1")
	for i := range r.Points {
		r.Points[i].Values["flows"] = 2000
		r.Points[i].Values["pauses"] = 5
	}
	e.Counts = []Count{{Name: "flows", Summary: "flows.finished", Least: 2000}, {Name: "pauses", Summary: "pauses.pauses", Least: 100, Scheme: "SIH"}}
	if j := e.Judge(r)[0]; j.Verdict != Reproduced || j.Surprise() {
		t.Errorf("%+v", j)
	}
	r.Points[2].Code = 3
	if j := e.Judge(r)[0]; j.Verdict != Inconclusive || j.Reason != "1 of 3 runs failed (DSH, 1)" {
		t.Errorf("%+v", j)
	}
	r.Points[2].Code = 0
	r.Points[1].Values["flows"] = 1999
	j := e.Judge(r)[0]
	if j.Verdict != Inconclusive || j.Reason != "flows: 1999, 2000 are needed (DSH, 1)" || !j.Surprise() {
		t.Errorf("%+v", j)
	}
	e.Deviations = []Deviation{{Claim: "c", Scale: Full, Verdict: "inconclusive"}}
	if !e.Judge(r)[0].Surprise() {
		t.Error("a deviation of the other scale counts")
	}
	e.Deviations = append(e.Deviations, Deviation{Claim: "c", Verdict: "inconclusive"})
	if e.Judge(r)[0].Surprise() {
		t.Error("a known deviation surprises")
	}
	r.Points[1].Values["flows"] = 2000
	if !e.Judge(r)[0].Surprise() {
		t.Error("a deviation that closed is not noticed")
	}
}
