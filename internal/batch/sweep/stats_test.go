package sweep

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestSample(t *testing.T) {
	if _, ok := sampleOf(nil); ok {
		t.Error("got statistics of no values")
	}
	if s, _ := sampleOf([]float64{5}); s != (Sample{N: 1, Mean: 5, Min: 5, Max: 5}) {
		t.Errorf("one value: %+v", s)
	}
	// Standard deviation 1, t(0.975; 2) = 4.30265273 from printed tables:
	// 4.30265273 / sqrt(3) = 2.48413771.
	s, _ := sampleOf([]float64{3, 1, 2})
	if s.N != 3 || s.Mean != 2 || s.Min != 1 || s.Max != 3 || !near(s.Half, 2.48413771) {
		t.Errorf("three values: %+v", s)
	}
}

func TestStudentT(t *testing.T) {
	// Roots of the regularized incomplete beta function, computed with 30 digits; rounded,
	// they are the printed two-sided 95 % tables. 1 is tan(0.475π).
	for freedom, want := range map[float64]float64{
		1: 12.7062047361747046, 2: 4.30265272974946385, 3: 3.18244630528370959, 5: 2.57058183563631551, 10: 2.22813885198627475,
		39.5: 2.02187261981460879, 40.5: 2.02029842818543365, 100: 1.98397151852355229, 1000: 1.96233908082640848,
		8977: 1.96022828059402296, 100000: 1.95998770753460964,
	} {
		if got := StudentT(freedom); math.Abs(got/want-1) > 1e-13 {
			t.Errorf("%g degrees of freedom: %.17g, want %.17g", freedom, got, want)
		}
	}
}

func TestDifference(t *testing.T) {
	seeds := []uint64{1, 2, 3}
	others := []uint64{4, 5, 6}
	for _, c := range []struct {
		name      string
		a, b      seeded
		mean      float64
		low, high float64
		known     bool
		excludes  bool
	}{
		// Differences -1, -1, -2: mean -4/3, deviation sqrt(1/3);
		// 4.30265273 * sqrt(1/3) / sqrt(3) = 1.43421758.
		{"paired, includes 0", seeded{seeds, []float64{10, 20, 30}}, seeded{seeds, []float64{11, 21, 32}}, -4.0 / 3, -2.76755091, 0.10088425, true, false},
		// The same -1 for every seed: certain, however much the seeds differ.
		{"paired, constant", seeded{seeds, []float64{10, 20, 30}}, seeded{seeds, []float64{11, 21, 31}}, -1, -1, -1, true, true},
		// Variances of the means 1/3 each, so 4 degrees of freedom:
		// 2.77644511 * sqrt(2/3) = 2.26695793.
		{"Welch, includes 0", seeded{seeds, []float64{1, 2, 3}}, seeded{others, []float64{3, 4, 5}}, -2, -4.26695793, 0.26695793, true, false},
		{"Welch, excludes 0", seeded{seeds, []float64{1, 2, 3}}, seeded{others, []float64{4, 5, 6}}, -3, -5.26695793, -0.73304207, true, true},
		{"one seed", seeded{seeds[:1], []float64{1}}, seeded{seeds[:1], []float64{2}}, -1, 0, 0, false, false},
	} {
		d := differenceOf(c.a, c.b)
		if !near(d.Mean, c.mean) || !near(d.Low, c.low) || !near(d.High, c.high) || d.Known != c.known || d.ExcludesZero() != c.excludes {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}
