package reproduce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/metrics"
)

// statistic computes a number from sorted values.
type statistic func(sorted []float64) float64

// zeroIfEmpty lists the statistics that are 0 without values.
var zeroIfEmpty = []string{"sum", "count"}

// parseStatistic parses mean, min, max, sum, count, p50 to p99.9, or `below V`: the share of
// values below V in per cent.
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
				n, _ := slices.BinarySearch(v, bound) // index of the first value that is not below
				return float64(100*n) / float64(len(v))
			}, nil
		}
	}
	return nil, fmt.Errorf("unknown statistic %q (allowed: mean, min, max, sum, count, a percentile with at most one decimal such as p50, below V)", text)
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

func mean(v []float64) float64 { return sum(v) / float64(len(v)) }

// Distribution is the stored summary of a distribution.
type Distribution struct {
	N          int                `json:"n"`
	Statistics map[string]float64 `json:"statistics"` // statistics that claims and panels use
	// Quantiles are nearest-rank quantiles from 0 to 1 in steps of 1/200: enough to
	// draw the distribution.
	Quantiles []float64 `json:"quantiles"`
	Trace     *Trace    `json:"trace,omitempty"` // only of metrics with along
}

// Trace is a metric over the time of a run.
type Trace struct {
	X []float64 `json:"us"`
	Y []float64 `json:"y"`
}

const quantiles = 200

// describe summarises values. It sorts its argument.
func describe(values []float64, names []string) (*Distribution, error) {
	d := &Distribution{N: len(values), Statistics: make(map[string]float64), Quantiles: []float64{}}
	if len(values) == 0 {
		for _, name := range zeroIfEmpty {
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
