package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/deep"
	live "github.com/xoff-net/xoff/internal/live/engine"
	"github.com/xoff-net/xoff/sim"
)

// liveOn is the driver with a real clock, on a clock that is never late.
func liveOn(name string, wires func(s *sim.Spec) live.Wires) engine {
	return engine{"live, " + name, func(s *sim.Spec) (units.Time, sim.Totals, error) {
		w := wires(s)
		e, err := live.New(s, live.Options{Clock: &live.Manual{}, Check: sim.CheckPeriod, Wires: w})
		if err != nil {
			return 0, sim.Totals{}, err
		}
		end, err := e.Run(context.Background())
		if strange := e.Report().Strange; err == nil && len(strange) > 0 {
			err = fmt.Errorf("frames are not taken: %v", strange)
		}
		return end, e.Totals(), err
	}}
}

var liveEngines = []engine{
	liveOn("memory", func(*sim.Spec) live.Wires { return nil }),
	liveOn("frames", func(s *sim.Spec) live.Wires { return live.NewFrames(s) }),
}

// TestLiveAgrees: a driver that is never late gives the same events at the same picosecond
// as the oracle, whether packets go from node to node as they are or as the bytes of frames:
// a frame says all that a packet does.
func TestLiveAgrees(t *testing.T) { testLive(t, deep.All(6)) }

func testLive(t *testing.T, cases []int) {
	t.Helper()
	for _, i := range cases {
		c := drawCase(i, 1500)
		if _, err := c.check(liveEngines...); err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
		}
	}
}
