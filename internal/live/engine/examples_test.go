package engine

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
)

// example runs an example on a clock that is up to 20 us late.
func example(t *testing.T, name string, set ...string) (*fabric.Fabric, *Engine) {
	t.Helper()
	text, err := os.ReadFile("../../../examples/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	b := built(t, string(text), set...)
	random := rand.New(rand.NewPCG(11, 12))
	e, err := New(b.Spec, Options{Clock: &Manual{Late: func() units.Time { return units.Time(random.Int64N(int64(20 * units.Microsecond))) }}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return b, e
}

// TestRing checks that the ring deadlocks on a late clock, as in the simulator, and that Roundabout
// resolves the deadlock without a loss.
func TestRing(t *testing.T) {
	b, e := example(t, "live-ring")
	found := e.Final().Deadlocks
	if len(found) == 0 || found[len(found)-1].End != units.Never || len(found[len(found)-1].Loop) != 4 {
		t.Errorf("no lasting deadlock of four queues: %+v", found)
	}
	for i := range b.Flows.Flow {
		if b.Flows.Done(i) {
			t.Errorf("flow %d is done", i)
		}
	}
	b, e = example(t, "live-ring", "switch.deadlock={name: roundabout, look: 1ms, retry: 50ms, mixed: 50ms, timeout: 2s}")
	sound(t, b)
	if found := e.Final().Deadlocks; len(found) == 0 || found[len(found)-1].End == units.Never {
		t.Errorf("deadlocks were not detected or not resolved: %+v", found)
	}
}

// TestExamples checks that the other examples break no invariant and finish.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []string
	}{{"live-incast", []string{"run.arrivals=1s"}}, {"live-bifrost", nil}} {
		b, e := example(t, c.name, c.set...)
		sound(t, b)
		if n := e.Totals().Pauses; n < 200 {
			t.Errorf("%s: %d pauses", c.name, n)
		}
	}
}
