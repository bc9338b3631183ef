package workload

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"sort"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

func TestTables(t *testing.T) {
	for i := range CDFs {
		if err := CDFs[i].Validate(); err != nil {
			t.Error(err)
		}
		if got, err := FindCDF(CDFs[i].Name); err != nil || got != &CDFs[i] {
			t.Errorf("%s is not found: %v", CDFs[i].Name, err)
		}
	}
	if _, err := FindCDF("nothing"); err == nil {
		t.Error("a table that does not exist is found")
	}
}

func TestValidate(t *testing.T) {
	for name, points := range map[string][]Point{
		"one point":       {{1000, 1}},
		"not to the end":  {{0, 0}, {1000, 0.9}},
		"sizes fall":      {{1000, 0}, {500, 1}},
		"shares fall":     {{0, 0.5}, {500, 0.2}, {1000, 1}},
		"share too large": {{0, 0}, {500, 1.5}},
		"negative size":   {{-1, 0}, {500, 1}},
		"all empty":       {{0, 0}, {0, 1}},
	} {
		c := CDF{Name: name, Points: points}
		if c.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// The mean of web search is 1.7 MB, as in the papers' generators.
func TestMean(t *testing.T) {
	c, err := FindCDF("websearch")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Mean(); math.Abs(got-1711250) > 1 {
		t.Errorf("got %v", got)
	}
	// In packets of 1460 B, by the means of neighbouring points. websearch_dsh: 6 x 0.15 + 9.5 x 0.05 +
	// 16 x 0.1 + 26 x 0.1 + 43 x 0.13 + 93 x 0.07 + 400 x 0.1 + 1000 x 0.1 + 2333 x 0.1 + 5000 x 0.07 +
	// 13333.5 x 0.03 = 1140.98. hadoop_dsh: 12.5 x 0.1 + 27 x 0.1 + 31.5 x 0.1 + 33 x 0.1 + 41.5 x 0.1 +
	// 51.5 x 0.1 + 60 x 0.1 + 93.5 x 0.1 + 140 x 0.1 + 180 x 0.05 + 433.5 x 0.01 + 3667 x 0.01 +
	// 36667 x 0.02 + 200000 x 0.01 = 2832.395.
	for name, packets := range map[string]float64{"websearch_dsh": 1140.98, "hadoop_dsh": 2832.395} {
		c, err := FindCDF(name)
		if err != nil {
			t.Fatal(err)
		}
		if want := packets * 1460; math.Abs(c.Mean()-want) > 1 {
			t.Errorf("%s: got %v, want %v", name, c.Mean(), want)
		}
	}
	half := CDF{Points: []Point{{0, 0}, {100, 0.5}, {300, 1}}}
	if got := half.Mean(); got != 0.5*50+0.5*200 {
		t.Errorf("got %v", got)
	}
}

// Drawn sizes follow the table: mean, and the Kolmogorov-Smirnov distance at a significance of
// 0.1 %.
func TestDraw(t *testing.T) {
	const n = 200_000
	for i := range CDFs {
		c := &CDFs[i]
		r := Stream(1, c.Name)
		sizes := make([]float64, n)
		sum, squares := 0.0, 0.0
		for k := range sizes {
			s := float64(c.Draw(r))
			sizes[k] = s
			sum += s
			squares += s * s
		}
		mean := sum / n
		deviation := math.Sqrt((squares/n - mean*mean) / n)
		if math.Abs(mean-c.Mean()) > 4*deviation+1 {
			t.Errorf("%s: the mean is %.0f, want %.0f within %.0f", c.Name, mean, c.Mean(), 4*deviation)
		}
		sort.Float64s(sizes)
		worst := 0.0
		for k, s := range sizes {
			if k+1 < n && sizes[k+1] == s {
				continue // compare at the last of equal sizes
			}
			// Sizes are whole bytes: s stands for everything up to s + 1/2.
			worst = max(worst, math.Abs(float64(k+1)/n-share(c, s+0.5)))
		}
		if limit := 1.95 / math.Sqrt(n); worst > limit {
			t.Errorf("%s: the distance is %.5f, want at most %.5f", c.Name, worst, limit)
		}
	}
}

// share is the inverse of At: the fraction of flows of at most that size.
func share(c *CDF, size float64) float64 {
	p := 0.0
	for i, b := range c.Points {
		if float64(b.Size) <= size {
			p = b.P
			continue
		}
		if i > 0 {
			a := c.Points[i-1]
			p = a.P + (b.P-a.P)*(size-float64(a.Size))/float64(b.Size-a.Size)
		}
		break
	}
	return p
}

func TestAt(t *testing.T) {
	c := CDF{Points: []Point{{0, 0}, {100, 0.5}, {100, 0.6}, {300, 1}}}
	for u, want := range map[float64]units.Bytes{0: 1, 0.25: 50, 0.55: 100, 0.8: 200, 0.9999999: 300, 1: 300} {
		if got := c.At(u); got != want {
			t.Errorf("at %v: got %d, want %d", u, got, want)
		}
	}
}

// Gaps are exponential: mean and variance.
func TestExponential(t *testing.T) {
	r := Stream(3, "gaps")
	const n = 400_000
	sum, squares := 0.0, 0.0
	for range n {
		x := exponential(r)
		if x < 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			t.Fatal(x)
		}
		sum += x
		squares += x * x
	}
	if mean := sum / n; math.Abs(mean-1) > 0.01 {
		t.Errorf("the mean is %v", mean)
	}
	if second := squares / n; math.Abs(second-2) > 0.05 {
		t.Errorf("the mean square is %v", second)
	}
}

// ln differs from math.Log by much less than a gap in picoseconds can show.
func TestLn(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	check := func(x float64) {
		want := math.Log(x)
		// Near 1 the logarithm is small, and the precision of x limits it.
		if got := ln(x); math.Abs(got-want) > 1e-14*math.Abs(want)+1e-17 {
			t.Errorf("ln(%v) is %v, want %v", x, got, want)
		}
	}
	for range 100_000 {
		check(1 - r.Float64())
	}
	for e := 1; e <= 53; e++ {
		x := math.Ldexp(1, -e)
		check(x)
		check(1 - x)
		check(math.Sqrt2 / 2 * x)
	}
	if ln(1) != 0 {
		t.Errorf("ln(1) is %v", ln(1))
	}
}

// The series is long enough: compare it with atanh in 200 bits.
func TestLnSeries(t *testing.T) {
	const x = 0.7072 // the far end of the reduced range
	s := new(big.Float).SetPrec(200).Quo(big.NewFloat(0).SetPrec(200).Sub(big.NewFloat(x), big.NewFloat(1)), big.NewFloat(0).SetPrec(200).Add(big.NewFloat(x), big.NewFloat(1)))
	power, sum := new(big.Float).Copy(s), new(big.Float).SetPrec(200)
	for k := int64(1); k < 99; k += 2 {
		sum.Add(sum, new(big.Float).SetPrec(200).Quo(power, new(big.Float).SetInt64(k)))
		power.Mul(power, s).Mul(power, s)
	}
	want, _ := sum.Mul(sum, big.NewFloat(2)).Float64()
	if got := ln(x); math.Abs(got/want-1) > 1e-14 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Streams depend on seed and name only.
func TestStreams(t *testing.T) {
	draw := func(seed uint64, name string) []uint64 {
		r := Stream(seed, name)
		return []uint64{r.Uint64(), r.Uint64(), r.Uint64()}
	}
	if !reflect.DeepEqual(draw(1, "a"), draw(1, "a")) {
		t.Error("a stream does not repeat")
	}
	seen := make(map[uint64]string)
	for _, seed := range []uint64{0, 1, 2, 1 << 63} {
		for _, name := range []string{"", "a", "b", "ab", "ba", "workload/a", "workload/b"} {
			for _, v := range draw(seed, name) {
				if other, ok := seen[v]; ok {
					t.Errorf("streams %q and %q meet", name, other)
				}
				seen[v] = name
			}
		}
	}
	// No correlation between two streams of one seed.
	a, b := Stream(1, "workload/a"), Stream(1, "workload/b")
	const n = 100_000
	sum := 0.0
	for range n {
		sum += (a.Float64() - 0.5) * (b.Float64() - 0.5)
	}
	if r := sum / n * 12; math.Abs(r) > 4/math.Sqrt(n) {
		t.Errorf("the correlation is %v", r)
	}
}
