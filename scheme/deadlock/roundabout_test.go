package deadlock_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// told is what a handler reported.
type told struct {
	at    units.Time
	node  int
	port  int
	event string
	n     int64
}

// listening hears the reports of a handler.
type listening struct {
	deadlock.Switch
	node int
	list *[]told
}

func (l listening) Report(now units.Time, event string, port, class int, n int64) {
	*l.list = append(*l.list, told{now, l.node, port, event, n})
	l.Switch.Report(now, event, port, class, n)
}

// withHandler runs a network with a handler and returns what it reported.
func withHandler(net *conformance.Network, name string, params any) (*conformance.Result, []told) {
	e, err := deadlock.Handlers.Get(name)
	if err != nil {
		panic(err)
	}
	if params == nil {
		params = e.Params()
	}
	var list []told
	net.PFC.Ordered = true
	net.Deadlock = func(node int, s deadlock.Switch) (deadlock.Handler, error) {
		return e.New(params, listening{s, node, &list})
	}
	return net.Run(), list
}

func count(list []told, event string) (n int) {
	for _, t := range list {
		if t.event == event {
			n++
		}
	}
	return n
}

// promises checks what Roundabout promises of a run: nothing lost, nothing out of order,
// everything done, nothing left behind.
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

// leftBehind looks for what a round must not leave: bytes, reserve.
func leftBehind(r *conformance.Result) error {
	for i, v := range r.Views {
		if v.Stored() != 0 || v.Reserved() != 0 || v.Used(mmu.Reserve) != 0 {
			return fmt.Errorf("switch %d keeps %d B, %d B set aside", i, v.Stored(), v.Reserved())
		}
	}
	return nil
}

func TestRoundaboutRings(t *testing.T) {
	for _, c := range []struct{ n, hops int }{{3, 2}, {4, 2}, {4, 3}, {5, 4}, {8, 7}, {8, 3}} {
		net := conformance.Ring(c.n, c.hops, units.MB)
		net.Until, net.Linger = 100*units.Millisecond, 100*units.Microsecond
		r, said := withHandler(net, "roundabout", nil)
		if err := promises(r); err != nil {
			t.Errorf("ring of %d, %d hops: %v", c.n, c.hops, err)
		}
		t.Logf("ring of %d, %d hops: done at %s, %d confirmed, %d rounds, %d given up, %d frames forced", c.n, c.hops, r.End,
			count(said, deadlock.Confirmed), count(said, deadlock.RoundEnded), count(said, deadlock.GivenUp), r.Totals.Forced)
		if count(said, deadlock.RoundEnded) == 0 {
			t.Errorf("ring of %d, %d hops: no deadlock was resolved", c.n, c.hops)
		}
	}
}

// A question round eight switches with cables of 10 us takes 8 x 10 us and more, longer than
// retry, 50 us. The answer to the first one comes after the second was asked, and says how
// long to wait for the next.
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
		r, said := withHandler(net, "roundabout", nil)
		if err := promises(r); err != nil {
			t.Errorf("ring of %d, cables of %s: %v", c.n, c.delay, err)
		}
		if count(said, deadlock.RoundEnded) == 0 {
			t.Errorf("ring of %d, cables of %s: no deadlock was resolved", c.n, c.delay)
		}
	}
}
