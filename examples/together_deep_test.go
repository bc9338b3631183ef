//go:build deep

package examples_test

import (
	"context"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// Reverie, DSH and Roundabout together run every example whose ports all pause with PFC, strictly
// and without losing a lossless frame.
func TestDeepReverieDSHRoundaboutOnExamples(t *testing.T) {
	ran := 0
	for _, e := range examples.All() {
		settings := []string{"--policy reverie", "--flow-control dsh", "--deadlock roundabout"}
		if strings.HasPrefix(e.Name, "bifrost-testbed") {
			settings = append(settings, "switch.overrides=[]") // limits of policy static for single ports
		}
		cfg, err := scenario.Parse(e.Name, []byte(e.Text), settings...)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Expect = nil
		r := &cfg.Run
		r.Arrivals = min(r.Arrivals, cut(e.Name))
		r.Measure.From, r.Measure.To = 0, 0
		r.Stop.When, r.Stop.AtMost = "time", min(r.Stop.AtMost, cut(e.Name))
		if _, err := fabric.NewPlan(cfg); err != nil {
			if !strings.Contains(err.Error(), "needs PFC, but flow control") {
				t.Errorf("%s: %v", e.Name, err)
			}
			continue // some ports do not pause with PFC
		}
		done, err := run.Scenario(context.Background(), cfg, run.Options{Invariants: run.Strict})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		ran++
		if s := done.Summary; s.Drops.Lossless != 0 || s.Invariants.Broken != 0 {
			t.Errorf("%s: %d lossless drops, %+v", e.Name, s.Drops.Lossless, s.Invariants)
		}
	}
	if ran < 30 {
		t.Errorf("only %d examples ran", ran)
	}
}
