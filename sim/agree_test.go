package sim_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// entry is one event of a node as its probe saw it.
type entry struct {
	at              units.Time
	what            uint8 // a kind, see below
	port            uint16
	flow, seq, hash uint32
	size            uint16
	meta            uint8
	flags           packet.Flags
	from, to        uint8
}

// Kinds of entries.
const (
	departed uint8 = iota
	dropped
	queued
	marked
	blocked
	paused
	off
	flowEvent
	reported
)

var entryNames = []string{"departs", "is dropped", "is queued", "is marked", "blocked", "paused", "off", "flow event", "reported"}

func (e entry) String() string {
	if e.what >= blocked {
		return fmt.Sprintf("%d ps port %d %s %08b -> %08b", e.at, e.port, entryNames[e.what], e.from, e.to)
	}
	p := packet.Packet{Meta: e.meta}
	return fmt.Sprintf("%d ps port %d %s class %d flow %d seq %d size %d flags %b %s", e.at, e.port, p.Kind(), p.Class(), e.flow, e.seq, e.size, e.flags, entryNames[e.what])
}

// recorder keeps the events of one node.
type recorder struct {
	log      []entry
	lossless []entry        // frames of lossless classes dropped for lack of room
	events   map[string]int // reports of schemes, by name
	depths   depthModel
}

func (r *recorder) frame(what uint8, now units.Time, port int, p *packet.Packet) {
	r.log = append(r.log, entry{at: now, what: what, port: uint16(port), flow: p.Flow, seq: p.Seq, hash: p.Hash, size: p.Size, meta: p.Meta, flags: p.Flags})
}

func (r *recorder) Depart(now units.Time, port int, p *packet.Packet) {
	r.frame(departed, now, port, p)
	r.depths.departed(now, port, p)
}

func (r *recorder) Arrive(_ units.Time, port int, p *packet.Packet) { r.depths.arrived(port, p) }

func (r *recorder) Queued(now units.Time, in, out int, p *packet.Packet, s mmu.Segment) {
	r.frame(queued, now, in, p)
	r.depths.queued(in, out, p)
	r.log[len(r.log)-1].from, r.log[len(r.log)-1].to = uint8(s), uint8(out)
}

func (r *recorder) Marked(now units.Time, port int, p *packet.Packet) { r.frame(marked, now, port, p) }

func (r *recorder) Off(now units.Time, port int, from, to packet.ClassMask) {
	r.log = append(r.log, entry{at: now, what: off, port: uint16(port), from: uint8(from), to: uint8(to)})
	r.depths.off[port] = to
}

func (r *recorder) Flow(now units.Time, flow uint32, what probe.FlowEvent) {
	r.log = append(r.log, entry{at: now, what: flowEvent, flow: flow, to: uint8(what)})
}

func (r *recorder) Reported(now units.Time, e *probe.Event) {
	r.events[e.Name]++
	r.log = append(r.log, entry{at: now, what: reported, port: uint16(e.Port), from: uint8(e.Class), flow: uint32(e.Number), hash: uint32(len(e.Name))})
}

func (r *recorder) Drop(now units.Time, port int, p *packet.Packet, why probe.Reason) {
	r.frame(dropped, now, port, p)
	r.log[len(r.log)-1].from = uint8(why)
	if why == probe.Lossless {
		r.lossless = append(r.lossless, r.log[len(r.log)-1])
	}
}

func (r *recorder) Blocked(now units.Time, port int, from, to packet.ClassMask) {
	r.log = append(r.log, entry{at: now, what: blocked, port: uint16(port), from: uint8(from), to: uint8(to)})
	r.depths.blocked[port] = to
}

func (r *recorder) Paused(now units.Time, port int, from, to packet.ClassMask) {
	r.log = append(r.log, entry{at: now, what: paused, port: uint16(port), from: uint8(from), to: uint8(to)})
	r.depths.paused(port, to)
}

// engine runs a scenario.
type engine struct {
	name string
	run  func(*sim.Spec) (ran, error)
}

// ran holds what an engine knows at the end of a run.
type ran struct {
	end    units.Time
	totals sim.Totals
	final  sim.Counters // none on a live engine
}

// simulation returns an engine of package sim.
func simulation[E interface {
	Run(context.Context) (units.Time, error)
	Totals() sim.Totals
	Final() sim.Counters
}](name string, build func(*sim.Spec) (E, error)) engine {
	return engine{name, func(s *sim.Spec) (ran, error) {
		e, err := build(s)
		if err != nil {
			return ran{}, err
		}
		end, err := e.Run(context.Background())
		return ran{end, e.Totals(), e.Final()}, err
	}}
}

func fast(name string, o sim.Options) engine {
	return simulation(name, func(s *sim.Spec) (*sim.Fast, error) { return sim.NewFast(s, o) })
}

func oracle(name string, o sim.OracleOptions) engine {
	return simulation(name, func(s *sim.Spec) (*sim.Oracle, error) { return sim.NewOracle(s, o) })
}

// byInsertion returns an engine that uses insertion order.
func byInsertion(e engine) engine {
	return engine{e.name + ", ties by insertion", func(s *sim.Spec) (ran, error) {
		s.InsertionOrder = true
		return e.run(s)
	}}
}

// reference is the engine that the others are compared with.
var reference = oracle("oracle", sim.OracleOptions{})

var fastEngines = []engine{
	fast("fast", sim.Options{}),
	fast("fast, 2 workers", sim.Options{Workers: 2}),
	fast("fast, window / 2", sim.Options{WindowDivisor: 2}),
	fast("fast, window / 3, 2 workers", sim.Options{WindowDivisor: 3, Workers: 2}),
}

// outcome holds all results of a run.
type outcome struct {
	ran
	built *fabric.Fabric
	nodes []*recorder
}

// run builds a case and runs it on an engine.
func (c *randomCase) run(e engine) (*outcome, error) {
	o := &outcome{}
	return o, c.runAs(o, e, fabric.Options{Invariants: true, Sink: func(node int) probe.Sink {
		for len(o.nodes) <= node {
			o.nodes = append(o.nodes, &recorder{depths: newDepthModel(), events: make(map[string]int)})
		}
		return o.nodes[node]
	}})
}

// runUnwatched is run without probes and checks, which take the general path of a switch.
func (c *randomCase) runUnwatched(e engine) (*outcome, error) {
	o := &outcome{}
	return o, c.runAs(o, e, fabric.Options{})
}

func (c *randomCase) runAs(o *outcome, e engine, opts fabric.Options) error {
	built, err := fabric.New(c.cfg, opts)
	if err != nil {
		return err
	}
	o.built = built
	built.Spec.Linger = c.grace // so that pauses are withdrawn before the run ends
	o.ran, err = e.run(built.Spec)
	return err
}

// starts returns the start time of each flow, or -1 if it did not start.
func (o *outcome) starts() []units.Time {
	var list []units.Time
	for i := range o.built.Flows.Flow {
		at, ok := o.built.Flows.Began(i)
		if !ok {
			at = -1
		}
		list = append(list, at)
	}
	return list
}

// differs returns the first difference between two runs.
func (o *outcome) differs(p *outcome) error {
	for n := range o.nodes {
		a, b := o.nodes[n].log, p.nodes[n].log
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				return fmt.Errorf("%s, event %d: %v, but %v", o.built.Graph.Names[n], i, a[i], b[i])
			}
		}
		if len(a) != len(b) {
			return fmt.Errorf("%s: %d events, but %d", o.built.Graph.Names[n], len(a), len(b))
		}
	}
	switch {
	case o.end != p.end:
		return fmt.Errorf("ends at %v, but at %v", o.end, p.end)
	case o.totals != p.totals:
		return fmt.Errorf("totals %+v, but %+v", o.totals, p.totals)
	case !slices.Equal(o.built.Flows.Send, p.built.Flows.Send):
		return fmt.Errorf("flows end differently at their sources")
	case !slices.Equal(o.starts(), p.starts()):
		return fmt.Errorf("flows start differently")
	case !slices.Equal(o.built.Flows.Recv, p.built.Flows.Recv):
		return fmt.Errorf("flows end differently at their destinations")
	case o.final.Ports != nil && p.final.Ports != nil && !reflect.DeepEqual(o.final.Deadlocks, p.final.Deadlocks):
		return fmt.Errorf("deadlocks %+v, but %+v", o.final.Deadlocks, p.final.Deadlocks)
	}
	return nil
}

// checkWaits checks that every flow that waits for others started as soon as it could,
// and that a flow that did not start could not.
func (o *outcome) checkWaits() error {
	flows := o.built.Flows
	for w := range flows.Dependencies() {
		f := &flows.Flow[w.Flow]
		at, possible := f.Start, true
		for _, on := range w.On {
			end := flows.Send[on].Acked
			if flows.Flow[on].Dst == f.Src {
				end = flows.Recv[on].Delivered
			}
			possible = possible && end != 0
			at = max(at, end+w.Delay)
		}
		possible = possible && (w.Until == 0 || at < w.Until) && at < o.end
		if began, ok := flows.Began(int(w.Flow)); ok != possible || ok && began != at {
			return fmt.Errorf("flow %d: began at %v, %v; want %v, %v", w.Flow, began, ok, at, possible)
		}
	}
	return nil
}

// checkSlowdowns checks that no flow was faster than alone in an empty network. With delayed ACKs,
// marks and gaps make the receiver answer at once, so a flow with a window can be faster than alone.
func (o *outcome) checkSlowdowns() error {
	for i, s := range o.built.Flows.Send {
		f := &o.built.Flows.Flow[i]
		receiver := &o.built.Spec.Hosts[f.Dst].Transports[f.Transport] // overrides may differ between hosts
		early := o.built.Flows.Recv[i].Early > 0 || receiver.CNP == dataplane.CNPInAck && o.totals.Marks > 0
		if receiver.AckEvery > 1 && early {
			continue
		}
		began, _ := o.built.Flows.Began(i)
		if ideal := o.built.Ideal[i]; s.Acked != 0 && s.Acked-began < ideal {
			return fmt.Errorf("flow %d: FCT %d ps, below the ideal %d ps", i, s.Acked-began, ideal)
		}
	}
	return nil
}

// sound checks a run on its own and returns the first problem.
func (c *randomCase) sound(o *outcome) error {
	all := uint64(0)
	for i, k := range o.built.Checks {
		// A lossless drop breaks an invariant if flow control promises to prevent it.
		// Nothing else may break one. Switches are built first.
		node := (i + o.built.Graph.Hosts) % len(o.nodes)
		broken := uint64(0)
		if c.drains {
			broken = o.broken(node)
		}
		for _, e := range o.nodes[node].lossless {
			if !c.drains && o.controlled(node, int(e.port)) && !c.damaged(o.built.Graph, node, int(e.port), e.at) {
				broken++
			}
		}
		if k.Broken != broken {
			return fmt.Errorf("invariant: %s (%d times, with %d lossless drops that break a promise)", k.First, k.Broken, broken)
		}
		all += broken
	}
	if o.totals.Broken != all {
		return fmt.Errorf("totals count %d lossless drops that break a promise, want %d", o.totals.Broken, all)
	}
	if c.loses == "" && all > 0 {
		return fmt.Errorf("%d lossless frames dropped", all)
	}
	for n, r := range o.nodes {
		if err := continuous(r.log); err != nil {
			return fmt.Errorf("%s: %w", o.built.Graph.Names[n], err)
		}
		if r.depths.wrong != "" && !o.handled() && !strings.HasPrefix(o.built.Graph.Names[n], "relay") {
			return fmt.Errorf("%s: %s", o.built.Graph.Names[n], r.depths.wrong)
		}
	}
	if sum := sumOf(o.totals.Depths[:]); sum != o.totals.Pauses {
		return fmt.Errorf("%d pauses have a depth, %d were sent", sum, o.totals.Pauses)
	}
	for i, f := range o.built.Flows.Flow {
		r := &o.built.Flows.Recv[i]
		payload := o.built.Spec.Hosts[f.Src].Transports[f.Transport].Payload
		if total := uint32((f.Size + payload - 1) / payload); r.Next > total || (r.Delivered != 0) != (r.Next == total) || o.built.Flows.Done(i) && r.Next != total {
			return fmt.Errorf("flow %d of %d packets: %d delivered, finished at %v", i, total, r.Next, r.Delivered)
		}
	}
	if err := o.checkWaits(); err != nil {
		return err
	}
	if err := o.checkSlowdowns(); err != nil {
		return err
	}
	offered := 0
	for i := range o.built.Flows.Flow {
		switch {
		case o.built.Flows.Offered(i):
			offered++
		case o.built.Flows.Recv[i].Next > 0:
			return fmt.Errorf("flow %d was not offered, but its packets arrive", i)
		}
	}
	if n := offered - int(o.totals.Finished); c.ends && n > 0 {
		return fmt.Errorf("%d flows never finish", n)
	}
	if o.built.Spec.Done != nil && o.end < o.built.Spec.Until && !c.idlePauses {
		return c.drained(o)
	}
	return nil
}

// broken returns the lossless drops of a node that break a promise, by its own counters.
func (o *outcome) broken(node int) (n uint64) {
	for _, p := range o.final.Ports {
		if p.Node == node {
			n += p.Stats.Broken
		}
	}
	return n
}

// handled reports whether a deadlock handler acted. It moves frames and keeps pauses, which
// the model of pause depths does not know.
func (o *outcome) handled() bool {
	return slices.ContainsFunc(o.nodes, func(r *recorder) bool { return r.events[deadlock.RoundBegun] > 0 })
}

// controlled reports whether a port has flow control that promises lossless classes.
func (o *outcome) controlled(node, port int) bool {
	if hosts := o.built.Graph.Hosts; node >= hosts {
		s := o.built.Spec.Switches[node-hosts]
		return promises(s.Flow[port], &s.Ports[port])
	}
	h := o.built.Spec.Hosts[node]
	return promises(h.Flow, &h.Port)
}

// damaged reports whether the link of a port has had a fault by now. Then PAUSE frames may
// have been lost, or a pause cleared when the link came up.
func (c *randomCase) damaged(g *topo.Graph, node, port int, now units.Time) bool {
	for _, l := range g.Links {
		if (l.A != node || l.PortA != port) && (l.B != node || l.PortB != port) {
			continue
		}
		for _, f := range c.cfg.Faults {
			name, _, _ := strings.Cut(f.Link, "#") // all of parallel links
			if name == g.Names[l.A]+"-"+g.Names[l.B] && f.At <= now {
				return true
			}
		}
	}
	return false
}

func sumOf(counts []uint64) uint64 {
	sum := uint64(0)
	for _, n := range counts {
		sum += n
	}
	return sum
}

// continuous checks that each report of a pause starts with the mask that the last one
// ended with, so that a probe can add up intervals.
func continuous(log []entry) error {
	type key struct {
		what uint8
		port uint16
	}
	last := map[key]uint8{}
	for _, e := range log {
		if e.what != blocked && e.what != paused && e.what != off {
			continue
		}
		k := key{e.what, e.port}
		if e.from != last[k] {
			return fmt.Errorf("%v follows %08b", e, last[k])
		}
		last[k] = e.to
	}
	return nil
}

// drained checks that no class is paused when all flows are done.
func (c *randomCase) drained(o *outcome) error {
	for n, r := range o.nodes {
		noSend, wanted := map[uint16]uint8{}, map[uint16]uint8{}
		for _, e := range r.log {
			switch e.what {
			case blocked:
				noSend[e.port] = e.to
			case paused:
				wanted[e.port] = e.to
			}
		}
		for port, mask := range noSend {
			if mask != 0 && !c.stuckAt(o.end) {
				return fmt.Errorf("%s port %d: classes %08b are still blocked when all flows are done", o.built.Graph.Names[n], port, mask)
			}
		}
		for port, mask := range wanted {
			if mask != 0 && !c.stuckAt(o.end) {
				return fmt.Errorf("%s port %d: still wants classes %08b paused when all flows are done", o.built.Graph.Names[n], port, mask)
			}
		}
	}
	return nil
}

// stuckAt reports whether a host is stuck at the end of a run, or was until shortly
// before. It still sends pauses then, even if its queues are empty.
func (c *randomCase) stuckAt(end units.Time) bool {
	for _, f := range c.cfg.Faults {
		if f.Stuck && f.At <= end && end < f.At+f.For+10*units.Microsecond {
			return true
		}
	}
	return false
}

// check runs a case on the reference and on other engines and returns the first problem.
func (c *randomCase) check(engines ...engine) (*outcome, error) {
	return c.checkWith(reference, engines...)
}

// checkWith is check with the given reference.
func (c *randomCase) checkWith(reference engine, engines ...engine) (*outcome, error) {
	want, err := c.run(reference)
	if err != nil {
		return nil, err
	}
	if err := c.sound(want); err != nil {
		return want, err
	}
	for _, e := range engines {
		got, err := c.run(e)
		if err != nil {
			return want, err
		}
		if err := want.differs(got); err != nil {
			return want, fmt.Errorf("%s and %s: %w", reference.name, e.name, err)
		}
		if err := c.sound(got); err != nil {
			return want, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return want, nil
}

// coverage counts the cases of a property test that have certain features.
type coverage struct {
	cases, pauses, chains, full, lossy, faults, marks, resent, expired, waits, hops int
}

func (v *coverage) add(c *randomCase, o *outcome) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	v.cases++
	v.hops += int(o.totals.Hops)
	count(&v.pauses, o.totals.Pauses > 0)
	count(&v.chains, chained(o))
	count(&v.full, slices.ContainsFunc(o.final.Pools, func(p sim.PoolResult) bool { return p.View.PeakStored()*10 >= p.View.Size()*9 }))
	count(&v.lossy, o.totals.Drops[probe.Overflow] > 0)
	count(&v.faults, c.faults)
	count(&v.marks, o.totals.Marks > 0)
	count(&v.resent, o.totals.Resent > 0)
	count(&v.expired, o.totals.Refreshes > 0)
	count(&v.waits, slices.ContainsFunc(slices.Collect(o.built.Flows.Dependencies()), func(w dataplane.Wait) bool { return o.built.Flows.Done(int(w.Flow)) }))
}

// chained reports whether a switch that was paused by another switch in turn paused its
// own upstream, in the same class.
func chained(o *outcome) bool {
	hosts := o.built.Graph.Hosts
	peerIsSwitch := map[sim.End]bool{}
	for _, l := range o.built.Graph.Links {
		peerIsSwitch[sim.End{Node: l.A, Port: l.PortA}] = l.B >= hosts
		peerIsSwitch[sim.End{Node: l.B, Port: l.PortB}] = l.A >= hosts
	}
	for n := hosts; n < len(o.nodes); n++ {
		waiting := map[uint16]uint8{} // by port: classes blocked by a switch
		for _, e := range o.nodes[n].log {
			switch {
			case e.what == blocked && peerIsSwitch[sim.End{Node: n, Port: int(e.port)}]:
				waiting[e.port] = e.to
			case e.what == paused:
				for _, mask := range waiting {
					if mask&e.to&^e.from != 0 {
						return true
					}
				}
			}
		}
	}
	return false
}

// assert checks that enough cases have each feature.
func (v *coverage) assert(t *testing.T) {
	t.Helper()
	t.Logf("%d cases, %d hops: pauses %d, chains of pauses %d, buffer 90 %% full %d, lossy drops %d, faults %d, marks %d, retransmissions %d, refreshes %d, dependent flows %d",
		v.cases, v.hops, v.pauses, v.chains, v.full, v.lossy, v.faults, v.marks, v.resent, v.expired, v.waits)
	for _, r := range []struct {
		name    string
		n, part int
	}{{"pauses", v.pauses, 2}, {"chains of pauses", v.chains, 4}, {"full buffers", v.full, 5}, {"lossy drops", v.lossy, 5}, {"faults", v.faults, 10}, {"dependent flows", v.waits, 5}} {
		if r.n*r.part < v.cases {
			t.Errorf("only %d of %d cases have %s, want 1 in %d", r.n, v.cases, r.name, r.part)
		}
	}
}

// testAgree checks that both engines produce the same events at the same picosecond, with
// any number of workers and any window, and that no invariant breaks.
func testAgree(t *testing.T, cases []int, packets int) {
	var v coverage
	for _, i := range cases {
		c := drawCase(i, packets)
		o, err := c.check(fastEngines...)
		if err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
			continue
		}
		v.add(c, o)
	}
	if !testing.Short() {
		v.assert(t)
	}
}

func TestEnginesAgree(t *testing.T) {
	if testing.Short() { // under the race detector: a few cases, without checking coverage
		testAgree(t, trials.First(6), 500)
		return
	}
	// Short cases that reach the required coverage; TestDeepEnginesAgree runs 200 long ones.
	testAgree(t, []int{0, 3, 6, 7, 8, 11, 14, 17, 25, 28, 34}, 2000)
}
