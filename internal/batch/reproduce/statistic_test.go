package reproduce

import (
	"math"
	"reflect"
	"testing"
)

func TestStatistics(t *testing.T) {
	values := []float64{4, 1, 3, 2, 10}
	d, err := describe(values, []string{"mean", "max", "p50", "p99", "p99.9", "below 3", "below 100", "below 1", "sum", "count"})
	if err != nil {
		t.Fatal(err)
	}
	// Sorted 1 2 3 4 10: mean 20 / 5; rank ceil(2.5) = 3; ceil(4.95) = 5; 2 of 5 are
	// below 3.
	want := map[string]float64{"mean": 4, "max": 10, "p50": 3, "p99": 10, "p99.9": 10, "below 3": 40, "below 100": 100, "below 1": 0, "sum": 20, "count": 5}
	if !reflect.DeepEqual(d.Statistics, want) || d.N != 5 {
		t.Errorf("%d values: %v, want %v", d.N, d.Statistics, want)
	}
	// Quantile k of 200 has rank ceil(5 k / 200): 40 of each value, after the minimum.
	if len(d.Quantiles) != 201 || d.Quantiles[0] != 1 || d.Quantiles[40] != 1 || d.Quantiles[41] != 2 || d.Quantiles[200] != 10 {
		t.Errorf("%v", d.Quantiles)
	}
	if d, err = describe(nil, []string{"p50"}); err != nil || d.N != 0 || len(d.Statistics) != 0 {
		t.Errorf("no values: %+v, %v", d, err)
	}
	// Without values sum and count are 0, but there is no mean.
	if d, err = describe(nil, []string{"sum", "mean", "count"}); err != nil || !reflect.DeepEqual(d.Statistics, map[string]float64{"sum": 0, "count": 0}) {
		t.Errorf("no values: %+v, %v", d, err)
	}
	for _, bad := range []string{"", "p0", "p100", "p", "px", "p33.33", "below", "below x", "median"} {
		if _, err := parseStatistic(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Rows without a value or with a zero divisor are skipped.
func TestRatios(t *testing.T) {
	m := &Metric{Value: "a", Over: "b", Times: 100}
	got, _ := m.ratios(nil, [][]float64{{1, math.NaN(), 3, 4, 5}, {2, 2, 0, math.NaN(), 4}})
	if !reflect.DeepEqual(got, []float64{50, 125}) {
		t.Errorf("%v", got)
	}
	// Only kept rows count.
	m = &Metric{Value: "a", Over: "b", Along: "t"}
	got, times := m.ratios([]bool{true, true, false, false}, [][]float64{{10, 20, 30, 40}, {10, 5, 1, 1}, {1e6, 2e6, 3e6, 4e6}})
	if !reflect.DeepEqual(got, []float64{1, 4}) || !reflect.DeepEqual(times, []float64{1e6, 2e6}) {
		t.Errorf("%v at %v", got, times)
	}
	if x := trace(times, got); !reflect.DeepEqual(x, &Trace{X: []float64{1, 2}, Y: []float64{1, 4}}) {
		t.Errorf("%+v", x)
	}
	if x := trace(nil, got); x != nil {
		t.Errorf("%+v without times", x)
	}
	if got := distinct([]float64{3, -1, 3, 0, math.NaN()}); got != 2 {
		t.Errorf("got %v different values, want 2", got)
	}
}
