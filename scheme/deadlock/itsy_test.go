package deadlock_test

import (
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// triggered is a ring whose hosts send at 15 of its 100 Gbps, except for the fast ones: where
// these join, the ring is overloaded, and their switches are the first to pause.
func triggered(n, hops int, size units.Bytes, fast ...int) *conformance.Network {
	net := conformance.Ring(n, hops, size)
	for i := range net.Graph.Links {
		if l := &net.Graph.Links[i]; l.A < n && !slices.Contains(fast, l.A) {
			l.Rate = 15 * units.Gbps
		}
	}
	net.PFC.Ordered = true
	return net
}

func itsyOn(net *conformance.Network, resolve string, until units.Time) *conformance.Result {
	e, _ := deadlock.Handlers.Get("itsy")
	net.Until = until
	net.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) {
		return e.New(&deadlock.ITSYParams{Resolve: resolve, Retry: 100 * units.Microsecond}, s)
	}
	return net.Run()
}

// All switches of a ring of fast hosts are triggers: each drops the tags of the others, and the
// deadlock is missed (Roundabout Fig. 3).
func TestITSYMissesSeveralTriggers(t *testing.T) {
	r := itsyOn(triggered(4, 3, 2*units.MB, 0, 1, 2, 3), "drop", 5*units.Millisecond)
	if r.Unfinished() != 4 || r.Totals.Drops[probe.Handler] != 0 || len(r.Deadlocks) != 1 {
		t.Errorf("%d flows unfinished, %d frames dropped, %d deadlocks; want all 4, none, 1", r.Unfinished(), r.Totals.Drops[probe.Handler], len(r.Deadlocks))
	}
}

// With one trigger the deadlock is found, and dropping its frames resolves it.
func TestITSYDrops(t *testing.T) {
	none := itsyOn(triggered(4, 3, 2*units.MB, 0), "nothing", 5*units.Millisecond)
	if len(none.Deadlocks) != 1 {
		t.Fatalf("%d deadlocks without resolution, want 1", len(none.Deadlocks))
	}
	r := itsyOn(triggered(4, 3, 2*units.MB, 0), "drop", 5*units.Millisecond)
	if r.Totals.Drops[probe.Handler] == 0 || len(r.Broken) != 0 {
		t.Errorf("%d frames dropped, %v", r.Totals.Drops[probe.Handler], r.Broken)
	}
}

// Growing the buffer drops nothing, whether or not it resolves the loop.
func TestITSYGrowsBuffer(t *testing.T) {
	r := itsyOn(triggered(4, 3, 2*units.MB, 0), "buffer", 5*units.Millisecond)
	if r.Totals.Forced == 0 || len(r.Broken) != 0 || r.Totals.Drops != [probe.NumReasons]uint64{} {
		t.Errorf("%d frames forced, %v, drops %v", r.Totals.Forced, r.Broken, r.Totals.Drops)
	}
}
