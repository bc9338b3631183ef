package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/deep"
	"github.com/xoff-net/xoff/sim"
)

// asksAlways is an engine whose switches ask policies and receivers about every frame.
func asksAlways(e engine) engine {
	return engine{e.name + ", all are asked", func(s *sim.Spec) (units.Time, sim.Totals, error) {
		for _, w := range s.Switches {
			w.AskAlways = true
		}
		return e.run(s)
	}}
}

// What policies and receivers are not asked would not have changed anything.
func testShortcuts(t *testing.T, cases []int, packets int) {
	pauses := 0
	for _, i := range cases {
		c := drawCase(i, packets)
		want, err := c.run(asksAlways(reference))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.run(reference)
		if err != nil {
			t.Fatal(err)
		}
		if err := want.differs(got); err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
		}
		if want.totals.Pauses > 0 {
			pauses++
		}
	}
	t.Logf("%d of %d cases have pauses", pauses, len(cases))
	if pauses < len(cases)/2 {
		t.Errorf("%d of %d cases have pauses, want at least half", pauses, len(cases))
	}
}

func TestShortcutsChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	testShortcuts(t, deep.All(10), 2000)
}
