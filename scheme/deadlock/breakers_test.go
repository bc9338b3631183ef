package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/route"
)

var quickBreaker = &deadlock.BreakerParams{Period: 100 * units.Microsecond, Latency: 10 * units.Microsecond}

// A ring of three closes within 20 us of its start. At 200 us its ports have been paused for a
// period of 100 us. Probes leave 10 us of latency later and take three hops with a latency each:
// detected between 240 us and 250 us. Several switches trigger it, and one id wins.
func TestBreakersDetect(t *testing.T) {
	for _, name := range []string{"loop-breaker", "deadlock-breaker"} {
		net := conformance.Ring(3, 2, units.MB)
		net.Until = 290 * units.Microsecond
		_, reports := withHandler(net, name, quickBreaker)
		if n := count(reports, deadlock.Detected); n != 1 {
			t.Fatalf("%s: %d detected, want 1: %v", name, n, reports)
		}
		for _, s := range reports {
			if s.event == deadlock.Detected && (s.at < 240*units.Microsecond || s.at > 250*units.Microsecond) {
				t.Errorf("%s: detected at %s", name, s.at)
			}
		}
	}
}

// Growing buffers drops nothing and keeps the order, whether or not it resolves the loop.
func TestDeadlockBreakerIsLossless(t *testing.T) {
	net := conformance.Ring(4, 3, units.MB)
	net.Until = 5 * units.Millisecond
	r, reports := withHandler(net, "deadlock-breaker", quickBreaker)
	if len(r.Broken) != 0 || r.Totals.Drops != [probe.NumReasons]uint64{} || r.Totals.Forced == 0 {
		t.Errorf("%v, drops %v, %d frames forced", r.Broken, r.Totals.Drops, r.Totals.Forced)
	}
	if count(reports, deadlock.RoundBegun) == 0 {
		t.Error("no resolution was tried")
	}
}

// Frames that may go either way around a ring of four are moved to the other direction.
func TestLoopBreakerReroutes(t *testing.T) {
	net := conformance.Ring(4, 2, units.MB)
	for i := range 4 {
		both := net.Tables[4+i].Add(conformance.RingNext, conformance.RingPrev)
		net.Tables[4+i].To[(i+2)%4] = both
		net.Tables[4+i].To[(i+1)%4] = both
	}
	net.Router = func(e route.Env) (route.Router, error) {
		static, _ := route.Routers.Get("static") // the first choice: clockwise
		return static.New(nil, e)
	}
	net.Until = 5 * units.Millisecond
	r, reports := withHandler(net, "loop-breaker", quickBreaker)
	if len(r.Broken) != 0 || count(reports, deadlock.RoundEnded) == 0 {
		t.Errorf("%v, %d loops broken", r.Broken, count(reports, deadlock.RoundEnded))
	}
}

// toHosts counts the frames that a handler sends to hosts.
type toHosts struct {
	deadlock.Switch
	n *int
}

func (s toHosts) Send(now units.Time, port int, p *packet.Packet, ext packet.Ext) {
	if s.ToHost(port) {
		*s.n++
	}
	s.Switch.Send(now, port, p, ext)
}

// Hosts of a ring are paused too, but are not part of the loop. They get no probes, and no
// credits, whose reserved buffer they could not use.
func TestBreakersLeaveHostsAlone(t *testing.T) {
	for _, name := range []string{"loop-breaker", "deadlock-breaker"} {
		e, err := deadlock.Handlers.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		net, n := conformance.Ring(3, 2, units.MB), 0
		net.Until, net.PFC.Ordered = units.Millisecond, true
		net.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return e.New(quickBreaker, toHosts{s, &n}) }
		if r := net.Run(); len(r.Broken) != 0 || r.Totals.Control == 0 || n != 0 {
			t.Errorf("%s: %v, %d of %d frames to hosts", name, r.Broken, n, r.Totals.Control)
		}
	}
}
