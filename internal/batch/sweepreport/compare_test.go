package sweepreport

import (
	"math"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/runreport"
)

// With two keys, the one with more numbers is the axis and the other distinguishes lines.
func TestNumberAxis(t *testing.T) {
	keys := []string{"hosts.cc.name", "switch.policy.alpha"}
	var list []*sweep.Variant
	for _, cc := range []string{"dcqcn", "none"} {
		for _, alpha := range []string{"1/16", "1/8", "1/4"} {
			list = append(list, &sweep.Variant{Keys: keys, Values: []string{cc, alpha}})
		}
	}
	key, xs, lines := numberAxis(list)
	if key != "alpha" || !slices.Equal(xs, []float64{0.0625, 0.125, 0.25, 0.0625, 0.125, 0.25}) {
		t.Errorf("axis %q with %v", key, xs)
	}
	if len(lines) != 2 || lines[0].name != "dcqcn" || !slices.Equal(lines[1].at, []int{3, 4, 5}) {
		t.Errorf("lines %v", lines)
	}
	if key, _, _ := numberAxis([]*sweep.Variant{{Folder: "a"}, {Folder: "b"}}); key != "" {
		t.Errorf("runs without keys have axis %q", key)
	}
	if key, _, _ := numberAxis(list[:2]); key != "" {
		t.Errorf("two values give axis %q", key)
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{"0.5": 0.5, "1/8": 0.125, "3": 3, "1e3": 1000} {
		if got, ok := number(text); !ok || got != want {
			t.Errorf("%s: got %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "dt", "1/0", "1/x", "10us", "{name: dt}", "NaN", "Inf"} {
		if _, ok := number(text); ok {
			t.Errorf("%q is accepted as a number", text)
		}
	}
}

// Sizes are divided into bins of equal shares of the flows, which variants share. Points are
// 99th percentiles; a bin with unfinished flows is a gap.
func TestBySize(t *testing.T) {
	of := func(sizes, values []float64) []map[string]runreport.Slowdowns {
		return []map[string]runreport.Slowdowns{{"web": {Workload: "web", Sizes: sizes, Values: values}}}
	}
	flows := [][]map[string]runreport.Slowdowns{
		of([]float64{1, 1, 10, 100}, []float64{1, 2, 3, math.Inf(1)}), of([]float64{1, 100, 10}, []float64{4, 7, 6}),
	}
	p := bySize("web", flows, []string{"a", "b"})
	if p == nil || len(p.Series) != 2 || !slices.Equal(p.Series[0].X, []float64{1, 10, 100}) {
		t.Fatalf("%+v", p)
	}
	if y := p.Series[0].Y; y[0] != 2 || y[1] != 3 || !math.IsNaN(y[2]) {
		t.Errorf("a: %v", y)
	}
	if y := p.Series[1].Y; !slices.Equal(y, []float64{4, 6, 7}) {
		t.Errorf("b: %v", y)
	}
	if bySize("web", flows[:0], nil) != nil || bySize("web", [][]map[string]runreport.Slowdowns{of([]float64{5, 5}, []float64{1, 2})}, []string{"a"}) != nil {
		t.Error("one size has a figure")
	}
}
