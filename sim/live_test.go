package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
	live "github.com/xoff-net/xoff/internal/live/engine"
	"github.com/xoff-net/xoff/sim"
)

// liveOn returns the live engine with a clock that is never late.
func liveOn(name string, wires func(s *sim.Spec) live.Wires) engine {
	return engine{"live, " + name, func(s *sim.Spec) (ran, error) {
		w := wires(s)
		e, err := live.New(s, live.Options{Clock: &live.Manual{}, Check: sim.CheckPeriod, Wires: w})
		if err != nil {
			return ran{}, err
		}
		end, err := e.Run(context.Background())
		if rejected := e.Report().Rejected; err == nil && len(rejected) > 0 {
			err = fmt.Errorf("frames were rejected: %v", rejected)
		}
		return ran{end: end, totals: e.Totals()}, err
	}}
}

var liveEngines = []engine{
	liveOn("memory", func(*sim.Spec) live.Wires { return nil }),
	liveOn("frames", func(s *sim.Spec) live.Wires { return live.NewFrames(s) }),
}

// A live engine that is never late produces the same events at the same picosecond as the
// oracle, whether it passes packets as structs or as encoded frames: encoding loses
// nothing.
func TestLiveAgrees(t *testing.T) { testLive(t, trials.First(6)) }

func testLive(t *testing.T, cases []int) {
	t.Helper()
	for _, i := range cases {
		c := drawCase(i, 1500)
		if _, err := c.check(liveEngines...); err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
		}
	}
}
