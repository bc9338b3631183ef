package sweep

import (
	"math"
	"slices"
	"strconv"

	"github.com/xoff-net/xoff/metrics"
)

// Sample summarises the values of a metric over seeds.
type Sample struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Half float64 `json:"ci95"` // half width of the 95 % interval of the mean (Student's t); 0 if n < 2
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// sampleOf summarises values. It returns false if there are none.
func sampleOf(v []float64) (Sample, bool) {
	if len(v) == 0 {
		return Sample{}, false
	}
	s := Sample{N: len(v), Mean: round(mean(v)), Min: slices.Min(v), Max: slices.Max(v)}
	if s.N > 1 {
		s.Half = round(StudentT(float64(s.N-1)) * math.Sqrt(variance(v)) / math.Sqrt(float64(s.N)))
	}
	return s, true
}

// SampleOf summarises the values of a metric over seeds. It returns false if there are none.
func SampleOf(v []float64) (Sample, bool) { return sampleOf(v) }

// Paired compares two samples seed by seed: a[i] and b[i] have the same seed.
func Paired(a, b []float64) Difference {
	return differenceOf(seeded{values: a}, seeded{values: b})
}

// round rounds to ten digits, because the last bits of roots and quantiles depend on the
// processor.
func round(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 10, 64), 64)
	return r
}

// Difference is the difference between the means of two samples.
type Difference struct {
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`    // lower end of the 95 % interval
	High   float64 `json:"high"`   // upper end of the 95 % interval
	Paired bool    `json:"paired"` // compared seed by seed
	Known  bool    `json:"known"`  // the interval is known: each sample has at least two seeds
}

// seeded has the values of a metric and their seeds, in the same order.
type seeded struct {
	seeds  []uint64
	values []float64
}

// same reports whether two samples are equal seed by seed, or all their values are equal.
func (s seeded) same(o seeded) bool {
	if slices.Equal(s.seeds, o.seeds) && slices.Equal(s.values, o.values) {
		return true
	}
	all := slices.Concat(s.values, o.values)
	return len(s.values) > 0 && len(o.values) > 0 && slices.Min(all) == slices.Max(all)
}

// text formats a sample as mean ± half width.
func (s *Sample) text(metric string) string {
	if s.Half == 0 {
		return metrics.Format(metric, s.Mean)
	}
	return metrics.Format(metric, s.Mean) + " ± " + metrics.Format(metric, s.Half)
}

// differenceOf compares two samples: seed by seed if they have the same seeds, else by
// Welch's t test.
func differenceOf(a, b seeded) Difference {
	d := Difference{Mean: round(mean(a.values) - mean(b.values)), Paired: slices.Equal(a.seeds, b.seeds)}
	if min(len(a.values), len(b.values)) < 2 {
		return d
	}
	d.Known = true
	half := 0.0
	if d.Paired {
		diffs := make([]float64, len(a.values))
		for i := range diffs {
			diffs[i] = a.values[i] - b.values[i]
		}
		half = StudentT(float64(len(diffs)-1)) * math.Sqrt(variance(diffs)) / math.Sqrt(float64(len(diffs)))
	} else {
		va, vb := variance(a.values)/float64(len(a.values)), variance(b.values)/float64(len(b.values))
		if va+vb > 0 {
			freedom := (va + vb) * (va + vb) / (va*va/float64(len(a.values)-1) + vb*vb/float64(len(b.values)-1))
			half = StudentT(freedom) * math.Sqrt(va+vb)
		}
	}
	d.Low, d.High = round(d.Mean-half), round(d.Mean+half)
	return d
}

// ExcludesZero reports whether the difference is significant: its 95 % interval excludes 0.
func (d *Difference) ExcludesZero() bool { return d.Known && (d.Low > 0 || d.High < 0) }
