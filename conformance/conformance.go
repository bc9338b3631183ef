// Package conformance checks that a scheme keeps what its plug point demands and
// what its registry entry promises. There is one suite per plug point; each runs
// on any entry, also on one that a researcher keeps in a module of their own:
//
//	func TestMine(t *testing.T) { conformance.FlowControl(t, myEntry) }
//
// The suites report through Errorf and go on, so that one run shows everything
// that is wrong.
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

// wants is what a run must fulfil.
type wants struct {
	lossless bool // no lossless frame dropped, nothing sent again
	inOrder  bool
	finish   bool // all flows end and nothing stays blocked
}

// judge checks a finished run.
func judge(t testing.TB, name string, r *Result, w wants) {
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
				t.Errorf("%s: in-order: flow %d had %d packets ahead of a gap", name, i, e)
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
		for port := range rec.Held {
			if rec.Held[port]|rec.Holding[port] != 0 {
				t.Errorf("%s: after all flows are done, port %d of node %d still holds classes %08b and asks for %08b", name, port, node,
					rec.Held[port], rec.Holding[port])
			}
		}
	}
	for i, v := range r.Views {
		if v.Stored() != 0 {
			t.Errorf("%s: after all flows are done, switch %d stores %d B", name, i, v.Stored())
		}
	}
}

// same runs a network twice, the second time in shorter windows, and reports when
// the runs differ. It returns the first.
func same(t testing.TB, name string, n *Network) *Result {
	t.Helper()
	a := n.Run()
	n.Options.WindowDivisor = 3
	b := n.Run()
	if a.Err == nil && a.Digest() != b.Digest() {
		t.Errorf("%s: two runs of the same seed differ", name)
	}
	return a
}

// shortcuts runs a network with and without the fast path (flowctl.Shortcuts,
// buffer.Proportional), for which the scheme must not be wrapped: what schemes say about
// it must be true.
func shortcuts(t testing.TB, name string, n *Network) {
	t.Helper()
	n.Private = 0 // a private segment comes first and leaves no frame to the fast path
	fast := n.Run()
	n.Always = true
	slow := n.Run()
	if fast.Err != nil || slow.Err != nil {
		t.Errorf("%s: %v, %v", name, fast.Err, slow.Err)
		return
	}
	if fast.Digest() != slow.Digest() {
		t.Errorf("%s: shortcuts: results are others when policy and receivers are asked about every frame", name)
	}
}

// noAllocs compares a run with one of more packets: what grows with them is
// allocated per packet.
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

// Buffers grow by doubling while a run gets longer: some allocations are fair.
const (
	allowedPer    = 100 // hops
	allowedGrowth = 60
)

// wakeRule checks one timer: strictly after now, or Never. Arming it again for a
// wake that is due now and has not come yet is no mistake.
type wakeRule struct {
	armed units.Time
	bad   *faults
	who   string
}

// check returns the time at which to wake: a wake in the past is told and not
// passed on, the node would never come to an end.
func (w *wakeRule) check(now, at units.Time) units.Time {
	if at <= now && at != w.armed {
		w.bad.add("wake contract: at %s the %s asks for a wake at %s", now, w.who, at)
		at = units.Never
	}
	w.armed = at
	return at
}

// timerRules checks the timers of a component; the last wake of a call counts for
// each. Arm passes on what is allowed.
type timerRules struct {
	arm    func(timer int, at units.Time)
	bad    *faults
	who    string
	timers []timerRule
}

type timerRule struct {
	wakeRule
	asked bool
	at    units.Time
}

// rule returns what is known about a timer.
func (r *timerRules) rule(timer int) *timerRule {
	for len(r.timers) <= timer {
		r.timers = append(r.timers, timerRule{wakeRule: wakeRule{armed: units.Never, bad: r.bad, who: r.who}})
	}
	return &r.timers[timer]
}

func (r *timerRules) ask(timer int, at units.Time) {
	t := r.rule(timer)
	t.asked, t.at = true, at
}

// fired follows a wake.
func (r *timerRules) fired(timer int) { r.rule(timer).armed = units.Never }

// done ends a call into the component.
func (r *timerRules) done(now units.Time) {
	for i := range r.timers {
		if t := &r.timers[i]; t.asked {
			t.asked = false
			r.arm(i, t.check(now, t.at))
		}
	}
}

// faults collects what decorators see inside a run; the same fault is told once.
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
