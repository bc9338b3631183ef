package runreport

import (
	"math"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/render/plot"
)

func TestBinWidth(t *testing.T) {
	for span, want := range map[int64]int64{0: 1, 125: 1, 126: 2, 1000: 10, int64(3230 * units.Microsecond): int64(50 * units.Microsecond)} {
		if got := binWidth(span); got != want {
			t.Errorf("%d ps: bin width %d, want %d", span, got, want)
		}
	}
}

func TestTop(t *testing.T) {
	got, n := top([]int64{3, 0, 9, 3, -1, 5}, 3, func(v *int64) int64 { return *v })
	if want := []int64{9, 5, 3}; n != 4 || !slices.Equal(got, want) {
		t.Errorf("got %v of %d, want %v of 4", got, n, want)
	}
}

func columnsOf(names ...string) map[string]bool {
	m := map[string]bool{"time_ps": true, "node": true}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Files omit samples of value 0: the line is 0 there. A flow without samples has a gap.
func TestMissingSamples(t *testing.T) {
	at := func(us int64, bytes int64) sample {
		return sample{Time: us * int64(units.Microsecond), Node: "leaf0", Bytes: bytes, FlowRate: bytes}
	}
	rows := []sample{at(10, 5), at(20, 7), at(60, 3)}
	occupancy := &probeTable{columns: columnsOf("bytes"), rows: rows}
	s := occupancy.figure(units.Millisecond).Panels[0].Series[0]
	if want := []float64{5, 7, 0, 0, 3}; !slices.Equal(s.Y, want) {
		t.Errorf("occupancy %v, want %v", s.Y, want)
	}
	for i, want := range []float64{10e-6, 20e-6, 30e-6, 50e-6, 60e-6} {
		if math.Abs(s.X[i]-want) > 1e-12 {
			t.Errorf("sample %d at %v, want %v", i, s.X[i], want)
		}
	}
	rates := &probeTable{columns: columnsOf("flow", "rate_bps"), rows: rows}
	if s = rates.figure(units.Millisecond).Panels[0].Series[0]; s.Name != "flow 0" || !math.IsNaN(s.Y[2]) {
		t.Errorf("flow %+v", s)
	}
}

// Each kind of probe has its own kind of figure.
func TestKindsOfProbes(t *testing.T) {
	rows := []sample{{Time: 5, Node: "a", Event: "pause", Way: "sent"}, {Time: 9, Node: "b", Event: "pause", Way: "received"}}
	for _, c := range []struct {
		columns []string
		kind    plot.Kind
		series  []string
	}{
		{[]string{"episode", "bytes"}, plot.CDF, []string{"a", "b"}},
		{[]string{"arrived_bytes", "start_ps"}, plot.CDF, []string{"a", "b"}},
		{[]string{"xoff_bytes", "bytes"}, plot.Lines, []string{"queue", "threshold"}},
		{[]string{"event", "way"}, plot.Lines, []string{"pause sent", "pause received"}},
		{[]string{"reason"}, plot.Lines, []string{"a", "b"}},
		{[]string{"bps", "port"}, plot.Lines, []string{"a.port0", "b.port0"}},
		{[]string{"bytes", "class", "pool"}, plot.Lines, []string{"a class 0 ", "b class 0 "}},
	} {
		tab := &probeTable{columns: columnsOf(c.columns...), rows: rows}
		p := tab.figure(1000).Panels[0]
		var names []string
		for _, s := range p.Series {
			names = append(names, s.Name)
		}
		if p.Kind != c.kind || !slices.Equal(names, c.series) {
			t.Errorf("%v: kind %d with %q, want %d with %q", c.columns, p.Kind, names, c.kind, c.series)
		}
	}
}
