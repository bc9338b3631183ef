package metrics

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// Times are the statistics of a set of times, in picoseconds.
type Times struct {
	Mean units.Time `json:"mean"` // rounded down
	P50  units.Time `json:"p50"`
	P95  units.Time `json:"p95"`
	P99  units.Time `json:"p99"`
	P999 units.Time `json:"p99_9"`
	Max  units.Time `json:"max"`
}

// Ratios are the statistics of a set of dimensionless numbers.
type Ratios struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// NearestRank returns the value of rank ceil(perMille n / 1000) in sorted values: the
// smallest that is at least as large as that share of the values. Integer arithmetic keeps
// rounding from deciding the rank.
func NearestRank[T cmp.Ordered](sorted []T, perMille int) T {
	rank := (perMille*len(sorted) + 999) / 1000
	return sorted[max(rank, 1)-1]
}

// timesOf returns statistics, or nil for no values. It sorts its argument.
func timesOf(v []units.Time) *Times {
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	// The sum of many long times exceeds 63 bits.
	var hi, lo, carry uint64
	for _, t := range v {
		lo, carry = bits.Add64(lo, uint64(t), 0)
		hi += carry
	}
	mean, _ := bits.Div64(hi, lo, uint64(len(v)))
	return &Times{
		Mean: units.Time(mean), P50: NearestRank(v, 500), P95: NearestRank(v, 950),
		P99: NearestRank(v, 990), P999: NearestRank(v, 999), Max: v[len(v)-1],
	}
}

// ratiosOf returns statistics, or nil for no values. It sorts its argument.
func ratiosOf(v []float64) *Ratios {
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return &Ratios{
		Mean: sum / float64(len(v)), P50: NearestRank(v, 500), P95: NearestRank(v, 950),
		P99: NearestRank(v, 990), P999: NearestRank(v, 999), Max: v[len(v)-1],
	}
}
