package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/topo"
)

// Level is the severity of a finding.
type Level string

// Levels, worst first. A Problem means that frames can be dropped or get stuck, that a run is
// rejected, or that a setting has no effect. A Warning is about performance that the scenario
// cannot have. A Note is information.
const (
	Problem Level = "problem"
	Warning Level = "warning"
	Note    Level = "note"
)

// Kind is the subject of a finding.
type Kind string

// Kinds of findings.
const (
	KindHeadroom  Kind = "headroom"
	KindBuffer    Kind = "buffer"
	KindClasses   Kind = "classes"
	KindCycles    Kind = "cycles"
	KindFailures  Kind = "failures"
	KindPartition Kind = "partition"
	KindPauses    Kind = "pauses"
	KindFaults    Kind = "faults"
	KindECN       Kind = "ecn"
	KindRun       Kind = "run"
	KindLoad      Kind = "load"
	KindWatchdog  Kind = "watchdog"
	KindAlpha     Kind = "alpha"
)

// Finding is one result of a check: a problem or a note.
type Finding struct {
	Level   Level    `json:"level"`
	Kind    Kind     `json:"kind"`
	At      string   `json:"at,omitempty"`      // location in the scenario: file:line:column
	Where   []string `json:"where,omitempty"`   // switches, ports, cables, hosts or workloads
	Classes []int    `json:"classes,omitempty"` // traffic classes
	What    string   `json:"what"`              // description, one sentence
	Fix     string   `json:"fix,omitempty"`     // what to change

	Headroom *Gap      `json:"headroom,omitempty"`
	Buffer   *Budget   `json:"buffer,omitempty"`
	Late     *Late     `json:"ecn,omitempty"`
	Links    []string  `json:"links,omitempty"` // links that are down or corrupt frames
	Cycles   []Cycle   `json:"cycles,omitempty"`
	Failures []Failure `json:"failures,omitempty"`    // sets of failed links that cause cycles, at most maxListed
	More     bool      `json:"more_cycles,omitempty"` // Cycles is not complete
	CutOffs  []CutOff  `json:"cut_off,omitempty"`     // hosts that link failures can cut off
	Advice   []Advice  `json:"advice,omitempty"`      // values that remove the finding

	cyclic int // number of sets of failed links that cause cycles
}

// Report is the result of a check.
type Report struct {
	Scenario string    `json:"scenario"`
	Hosts    int       `json:"hosts"`
	Problems int       `json:"problems"`
	Findings []Finding `json:"findings"`
	Budgets  []Budget  `json:"buffers"`
	// Dependencies is the number of buffer dependencies of all lossless classes without
	// failures.
	Dependencies int       `json:"dependencies"`
	Failures     *Failures `json:"failures,omitempty"`         // nil: not checked
	Skipped      string    `json:"failures_skipped,omitempty"` // why failures were not checked
	Storm        *Storm    `json:"storm,omitempty"`            // worst case of a stuck host; nil: no lossless class

	fabric *Fabric
	drawn  *drawing
}

// Graph returns the topology that was checked.
func (r *Report) Graph() *topo.Graph { return r.fabric.graph }

// Options configure a check.
type Options struct {
	// Failures is the maximum number of links that fail at the same time.
	Failures int
	// Flows restricts traffic to the host pairs and classes of the scenario's flows. By
	// default, every host may send to every other host in every lossless class.
	Flows bool
	// Workers is the number of goroutines that check failures; 0: one.
	Workers int
	// Progress, if not nil, is called with the number of sets of failed links checked so
	// far, from several goroutines at once.
	Progress func(done, all uint64)
}

// Run checks a scenario.
func Run(ctx context.Context, s *Survey, o Options) (*Report, error) {
	r := &Report{Scenario: s.Config.Name, Hosts: s.Graph.Hosts, Findings: []Finding{}}
	c := &checker{Survey: s, report: r}
	c.buffers()
	c.alwaysDropped()
	c.headroom()
	c.advice()
	c.classes()
	c.lateMarks()
	c.earlyMarks()
	c.rareCNPs()
	c.watchdogs()
	c.alphas()
	c.overloads()
	c.faults()
	c.forwards()
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

func rank(l Level) int { return slices.Index([]Level{Problem, Warning, Note}, l) }

// checker runs the checks and collects their findings.
type checker struct {
	*Survey
	report *Report
}

func (c *checker) add(f Finding) { c.report.Findings = append(c.report.Findings, f) }

// cycles reports cyclic buffer dependencies: without failures, in every state that the
// scenario's faults cause, and after link failures.
func (c *checker) cycles(ctx context.Context, o Options) error {
	r := c.report
	f := NewFabric(c.Graph, func(node, port int) bool { return c.Switches[node-c.Graph.Hosts].Ports[port].Pauses }, c.FirstPath)
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
		if n > most { // do not draw classes without flows
			r.draw(t, nil, nil)
			most = n
		}
		if list, more := f.Cycles(t, nil); len(list) > 0 {
			c.found(t, list, more, nil, Finding{What: fmt.Sprintf("%s: pauses can form a loop: %s", classes(t.Classes), cycleCount(list, more))})
			continue
		}
		for _, out := range c.Outages {
			down := make([]bool, len(c.Graph.Links))
			for _, l := range out.Links {
				down[l] = true
			}
			if list, more := f.Cycles(t, down); len(list) > 0 {
				names := c.linkNames(out.Links)
				c.found(t, list, more, down, Finding{Links: names, What: fmt.Sprintf("%s: pauses can form a loop during the faults that start at %s (%s down): %s",
					classes(t.Classes), out.At, brief(names), cycleCount(list, more))})
			}
		}
	}
	if err := c.storm(f, kinds, o); err != nil {
		return err
	}
	if err := c.cutOffs(ctx, f, o); err != nil {
		return err
	}
	return c.failures(ctx, f, kinds, o)
}

// found adds a finding about cycles.
func (c *checker) found(t *Traffic, list []Cycle, more bool, down []bool, f Finding) {
	f.Level, f.Kind, f.Classes, f.Cycles, f.More = Problem, KindCycles, classIDs(t.Classes), list, more
	f.Fix = c.fixCycles(t, down, list)
	f.What += coupledNote(t, list)
	c.add(f)
	c.report.draw(t, down, list)
}

// failures reports cycles after link failures.
func (c *checker) failures(ctx context.Context, f *Fabric, kinds []*Traffic, o Options) error {
	r := c.report
	switch {
	case o.Failures == 0 || len(kinds) == 0:
		return nil
	case c.FirstPath:
		r.Skipped = "static routes do not change after failures"
		return nil
	case slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == KindCycles && f.Links == nil }):
		r.Skipped = "there are cycles without any failure"
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
			Level: Problem, Kind: KindFailures, Classes: classIDs(t.Classes), Failures: found.listed, cyclic: found.Cyclic, Fix: c.fixCycles(t, found.listed[0].down, all),
			What: fmt.Sprintf("%s: after rerouting around failed links, pauses can form a loop: %s", classes(t.Classes), found.summary()) + coupledNote(t, all),
		})
		r.draw(t, found.listed[0].down, found.listed[0].Cycles)
	}
	return nil
}

// summary describes how many sets of failed links cause cycles.
func (f *Failures) summary() string {
	if f.AtMost == 1 {
		return fmt.Sprintf("for %d of %s", f.Cyclic, count(f.Links, "single link failure", "single link failures"))
	}
	return fmt.Sprintf("for %s of up to %d failed links", count(f.Cyclic, "set", "sets"), f.AtMost)
}

// coupledNote describes cycles that pass through several classes, or returns "".
func coupledNote(t *Traffic, list []Cycle) string {
	through := func(c Cycle) bool { return slices.ContainsFunc(c.Hops, func(h Hop) bool { return h.Joined }) }
	if len(t.layers) == 0 || !slices.ContainsFunc(list, through) {
		return ""
	}
	return ", through ports that pause all lossless classes together, so that one class can block another"
}

func cycleCount(list []Cycle, more bool) string {
	if more {
		return fmt.Sprintf("more than %d cyclic buffer dependencies", len(list))
	}
	return count(len(list), "cyclic buffer dependency", "cyclic buffer dependencies")
}

// fixCycles describes how to avoid cycles.
func (c *checker) fixCycles(t *Traffic, down []bool, cycles []Cycle) string {
	var valleys, paths, pins, flows []string
	joined := false
	for _, cycle := range cycles {
		for _, h := range cycle.Hops {
			joined = joined || h.Joined
			path := h.Cause.From + " to " + h.Cause.To
			switch {
			case h.Cause.Flow:
				flows = append(flows, path)
			case h.Cause.Pinned:
				pins = append(pins, path)
			}
			if h.Valley {
				valleys, paths = append(valleys, h.Switch), append(paths, path)
			}
		}
	}
	fix := "restrict routes to turns that cannot form a loop (one dimension after the other, or up and then down a tree)"
	if !joined {
		fix += ", move traffic to another lossless class after such a turn"
	}
	if len(valleys) > 0 {
		fix = fmt.Sprintf("keep routes up-down: at %s frames go down and up again (such as %s); withdraw these routes even if destinations become unreachable, or repair the links whose failure made them shortest",
			brief(unique(valleys)), brief(unique(paths)))
	}
	if len(pins) > 0 {
		fix += fmt.Sprintf(", change routing.pinned (%s)", brief(unique(pins)))
	}
	if len(flows) > 0 {
		fix += fmt.Sprintf(", change via and back of flows (%s)", brief(unique(flows)))
	}
	if joined && c.report.fabric.acyclicPerClass(t, down) {
		fix += ", use flow control that pauses single classes, such as pfc: no class forms a loop by itself"
	}
	return fix + ", or " + c.handlerAdvice(cycles)
}

// handlerAdvice describes how deadlock handlers can break cycles. The switches of a loop need
// the same handler, because they detect and break it together.
func (c *checker) handlerAdvice(cycles []Cycle) string {
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
	return fmt.Sprintf("use the same deadlock handler on all switches of a loop, because they break it together (switch.deadlock: %s)",
		strings.Join(names, "; "))
}

// traffic returns the possible traffic of the lossless classes. Classes with the same traffic
// share an entry.
func (c *checker) traffic(f *Fabric, flows bool) ([]*Traffic, error) {
	lossless := c.lossless()
	if lossless == 0 {
		return nil, nil
	}
	acks := c.acksIn(lossless)
	anyone := Traffic{Classes: lossless, pins: c.pinned(f, nil)}
	// Hosts that send only on pinned routes use no other routes, unless ACKs are lossless.
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
	routes := c.flowRoutes(f, all)
	var kinds []*Traffic
	for class := range anyone.Classes.All() {
		sends := make(map[[2]int]bool)
		from := matrix(len(f.homes))
		var perFlow []pinned // routes of single flows
		for i := range all {
			src, dst := int(all[i].Src), int(all[i].Dst)
			route := routes[i]
			if acks.Has(class) { // ACKs use shortest paths unless the flow sets their route
				if route.back != nil {
					perFlow = append(perFlow, *route.back)
				} else {
					from[f.hosts[src]][f.hosts[dst]] = true
				}
			}
			if all[i].Class != class {
				continue
			}
			switch pair := [2]int{src, dst}; {
			case route.data != nil:
				perFlow = append(perFlow, *route.data)
			case pins[pair]:
				sends[pair] = true
			default:
				from[f.hosts[dst]][f.hosts[src]] = true
			}
		}
		t := &Traffic{from: anyone.from, pins: slices.Concat(anyone.pins, perFlow)}
		if flows {
			t = &Traffic{from: from, pins: slices.Concat(c.pinned(f, sends), perFlow)}
		}
		same := slices.IndexFunc(kinds, t.sameAs)
		if same < 0 {
			same = len(kinds)
			kinds = append(kinds, t)
		}
		kinds[same].Classes |= 1 << class
	}
	return kinds, nil
}

// flowRoutes are the routes of a flow's data and of its ACKs; nil: not set.
type flowRoutes struct{ data, back *pinned }

// flowRoutes returns the routes that lists of flows set for single flows, by flow.
func (c *checker) flowRoutes(f *Fabric, flows []dataplane.Flow) map[int]flowRoutes {
	found := make(map[int]flowRoutes)
	for _, r := range c.FlowRoutes() {
		src, dst := c.Graph.Names[flows[r.Flow].Src], c.Graph.Names[flows[r.Flow].Dst]
		routes := found[r.Flow]
		if r.Back {
			routes.back = &pinned{Cause{From: dst, To: src, Pinned: true, Flow: true}, f.route(r.Hops)}
		} else {
			routes.data = &pinned{Cause{From: src, To: dst, Pinned: true, Flow: true}, f.route(r.Hops)}
		}
		found[r.Flow] = routes
	}
	return found
}

// sameAs reports whether t and o have the same senders, receivers and routes.
func (t *Traffic) sameAs(o *Traffic) bool {
	return slices.EqualFunc(t.from, o.from, slices.Equal[[]bool]) &&
		slices.EqualFunc(t.pins, o.pins, func(a, b pinned) bool { return slices.Equal(a.channels, b.channels) })
}

// pairs returns the pairs of hosts, source and destination, with pinned routes.
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

// unpinned returns, by receiving and sending switch, whether any pair of their hosts has no
// pinned route.
func (c *checker) unpinned(f *Fabric) [][]bool {
	hosts := make([]int, len(f.homes))
	for _, h := range f.hosts {
		hosts[h]++
	}
	pins := make([][]int, len(f.homes)) // pinned pairs
	m := matrix(len(f.homes))
	for to := range m {
		pins[to] = make([]int, len(f.homes))
	}
	for pair, pinned := range c.pairs() {
		if pinned {
			pins[f.hosts[pair[1]]][f.hosts[pair[0]]]++
		}
	}
	for to := range m {
		for from := range m {
			m[to][from] = pins[to][from] < hosts[to]*hosts[from]
		}
	}
	return m
}

// pinned returns the pinned routes that any of the pairs uses; if pairs is nil, all.
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

// acksIn returns the lossless classes that carry ACKs.
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
