package sweep

import "math"

// confidence is the probability that an interval covers the mean.
const confidence = 0.95

// normalQuantile is StudentT for infinite degrees of freedom.
const normalQuantile = 1.959963984540054

// StudentT returns t such that a variable with Student's distribution lies within ±t with
// a probability of 95 %, for at least one degree of freedom. The relative error is below
// 1e-13.
func StudentT(freedom float64) float64 {
	// The tail is convex and t is above the normal quantile, so Newton's method
	// approaches t from below.
	for t := normalQuantile; ; {
		tail, density := studentTail(t, freedom)
		step := (tail - (1 - confidence)) / (2 * density)
		t += step
		if step < 1e-15*t {
			return t
		}
	}
}

// studentTail returns the probability that a variable with Student's distribution lies
// outside ±t, and its density at t. It needs t*t > 3: the continued fraction of the
// incomplete beta function (Numerical Recipes, 6.4) converges slowly below.
func studentTail(t, freedom float64) (tail, density float64) {
	a, x := freedom/2, freedom/(freedom+t*t)
	scale := gammaRatio(a) / math.Sqrt(math.Pi) * math.Exp(-a*math.Log1p(t*t/freedom))
	c, d := 1.0, 1/(1-(a+0.5)*x/(a+1))
	fraction := d
	for m := 1.0; ; m++ {
		even := m * (0.5 - m) * x / ((a + 2*m - 1) * (a + 2*m))
		c, d = 1+even/c, 1/(1+even*d)
		fraction *= c * d
		odd := -(a + m) * (a + 0.5 + m) * x / ((a + 2*m) * (a + 2*m + 1))
		c, d = 1+odd/c, 1/(1+odd*d)
		fraction *= c * d
		if math.Abs(c*d-1) < 1e-16 {
			break
		}
	}
	return scale * math.Sqrt(1-x) / a * fraction, scale * math.Sqrt(x/freedom)
}

// gammaRatio returns Γ(a+1/2)/Γ(a).
func gammaRatio(a float64) float64 {
	if a < 20 {
		return math.Gamma(a+0.5) / math.Gamma(a)
	}
	b := 1 / (a * a) // Stirling's series
	return math.Sqrt(a) * math.Exp((-1.0/8+b*(1.0/192+b*(-1.0/640+b*17/14336)))/a)
}

// mean returns the arithmetic mean.
func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// variance returns the variance of a sample of at least two values, in two passes with a
// correction for the rounded mean (Chan, Golub and LeVeque, 1983).
func variance(v []float64) float64 {
	m, squares, rest := mean(v), 0.0, 0.0
	for _, x := range v {
		d := x - m
		squares += float64(d * d)
		rest += d
	}
	n := float64(len(v))
	return (squares - rest*rest/n) / (n - 1)
}
