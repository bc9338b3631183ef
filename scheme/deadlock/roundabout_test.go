package deadlock_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// report is an event that a handler reported.
type report struct {
	at    units.Time
	node  int
	port  int
	event string
	n     int64
}

// recorder records the reports of a handler.
type recorder struct {
	deadlock.Switch
	node int
	list *[]report
}

func (l recorder) Report(now units.Time, event string, port, class int, n int64) {
	*l.list = append(*l.list, report{now, l.node, port, event, n})
	l.Switch.Report(now, event, port, class, n)
}

// renumbered gives a switch the ID of another node.
type renumbered struct {
	deadlock.Switch
	node uint32
}

func (r renumbered) ID() uint16 { return uint16(r.node) }

// IDs are the lower 16 bits of nodes, so a loop of neighbours can have 65534, 65535, 0 and 1.
func TestHandlersOfManyNodes(t *testing.T) {
	for name, want := range map[string]string{"roundabout": deadlock.RoundEnded, "loop-breaker": deadlock.Detected, "deadlock-breaker": deadlock.Detected} {
		e, err := deadlock.Handlers.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		var list []report
		net := conformance.Ring(4, 3, units.MB)
		net.Until, net.PFC.Ordered = 20*units.Millisecond, true
		net.Deadlock = func(node int, s deadlock.Switch) (deadlock.Handler, error) {
			return e.New(e.Params(), renumbered{recorder{s, node, &list}, packet.MaxHosts - 2 + uint32(node-4)})
		}
		r := net.Run()
		if name == "roundabout" {
			if err := promises(r); err != nil {
				t.Error(err)
			}
		}
		if count(list, want) == 0 {
			t.Errorf("%s did not report %q: %v", name, want, list)
		}
	}
}

// withHandler runs a network with a handler and returns its reports.
func withHandler(net *conformance.Network, name string, params any) (*conformance.Result, []report) {
	e, err := deadlock.Handlers.Get(name)
	if err != nil {
		panic(err)
	}
	if params == nil {
		params = e.Params()
	}
	var list []report
	net.PFC.Ordered = true
	net.Deadlock = func(node int, s deadlock.Switch) (deadlock.Handler, error) {
		return e.New(params, recorder{s, node, &list})
	}
	return net.Run(), list
}

func count(list []report, event string) (n int) {
	for _, t := range list {
		if t.event == event {
			n++
		}
	}
	return n
}

// promises checks Roundabout's promises for a run: no loss, no reordering, all flows finished,
// nothing left behind.
func promises(r *conformance.Result) error {
	switch {
	case r.Err != nil:
		return r.Err
	case len(r.Broken) != 0:
		return fmt.Errorf("%v", r.Broken)
	case r.Totals.Drops != [probe.NumReasons]uint64{}:
		return fmt.Errorf("drops %v", r.Totals.Drops)
	case r.Unfinished() != 0:
		return fmt.Errorf("%d flows unfinished at %s", r.Unfinished(), r.End)
	}
	for i := range r.Flows.Recv {
		if f := &r.Flows.Recv[i]; f.Early+f.Twice != 0 {
			return fmt.Errorf("flow %d: %d packets early, %d twice", i, f.Early, f.Twice)
		}
	}
	return leftBehind(r)
}

// leftBehind checks that no bytes are stored or set aside after a run.
func leftBehind(r *conformance.Result) error {
	for i, v := range r.Views {
		if v.Stored() != 0 || v.Reserved() != 0 || v.Used(mmu.Reserve) != 0 {
			return fmt.Errorf("switch %d stores %d B, %d B set aside", i, v.Stored(), v.Reserved())
		}
	}
	return nil
}

func TestRoundaboutRings(t *testing.T) {
	for _, c := range []struct{ n, hops int }{{3, 2}, {4, 2}, {4, 3}, {5, 4}, {8, 7}, {8, 3}} {
		net := conformance.Ring(c.n, c.hops, units.MB)
		net.Until, net.Linger = 100*units.Millisecond, 100*units.Microsecond
		r, reports := withHandler(net, "roundabout", nil)
		if err := promises(r); err != nil {
			t.Errorf("ring of %d, %d hops: %v", c.n, c.hops, err)
		}
		t.Logf("ring of %d, %d hops: done at %s, %d confirmed, %d rounds, %d given up, %d frames forced", c.n, c.hops, r.End,
			count(reports, deadlock.Confirmed), count(reports, deadlock.RoundEnded), count(reports, deadlock.GivenUp), r.Totals.Forced)
		if count(reports, deadlock.RoundEnded) == 0 {
			t.Errorf("ring of %d, %d hops: no deadlock was resolved", c.n, c.hops)
		}
	}
}

// A question around eight switches with cables of 10 us takes 8 x 10 us and more, longer than
// retry, 50 us. The answer to the first question arrives after the second was asked, and sets the
// wait for the next.
func TestRoundaboutLoopsSlowerThanRetry(t *testing.T) {
	for _, c := range []struct {
		n, hops int
		delay   units.Time
	}{{8, 7, 10 * units.Microsecond}, {5, 4, 8 * units.Microsecond}, {4, 3, 40 * units.Microsecond}} {
		net := conformance.Ring(c.n, c.hops, 3*units.MB)
		for i := range net.Graph.Links {
			if l := &net.Graph.Links[i]; l.A >= c.n {
				l.Delay = c.delay
			}
		}
		net.Until, net.Linger = 200*units.Millisecond, 500*units.Microsecond
		r, reports := withHandler(net, "roundabout", nil)
		if err := promises(r); err != nil {
			t.Errorf("ring of %d, cables of %s: %v", c.n, c.delay, err)
		}
		if count(reports, deadlock.RoundEnded) == 0 {
			t.Errorf("ring of %d, cables of %s: no deadlock was resolved", c.n, c.delay)
		}
	}
}
