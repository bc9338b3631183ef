package reproduce

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// tiny returns an experiment with three schemes, two values of x and one number.
func tiny(claims ...Claim) *Experiment {
	e := &Experiment{ID: "toy/1", Paper: &Paper{Name: "toy"}}
	e.Schemes = []Variant{{Name: "SIH"}, {Name: "DSH"}, {Name: "none"}}
	e.Scales.Quick.X = []string{"1", "2"}
	e.Metrics = []Metric{{Name: "fct", Title: "mean FCT", Unit: "us", Summary: "fct_ps.mean"}}
	e.Claims = claims
	return e
}

// with returns a result from rows such as "DSH 1: 10 20 30", one value per seed.
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
			r.Points = append(r.Points, PointResult{Position: Position{"", scheme, x}, Seed: uint64(seed), Values: map[string]float64{"fct": v}})
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
	about := func(bound float64, breaks string) Claim {
		return Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Baseline: Baseline{Scheme: "SIH"}, Operator: opAbout, Within: bound, Breaks: breaks}
	}
	along := func(x ...string) Claim {
		return Claim{ID: "c", Metric: "fct", Scheme: "DSH", Operator: opOrder, Order: x}
	}
	within := func(paper string) Claim { c := about(0, ""); c.Paper = paper; return c }
	lessens := Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Baseline: Baseline{Scheme: "SIH", X: "2"}, Operator: opLessens}
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
		{"like the paper", change("-52.8"), []string{"SIH 1: 100 90 110", "DSH 1: 50 41 59"}, Close, "-50.0 (-52.5 .. -47.5) %"},
		// A quarter of 40 is 10, which is more than 5 points.
		{"a quarter of the figure off", change("-40"), []string{"SIH 1: 100 100 100", "DSH 1: 70 69 71"}, Close, "-30.0 (-32.5 .. -27.5) %"},
		{"more than a quarter off", change("-40"), []string{"SIH 1: 100 100 100", "DSH 1: 71 70 72"}, Roughly, "-29.0 (-31.5 .. -26.5) %"},
		// A quarter of 10 is 2.5, which is less than 5 points.
		{"5 points off", change("-10"), []string{"SIH 1: 100 100 100", "DSH 1: 85 84 86"}, Close, "-15.0 (-17.5 .. -12.5) %"},
		{"more than 5 points off", change("-10"), []string{"SIH 1: 100 100 100", "DSH 1: 84 83 85"}, Roughly, "-16.0 (-18.5 .. -13.5) %"},
		// Half of 18 is 9, which is less than 15 points: 18 + 15 = 33.
		{"15 points off", change("-18"), []string{"SIH 1: 100 100 100", "DSH 1: 67 66 68"}, Roughly, "-33.0 (-35.5 .. -30.5) %"},
		{"more than 15 points off", change("-18"), []string{"SIH 1: 100 100 100", "DSH 1: 66 65 67"}, DirectionOnly, "-34.0 (-36.5 .. -31.5) %"},
		// Half of 90.6 is 45.3: roughly from -45.3.
		{"half of the figure off", change("-90.6"), []string{"SIH 1: 100 100 100", "DSH 1: 54 53 55"}, Roughly, "-46.0 (-48.5 .. -43.5) %"},
		{"further off", change("-90.6"), []string{"SIH 1: 100 100 100", "DSH 1: 55 54 56"}, DirectionOnly, "-45.0 (-47.5 .. -42.5) %"},
		{"opposite direction", change("-50"), []string{"SIH 1: 100 100 100", "DSH 1: 110 109 111"}, NotReproduced, "+10.0 (+7.5 .. +12.5) %"},
		// Within 5 points of the paper, but in the other direction.
		{"near, but in the opposite direction", change("-6"), []string{"SIH 1: 1000 1000 1000", "DSH 1: 1020 1019 1021"}, NotReproduced, "+2.0 (+1.8 .. +2.2) %"},
		// Differences -10, 0, 1: mean -3, deviation 6.083, half 15.11.
		{"may be chance", change("-6"), []string{"SIH 1: 100 100 100", "DSH 1: 90 100 101"}, Inconclusive, "-3.0 (-18.1 .. +12.1) %"},

		// A paper's figure within 5 points of zero has no direction: close within 5 points,
		// roughly within 15. Halves are 2.484 and, of 1000, 0.2484.
		{"no direction, opposite sign", change("-2"), []string{"SIH 1: 1000 1000 1000", "DSH 1: 1020 1019 1021"}, Close, "+2.0 (+1.8 .. +2.2) %"},
		{"no direction, includes zero", change("-5"), []string{"SIH 1: 100 100 100", "DSH 1: 100 101 99"}, Close, "+0.0 (-2.5 .. +2.5) %"},
		{"no direction, 11 points off", change("4"), []string{"SIH 1: 100 100 100", "DSH 1: 115 116 114"}, Roughly, "+15.0 (+12.5 .. +17.5) %"},
		{"no direction, 17 to 22 points off", change("5"), []string{"SIH 1: 100 100 100", "DSH 1: 124.5 125.5 123.5"}, NotReproduced, "+24.5 (+22.0 .. +27.0) %"},
		// 15 points above 0.3 is 15.3, which 12.5 to 17.5 includes.
		{"no direction, at the bound", change("0.3"), []string{"SIH 1: 100 100 100", "DSH 1: 115 116 114"}, Inconclusive, "+15.0 (+12.5 .. +17.5) %"},
		{"no direction, no difference", change("0.3"), []string{"SIH 1: 100 100", "DSH 1: 100 100"}, Close, "+0.0 % (one run)"},
		{"no direction, one seed", change("0.3"), []string{"SIH 1: 100", "DSH 1: 100"}, Inconclusive, "+0.0 %"},
		{"one seed", change("-50"), []string{"SIH 1: 100", "DSH 1: 50"}, Inconclusive, "-50.0 %"},
		{"baseline of zero", change("-50"), []string{"SIH 1: 0 0", "DSH 1: 1 2"}, Inconclusive, "-"},
		// Seeds that change nothing are one run, without an interval.
		{"one run", change("-10"), []string{"SIH 1: 100 100", "DSH 1: 90 90"}, Close, "-10.0 % (one run)"},
		{"one run, no difference", change("-10"), []string{"SIH 1: 100 100", "DSH 1: 100 100"}, NotReproduced, "+0.0 % (one run)"},
		// If seeds change one of the two, there is an interval: differences -10, -12, t is 12.706.
		{"one of two has seeds", change("-10"), []string{"SIH 1: 100 100", "DSH 1: 90 88"}, Inconclusive, "-11.0 (-23.7 .. +1.7) %"},

		// x 1.781 is +78.1 %; half of it is 39.05, a quarter 19.5.
		{"ratio", Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Baseline: Baseline{X: "2"}, Operator: opRatio, Paper: "1.781"}, []string{"DSH 1: 140 141 139", "DSH 2: 100 100 100"}, Roughly, "+40.0 (+37.5 .. +42.5) %"},

		// -20 % at 1 and -40 % at 2: 10 of 50 is within a quarter, 30 is not within a half.
		// Differences -4 and -8 of a mean of 15: deviation 2.828, half 12.706 x 2 = 25.41, 169.4 %.
		{"up to", at(change("-50"), xMost), []string{"SIH 1: 10 20", "SIH 2: 10 20", "DSH 1: 8 16", "DSH 2: 6 12"}, Inconclusive, "-40.0 (-209.4 .. +129.4) %"},
		{"up to, one run", at(change("-50"), xMost), []string{"SIH 1: 10 10", "SIH 2: 10 10", "DSH 1: 8 8", "DSH 2: 6 6"}, Close, "-40.0 % (one run)"},
		// At 2 differences of -60, 0 and -90: mean -50, deviation 45.83, half 113.8.
		// -30 at 1 is certain, so it is the best point although the mean at 2 is larger.
		{"up to, chance can explain the largest", at(change("-50"), xMost), []string{"SIH 1: 100 100 100", "SIH 2: 100 100 100", "DSH 1: 70 69 71", "DSH 2: 40 100 10"}, Roughly, "-30.0 (-32.5 .. -27.5) %"},
		// Chance may explain -50 at 2; +30 at 1 is certainly in the other direction.
		{"up to, the other direction elsewhere", at(change("-50"), xMost), []string{"SIH 1: 100 100 100", "SIH 2: 100 100 100", "DSH 1: 130 129 131", "DSH 2: 40 100 10"}, Inconclusive, "-50.0 (-163.8 .. +63.8) %"},
		// The size at the best point counts: -80 is more than half of 50 off.
		{"up to, much more", at(change("-50"), xMost), []string{"SIH 1: 10 10", "SIH 2: 10 10", "DSH 1: 6 6", "DSH 2: 2 2"}, DirectionOnly, "-80.0 % (one run)"},
		{"can be faster", Claim{ID: "c", Metric: "fct", X: xMost, Operator: opOrder, Order: []string{"DSH", "SIH"}}, []string{"DSH 1: 3 4", "SIH 1: 2 3", "DSH 2: 1 2", "SIH 2: 2 3"}, Close, "DSH < SIH at 2"},
		{"can be above", at(of(opAbove, "20"), xMost), []string{"DSH 1: 10 11 9", "DSH 2: 30 31 29"}, Close, "30 ± 2.5 us"},
		{"can be below, at the bound", at(of(opBelow, "20"), xMost), []string{"DSH 1: 19 20 18", "DSH 2: 30 31 29"}, Inconclusive, "19 ± 2.5 us"},
		{"at least", at(change("-50"), xLeast), []string{"SIH 1: 10 10", "SIH 2: 10 10", "DSH 1: 8 8", "DSH 2: 6 6"}, DirectionOnly, "-20.0 % (one run)"},
		// Seed 0: (-20 - 40) / 2, seed 1 the same.
		{"on average", at(change("-30"), xMean), []string{"SIH 1: 10 20", "SIH 2: 10 40", "DSH 1: 8 16", "DSH 2: 6 24"}, Close, "-30.0 (-30.0 .. -30.0) %"},

		// -10 % at 1 and -40 % at 2, in both seeds: 30 points less.
		{"smaller advantage", lessens, []string{"SIH 1: 10 20", "DSH 1: 9 18", "SIH 2: 10 30", "DSH 2: 6 18"}, Close, "-10.0 instead of -40.0 %: +30.0 (+30.0 .. +30.0) points"},
		{"larger advantage", lessens, []string{"SIH 1: 10 20", "DSH 1: 5 10", "SIH 2: 10 30", "DSH 2: 6 18"}, NotReproduced, "-50.0 instead of -40.0 %: -10.0 (-10.0 .. -10.0) points"},
		// 30 and -10 points: mean 10, deviation 28.28, half 12.706 x 20 = 254.1.
		{"smaller advantage, by chance", lessens, []string{"SIH 1: 10 10", "DSH 1: 9 5", "SIH 2: 10 10", "DSH 2: 6 6"}, Inconclusive, "-30.0 instead of -40.0 %: +10.0 (-244.1 .. +264.1) points"},
		{"equal advantage, one run", lessens, []string{"SIH 1: 10 10", "DSH 1: 6 6", "SIH 2: 10 10", "DSH 2: 6 6"}, NotReproduced, "-40.0 instead of -40.0 %: +0.0 points (one run)"},

		// Deviation 1, half width 2.484: the interval is inside a bound of 15, outside, or
		// includes it.
		{"about", about(15, ""), []string{"SIH 1: 100 100 100", "DSH 1: 100 101 99"}, Close, "+0.0 (-2.5 .. +2.5) %"},
		{"about, the interval includes the bound", about(15, ""), []string{"SIH 1: 100 100 100", "DSH 1: 114 115 113"}, Inconclusive, "+14.0 (+11.5 .. +16.5) %"},
		{"not about", about(15, ""), []string{"SIH 1: 100 100 100", "DSH 1: 140 141 139"}, NotReproduced, "+40.0 (+37.5 .. +42.5) %"},
		{"a worse scheme exceeds the bound", about(15, "none"), []string{"SIH 1: 100 100 100", "DSH 1: 100 101 99", "none 1: 140 141 139"}, Close, "+0.0 (-2.5 .. +2.5) %"},
		{"no scheme exceeds the bound", about(15, "none"), []string{"SIH 1: 100 100 100", "DSH 1: 100 101 99", "none 1: 114 115 113"}, Inconclusive, "+0.0 (-2.5 .. +2.5) %"},
		// Differences -4, -5, -6 of 100: -5 (-7.484 .. -2.516) %.
		{"within 8 %", within("8"), []string{"SIH 1: 100 100 100", "DSH 1: 96 95 94"}, Close, "-5.0 (-7.5 .. -2.5) %"},
		{"interval includes 6 %", within("6"), []string{"SIH 1: 100 100 100", "DSH 1: 96 95 94"}, Inconclusive, "-5.0 (-7.5 .. -2.5) %"},

		// By ratio: for 5, close is 3.75 to 6.25 and roughly is 2.5 to 7.5.
		{"value", of(opValue, "5"), []string{"DSH 1: 6.2 6.3 6.1"}, Close, "6.2 ± 0.25 us"},
		{"value, roughly", of(opValue, "5"), []string{"DSH 1: 6.3 6.4 6.2"}, Roughly, "6.3 ± 0.25 us"},
		{"value at the bound", of(opValue, "5"), []string{"DSH 1: 7.5 7.6 7.4"}, Inconclusive, "7.5 ± 0.25 us"},
		{"another value", of(opValue, "5"), []string{"DSH 1: 8 8.1 7.9"}, NotReproduced, "8 ± 0.25 us"},
		{"half of the value", of(opValue, "5"), []string{"DSH 1: 2.8 2.9 2.7"}, Roughly, "2.8 ± 0.25 us"},
		{"value of one run", of(opValue, "5"), []string{"DSH 1: 5 5"}, Close, "5 us (one run)"},
		{"value of one seed", of(opValue, "5"), []string{"DSH 1: 5"}, Inconclusive, "5 us"},

		// Claims about a bound are close, not reproduced, or inconclusive at the bound.
		{"above", of(opAbove, "20"), []string{"DSH 1: 30 31 29"}, Close, "30 ± 2.5 us"},
		{"far above", of(opAbove, "20"), []string{"DSH 1: 300 301 299"}, Close, "300 ± 2.5 us"},
		{"above, the interval includes the bound", of(opAbove, "20"), []string{"DSH 1: 21 22 20"}, Inconclusive, "21 ± 2.5 us"},
		{"not above", of(opAbove, "20"), []string{"DSH 1: 10 11 9"}, NotReproduced, "10 ± 2.5 us"},
		{"equal to the bound is not above", of(opAbove, "20"), []string{"DSH 1: 20 20"}, NotReproduced, "20 us (one run)"},
		{"below", of(opBelow, "20"), []string{"DSH 1: 10 11 9"}, Close, "10 ± 2.5 us"},
		{"below everywhere", at(of(opBelow, "20"), xAll), []string{"DSH 1: 10 11 9", "DSH 2: 12 13 11"}, Close, "12 ± 2.5 us"},
		{"not below somewhere", at(of(opBelow, "20"), xAll), []string{"DSH 1: 30 31 29", "DSH 2: 12 13 11"}, NotReproduced, "30 ± 2.5 us"},
		{"above everywhere", at(of(opAbove, "5"), xAll), []string{"DSH 1: 10 11 9", "DSH 2: 12 13 11"}, Close, "10 ± 2.5 us"},
		{"one seed has no interval", of(opAbove, "20"), []string{"DSH 1: 30"}, Inconclusive, "30 us"},

		{"digits, truncated", of(opEqual, "67"), []string{"DSH 1: 67.77"}, Close, "67.77 us"},
		{"digits, rounded", of(opEqual, "68"), []string{"DSH 1: 67.77"}, Close, "67.77 us"},
		{"other digits", of(opEqual, "67.7"), []string{"DSH 1: 67.83"}, NotReproduced, "67.83 us"},

		{"zero", of(opZero, ""), []string{"DSH 1: 0 0 0"}, Close, "0 us (one run)"},
		{"zero except once", of(opZero, ""), []string{"DSH 1: 0 0 6"}, NotReproduced, "2 ± 8.6 us"},
		{"not zero", of(opZero, ""), []string{"DSH 1: 1 2"}, NotReproduced, "1.5 ± 6.4 us"},
		{"nonzero somewhere", at(of(opNonzero, ""), xMost), []string{"DSH 1: 0 9", "DSH 2: 2 4"}, Close, "3 ± 13 us"},
		{"nonzero somewhere, in one seed", at(of(opNonzero, ""), xMost), []string{"DSH 1: 0 0 0", "DSH 2: 0 0 6"}, NotReproduced, "2 ± 8.6 us"},
		{"nonzero nowhere", at(of(opNonzero, ""), xMost), []string{"DSH 1: 0 0", "DSH 2: 0 0"}, NotReproduced, "0 us (one run)"},
		{"nonzero", of(opNonzero, ""), []string{"DSH 1: 1 3"}, Close, "2 ± 13 us"},

		{"order", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH", "none"}}, []string{"DSH 1: 1 2", "SIH 1: 2 3", "none 1: 4 5"}, Close, "DSH < SIH at 1, SIH < none at 1"},
		{"order, unclear", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH"}}, []string{"DSH 1: 1 2", "SIH 1: 2 1"}, Inconclusive, "DSH ~ SIH at 1"},
		{"another order", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH", "none"}}, []string{"DSH 1: 1 2", "SIH 1: 2 1", "none 1: 0 -1"}, NotReproduced, "DSH ~ SIH at 1, SIH > none at 1"},
		{"order of one run", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH"}}, []string{"DSH 1: 1 1", "SIH 1: 2 2"}, Close, "DSH < SIH at 1 (one run)"},
		{"no order of one run", Claim{ID: "c", Metric: "fct", X: "1", Operator: opOrder, Order: []string{"DSH", "SIH"}}, []string{"DSH 1: 1 1", "SIH 1: 1 1"}, NotReproduced, "DSH = SIH at 1 (one run)"},

		{"order everywhere", Claim{ID: "c", Metric: "fct", X: xAll, Operator: opOrder, Order: []string{"DSH", "SIH"}}, []string{"DSH 1: 1 2", "SIH 1: 2 3", "DSH 2: 3 4", "SIH 2: 1 2"}, NotReproduced, "DSH < SIH at 1, DSH > SIH at 2"},
		// Along x: the differences between neighbours are -1 each.
		{"order along x", along("1", "2"), []string{"DSH 1: 1 2", "DSH 2: 2 3"}, Close, "1 < 2"},
		{"order along x, unclear", along("1", "2"), []string{"DSH 1: 1 2", "DSH 2: 2 1"}, Inconclusive, "1 ~ 2"},
		{"another order along x", along("1", "2", "4"), []string{"DSH 1: 1 2", "DSH 2: 2 3", "DSH 4: 1 2"}, NotReproduced, "1 < 2, 2 > 4"},
		{"no such point along x", along("1", "2"), []string{"DSH 1: 1 2"}, "", ""},

		{"zero everywhere", at(of(opZero, ""), xAll), []string{"DSH 1: 0 0", "DSH 2: 0 4"}, NotReproduced, "1 ± 3.2 us"},

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

// A position with low counts is inconclusive, and an unexpected verdict is a surprise.
func TestCountsAndDeviations(t *testing.T) {
	e := tiny(Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Operator: opAbove, Paper: "20"})
	r := with("DSH 1: 30 31 29", "SIH 1: 1 1 1")
	for i := range r.Points {
		r.Points[i].Values["flows"] = 2000
		r.Points[i].Values["pauses"] = 5
	}
	e.Counts = []Count{{Name: "flows", Summary: "flows.finished", Least: 2000}, {Name: "pauses", Summary: "pauses.pauses", Least: 100, Scheme: "SIH"}}
	if j := e.Judge(r)[0]; j.Verdict != Close || j.Surprise() {
		t.Errorf("%+v", j)
	}
	e.Counts[1].Scheme, e.Counts[1].X = "", "2" // another value of x
	if j := e.Judge(r)[0]; j.Verdict != Close {
		t.Errorf("%+v", j)
	}
	e.Counts[1].X = "1"
	if j := e.Judge(r)[0]; j.Verdict != Inconclusive || j.Reason != "pauses: 5, expected at least 100 (DSH, 1)" {
		t.Errorf("%+v", j)
	}
	e.Counts[1].Scheme = "SIH"
	r.Points[2].Code = 3
	if j := e.Judge(r)[0]; j.Verdict != Inconclusive || j.Reason != "1 of 3 runs failed (DSH, 1)" {
		t.Errorf("%+v", j)
	}
	r.Points[2].Code = 0
	r.Points[1].Values["flows"] = 1999
	j := e.Judge(r)[0]
	if j.Verdict != Inconclusive || j.Reason != "flows: 1999, expected at least 2000 (DSH, 1)" || !j.Surprise() {
		t.Errorf("%+v", j)
	}
	e.Deviations = []Deviation{{Claim: "c", Scale: Full, Verdict: "inconclusive"}}
	if !e.Judge(r)[0].Surprise() {
		t.Error("a deviation of the other scale is applied")
	}
	e.Deviations = append(e.Deviations, Deviation{Claim: "c", Verdict: "inconclusive"})
	if e.Judge(r)[0].Surprise() {
		t.Error("a known deviation is a surprise")
	}
	r.Points[1].Values["flows"] = 2000
	if !e.Judge(r)[0].Surprise() {
		t.Error("a deviation that no longer exists is not a surprise")
	}
}

// More than 1 % unfinished flows of the group in any run make verdicts about its flows
// inconclusive.
func TestUnfinished(t *testing.T) {
	e := tiny(Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Operator: opAbove, Paper: "20"})
	e.Counts = []Count{
		{Name: "web", Summary: "workloads.web.finished"}, {Name: "web left", Summary: "workloads.web.unfinished", Of: "web"},
		{Name: "all", Summary: "flows.finished"}, {Name: "all left", Summary: "flows.unfinished", Of: "all"},
	}
	for _, c := range []struct {
		name       string
		metric     Metric
		left, rest float64 // unfinished flows of web and of all, of 1000, in the second of three runs
		want       Verdict
		reason     string
	}{
		{"1 %", Metric{Summary: "workloads.web.fct_ps.mean"}, 10, 0, Close, ""},
		{"more than 1 %", Metric{Summary: "workloads.web.fct_ps.mean"}, 11, 0, Inconclusive, "web left: 1.1 % of the flows of one run (DSH, 1)"},
		{"another group", Metric{Summary: "workloads.web.fct_ps.mean"}, 0, 500, Close, ""},
		{"all flows", Metric{Summary: "fct_ps.mean"}, 0, 500, Inconclusive, "all left: 50.0 % of the flows of one run (DSH, 1)"},
		{"group without a count", Metric{Summary: "workloads.rpc.fct_ps.mean"}, 11, 0, Inconclusive, "web left: 1.1 % of the flows of one run (DSH, 1)"},
		{"pauses", Metric{Summary: "pauses.pauses"}, 0, 500, Inconclusive, "all left: 50.0 % of the flows of one run (DSH, 1)"},
		{"onset of deadlock", Metric{Summary: "deadlock.onset_ps"}, 500, 500, Close, ""},
		{"probe", Metric{Table: "probe-queues"}, 500, 500, Close, ""},
		{"rows of a workload", Metric{Table: "flows", Rows: map[string]string{"workload": "web"}}, 11, 0, Inconclusive, "web left: 1.1 % of the flows of one run (DSH, 1)"},
		{"end of the run as lower bound", Metric{Table: "flows", Unfinished: unfinishedEnd}, 500, 500, Close, ""},
	} {
		c.metric.Name = "fct"
		e.Metrics = []Metric{c.metric}
		if c.metric.Distribution() {
			e.Claims[0].Statistic = "p50"
		} else {
			e.Claims[0].Statistic = ""
		}
		r := with("DSH 1: 30 31 29")
		for i := range r.Points {
			p := &r.Points[i]
			p.Values["web"], p.Values["all"], p.Values["web left"], p.Values["all left"] = 1000, 1000, 0, 0
			p.Distributions = map[string]*Distribution{"fct": {Statistics: map[string]float64{"p50": p.Values["fct"]}}}
		}
		second := r.Points[1].Values
		second["web left"], second["web"] = c.left, 1000-c.left
		second["all left"], second["all"] = c.rest, 1000-c.rest
		if j := e.Judge(r)[0]; j.Verdict != c.want || j.Reason != c.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, j.Verdict, j.Reason, c.want, c.reason)
		}
	}
}

// A counter that is not zero can only grow, so unfinished flows do not change what it
// decides. A counter of zero might still grow.
func TestUnfinishedCounters(t *testing.T) {
	for _, c := range []struct {
		operator, rows string
		want           Verdict
	}{
		{opNonzero, "DSH 1: 7 8 9", Close},
		{opNonzero, "DSH 1: 7 0 9", Inconclusive},
		{opNonzero, "DSH 1: 0 0 0", Inconclusive},
		{opZero, "DSH 1: 0 0 0", Inconclusive},
		{opZero, "DSH 1: 0 0 9", NotReproduced},
		{opAbove, "DSH 1: 7 8 9", Inconclusive},
	} {
		claim := Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Operator: c.operator}
		if c.operator == opAbove {
			claim.Paper = "1"
		}
		e := tiny(claim)
		e.Counts = []Count{{Name: "all", Summary: "flows.finished"}, {Name: "left", Summary: "flows.unfinished", Of: "all"}}
		r := with(c.rows)
		for i := range r.Points {
			r.Points[i].Values["all"], r.Points[i].Values["left"] = 500, 500
		}
		if j := e.Judge(r)[0]; j.Verdict != c.want {
			t.Errorf("%s, %s: %s (%s), want %s", c.operator, c.rows, j.Verdict, j.Reason, c.want)
		}
	}
}

// The best point of a sweep is chosen among the points with enough flows.
func TestBestPointIsUsable(t *testing.T) {
	e := tiny(Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: xMost, Baseline: Baseline{Scheme: "SIH"}, Operator: opChange, Paper: "-50"})
	e.Counts = []Count{{Name: "flows", Summary: "flows.finished", Least: 2000}}
	r := with("SIH 1: 10 10", "DSH 1: 8 8", "SIH 2: 10 10", "DSH 2: 6 6") // -20 at 1, -40 at 2
	for want, few := range map[string]string{"close at 2": "", "direction only at 1": "2", "inconclusive at 2": "1 2"} {
		for i := range r.Points {
			p := &r.Points[i]
			p.Values["flows"] = 2000
			if strings.Contains(few, p.X) {
				p.Values["flows"] = 1999
			}
		}
		if j := e.Judge(r)[0]; fmt.Sprintf("%s at %s", j.Verdict, j.At) != want {
			t.Errorf("too few flows at %q: %s at %s (%s), want %s", few, j.Verdict, j.At, j.Reason, want)
		}
	}
	// The claim fails at 1, and may hold at 2, where flows are missing: it is undecided.
	r = with("SIH 1: 10 10", "DSH 1: 12 12", "SIH 2: 10 10", "DSH 2: 6 6")
	for i := range r.Points {
		r.Points[i].Values["flows"] = map[string]float64{"1": 2000, "2": 1999}[r.Points[i].X]
	}
	if j := e.Judge(r)[0]; j.Verdict != Inconclusive || j.At != "2" {
		t.Errorf("fails where decided: %s at %s (%s), want inconclusive at 2", j.Verdict, j.At, j.Reason)
	}
}

// Runs count as one only if all stored results are equal, not just one number.
func TestOnce(t *testing.T) {
	e := tiny(Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Operator: opAbove, Paper: "20"})
	r := with("DSH 1: 30 30 30")
	if j := e.Judge(r)[0]; !j.Once || j.Known || j.Ours != "30 us (one run)" || j.Verdict != Close {
		t.Errorf("%+v", j)
	}
	if _, lines := e.Cells(r); lines[0][2] != "30 (one run)" {
		t.Errorf("%q", lines)
	}
	r.Points[1].Values["pauses"] = 1
	if j := e.Judge(r)[0]; j.Once || !j.Known || j.Ours != "30 ± 0 us" {
		t.Errorf("%+v", j)
	}
	delete(r.Points[1].Values, "pauses")
	r.Points[2].Distributions = map[string]*Distribution{"peaks": {N: 1}}
	if j := e.Judge(r)[0]; j.Once {
		t.Errorf("%+v", j)
	}
}

// Without a deviation a claim may be close or roughly; with one the verdict must match
// exactly.
func TestExpected(t *testing.T) {
	e := tiny(Claim{ID: "c", Metric: "fct", Scheme: "DSH", X: "1", Operator: opValue, Paper: "20"})
	for rows, want := range map[string]bool{"DSH 1: 20 20": false, "DSH 1: 29 29": false, "DSH 1: 31 31": true} {
		if j := e.Judge(with(rows))[0]; j.Surprise() != want {
			t.Errorf("%s: surprise is %t with verdict %s, want %t", rows, j.Surprise(), j.Verdict, want)
		}
	}
	e.Deviations = []Deviation{{Claim: "c", Verdict: string(Roughly)}}
	for rows, want := range map[string]bool{"DSH 1: 20 20": true, "DSH 1: 29 29": false} {
		if j := e.Judge(with(rows))[0]; j.Surprise() != want {
			t.Errorf("%s: surprise is %t with verdict %s, want %t", rows, j.Surprise(), j.Verdict, want)
		}
	}
}
