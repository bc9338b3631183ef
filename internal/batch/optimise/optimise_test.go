package optimise

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bowl is a quadratic objective with noise: a part that all settings share by seed, and a part of
// its own for every trial. Its optimal value is 1.
type bowl struct {
	at    []float64 // optimum, as shares of the axes
	curve float64
	noise *rand.Rand
	level int
	runs  int
}

func (b *bowl) value(setting []int) float64 {
	sum := 1.0
	for j, v := range setting {
		d := (float64(v)+0.5)/float64(b.level) - b.at[j]
		sum += b.curve * d * d
	}
	return sum
}

func (b *bowl) problem(shared, own float64) *Problem {
	p := &Problem{Goals: 1}
	var common []float64
	for range 10 {
		common = append(common, shared*b.noise.NormFloat64())
	}
	for range b.at {
		p.Axes = append(p.Axes, Axis{Levels: b.level, Ordered: true, Today: b.level / 8})
	}
	p.Run = func(list []Trial) ([]Outcome, error) {
		var out []Outcome
		for _, t := range list {
			s := t.Setting
			if s == nil {
				for _, a := range p.Axes {
					s = append(s, a.Today)
				}
			}
			b.runs++
			out = append(out, Outcome{Goals: []float64{b.value(s) + common[t.Seed] + own*b.noise.NormFloat64()}})
		}
		return out, nil
	}
	return p
}

// With two axes, 40 runs of a noisy quadratic objective end within 5 % of the optimal value for at
// least 9 of 10 seeds. The optimum is somewhere in the middle 80 % of each axis, and today's
// setting at an eighth.
func TestNoisyQuadratic(t *testing.T) {
	for _, c := range []struct {
		name               string
		curve, shared, own float64
	}{
		{"calm", 4, 0.05, 0.01},
		{"noisy", 4, 0.3, 0.03},
		{"steep", 10, 0.2, 0.03},
	} {
		const seeds = 60
		good, worst := 0, 0.0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 7))
			b := &bowl{at: []float64{0.1 + 0.8*r.Float64(), 0.1 + 0.8*r.Float64()}, curve: c.curve, noise: r, level: 64}
			found, err := Search(b.problem(c.shared, c.own), Options{Runs: 40, Seeds: 2, Confirm: 5, Resets: true, Batch: 4, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if b.runs > 40 || b.runs != found.Runs {
				t.Fatalf("%s, seed %d: %d runs, counted %d (expected at most 40)", c.name, seed, b.runs, found.Runs)
			}
			v := b.value([]int{8, 8})
			if found.Best.Setting != nil {
				v = b.value(found.Best.Setting)
			}
			if v <= 1.05 {
				good++
			}
			worst = math.Max(worst, v)
		}
		t.Logf("%s: %d of %d within 5 %%, worst %.3f", c.name, good, seeds, worst)
		if good < seeds*9/10 {
			t.Errorf("%s: %d of %d seeds within 5 %% (expected at least 9 of 10)", c.name, good, seeds)
		}
	}
}
