package dataplane_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/topo"
)

// The link is down until 20 ms: timeouts of 4, 8 and 16 ms expire at 4, 12 and 28 ms. Then the
// first ACKs arrive and the timeout is 4 ms again. The link fails once more at 28.005 ms, with
// everything sent and some ACKs in flight: the next timeout is due about 4 ms later, not 16 ms.
func TestTimeoutShrinksWithProgress(t *testing.T) {
	n := conformance.NewNetwork(topo.OneSwitch(2, topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}))
	n.Flows = []dataplane.Flow{{Size: 30 * units.KB, Src: 0, Dst: 1, Class: 1}}
	n.Down = map[int][]units.Interval{0: {{From: 1, To: 20 * units.Millisecond}, {From: 28005 * units.Microsecond, To: 28500 * units.Microsecond}}}
	n.Until = 100 * units.Millisecond
	r := n.Run()
	if r.Unfinished() != 0 || len(r.Broken) != 0 || r.Totals.Timeouts != 4 {
		t.Errorf("%d unfinished, %v, %d timeouts; want 4", r.Unfinished(), r.Broken, r.Totals.Timeouts)
	}
	if r.End > 33*units.Millisecond {
		t.Errorf("done at %s, want soon after 28.005 + 4 ms", r.End)
	}
}
