package sim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/units"
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

func TestEnginesAgreeByInsertion(t *testing.T) {
	if testing.Short() {
		testInsertion(t, 6, 500)
		return
	}
	testInsertion(t, 32, 2000)
}
