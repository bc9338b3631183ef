package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/dataplane"
)

// Level says how bad a finding is.
type Level string

// Levels. A problem: frames can be lost or stuck, a run is refused, or something that
// was asked for can have no effect. A note is worth knowing.
const (
	Problem Level = "problem"
	Note    Level = "note"
)

// Kind is what a finding is about.
type Kind string

// Kinds of findings.
const (
	OfHeadroom Kind = "headroom"
	OfBuffer   Kind = "buffer"
	OfClasses  Kind = "classes"
	OfCycles   Kind = "cycles"
	OfFailures Kind = "failures"
	OfCutOff   Kind = "partition"
	OfPauses   Kind = "pauses"
	OfFaults   Kind = "faults"
	OfECN      Kind = "ecn"
	OfRun      Kind = "run"
)

// Finding is something that a network engineer should mend, or know.
type Finding struct {
	Level   Level    `json:"level"`
	Kind    Kind     `json:"kind"`
	At      string   `json:"at,omitempty"`      // place in the scenario: file, line, column
	Where   []string `json:"where,omitempty"`   // switches, ports or cables
	Classes []int    `json:"classes,omitempty"` // of traffic
	What    string   `json:"what"`
	Fix     string   `json:"fix,omitempty"`

	Headroom *Gap      `json:"headroom,omitempty"`
	Buffer   *Budget   `json:"buffer,omitempty"`
	Late     *Late     `json:"ecn,omitempty"`
	Links    []string  `json:"links,omitempty"` // that are down or fail
	Cycles   []Cycle   `json:"cycles,omitempty"`
	Failures []Failure `json:"failures,omitempty"` // the first sets of links whose failure gives cycles
	More     bool      `json:"more_cycles,omitempty"`
	CutOffs  []CutOff  `json:"cut_off,omitempty"` // hosts that failures of links part from others

	cyclic int // sets of links whose failure gives cycles
}

// Report is the answer of a check.
type Report struct {
	Scenario string    `json:"scenario"`
	Hosts    int       `json:"hosts"`
	Problems int       `json:"problems"`
	Findings []Finding `json:"findings"`
	Budgets  []Budget  `json:"buffers"`
	// Dependencies counts those of all lossless classes while nothing fails.
	Dependencies int       `json:"dependencies"`
	Failures     *Failures `json:"failures,omitempty"` // nil: not looked at; see Skipped
	Skipped      string    `json:"failures_skipped,omitempty"`
	Storm        *Storm    `json:"storm,omitempty"` // of the host that would do most harm; nil: no lossless class

	fabric *Fabric
	drawn  *drawing
}

// Options are what a check is asked.
type Options struct {
	// Failures is how many links may fail at the same time; 0: none.
	Failures int
	// Flows restricts traffic to the pairs of hosts, and their classes, that the
	// flows of the scenario have; otherwise every host may send to every other in
	// every lossless class.
	Flows bool
	// Workers is how many goroutines look at failures; 0: one.
	Workers int
	// Progress, if not nil, hears how many sets of failed links are done, from
	// several goroutines at once.
	Progress func(done, all uint64)
}

// Run checks a scenario.
func Run(ctx context.Context, s *Survey, o Options) (*Report, error) {
	r := &Report{Scenario: s.Config.Name, Hosts: s.Graph.Hosts, Findings: []Finding{}}
	c := &checker{Survey: s, report: r}
	c.buffers()
	c.neverTaken()
	c.headroom()
	c.advice()
	c.classes()
	c.lateMarks()
	c.faults()
	c.refused()
	if err := c.cycles(ctx, o); err != nil {
		return nil, err
	}
	for _, f := range r.Findings {
		if f.Level == Problem {
			r.Problems++
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(a.Level) - rank(b.Level) })
	return r, nil
}

func rank(l Level) int {
	if l == Problem {
		return 0
	}
	return 1
}

// checker collects findings.
type checker struct {
	*Survey
	report *Report
}

func (c *checker) add(f Finding) { c.report.Findings = append(c.report.Findings, f) }

// cycles looks for cyclic buffer dependencies: as the fabric is, in every state
// that the scenario's faults bring about, and after failures.
func (c *checker) cycles(ctx context.Context, o Options) error {
	r := c.report
	f := NewFabric(c.Graph, func(node, port int) bool { return c.Switches[node-c.Graph.Hosts].Ports[port].Holds }, c.First)
	f.join(func(node, port int) bool { return c.Switches[node-c.Graph.Hosts].Ports[port].Joins })
	r.fabric = f
	kinds, err := c.traffic(f, o.Flows)
	if err != nil {
		return err
	}
	kinds = f.coupled(kinds)
	most := -1
	for _, t := range kinds {
		n := 0
		for _, part := range t.parts() {
			k := f.Dependencies(part, nil).Count()
			n += k
			r.Dependencies += k * part.Classes.Count()
		}
		if n > most { // classes without flows would be an empty picture
			r.draw(t, nil, nil)
			most = n
		}
		if list, more := f.Cycles(t, nil); len(list) > 0 {
			c.found(t, list, more, nil, Finding{What: fmt.Sprintf("%s: pauses can close a loop: %s", classes(t.Classes), howMany(list, more))})
			continue
		}
		for _, out := range c.Outages {
			is := make([]bool, len(c.Graph.Links))
			for _, l := range out.Links {
				is[l] = true
			}
			if list, more := f.Cycles(t, is); len(list) > 0 {
				c.found(t, list, more, is, Finding{Links: c.linkNames(out.Links), What: fmt.Sprintf("%s: pauses can close a loop while faults last that begin at %s (%s down): %s", classes(t.Classes), out.At, brief(c.linkNames(out.Links)), howMany(list, more))})
			}
		}
	}
	if err := c.storm(f, kinds, o); err != nil {
		return err
	}
	if err := c.cutOffs(ctx, f, o); err != nil {
		return err
	}
	return c.failures(ctx, f, kinds, c.First, o)
}

// found adds a finding about cycles.
func (c *checker) found(t *Traffic, list []Cycle, more bool, down []bool, f Finding) {
	f.Level, f.Kind, f.Classes, f.Cycles, f.More = Problem, OfCycles, numbers(t.Classes), list, more
	f.Fix = c.escape(t, down, list)
	f.What += joint(t, list)
	c.add(f)
	c.report.draw(t, down, list)
}

// failures looks at sets of failed links.
func (c *checker) failures(ctx context.Context, f *Fabric, kinds []*Traffic, first bool, o Options) error {
	r := c.report
	switch {
	case o.Failures == 0 || len(kinds) == 0:
		return nil
	case first:
		r.Skipped = "static routes do not follow failures"
		return nil
	case slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == OfCycles && f.Links == nil }):
		r.Skipped = "there are cycles while nothing fails"
		return nil
	}
	for _, t := range kinds {
		found, err := f.Failures(ctx, t, o.Failures, max(1, o.Workers), nil, o.Progress)
		if err != nil {
			return err
		}
		if r.Failures == nil || found.Cyclic > r.Failures.Cyclic {
			r.Failures = found
		}
		if found.Cyclic == 0 {
			continue
		}
		var all []Cycle
		for _, b := range found.listed {
			all = append(all, b.Cycles...)
		}
		c.add(Finding{
			Level: Problem, Kind: OfFailures, Classes: numbers(t.Classes), Failures: found.listed, cyclic: found.Cyclic, Fix: c.escape(t, found.listed[0].down, all),
			What: fmt.Sprintf("%s: once routes go around failed links, pauses can close a loop: %s", classes(t.Classes), found.summary()) + joint(t, all),
		})
		r.draw(t, found.listed[0].down, found.listed[0].Cycles)
	}
	return nil
}

// summary says how many sets of failed links give cycles.
func (f *Failures) summary() string {
	if f.AtMost == 1 {
		return fmt.Sprintf("after the failure of one of %s of %d", count(f.Cyclic, "link", "links"), f.Links)
	}
	return fmt.Sprintf("after %s of up to %d failures", count(f.Cyclic, "set", "sets"), f.AtMost)
}

// joint says that cycles go through several classes.
func joint(t *Traffic, list []Cycle) string {
	through := func(c Cycle) bool { return slices.ContainsFunc(c.Hops, func(h Hop) bool { return h.Joined }) }
	if len(t.layers) == 0 || !slices.ContainsFunc(list, through) {
		return ""
	}
	return ", through ports that pause all lossless classes together, so that one class can hold up another"
}

func howMany(list []Cycle, more bool) string {
	if more {
		return fmt.Sprintf("more than %d cyclic buffer dependencies", len(list))
	}
	return count(len(list), "cyclic buffer dependency", "cyclic buffer dependencies")
}

// escape says how to get rid of cycles of traffic.
func (c *checker) escape(t *Traffic, down []bool, cycles []Cycle) string {
	var at, who, pins, flows []string
	joined := false
	for _, cycle := range cycles {
		for _, h := range cycle.Hops {
			joined = joined || h.Joined
			way := h.Cause.From + " to " + h.Cause.To
			switch {
			case h.Cause.Flow:
				flows = append(flows, way)
			case h.Cause.Pinned:
				pins = append(pins, way)
			}
			if h.Valley {
				at, who = append(at, h.Switch), append(who, way)
			}
		}
	}
	fix := "restrict routes to turns that cannot close a loop (one dimension after the other, or up and then down a tree)"
	if !joined {
		fix += ", put traffic that has passed such a turn into another lossless class"
	}
	if len(at) > 0 {
		fix = fmt.Sprintf("keep routes up-down: at %s frames go down and up again (such as %s); withdraw such routes even if destinations become unreachable, or repair the links that make them the shortest",
			brief(unique(at)), brief(unique(who)))
	}
	if len(pins) > 0 {
		fix += fmt.Sprintf(", change routing.pinned (%s)", brief(unique(pins)))
	}
	if len(flows) > 0 {
		fix += fmt.Sprintf(", change via and back of flows (%s)", brief(unique(flows)))
	}
	if joined && c.report.fabric.apart(t, down) {
		fix += ", use flow control that pauses single classes, such as pfc: none of them closes a loop of its own"
	}
	return fix + ", or " + c.handling(cycles)
}

// handling says what deadlock handlers make of cycles. Those of the switches of a loop find and
// break it together; a watchdog needs nobody.
func (c *checker) handling(cycles []Cycle) string {
	in := make(map[string]bool)
	for _, cycle := range cycles {
		for _, h := range cycle.Hops {
			in[h.Switch] = true
		}
	}
	var names []string
	where := make(map[string][]string)
	for i := range c.Switches {
		s := &c.Switches[i]
		if at := c.Graph.Names[s.Node]; in[at] {
			names = append(names, s.Deadlock)
			where[s.Deadlock] = append(where[s.Deadlock], at)
		}
	}
	switch names = unique(names); {
	case len(names) == 1 && names[0] != "none":
		return "rely on the deadlock handler " + names[0]
	case len(names) < 2:
		return "let a deadlock handler break loops (switch.deadlock)"
	}
	for i, n := range names {
		names[i] = n + " at " + brief(where[n])
	}
	return fmt.Sprintf("give all switches of a loop the same deadlock handler, since they break it together (switch.deadlock: %s)",
		strings.Join(names, "; "))
}

// traffic returns who may send to whom, by classes.
func (c *checker) traffic(f *Fabric, flows bool) ([]*Traffic, error) {
	lossless := c.lossless()
	if lossless == 0 {
		return nil, nil
	}
	acks := c.acksIn(lossless)
	anyone := Traffic{Classes: lossless, pins: c.pinned(f, nil)}
	// A host that sends only by pinned routes uses no others, except for what comes
	// back in a lossless class.
	if len(c.Pins) > 0 && acks == 0 {
		anyone.from = c.unpinned(f)
	}
	if !flows && !slices.ContainsFunc(c.Uses, func(u use) bool { return u.Routed }) {
		return []*Traffic{&anyone}, nil
	}
	all, err := c.Flows()
	if err != nil {
		return nil, err
	}
	pins := c.pairs()
	ways := c.ways(f, all)
	var kinds []*Traffic
	for class := range anyone.Classes.All() {
		sends := make(map[[2]int]bool)
		from := matrix(len(f.homes))
		var own []pinned // routes of single flows
		for i := range all {
			src, dst := int(all[i].Src), int(all[i].Dst)
			way := ways[i]
			if acks.Has(class) { // what comes back is not pinned, unless it has its own route
				if way.back != nil {
					own = append(own, *way.back)
				} else {
					from[f.hosts[src]][f.hosts[dst]] = true
				}
			}
			if all[i].Class != class {
				continue
			}
			switch pair := [2]int{src, dst}; {
			case way.data != nil:
				own = append(own, *way.data)
			case pins[pair]:
				sends[pair] = true
			default:
				from[f.hosts[dst]][f.hosts[src]] = true
			}
		}
		t := &Traffic{from: anyone.from, pins: slices.Concat(anyone.pins, own)}
		if flows {
			t = &Traffic{from: from, pins: slices.Concat(c.pinned(f, sends), own)}
		}
		same := slices.IndexFunc(kinds, t.alike)
		if same < 0 {
			same = len(kinds)
			kinds = append(kinds, t)
		}
		kinds[same].Classes |= 1 << class
	}
	return kinds, nil
}

// ownWays are the routes of one flow; nil: it has none.
type ownWays struct{ data, back *pinned }

// ways returns the routes that lists of flows give to single ones, by flow.
func (c *checker) ways(f *Fabric, flows []dataplane.Flow) map[int]ownWays {
	found := make(map[int]ownWays)
	for _, w := range c.Ways() {
		src, dst := c.Graph.Names[flows[w.Flow].Src], c.Graph.Names[flows[w.Flow].Dst]
		own := found[w.Flow]
		if w.Back {
			own.back = &pinned{Cause{From: dst, To: src, Pinned: true, Flow: true}, f.route(w.Hops)}
		} else {
			own.data = &pinned{Cause{From: src, To: dst, Pinned: true, Flow: true}, f.route(w.Hops)}
		}
		found[w.Flow] = own
	}
	return found
}

// alike tells whether two classes have the same traffic.
func (t *Traffic) alike(o *Traffic) bool {
	return slices.EqualFunc(t.from, o.from, slices.Equal[[]bool]) &&
		slices.EqualFunc(t.pins, o.pins, func(a, b pinned) bool { return slices.Equal(a.channels, b.channels) })
}

// pairs returns the pairs of hosts with routes of their own.
func (c *checker) pairs() map[[2]int]bool {
	pairs := make(map[[2]int]bool)
	for _, p := range c.Pins {
		for _, src := range p.Src {
			for _, dst := range p.Dst {
				pairs[[2]int{src, dst}] = src != dst
			}
		}
	}
	return pairs
}

// unpinned returns between which switches some hosts have no route of their own.
func (c *checker) unpinned(f *Fabric) [][]bool {
	hosts := make([]int, len(f.homes))
	for _, h := range f.hosts {
		hosts[h]++
	}
	own := make([][]int, len(f.homes))
	m := matrix(len(f.homes))
	for to := range m {
		own[to] = make([]int, len(f.homes))
	}
	for pair, is := range c.pairs() {
		if is {
			own[f.hosts[pair[1]]][f.hosts[pair[0]]]++
		}
	}
	for to := range m {
		for from := range m {
			m[to][from] = own[to][from] < hosts[to]*hosts[from]
		}
	}
	return m
}

// pinned returns the routes of their own that one of the pairs uses; nil: all.
func (c *checker) pinned(f *Fabric, pairs map[[2]int]bool) []pinned {
	var list []pinned
	for _, p := range c.Pins {
		used := pairs == nil || slices.ContainsFunc(p.Src, func(src int) bool {
			return slices.ContainsFunc(p.Dst, func(dst int) bool { return pairs[[2]int{src, dst}] })
		})
		if used {
			list = append(list, pinned{Cause{From: p.From, To: p.To, Pinned: true}, f.route(p.Hops)})
		}
	}
	return list
}

// acksIn returns the lossless classes of what comes back for data.
func (c *checker) acksIn(lossless packet.ClassMask) packet.ClassMask {
	mask := packet.ClassMask(0)
	for _, u := range c.Uses {
		mask |= u.Ack & lossless
	}
	return mask
}

func (c *checker) linkNames(links []int) []string {
	var names []string
	for _, l := range links {
		names = append(names, c.Graph.LinkName(l))
	}
	return names
}
