package sim_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/sim"
)

// asksAlways returns an engine whose switches call policies and receivers for every frame.
func asksAlways(e engine) engine {
	return engine{e.name + ", without shortcuts", func(s *sim.Spec) (ran, error) {
		for _, h := range s.Hosts {
			h.NoShortcuts = true
		}
		for _, w := range s.Switches {
			w.NoShortcuts = true
		}
		return e.run(s)
	}}
}

// Shortcuts that skip calls of policies and receivers change no result.
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
		t.Skip("single goroutine: no races to detect")
	}
	testShortcuts(t, trials.First(10), 2000)
}

// The paths of plain switches and NICs, which have no probes, change no result and no counter.
func testPlain(t *testing.T, cases []int, packets int) {
	pauses, marks := uint64(0), uint64(0)
	for _, i := range cases {
		c := drawCase(i, packets)
		want, err := c.runUnwatched(asksAlways(fastEngines[0]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.runUnwatched(fastEngines[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := want.differs(got); err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
		}
		if !reflect.DeepEqual(want.final, got.final) {
			t.Errorf("case %d: counters %+v, but %+v\n%v", i, want.final, got.final, c)
		}
		pauses, marks = pauses+want.totals.Pauses, marks+want.totals.Marks
	}
	if pauses == 0 || marks == 0 {
		t.Errorf("%d pauses and %d marks, want some of both", pauses, marks)
	}
}

func TestPlainNodesChangeNothing(t *testing.T) {
	testPlain(t, append(trials.First(12), 38), 1000) // in case 38 a flow has a timeout, progress, and another timeout
}
