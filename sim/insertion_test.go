package sim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/units"
	"github.com/xoff-net/xoff/workload"
)

// insertionEngines are the engines of TestEnginesAgree in the order of insertion.
var insertionEngines = func() (list []engine) {
	for _, e := range fastEngines {
		list = append(list, byInsertion(e))
	}
	return list
}()

// drawTies draws a case in which many events are simultaneous: with the quirks of
// simulators that count in nanoseconds, each in half of the cases.
func drawTies(index, packets int) *randomCase {
	c := drawCase(index, packets)
	d := &drawer{Rand: rand.New(rand.NewPCG(20240915, uint64(index)))}
	if d.chance(0.5) {
		c.cfg.Compat.Tick = pick[units.Time](d, 1, 1, 10) * units.Nanosecond
	}
	c.cfg.Compat.EveryEnd = d.chance(0.5)
	if d.chance(0.5) {
		c.cfg.Compat.NIC = "scan"
	}
	return c
}

// testInsertion is the property: in the order of insertion, too, both engines give
// the same events at the same picosecond, whatever the workers and windows.
func testInsertion(t *testing.T, cases, packets int) {
	differ := 0
	for i := range cases {
		c := drawTies(i, packets)
		want, err := c.checkWith(byInsertion(reference), insertionEngines...)
		if err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
			continue
		}
		keys, err := c.run(reference)
		if err != nil {
			t.Fatal(err)
		}
		if want.differs(keys) != nil {
			differ++
		}
	}
	t.Logf("the order of insertion matters in %d of %d cases", differ, cases)
}

// A tick shortens the time that a frame takes, and with it windows: 49 B take 3 ns
// instead of 3.92. What leaves at 5 us arrives at 5.9992 us: windows of 1 us would be
// too long.
func TestWindowsKnowTheTick(t *testing.T) {
	cfg := star(2, 996_200)
	cfg.Compat.Tick = units.Nanosecond
	cfg.Switch.Latency = 0
	o := simulate(t, flows(cfg, workload.FlowSpec{From: "host0", To: "host1", Size: 1, Start: 5 * units.Microsecond}), "")
	// There 49 B and a delay, twice; back 64 B and a delay, twice.
	if got := o.built.Flows.Send[0].Acked; got != 5*units.Microsecond+4*996_200+2*3_000+2*5_000 {
		t.Errorf("acknowledged at %v", got)
	}
}

func TestEnginesAgreeByInsertion(t *testing.T) {
	if testing.Short() {
		testInsertion(t, 6, 500)
		return
	}
	testInsertion(t, 32, 2000)
}
