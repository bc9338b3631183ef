package sweep

import (
	"math"
	"slices"
	"strconv"

	"github.com/xoff-net/xoff/metrics"
)

// Sample is the values of a metric over seeds.
type Sample struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Half float64 `json:"ci95"` // half the 95 % interval of the mean (Student's t); 0 when n < 2
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// sampleOf returns false when there are no values.
func sampleOf(v []float64) (Sample, bool) {
	if len(v) == 0 {
		return Sample{}, false
	}
	s := Sample{N: len(v), Mean: round(mean(v)), Min: slices.Min(v), Max: slices.Max(v)}
	if s.N > 1 {
		s.Half = round(studentT(float64(s.N-1)) * math.Sqrt(variance(v)) / math.Sqrt(float64(s.N)))
	}
	return s, true
}

// SampleOf sums up the values of a metric over seeds; it returns false when there
// are none.
func SampleOf(v []float64) (Sample, bool) { return sampleOf(v) }

// Paired compares two samples seed by seed: value i of both has the same seed.
func Paired(a, b []float64) Difference {
	return differenceOf(seeded{values: a}, seeded{values: b})
}

// round keeps ten digits: the last bits of roots and quantiles depend on the
// processor.
func round(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 10, 64), 64)
	return r
}

// Difference is the mean of one sample less that of another.
type Difference struct {
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"` // of the 95 % interval
	High   float64 `json:"high"`
	Paired bool    `json:"paired"` // over the same seeds, seed by seed
	Known  bool    `json:"known"`  // false: fewer than two seeds, no interval
}

// seeded are the values of a metric by seed, in order of the seeds.
type seeded struct {
	seeds  []uint64
	values []float64
}

// same reports whether two samples are equal seed by seed, or one and the same value
// for all seeds.
func (s seeded) same(o seeded) bool {
	if slices.Equal(s.seeds, o.seeds) && slices.Equal(s.values, o.values) {
		return true
	}
	all := slices.Concat(s.values, o.values)
	return len(s.values) > 0 && len(o.values) > 0 && slices.Min(all) == slices.Max(all)
}

// text prints a sample for people.
func (s *Sample) text(metric string) string {
	if s.Half == 0 {
		return metrics.Format(metric, s.Mean)
	}
	return metrics.Format(metric, s.Mean) + " ± " + metrics.Format(metric, s.Half)
}

// differenceOf compares two samples: seed by seed when they have the same seeds,
// by Welch's t test otherwise.
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
		half = studentT(float64(len(diffs)-1)) * math.Sqrt(variance(diffs)) / math.Sqrt(float64(len(diffs)))
	} else {
		va, vb := variance(a.values)/float64(len(a.values)), variance(b.values)/float64(len(b.values))
		if va+vb > 0 {
			freedom := (va + vb) * (va + vb) / (va*va/float64(len(a.values)-1) + vb*vb/float64(len(b.values)-1))
			half = studentT(freedom) * math.Sqrt(va+vb)
		}
	}
	d.Low, d.High = round(d.Mean-half), round(d.Mean+half)
	return d
}

// ExcludesZero reports whether the difference is more than chance.
func (d *Difference) ExcludesZero() bool { return d.Known && (d.Low > 0 || d.High < 0) }
