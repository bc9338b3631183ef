package workload

import (
	"math"
	"math/rand/v2"
)

// exponential draws from the exponential distribution with mean 1. The standard library uses
// math.Log and math.Exp, whose last bits differ between processors; this function returns
// the same bits everywhere.
func exponential(r *rand.Rand) float64 { return -ln(1 - r.Float64()) }

// ln returns the natural logarithm of x in (0, 1]. Every product is rounded before an
// addition, so that no compiler fuses the two.
func ln(x float64) float64 {
	m, e := math.Frexp(x) // x = m 2^e, 0.5 <= m < 1
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// ln m = 2 atanh(s) with s = (m-1)/(m+1), |s| < 0.172.
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	sum := 0.0
	for k := 21; k >= 1; k -= 2 {
		sum = float64(sum*s2) + 1/float64(k)
	}
	return float64(2*float64(s*sum)) + float64(float64(e)*math.Ln2)
}
