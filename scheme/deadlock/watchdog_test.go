package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// handled runs a ring of n switches with a handler; each flow takes the given number of hops.
func handled(n, hops int, size units.Bytes, until units.Time, name string, params any) *conformance.Result {
	e, err := deadlock.Handlers.Get(name)
	if err != nil {
		panic(err)
	}
	net := conformance.Ring(n, hops, size)
	net.Until, net.PFC.Ordered = until, true
	net.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return e.New(params, s) }
	return net.Run()
}

// A ring of three deadlocks within 0.1 ms. Polls come every 1 ms: at 3 ms the queues have been
// paused for at least 2 ms, at 2 ms they have not.
func TestWatchdogDetects(t *testing.T) {
	for _, c := range []struct {
		action string
		until  units.Time
		drops  bool
		forced bool
	}{
		{"drop", 2 * units.Millisecond, false, false},
		{"drop", 3*units.Millisecond + 1, true, false},
		{"forward", 2 * units.Millisecond, false, false},
		{"forward", 3*units.Millisecond + units.Microsecond, false, true},
		{"alert", 5 * units.Millisecond, false, false},
	} {
		p := &deadlock.WatchdogParams{Action: c.action, Polling: units.Millisecond, Detection: 2 * units.Millisecond, Restoration: 2 * units.Millisecond}
		r := handled(3, 2, units.MB, c.until, "watchdog", p)
		if drops, forced := r.Totals.Drops[probe.Handler] > 0, r.Totals.Forced > 0; drops != c.drops || forced != c.forced {
			t.Errorf("%s until %s: %d frames dropped, %d forced", c.action, c.until, r.Totals.Drops[probe.Handler], r.Totals.Forced)
		}
	}
}

// A storm ends after 2 ms without a pause: the deadlock ends at 3 ms, and traffic moves again.
func TestWatchdogResolves(t *testing.T) {
	hops := make(map[string]uint64)
	for _, action := range []string{"drop", "forward", "alert"} {
		p := &deadlock.WatchdogParams{Action: action, Polling: units.Millisecond, Detection: 2 * units.Millisecond, Restoration: 2 * units.Millisecond}
		r := handled(3, 2, units.MB, 2*units.Second, "watchdog", p)
		if r.Err != nil || len(r.Broken) != 0 {
			t.Errorf("%s: %v, %v", action, r.Err, r.Broken)
		}
		hops[action] = r.Totals.Hops
	}
	if hops["drop"] <= hops["alert"] || hops["forward"] <= hops["alert"] {
		t.Errorf("hops %v: the ring does not move again", hops)
	}
}
