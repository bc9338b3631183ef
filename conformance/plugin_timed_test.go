package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/topo"
)

// timedControl is a congestion control with its own timer and a rate that moves send times. It halves
// at a mark and rises by a tenth every 10 us.
type timedControl struct {
	line, rate units.Rate
	next       units.Time
	late       *int // timers that did not fire when due
}

var timersLate int

var timedEntry = registry.Entry[cc.New]{
	Name: "test-timed", Doc: "halves and rises by a timer", Promises: registry.Reactive,
	New: func(any) (cc.Factory, error) {
		return func() cc.Control { return &timedControl{late: &timersLate} }, nil
	},
}

func (c *timedControl) Start(now units.Time, f *cc.Flow) {
	c.line, c.rate, c.next = f.Line, f.Line, now+10*units.Microsecond
}
func (c *timedControl) OnSend(units.Time, units.Bytes) {}
func (c *timedControl) OnAck(units.Time, *cc.Ack)      {}
func (c *timedControl) OnCNP(units.Time)               { c.rate = max(c.rate/2, units.Gbps/10) }
func (c *timedControl) OnLoss(units.Time, bool)        {}
func (c *timedControl) Rate(units.Time) units.Rate     { return c.rate }
func (c *timedControl) Window(units.Time) units.Bytes  { return cc.Unlimited }
func (c *timedControl) Repaces()                       {}
func (c *timedControl) NextTimer() units.Time          { return c.next }

func (c *timedControl) OnTimer(now units.Time) {
	if now != c.next {
		*c.late++
	}
	c.rate = min(c.line, c.rate+c.rate/10)
	c.next = now + 10*units.Microsecond
}

// The NIC calls OnTimer at exactly the time that NextTimer returned.
func TestTimersComeInTime(t *testing.T) {
	timersLate = 0
	conformance.CongestionControl(t, timedEntry)
	// Also for a flow that cannot send yet, because its class is paused when it starts.
	host := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	n := conformance.NewNetwork(topo.OneSwitch(3, host))
	n.Control, _ = timedEntry.New(nil)
	n.Receive = func(node int) dataplane.ReceiveSpec {
		if node != 2 {
			return dataplane.ReceiveSpec{}
		}
		return dataplane.ReceiveSpec{Stuck: []units.Interval{{From: 5 * units.Microsecond, To: 200 * units.Microsecond}}}
	}
	n.Flows = []dataplane.Flow{{Size: units.MB, Src: 0, Dst: 2, Class: 1}, {Start: 100 * units.Microsecond, Size: units.MB, Src: 0, Dst: 1, Class: 1}}
	if r := n.Run(); r.Err != nil || len(r.Broken) != 0 || r.Unfinished() != 0 || r.Totals.Pauses == 0 {
		t.Errorf("%v, %v, %d unfinished, %d pauses", r.Err, r.Broken, r.Unfinished(), r.Totals.Pauses)
	}
	if timersLate != 0 {
		t.Errorf("%d timers were late", timersLate)
	}
}
