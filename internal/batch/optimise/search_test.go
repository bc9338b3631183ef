package optimise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// levels returns an ordered axis with today's value in its first half.
func levels(n int) Axis { return Axis{Levels: n, Ordered: true, Today: n / 4} }

// problem returns a problem whose outcomes are a function of setting and seed; today's setting
// passes its levels.
func problem(axes []Axis, goals int, of func(setting []int, seed int) Outcome) *Problem {
	return &Problem{Axes: axes, Goals: goals, Run: func(list []Trial) ([]Outcome, error) {
		var out []Outcome
		for _, t := range list {
			setting := t.Setting
			if setting == nil {
				for _, a := range axes {
					setting = append(setting, a.Today)
				}
			}
			out = append(out, of(setting, t.Seed))
		}
		return out, nil
	}}
}

func search1(t *testing.T, p *Problem, o Options) *Result {
	t.Helper()
	r, err := Search(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The optimum, 40 of 0 to 49, violates the constraint; 25 is the best level that does not.
func TestConstraint(t *testing.T) {
	limit := 25
	p := problem([]Axis{levels(50)}, 1, func(s []int, _ int) Outcome {
		return Outcome{Goals: []float64{math.Abs(float64(s[0] - 40))}, Violation: float64(max(0, s[0]-limit))}
	})
	if r := search1(t, p, Options{Runs: 40, Seeds: 2, Confirm: 2, Batch: 4}); r.Best == nil || r.Best.Setting[0] != 25 {
		t.Errorf("best is %+v (expected level 25)", r.Best)
	}
	limit = -3
	r := search1(t, p, Options{Runs: 40, Seeds: 2, Confirm: 2, Batch: 4})
	if r.Best != nil || r.Closest.Setting == nil || r.Closest.Setting[0] != 0 || r.Closest.Violation() != 3 {
		t.Errorf("best is %v, closest %+v (expected none, and level 0 with violation 3)", r.Best, r.Closest)
	}
}

// Goals x² and (1-x)² on 0 to 1: every x is a trade-off.
func TestTradeoff(t *testing.T) {
	p := problem([]Axis{levels(65), levels(65)}, 2, func(s []int, _ int) Outcome {
		x, y := float64(s[0])/64, float64(s[1])/64
		return Outcome{Goals: []float64{x*x + y, (1-x)*(1-x) + y}}
	})
	r := search1(t, p, Options{Runs: 120, Seeds: 2, Confirm: 2, Batch: 6})
	if len(r.Front) < 6 {
		t.Errorf("trade-off has %d settings (expected 6 or more)", len(r.Front))
	}
	for i, e := range r.Front {
		if i > 0 && (e.mean(0, 2) <= r.Front[i-1].mean(0, 2) || e.mean(1, 2) >= r.Front[i-1].mean(1, 2)) {
			t.Errorf("trade-off setting %v dominates another, or is dominated", e.Setting)
		}
	}
	if a, b := r.Front[0].Outcomes[0].Goals, r.Front[len(r.Front)-1].Outcomes[0].Goals; a[0] > 0.1 || b[1] > 0.1 {
		t.Errorf("ends of the trade-off are %v and %v (expected one goal below 0.1)", a, b)
	}
	if g := r.Best.Outcomes[0].Goals; math.Abs(g[0]-g[1]) > 0.4 || g[0]+g[1] > 0.8 {
		t.Errorf("best setting has goals %v (expected both near 0.25)", g)
	}
}

func TestSmallSpaces(t *testing.T) {
	words := []Axis{{Levels: 3, Today: 0}, {Levels: 2, Today: 1}}
	p := problem(words, 1, func(s []int, _ int) Outcome { return Outcome{Goals: []float64{float64(3*s[1] - s[0])}} })
	r := search1(t, p, Options{Runs: 60, Seeds: 2, Confirm: 2, Resets: true, Batch: 4})
	if !r.Exhausted || len(r.Entries) != 6 || !slices.Equal(r.Best.Setting, []int{2, 0}) {
		t.Errorf("exhausted: %t, %d settings, best %v (expected all 6, best 2 0)", r.Exhausted, len(r.Entries), r.Best.Setting)
	}
	// Resets: {0, 0} and {2, 1}.
	for j, want := range [][]int{{0, 0}, {2, 1}} {
		if e := r.Resets[j]; e == nil || !slices.Equal(e.Setting, want) {
			t.Errorf("reset of axis %d is %+v (expected %v)", j, e, want)
		}
	}
}

// Today's value is no level: the search works, without resets.
func TestTodayOutside(t *testing.T) {
	axes := []Axis{{Levels: 20, Ordered: true, Today: -1}, levels(20)}
	p := problem(axes, 1, func(s []int, _ int) Outcome {
		return Outcome{Goals: []float64{math.Abs(float64(s[0]-10)) + float64(s[1])}}
	})
	r := search1(t, p, Options{Runs: 60, Seeds: 2, Confirm: 2, Resets: true, Batch: 4})
	if s := r.Best.Setting; s == nil || s[0] < 8 || s[0] > 12 || s[1] > 2 || r.Resets[0] != nil {
		t.Errorf("best is %v, reset %v (expected about 10 0, and no reset)", s, r.Resets[0])
	}
}

// An axis without effect keeps today's value.
func TestNoEffect(t *testing.T) {
	p := problem([]Axis{levels(40), levels(40)}, 1, func(s []int, seed int) Outcome { return Outcome{Goals: []float64{float64(s[0] + seed)}} })
	if r := search1(t, p, Options{Runs: 60, Seeds: 2, Confirm: 2, Resets: true, Batch: 4}); !slices.Equal(r.Best.Setting, []int{0, 10}) {
		t.Errorf("best is %v (expected 0 10)", r.Best.Setting)
	}
}

func TestInvalid(t *testing.T) {
	p := problem([]Axis{levels(40), levels(40)}, 1, func(s []int, _ int) Outcome {
		return Outcome{Goals: []float64{float64(s[0] + s[1])}, Invalid: s[0] > s[1]}
	})
	r := search1(t, p, Options{Runs: 60, Seeds: 2, Confirm: 2, Batch: 4})
	if s := r.Best.Setting; s == nil || s[0] > s[1] || s[0]+s[1] > 4 {
		t.Errorf("best is %v (expected about 0 0)", s)
	}
	none := problem([]Axis{levels(40)}, 1, func(s []int, _ int) Outcome { return Outcome{Goals: []float64{1}, Invalid: s[0] != 10} })
	if r := search1(t, none, Options{Runs: 30, Seeds: 2, Confirm: 2, Batch: 4}); r.Best != r.Entries[0] || r.Runs != 2 {
		t.Errorf("best is %+v after %d runs (expected today's after 2)", r.Best, r.Runs)
	}
}

// Level 0 violates the constraint with a fresh seed only; level 1 is the next best.
func TestFreshViolation(t *testing.T) {
	p := problem([]Axis{levels(16)}, 1, func(s []int, seed int) Outcome {
		o := Outcome{Goals: []float64{float64(s[0])}}
		if s[0] == 0 && seed == 3 {
			o.Violation = 1
		}
		return o
	})
	r := search1(t, p, Options{Runs: 60, Seeds: 2, Confirm: 2, Batch: 4})
	if r.Best == nil || r.Best.Setting[0] != 1 || len(r.Best.Fresh) != 2 {
		t.Errorf("best is %+v (expected level 1)", r.Best)
	}
}

func TestTooFewRuns(t *testing.T) {
	o := Options{Runs: 10, Seeds: 3, Confirm: 2, Resets: true, Batch: 4}
	_, err := Search(problem([]Axis{levels(9), levels(9)}, 1, nil), o)
	// 3 runs of today's setting, 4 to confirm, 6 resets, 12 for the search
	if err == nil || err.Error() != "10 runs are too few (expected at least 25)" {
		t.Errorf("error is %v", err)
	}
}

// Random problems: no more runs than allowed, each trial once, seeds in order, the same trials
// again, and the trials that First names come first.
func TestTrials(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		var axes []Axis
		for range 1 + r.IntN(4) {
			n := 2 + r.IntN(40)
			axes = append(axes, Axis{Levels: n, Ordered: r.IntN(3) > 0, Today: r.IntN(n+1) - 1})
		}
		o := Options{Seeds: 1 + r.IntN(3), Confirm: []int{0, 2, 5}[r.IntN(3)], Resets: r.IntN(2) > 0, Batch: 1 + r.IntN(6), Seed: seed}
		o.Runs = o.MinRuns(len(axes)) + r.IntN(60)
		goals := 1 + r.IntN(2)
		run := func() (*Result, []Trial) {
			var all []Trial
			seen := make(map[string]bool)
			p := problem(axes, goals, func(s []int, at int) Outcome {
				noise := rand.New(rand.NewPCG(uint64(len(fmt.Sprint(s))), uint64(at)))
				o := Outcome{}
				for g := range goals {
					sum := noise.Float64()
					for j, v := range s {
						sum += float64((v - 3*g) * (v - j))
					}
					o.Goals = append(o.Goals, sum)
				}
				if slices.Max(s) > 20 {
					o.Violation = 1
				}
				return o
			})
			inner := p.Run
			p.Run = func(list []Trial) ([]Outcome, error) {
				for _, t1 := range list {
					if key := fmt.Sprint(t1); seen[key] {
						t.Fatalf("problem %d: trial %s ran twice", seed, key)
					} else {
						seen[key] = true
					}
				}
				all = append(all, list...)
				return inner(list)
			}
			return search1(t, p, o), all
		}
		result, trials := run()
		if len(trials) > o.Runs || len(trials) != result.Runs {
			t.Errorf("problem %d: %d trials, counted %d (expected at most %d)", seed, len(trials), result.Runs, o.Runs)
		}
		if _, again := run(); !reflect.DeepEqual(trials, again) {
			t.Errorf("problem %d: other trials in the second search", seed)
		}
		first := First(&Problem{Axes: axes, Goals: goals}, o)
		if len(first) > len(trials) || !reflect.DeepEqual(first, trials[:len(first)]) {
			t.Errorf("problem %d: the search does not begin with %v", seed, first)
		}
		if len(trials) < (o.Runs-o.Reserve(len(axes)))*2/3 && !result.Exhausted {
			t.Errorf("problem %d: only %d of %d runs", seed, len(trials), o.Runs)
		}
	}
}

// Any 2^k consecutive points of a Sobol sequence, from a multiple of 2^k on, have one point in each
// of 2^k equal parts of every axis, and of the four quarters of the square of the first two axes.
func TestSobol(t *testing.T) {
	s := newSobol(MaxAxes, 9)
	points := [][]uint32{slices.Clone(s.shift)}
	for range 255 {
		points = append(points, s.next())
	}
	for _, n := range []int{2, 16, 64, 256} {
		for from := 0; from < len(points); from += n {
			for j := range MaxAxes {
				seen := make([]bool, n)
				for _, p := range points[from : from+n] {
					seen[part(p[j], n)] = true
				}
				if slices.Contains(seen, false) {
					t.Fatalf("axis %d: points %d to %d leave a part of %d empty", j, from, from+n-1, n)
				}
			}
		}
	}
	for j := 1; j < MaxAxes; j++ {
		var cells [4][4]int
		for _, p := range points {
			cells[part(p[j-1], 4)][part(p[j], 4)]++
		}
		for _, row := range cells {
			if slices.Min(row[:]) < 8 { // 16 on average
				t.Errorf("axes %d and %d: uneven cells %v", j-1, j, cells)
			}
		}
	}
}
