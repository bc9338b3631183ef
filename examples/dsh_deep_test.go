//go:build deep

package examples_test

import (
	"context"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/sim"
)

// differences is a histogram of |table - ideal| over arrivals, in permille of PHI.
type differences struct {
	counts [1002]int
	all    int // arrivals
	same   int // arrivals without a difference
}

func (d *differences) add(difference, phi units.Bytes) {
	d.counts[min((1000*difference+phi-1)/phi, 1001)]++
	d.all++
	if difference == 0 {
		d.same++
	}
}

// comparison counts all arrivals, and separately those whose ideal estimate is strictly
// between 0 and PHI. At 0 and PHI the two estimates can hardly differ.
type comparison struct {
	differences
	between differences
	phi     units.Bytes
	full    int // arrivals at which the ideal estimate is PHI
	none    int // arrivals at which the ideal estimate is 0
	odd     int // arrivals at which the table's estimate is not one of its steps
}

// quantile returns the quantile of the differences, as a fraction of PHI.
func (d *differences) quantile(share float64) float64 {
	seen := 0
	for i, n := range d.counts {
		if seen += n; float64(seen) >= share*float64(d.all) {
			return float64(i) / 1000
		}
	}
	return 1
}

// tableSteps is the number of steps of phi^ in the tables (docs/dsh.md).
const tableSteps = 32

// both is DSH that decides by the ideal estimate and also computes the table's estimate.
type both struct {
	flowctl.Scheme
	table flowctl.Scheme
	out   *comparison
}

func (s *both) Receiver(p flowctl.Port) flowctl.Receiver {
	return &bothReceiver{Receiver: s.Scheme.Receiver(p), table: s.table.Receiver(mute{p}), out: s.out}
}

// mute is a port that ignores requests and timers.
type mute struct{ flowctl.Port }

func (mute) Request(units.Time)     {}
func (mute) NewTimer() int          { return 1 }
func (mute) WakeAt(int, units.Time) {}

// bothReceiver sees every frame, because it declares no shortcuts.
type bothReceiver struct {
	flowctl.Receiver
	table flowctl.Receiver
	out   *comparison
}

func (r *bothReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	r.table.Place(now, a)
	return r.Receiver.Place(now, a)
}

// estimate returns phi^ of a receiver, its first gauge. The gauge has a value because the
// queue stores a frame.
func estimate(r flowctl.Receiver, now units.Time, class uint8) units.Bytes {
	gauged := r.(probe.Gauged)
	values := make([]float64, len(gauged.Gauges()))
	if gauged.Gauges()[0] != "estimate_bytes" || !gauged.Measure(now, 0, class, values) {
		panic("no estimate")
	}
	return units.Bytes(values[0])
}

func (r *bothReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	i, t := estimate(r.Receiver, now, a.Class), estimate(r.table, now, a.Class)
	d := i - t
	if d < 0 {
		d = -d
	}
	r.out.add(d, r.out.phi)
	if t*tableSteps%r.out.phi != 0 {
		r.out.odd++
	}
	switch i {
	case r.out.phi:
		r.out.full++
	case 0:
		r.out.none++
	default:
		r.out.between.add(d, r.out.phi)
	}
	r.Receiver.Charged(now, a, s)
}

// The estimate that a switching chip can compute is within 10 % of PHI of the ideal one at
// 99 % of the arrivals (DSH section IV-C). It runs the fabric of Fig. 17 without congestion
// control and with DCQCN.
func TestDeepEstimatesOfTables(t *testing.T) {
	const phi = 60_000
	entry, err := flowctl.Schemes.Get("dsh")
	if err != nil {
		t.Fatal(err)
	}
	scheme := func(estimator string) flowctl.Scheme {
		p := entry.Params().(*flowctl.DSHParams)
		p.Headroom, p.Estimator = link.Headroom{Rule: link.RuleBytes, Bytes: phi}, estimator
		s, err := entry.New(p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var out *comparison
	flowctl.Schemes.Register(registry.Entry[flowctl.New]{Name: "both-estimates", Promises: entry.Promises, New: func(any) (flowctl.Scheme, error) {
		return &both{scheme("ideal"), scheme("table"), out}, nil
	}})
	for _, control := range []string{"none", "dcqcn"} {
		t.Run(control, func(t *testing.T) {
			out = &comparison{phi: phi}
			cfg, err := scenario.ReadFile("dsh-leaf-spine.yaml")
			if err != nil {
				t.Fatal(err)
			}
			cfg.Switch.FlowControl = scenario.Choice{Name: "both-estimates"}
			if cfg.Hosts.CC, err = scenario.Choose("cc", control); err != nil {
				t.Fatal(err)
			}
			cfg.Run = scenario.Run{Arrivals: units.Millisecond, Stop: scenario.Stop{When: "time", AtMost: units.Millisecond}}
			built, err := fabric.New(cfg, fabric.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f, err := sim.NewFast(built.Spec, sim.Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d arrivals: half within %.1f %% of PHI, 99 %% within %.1f %%, 99.9 %% within %.1f %%; the estimate is PHI at %.1f %% and 0 at %.1f %% of them",
				out.all, 100*out.quantile(0.5), 100*out.quantile(0.99), 100*out.quantile(0.999), 100*float64(out.full)/float64(out.all), 100*float64(out.none)/float64(out.all))
			in := &out.between
			t.Logf("%d estimates are in between: half within %.1f %% of PHI, 99 %% within %.1f %%; %d are the same", in.all, 100*in.quantile(0.5), 100*in.quantile(0.99), in.same)
			if out.odd > 0 || in.same > in.all/10 {
				t.Errorf("%d estimates are not a step of the tables, %d of %d in between equal the ideal ones: the wrong estimates were compared", out.odd, in.same, in.all)
			}
			if q := in.quantile(0.99); q >= 0.1 {
				t.Errorf("in between, 99 %% of the differences are within %.1f %% of PHI, want below 10 %%", 100*q)
			}
			if out.all < 1_000_000 {
				t.Errorf("only %d arrivals, want 1,000,000", out.all)
			}
			if q := out.quantile(0.99); q >= 0.1 {
				t.Errorf("99 %% of the differences are within %.1f %% of PHI, want below 10 %%", 100*q)
			}
		})
	}
}
