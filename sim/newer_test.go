package sim_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/sim"
)

// refusals counts the frames that a gate did not let pass, by the frames that it exchanges
// with its peer.
type refusals map[flowctl.Dialect]int

// countedScheme counts the refusals of its gates.
type countedScheme struct {
	flowctl.Scheme
	n refusals
}

func (s countedScheme) Gate(p flowctl.Port) flowctl.Gate {
	g := s.Scheme.Gate(p)
	if m, ok := g.(flowctl.Meter); ok {
		return countedGate{g, m, s.n, s.Properties().Dialect}
	}
	return g
}

type countedGate struct {
	flowctl.Gate
	flowctl.Meter
	n       refusals
	dialect flowctl.Dialect
}

func (g countedGate) May(now units.Time, class uint8, b units.Bytes) bool {
	ok := g.Meter.May(now, class, b)
	if !ok {
		g.n[g.dialect]++
	}
	return ok
}

// counting returns an engine with one worker that counts refusals.
func counting(e engine, n refusals) engine {
	return engine{e.name, func(s *sim.Spec) (ran, error) {
		counted := func(f flowctl.Scheme) flowctl.Scheme { return countedScheme{f, n} }
		for _, w := range s.Switches {
			flow := slices.Clone(w.Flow)
			for i := range flow {
				flow[i] = counted(flow[i])
			}
			w.Flow = flow
		}
		for _, h := range s.Hosts {
			h.Flow = counted(h.Flow)
		}
		return e.run(s)
	}}
}

// summary returns the summary of a run as it is written to its results.
func (o *outcome) summary() (string, error) {
	var text bytes.Buffer
	err := o.built.Outcome(o.end, o.totals, o.final, false).Summarize().Write(&text)
	return text.String(), err
}

// checkNewer runs a case on all engines and returns the first problem.
func (c *randomCase) checkNewer(n refusals) (*outcome, error) {
	want, err := c.run(counting(reference, n))
	if err != nil {
		return nil, err
	}
	text, err := want.summary()
	if err != nil {
		return want, err
	}
	for _, e := range fastEngines[:2] {
		got, err := c.run(e)
		if err != nil {
			return want, err
		}
		if err := want.differs(got); err != nil {
			return want, fmt.Errorf("%s and %s: %w", reference.name, e.name, err)
		}
		if other, err := got.summary(); err != nil || other != text {
			return want, fmt.Errorf("%s and %s: summaries differ: %v\n%s\n%s", reference.name, e.name, err, text, other)
		}
	}
	if err := c.sound(want); err != nil {
		return want, err
	}
	return want, c.settled(want)
}

// settled checks that flows which did not finish wait for a deadlock, unless frames were
// reordered or dropped: replies, too, if handlers lend the buffer that they need.
func (c *randomCase) settled(o *outcome) error {
	if !c.cfg.Output.Deadlocks || drops(c.cfg.Switch.Deadlock) || o.totals.Drops[probe.Overflow] > 0 {
		return nil
	}
	left := 0
	for i := range o.built.Flows.Flow {
		if !o.built.Flows.Done(i) {
			left++
		}
	}
	list := o.final.Deadlocks
	switch stands := len(list) > 0 && list[len(list)-1].End == units.Never; {
	case left == 0 && stands:
		return fmt.Errorf("all flows are done, but the deadlock of %s stands", list[len(list)-1].Onset)
	case left > 0 && !stands:
		return fmt.Errorf("%d flows are not done, but there is no deadlock", left)
	}
	return nil
}

// newerCoverage counts the cases with certain schemes and events.
type newerCoverage struct {
	coverage
	schemes, events map[string]int
}

// newerEvents has the events that cases must show: an event with n occurs at least once in n cases.
var newerEvents = map[string]int{
	"marks": 4, "retransmissions": 4, "refreshes": 6, "must finish": 10, "must not drop": 2, "credits starved": 20, "tokens exhausted": 30,
	"deadlocks": 10, "resolved deadlocks": 16, "actions of handlers": 16, "drops by handlers": 60, "forced frames": 30, "expelled frames": 30,
}

func (v *newerCoverage) add(c *randomCase, o *outcome, n refusals) {
	v.coverage.add(c, o)
	for _, name := range c.newerNames() {
		v.schemes[name]++
	}
	credits, tokens, acts := 0, n["BifrostX"], 0
	for dialect, n := range n {
		if strings.HasPrefix(string(dialect), "credits") {
			credits += n
		}
	}
	for _, r := range o.nodes {
		acts += r.events[deadlock.RoundBegun]
	}
	for name, yes := range map[string]bool{
		"marks":               o.totals.Marks > 0,
		"retransmissions":     o.totals.Resent > 0,
		"refreshes":           o.totals.Refreshes > 0,
		"must finish":         c.ends,
		"must not drop":       c.loses == "",
		"credits starved":     credits > 0,
		"tokens exhausted":    tokens > 0,
		"deadlocks":           len(o.final.Deadlocks) > 0,
		"resolved deadlocks":  slices.ContainsFunc(o.final.Deadlocks, func(d sim.Deadlock) bool { return d.End != units.Never }),
		"actions of handlers": acts > 0,
		"drops by handlers":   o.totals.Drops[probe.Handler] > 0,
		"forced frames":       o.totals.Forced > 0,
		"expelled frames":     o.totals.Drops[probe.Expelled] > 0,
	} {
		if yes {
			v.events[name]++
		}
	}
}

// newerNames returns the schemes of a case that testNewer must cover.
func (c *randomCase) newerNames() (names []string) {
	s := &c.cfg.Switch
	add := func(kind, name string, of []string) {
		if slices.Contains(of, name) {
			names = append(names, kind+" "+name)
		}
	}
	add("policy", s.Policy.Name, newerPolicies)
	add("flow control", s.FlowControl.Name, []string{"sonic", "cbfc"})
	add("router", c.cfg.Routing.Name, newerRouters)
	add("handler", s.Deadlock.Name, newerHandlers)
	for _, flow := range newerFlows {
		if slices.ContainsFunc(s.Overrides, func(o scenario.Override) bool { return strings.Contains(fmt.Sprint(o.Keys), "{name: "+flow+",") }) {
			names = append(names, "long link "+flow)
		}
	}
	return names
}

// assert checks that cases use every scheme and have enough events.
func (v *newerCoverage) assert(t *testing.T) {
	t.Helper()
	v.coverage.assert(t)
	t.Logf("schemes: %v; events: %v", v.schemes, v.events)
	for name, part := range newerEvents {
		if n, want := v.events[name], v.cases/part; n < want {
			t.Errorf("only %d of %d cases have %s, want %d", n, v.cases, name, want)
		}
	}
	want := max(1, v.cases/30)
	for kind, names := range map[string][]string{
		"policy": newerPolicies, "flow control": {"sonic", "cbfc"}, "long link": newerFlows, "router": newerRouters, "handler": newerHandlers,
	} {
		for _, name := range names {
			if n := v.schemes[kind+" "+name]; n < want {
				t.Errorf("only %d of %d cases have %s %s, want %d", n, v.cases, kind, name, want)
			}
		}
	}
}

// testNewer checks on random cases that newer schemes keep their promises: engines agree to
// the byte, no invariant breaks, no lossless frame is dropped and all flows finish where the
// schemes promise it, and no flow is faster than alone.
func testNewer(t *testing.T, cases []int, packets int) {
	v := newerCoverage{schemes: make(map[string]int), events: make(map[string]int)}
	for _, i := range cases {
		c, n := drawNewer(i, packets), make(refusals)
		o, err := c.checkNewer(n)
		if err != nil {
			t.Errorf("case %d, seed %d: %v\n%v", i, c.cfg.Seed, err, c)
			continue
		}
		v.add(c, o, n)
	}
	if !testing.Short() {
		v.assert(t)
	}
}

func TestNewerSchemes(t *testing.T) {
	if testing.Short() { // under the race detector: a few cases, without checking coverage
		testNewer(t, trials.First(4), 300)
		return
	}
	// Short cases that reach the required coverage; TestDeepNewerSchemes runs 200 long ones.
	testNewer(t, []int{8, 20, 27, 35, 40, 41, 77, 79, 85, 95, 106, 124, 150, 164, 169, 51, 181, 224, 278, 284}, 1000)
}

// Control frames of Bifrost, which have the class of data, do not change the depth of pauses.
func TestPauseDepthsBesideBifrost(t *testing.T) {
	c := drawNewer(1033, 1000)
	if _, err := c.checkNewer(make(refusals)); err != nil {
		t.Errorf("seed %d: %v", c.cfg.Seed, err)
	}
}
