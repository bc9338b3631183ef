package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/sim"
)

// asking is a scheme whose receivers are asked about every frame that is stored and told
// of every one that leaves: they allow no shortcuts but for frames that pass.
type asking struct{ flowctl.Scheme }

// Pooling implements flowctl.Pooling.
func (s asking) Pooling() bool { return flowctl.Pools(s.Scheme) }

func (s asking) Receiver(p flowctl.Port) flowctl.Receiver {
	r := s.Scheme.Receiver(p)
	q, ok := r.(flowctl.Quick)
	if !ok {
		return r
	}
	return asked{r, r.(flowctl.Pausing), r.(flowctl.Resuming), q.Shortcuts().Passing}
}

type asked struct {
	flowctl.Receiver
	flowctl.Pausing
	flowctl.Resuming
	passing bool
}

// Shortcuts implements flowctl.Quick.
func (a asked) Shortcuts() flowctl.Shortcuts { return flowctl.Shortcuts{Passing: a.passing} }

// asksAlways is an engine with such schemes at all ports of switches.
func asksAlways(e engine) engine {
	return engine{e.name + ", all receivers asked", func(s *sim.Spec) (units.Time, sim.Totals, error) {
		for _, w := range s.Switches {
			for i := range w.Flow {
				w.Flow[i] = asking{w.Flow[i]}
			}
		}
		return e.run(s)
	}}
}

// What receivers are not asked would not have changed anything.
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

func TestShortcutsChangeNothing(t *testing.T) { testShortcuts(t, deep.All(60), 2000) }
