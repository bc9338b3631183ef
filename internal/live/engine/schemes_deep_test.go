//go:build deep

package engine

import (
	"context"
	"testing"
)

// TestDeepSchemesRealClock runs every scheme for 2 s on the real clock and checks all invariants.
// It ignores broken invariants if lossless frames were dropped and lateness exceeded the headroom.
func TestDeepSchemesRealClock(t *testing.T) {
	for _, s := range everyScheme() {
		t.Run(s.name, func(t *testing.T) {
			set := append([]string{"run.stop.when=time", "run.stop.at_most=2s", "workload.a.size=5MB", "workload.b.size=5MB", "workload.c.size=2MB"}, s.set...)
			b := built(t, schemes, set...)
			e, err := New(b.Spec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			r, total := e.Report(), e.Totals()
			t.Logf("p50 %s, p99 %s, worst %s late; %d pauses", r.P50, r.P99, r.Worst, total.Pauses)
			if total.Hops < 10_000 {
				t.Errorf("%d hops (expected at least 10000)", total.Hops)
			}
			for _, c := range b.Checks {
				if c.Broken > 0 && (total.Broken == 0 || r.Costs <= r.Spare) {
					t.Error(c.First)
				}
			}
		})
	}
}
