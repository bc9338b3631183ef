package metrics

import (
	"slices"
	"strings"
	"testing"
)

// Every printed name is accepted and identifies exactly one metric.
func TestPrintedNamesAreUnique(t *testing.T) {
	s := &Summary{Workloads: []Part{{Name: "web"}}, Sizes: []Part{{Name: "up to 1KB"}}}
	names := MeasureNames(Measures(s))
	if len(names) < 50 {
		t.Fatalf("only %d metrics", len(names))
	}
	full, err := FullNames(Titles(names), names)
	if err != nil || !slices.Equal(full, names) {
		t.Errorf("got %v, %v; want %v", full, err, names)
	}
	if full, err = FullNames(names, names); err != nil || !slices.Equal(full, names) {
		t.Errorf("got %v, %v; want %v", full, err, names)
	}
}

func TestUnknownMetrics(t *testing.T) {
	known := []string{"fct_ps.p50", "fct_ps.p99", "buffer.peak_bytes"}
	for name, want := range map[string]string{
		"fct.p9":      `unknown metric "fct.p9"; did you mean "fct.p99"? (expected the name of a number of summary.json, such as fct.p99)`,
		"bufer.peak":  `unknown metric "bufer.peak"; did you mean "buffer.peak"?`,
		"fct":         "such as fct.p50, fct.p99",
		"nothing.of.": "such as fct.p50, fct.p99, buffer.peak",
	} {
		_, err := FullNames([]string{name}, known)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if err := CheckNames([]string{"fct.p50"}, known); err == nil { // stored experiments use the names in summary.json
		t.Error("a printed name is accepted as one of summary.json")
	}
}
