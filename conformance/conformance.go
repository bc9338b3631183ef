// Package conformance checks, in the tests of a scheme's author, that the scheme obeys the
// contract of its plug point and keeps the promises of its registry entry. There is one suite
// per plug point; each accepts any entry, including one from another module:
//
//	func TestMine(t *testing.T) { conformance.FlowControl(t, myEntry) }
//
// The suites report through Errorf and continue, so that one test shows all problems.
package conformance

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// paramsOf returns the default parameters of an entry.
func paramsOf[N any](e registry.Entry[N]) any {
	if e.Params == nil {
		return nil
	}
	return e.Params()
}

// requirements are the properties that a run must have.
type requirements struct {
	lossless bool // no lossless frame is dropped
	inOrder  bool
	finish   bool // all flows finish and nothing stays blocked
}

// judge checks a finished run.
func judge(t testing.TB, name string, r *Result, w requirements) {
	t.Helper()
	if r.Err != nil {
		t.Errorf("%s: %v", name, r.Err)
		return
	}
	for _, b := range r.Broken {
		t.Errorf("%s: invariant broken: %s", name, b)
	}
	if w.lossless {
		if n := r.Totals.Drops[probe.Lossless] + r.Totals.Drops[probe.Handler]; n != 0 {
			t.Errorf("%s: lossless: %d frames dropped", name, n)
		}
	}
	if w.inOrder && r.dropped() == 0 {
		for i := range r.Flows.Recv {
			if e := r.Flows.Recv[i].Early; e != 0 {
				t.Errorf("%s: in-order: flow %d received %d packets after a gap", name, i, e)
				break
			}
		}
	}
	if !w.finish {
		return
	}
	if n := r.Unfinished(); n != 0 {
		t.Errorf("%s: %d of %d flows did not finish by %s", name, n, len(r.Flows.Flow), r.End)
		return
	}
	for node, rec := range r.Nodes {
		for port := range rec.BlockedNow {
			if rec.BlockedNow[port]|rec.PausedNow[port] != 0 {
				t.Errorf("%s: after all flows are done, port %d of node %d still blocks classes %08b and requests pauses of %08b", name, port, node,
					rec.BlockedNow[port], rec.PausedNow[port])
			}
		}
	}
	for i, v := range r.Views {
		if v.Stored() != 0 {
			t.Errorf("%s: after all flows are done, switch %d still stores %d B", name, i, v.Stored())
		}
	}
}

// runTwice runs a network twice, the second time with shorter windows, and reports an error if
// the runs differ. It returns the first.
func runTwice(t testing.TB, name string, n *Network) *Result {
	t.Helper()
	a := n.Run()
	n.Options.WindowDivisor = 3
	b := n.Run()
	if a.Err == nil && a.Digest() != b.Digest() {
		t.Errorf("%s: two runs with the same seed differ", name)
	}
	return a
}

// checkShortcuts compares runs with and without the fast path (flowctl.Shortcuts,
// buffer.Proportional). The scheme must not be wrapped.
func checkShortcuts(t testing.TB, name string, n *Network) {
	t.Helper()
	n.Private = 0 // private segments are filled first and would leave no frames to the fast path
	fast := n.Run()
	n.NoShortcuts = true
	slow := n.Run()
	if fast.Err != nil || slow.Err != nil {
		t.Errorf("%s: %v, %v", name, fast.Err, slow.Err)
		return
	}
	if fast.Digest() != slow.Digest() {
		t.Errorf("%s: shortcuts: results differ when policy and receivers are asked about every frame", name)
	}
}

// noAllocs compares the allocations of a short and a longer run to find allocations per packet.
func noAllocs(t testing.TB, name string, network func(packets int) *Network) {
	t.Helper()
	const few, many = 100, 500
	a, b := network(few).run(false), network(many).run(false)
	if a.Err != nil || b.Err != nil || b.Totals.Hops <= a.Totals.Hops {
		t.Errorf("%s: cannot measure allocations: %v, %v", name, a.Err, b.Err)
		return
	}
	grown, hops := int64(b.Allocs)-int64(a.Allocs), b.Totals.Hops-a.Totals.Hops
	if grown > int64(hops/allowedPer)+allowedGrowth {
		t.Errorf("%s: %d allocations for %d more packet-hops", name, grown, hops)
	}
}

// Buffers grow by doubling, so a longer run may allocate a little more.
const (
	allowedPer    = 100 // packet-hops per allocation
	allowedGrowth = 60
)

// wakeRule checks one timer: a wake must be later than now, or Never. Requesting again a wake
// that is due now and has not fired yet is allowed.
type wakeRule struct {
	armed units.Time
	bad   *faults
	who   string
}

// check returns the time for which to arm the timer. A wake in the past is reported and replaced
// by Never, because the node would never get past it.
func (w *wakeRule) check(now, at units.Time) units.Time {
	if at <= now && at != w.armed {
		w.bad.add("wake contract: at %s the %s requests a wake at %s (expected later)", now, w.who, at)
		at = units.Never
	}
	w.armed = at
	return at
}

// timerRules checks the timers of a component. The last request of a call counts for each timer;
// arm receives the valid ones.
type timerRules struct {
	arm    func(timer int, at units.Time)
	bad    *faults
	who    string
	timers []timerRule
}

type timerRule struct {
	wakeRule
	requested bool
	at        units.Time
}

// rule returns the rule of a timer.
func (r *timerRules) rule(timer int) *timerRule {
	for len(r.timers) <= timer {
		r.timers = append(r.timers, timerRule{wakeRule: wakeRule{armed: units.Never, bad: r.bad, who: r.who}})
	}
	return &r.timers[timer]
}

func (r *timerRules) request(timer int, at units.Time) {
	t := r.rule(timer)
	t.requested, t.at = true, at
}

// fired is called when a timer fires.
func (r *timerRules) fired(timer int) { r.rule(timer).armed = units.Never }

// done ends a call into the component.
func (r *timerRules) done(now units.Time) {
	for i := range r.timers {
		if t := &r.timers[i]; t.requested {
			t.requested = false
			r.arm(i, t.check(now, t.at))
		}
	}
}

// faults collects problems that wrappers see inside a run; each kind is reported once.
type faults struct {
	list []string
	seen map[string]bool
}

func (f *faults) add(format string, args ...any) {
	if f.seen == nil {
		f.seen = make(map[string]bool)
	}
	if f.seen[format] {
		return
	}
	f.seen[format] = true
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

func (f *faults) report(t testing.TB, name string) {
	t.Helper()
	for _, s := range f.list {
		t.Errorf("%s: %s", name, s)
	}
}
