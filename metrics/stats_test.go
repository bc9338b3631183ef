package metrics

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

func TestNearestRank(t *testing.T) {
	ten := []int{3, 6, 7, 8, 8, 10, 13, 15, 16, 20}
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		name     string
		v        []int
		perMille int
		want     int
	}{
		{"p50 of one", []int{7}, 500, 7},
		{"p99.9 of one", []int{7}, 999, 7},
		{"p50 of two: rank ceil(1.0) = 1", []int{1, 2}, 500, 1},
		{"p50 of three: rank ceil(1.5) = 2", []int{1, 2, 3}, 500, 2},
		{"p25 of ten: rank ceil(2.5) = 3", ten, 250, 7},
		{"p50 of ten: rank 5", ten, 500, 8},
		{"p95 of ten: rank ceil(9.5) = 10", ten, 950, 20},
		{"p95 of a hundred: rank 95", hundred, 950, 95},
		{"p99 of a hundred: rank 99", hundred, 990, 99},
		{"p99.9 of a hundred: rank ceil(99.9) = 100", hundred, 999, 100},
		{"p0: the first", hundred, 0, 1},
	} {
		if got := NearestRank(c.v, c.perMille); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTimesOf(t *testing.T) {
	if timesOf(nil) != nil {
		t.Error("no values have statistics")
	}
	// (5 + 1 + 3 + 2) / 4 = 2.75, rounded down; p50 has rank 2, the rest 4.
	got := *timesOf([]units.Time{5, 1, 3, 2})
	if want := (Times{Mean: 2, P50: 2, P95: 5, P99: 5, P999: 5, Max: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// The sum of three is past 63 bits, the mean is not.
	if got := timesOf([]units.Time{units.Never, units.Never, units.Never}).Mean; got != units.Never {
		t.Errorf("mean of large values: got %d", got)
	}
}

func TestRatiosOf(t *testing.T) {
	if ratiosOf(nil) != nil {
		t.Error("no values have statistics")
	}
	got := *ratiosOf([]float64{4, 1, 2, 1})
	if want := (Ratios{Mean: 2, P50: 1, P95: 4, P99: 4, P999: 4, Max: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
