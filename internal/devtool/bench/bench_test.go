package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/sim"
)

func small() Case {
	c := Default()
	c.Hosts, c.WarmUp, c.Measured = 32, 20*units.Microsecond, 50*units.Microsecond
	return c
}

func TestMeasure(t *testing.T) {
	r, err := Run(t.Context(), small(), 2, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if r.Hops == 0 || r.NsPerHop <= 0 || r.CalNs <= 0 || r.Points <= 0 || r.Reps != 2 || r.Hosts != 32 || r.LinkDelay != "1us" {
		t.Errorf("got %+v", r)
	}
}

// Interrupting a run with RunUntil does not change its totals, wherever it stops.
func TestRunUntilChangesNothing(t *testing.T) {
	c := small()
	for _, workers := range []int{1, 2} {
		var want sim.Totals
		for i, stops := range [][]units.Time{nil, {20 * units.Microsecond}, {10 * units.Microsecond, 33 * units.Microsecond, 0}} {
			cfg, err := c.Scenario()
			if err != nil {
				t.Fatal(err)
			}
			b, err := fabric.New(cfg, fabric.Options{Invariants: true})
			if err != nil {
				t.Fatal(err)
			}
			f, err := sim.NewFast(b.Spec, sim.Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range stops {
				if _, err := f.RunUntil(t.Context(), at); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := f.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want = f.Totals()
			} else if got := f.Totals(); got != want {
				t.Errorf("%d workers, stops at %v: got %+v, want %+v", workers, stops, got, want)
			}
		}
	}
}

func TestRunUntilStopsThere(t *testing.T) {
	c := small()
	cfg, err := c.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	b, err := fabric.New(cfg, fabric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := sim.NewFast(b.Spec, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	now, err := f.RunUntil(t.Context(), 25*units.Microsecond)
	if err != nil || now != 30*units.Microsecond {
		t.Errorf("stopped at %v, %v; want the next multiple of %v, 30us", now, err, sim.CheckPeriod)
	}
}

// fake returns samples from a list and records the order of calls.
type fake struct {
	samples []Sample
	order   *strings.Builder
	name    string
}

func (f *fake) Sample(context.Context) (Sample, error) {
	f.order.WriteString(f.name)
	s := f.samples[0]
	f.samples = f.samples[1:]
	return s, nil
}

func (f *fake) describe(*Result) {}

func TestCompare(t *testing.T) {
	var order strings.Builder
	base := &fake{name: "a", order: &order, samples: []Sample{{NsPerHop: 120, Cal: 2, Wall: 4}, {NsPerHop: 80, Cal: 2, Wall: 5}, {NsPerHop: 90, Cal: 1, Wall: 4}}}
	other := &fake{name: "b", order: &order, samples: []Sample{{NsPerHop: 100, Cal: 1, Wall: 2}, {NsPerHop: 60, Cal: 1, Wall: 3}, {NsPerHop: 120, Cal: 2, Wall: 3}}}
	c, err := Compare(t.Context(), base, other, 3, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if order.String() != "abbaab" {
		t.Errorf("order %s, want abbaab: the first of each pair alternates", order.String())
	}
	// Base: minimum of 120, 80, 90 ns over minimum of 2, 2, 1. Opponent: minimum of 100, 60, 120
	// over 1. Wall ratios: 0.5, 0.6, 0.75.
	if c.Points != 80 || c.Against.Points != 60 || c.PointsRatio != 0.75 || c.Spread != 0.5 {
		t.Errorf("points: %+v", c)
	}
	if c.WallRatio != 0.5 || c.WallMedian != 0.6 || c.WallSpread != 0.5 {
		t.Errorf("wall: %+v", c)
	}
}

// Two interleaved cases each simulate the same hops as alone, whatever their lengths.
func TestCasesSideBySide(t *testing.T) {
	a, b := small(), small()
	b.FlowControl, b.Measured, b.Workers = "dsh", 45*units.Microsecond, 2
	var alone [2]Sample
	for i, c := range []Case{a, b} {
		s, err := Measure(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		alone[i] = s
	}
	pair, err := samplePair(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range pair {
		if s.Hops != alone[i].Hops || s.Hops == 0 || s.CPU <= 0 || s.Wall <= 0 || s.Cal != pair[0].Cal || s.PeakRSS != 0 {
			t.Errorf("case %d: got %+v, alone it was %+v", i, s, alone[i])
		}
	}
}

func TestOpponent(t *testing.T) {
	base := Default()
	for spec, want := range map[string]string{
		"workers=2":                    "",
		"hosts=1024, link-delay=20ns":  "",
		"us=1000,warm-up=0s":           "",
		"cc=none,flow-control=none":    "",
		"policy=static":                "",
		"hosts=100":                    "multiple of 16",
		"hosts=x":                      "hosts:",
		"speed=9":                      "unknown setting",
		"":                             "unknown setting",
		"link-delay=5":                 "no unit",
		"flow-control=magic":           "allowed: ",
		"workers=0":                    "0 workers (expected more than 0",
		"cmd:anything, even with = in": "",
	} {
		_, err := Opponent(base, spec)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", spec, err, want)
		}
	}
	other, err := Opponent(base, "hosts=64,workers=2")
	if err != nil {
		t.Fatal(err)
	}
	if c := other.(Case); c.Hosts != 64 || c.Workers != 2 || c.LinkDelay != base.LinkDelay {
		t.Errorf("got %+v", c)
	}
}

func TestExternal(t *testing.T) {
	s, err := External("echo 'x cpu 1.5s wall 2.5s cal 1.25 ns/hop(all) 50.0 ns/datahop 90'").Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (Sample{NsPerHop: 50, Cal: 1.25, Wall: 2.5, CPU: 1.5}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	own := "echo 'speed   97.2 ns of CPU per hop = 48.1 points (calibration step 2.021 ns); best of 1'; echo 'work    6,072,861 hops in 0.590 s (0.589 s of CPU)'"
	if s, err = External(own).Sample(t.Context()); err != nil || s.NsPerHop != 97.2 || s.Cal != 2.021 || s.Wall != 0.59 || s.CPU != 0.589 {
		t.Errorf("output of xoff bench: %+v, %v", s, err)
	}
	for _, bad := range []string{"echo nothing", "exit 3"} {
		if _, err := External(bad).Sample(t.Context()); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// BenchmarkFabric runs the default case, then variants with congestion controls that read
// telemetry and with DSH. `make profile` records the profile for compiling the command from
// it. The default case is measured longest: it is the one that the documentation quotes.
func BenchmarkFabric(b *testing.B) {
	for _, run := range []struct {
		name, cc, flowControl string
		measured              units.Time
	}{
		{name: "dcqcn", measured: 2 * units.Millisecond},
		{name: "hpcc", cc: "hpcc", measured: units.Millisecond},
		{name: "powertcp", cc: "powertcp", measured: units.Millisecond},
		{name: "dsh", flowControl: "dsh", measured: units.Millisecond},
	} {
		b.Run(run.name, func(b *testing.B) {
			c := Default()
			c.CC, c.FlowControl, c.WarmUp, c.Measured = run.cc, run.flowControl, units.Millisecond, run.measured
			for b.Loop() {
				s, err := Measure(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(s.NsPerHop, "ns/hop")
			}
		})
	}
}
