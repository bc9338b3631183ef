package reproduce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/metrics"
)

// statistic is a number of a distribution.
type statistic func(sorted []float64) float64

// ofNothing are the statistics that no values have, too: 0.
var ofNothing = []string{"sum", "count"}

// parseStatistic reads mean, min, max, sum, count, p50 to p99.9, or `below V`: how many
// values are below V, in per cent.
func parseStatistic(text string) (statistic, error) {
	switch {
	case text == "mean":
		return mean, nil
	case text == "sum":
		return sum, nil
	case text == "count":
		return func(v []float64) float64 { return float64(len(v)) }, nil
	case text == "min":
		return func(v []float64) float64 { return v[0] }, nil
	case text == "max":
		return func(v []float64) float64 { return v[len(v)-1] }, nil
	}
	if number, ok := strings.CutPrefix(text, "p"); ok {
		if p, err := strconv.ParseFloat(number, 64); err == nil && p > 0 && p < 100 && p*10 == float64(int(p*10)) {
			return func(v []float64) float64 { return metrics.NearestRank(v, int(p*10)) }, nil
		}
	}
	if number, ok := strings.CutPrefix(text, "below "); ok {
		if bound, err := strconv.ParseFloat(number, 64); err == nil {
			return func(v []float64) float64 {
				n, _ := slices.BinarySearch(v, bound) // the first that is not below
				return float64(100*n) / float64(len(v))
			}, nil
		}
	}
	return nil, fmt.Errorf("%q is no statistic; allowed: mean, min, max, sum, count, p50 or another percentile with at most one decimal, below V", text)
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

func mean(v []float64) float64 { return sum(v) / float64(len(v)) }

// Distribution is what is kept of many values.
type Distribution struct {
	N          int                `json:"n"`
	Statistics map[string]float64 `json:"statistics"` // those that claims and panels name
	// Quantiles are nearest-rank quantiles from 0 to 1 in steps of 1/200: enough to
	// draw the distribution.
	Quantiles []float64 `json:"quantiles"`
	Trace     *Trace    `json:"trace,omitempty"` // of a metric with along
}

// Trace is a metric as it was in the course of a run.
type Trace struct {
	X []float64 `json:"us"`
	Y []float64 `json:"y"`
}

const quantiles = 200

// describe sorts its argument.
func describe(values []float64, names []string) (*Distribution, error) {
	d := &Distribution{N: len(values), Statistics: make(map[string]float64), Quantiles: []float64{}}
	if len(values) == 0 {
		for _, name := range ofNothing {
			if slices.Contains(names, name) {
				d.Statistics[name] = 0
			}
		}
		return d, nil
	}
	slices.Sort(values)
	for _, name := range names {
		f, err := parseStatistic(name)
		if err != nil {
			return nil, err
		}
		d.Statistics[name] = f(values)
	}
	d.Quantiles = append(d.Quantiles, values[0])
	for i := 1; i <= quantiles; i++ {
		d.Quantiles = append(d.Quantiles, metrics.NearestRank(values, i*1000/quantiles))
	}
	return d, nil
}
