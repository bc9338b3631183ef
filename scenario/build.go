package scenario

import (
	"fmt"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Built is a scenario ready to run.
type Built struct {
	Config    *Config
	Graph     *topo.Graph
	Spec      *sim.Spec
	Flows     *dataplane.Flows
	Waits     []dataplane.Wait // what flows wait for, by flow
	Workloads []string         // names that results are divided by
	Origin    []int32          // of each flow: index of its workload
	Groups    []int32          // of each flow: burst of an incast, -1 otherwise
	Ideal     []units.Time
	Checks    []*dataplane.Checks // nil when invariants are off
	Probes    []*metrics.Series

	set *settings
}

// BuildOptions are choices of a run that change no result.
type BuildOptions struct {
	Invariants bool
	// Sink returns the probe of a node; it may be nil.
	Sink func(node int) probe.Sink
}

// builder wires one scenario. Errors name the scenario key they come from.
type builder struct {
	cfg   *Config
	graph *topo.Graph
	kinds [mmu.Classes]mmu.Kind
	masks map[string]uint8 // of each group of classes
	opts  BuildOptions
	out   *Built

	set    *settings // what overrides make of each node
	setErr error

	ends    [][]portEnd    // see portEnds
	healthy []*route.Table // see tables
	ways    []flowWay      // routes of single flows
	frames  frameSizes     // see frameSizes
	fabric  *workload.Fabric
	parts   []int // of each node: the island it is on

	watching []probe.Fan // by node; nil when nothing watches
}

// Build makes a run of a scenario that Validate accepts.
func Build(cfg *Config, opts BuildOptions) (*Built, error) {
	if err := Validate(cfg); err != nil {
		return nil, err
	}
	b := newBuilder(cfg, opts)
	if err := b.build(); err != nil {
		return nil, cfg.Locate(err)
	}
	return b.out, nil
}

// newBuilder lays out the fabric of a scenario whose topology is valid.
func newBuilder(cfg *Config, opts BuildOptions) *builder {
	g, err := cfg.graph()
	if err != nil {
		panic(err)
	}
	b := &builder{cfg: cfg, opts: opts, graph: g}
	b.out = &Built{Config: cfg, Graph: b.graph}
	b.kinds, b.masks = cfg.classes()
	b.set, b.setErr = newSettings(cfg, b.graph)
	b.out.set = b.set
	b.frames = b.sizes()
	return b
}

// switchAt and portAt return how a switch and one of its ports are set up, hostAt
// the same of a host.
func (b *builder) switchAt(node int) *setting     { return b.set.switches[node-b.graph.Hosts] }
func (b *builder) portAt(node, port int) *setting { return b.set.ports[node-b.graph.Hosts][port] }
func (b *builder) hostAt(node int) *hostSetting   { return b.set.hosts[node] }

func (b *builder) build() error {
	cfg := b.cfg
	if err := b.flows(); err != nil {
		return err
	}
	if err := b.checkAnyFlow(b.out.Flows); err != nil {
		return err
	}
	spec := &sim.Spec{Flows: b.out.Flows, Seed: cfg.Seed, MinFrame: b.minFrame(), InsertionOrder: cfg.Compat.Ties == "insertion", Until: cfg.Run.Stop.AtMost}
	spec.WatchDeadlocks, spec.StopAtDeadlock, spec.LogPauses = cfg.Output.Deadlocks, cfg.Run.Stop.Deadlock, cfg.Output.PauseTree
	b.out.Spec = spec
	b.cables(spec)
	if err := b.probes(spec); err != nil {
		return err
	}
	if err := b.switches(spec); err != nil {
		return err
	}
	if err := b.hosts(spec); err != nil {
		return err
	}
	b.out.Ideal = b.idealFCTs()
	spec.Done, spec.DoneAt = b.done(), b.doneAt()
	return nil
}

// classes returns the kind of each class and the mask of each group.
func (c *Config) classes() (kinds [mmu.Classes]mmu.Kind, masks map[string]uint8) {
	masks = make(map[string]uint8)
	names := map[string]mmu.Kind{"control": mmu.Control, "lossless": mmu.Lossless, "lossy": mmu.Lossy}
	for name, group := range c.Classes {
		for _, id := range group.IDs {
			kinds[id] = names[group.Kind]
			masks[name] |= 1 << id
		}
	}
	return kinds, masks
}

func maskOf(kinds [mmu.Classes]mmu.Kind, want ...mmu.Kind) uint8 {
	mask := uint8(0)
	for c, k := range kinds {
		for _, w := range want {
			if k == w {
				mask |= 1 << c
			}
		}
	}
	return mask
}

// ids returns the classes of a mask.
func ids(mask uint8) []uint8 {
	var list []uint8
	for c := range uint8(mmu.Classes) {
		if mask&(1<<c) != 0 {
			list = append(list, c)
		}
	}
	return list
}

// seedOf derives the seed of an entity from the scenario's: every switch and
// router has its own stream.
func (b *builder) seedOf(kind string, i int) uint64 {
	return workload.Stream(b.cfg.Seed, fmt.Sprintf("%s/%d", kind, i)).Uint64()
}

// cables wires the links, with their faults.
func (b *builder) cables(spec *sim.Spec) {
	for _, l := range b.graph.Links {
		c := sim.Cable{
			A: sim.End{Node: l.A, Port: l.PortA}, B: sim.End{Node: l.B, Port: l.PortB}, Rate: l.Rate,
			AtoB: b.delayInto(l.B, l.Delay), BtoA: b.delayInto(l.A, l.Delay), Overhead: b.cfg.Switch.WireOverhead,
		}
		spec.Cables = append(spec.Cables, c)
	}
	b.faults(spec)
}

// delayInto adds the pipeline latency of the switch that a link leads to.
func (b *builder) delayInto(node int, d units.Time) units.Time {
	if node >= b.graph.Hosts {
		d += b.switchAt(node).Latency
	}
	return d
}

// portSpecs describes the ports of a node.
func (b *builder) portSpecs(node int) []flowctl.PortSpec {
	var ports []flowctl.PortSpec
	for i, e := range b.portEnds()[node] {
		ports = append(ports, b.portSpec(node, i, &e))
	}
	return ports
}

// frameSizes are the largest frame that each host sends and the smallest of a
// lossless class; the last entry is for all of them.
type frameSizes struct{ largest, smallest []units.Bytes }

// sizes looks at what hosts send: full packets, ACKs, and PFC frames.
func (b *builder) sizes() frameSizes {
	n := b.graph.Hosts
	f := frameSizes{make([]units.Bytes, n+1), make([]units.Bytes, n+1)}
	f.smallest[n] = maxFrame
	for i := range n {
		f.largest[i], f.smallest[i] = packet.PFCSize, maxFrame
		for _, h := range b.hostAt(i).variants {
			f.largest[i] = max(f.largest[i], h.Payload+h.header(), h.ackSize(b.set.records()))
			f.smallest[i] = min(f.smallest[i], h.Header+1)
			if mask, ok := b.masks[h.Ack.Class]; !ok || b.kinds[lowestID(mask)] == mmu.Lossless {
				f.smallest[i] = min(f.smallest[i], h.Ack.Size)
			}
		}
		f.largest[n], f.smallest[n] = max(f.largest[n], f.largest[i]), min(f.smallest[n], f.smallest[i])
	}
	return f
}

// senders returns the entry of frameSizes for what arrives from a node.
func (b *builder) senders(node int) int { return min(node, b.graph.Hosts) }

// portSpec describes a port. A host does as the switch port at the other end of
// its cable does.
func (b *builder) portSpec(here, port int, e *portEnd) flowctl.PortSpec {
	p := flowctl.PortSpec{
		Rate: e.rate, DelayIn: e.back, DelayOut: e.delay,
		MTU: b.frames.largest[b.senders(e.to)], MTUOut: b.frames.largest[b.senders(here)], MinFrame: b.frames.smallest[b.senders(e.to)],
		WireOverhead: b.cfg.Switch.WireOverhead, Lossless: maskOf(b.kinds, mmu.Lossless), Host: here < b.graph.Hosts,
	}
	node, at := here, port
	if p.Host {
		node, at = e.to, e.port
	}
	s := b.portAt(node, at)
	p.PFC, p.Cell, p.Excused = s.PFC.spec(), s.Buffer.Cell, e.fault
	p.Tick, p.EveryEnd, p.PFC.Size = b.cfg.Compat.Tick, b.cfg.Compat.EveryEnd, uint16(b.cfg.Compat.PFCSize)
	if !b.promisesLossless(node, at) {
		p.Excused = 1
	}
	if p.Host {
		return p
	}
	p.MTU, p.MTUOut = max(p.MTU, s.MTU), max(p.MTUOut, s.MTU)
	if e.to >= b.graph.Hosts {
		peer := b.portAt(e.to, e.port).PFC.spec()
		p.Peer = &peer
	}
	return p
}

func (p *PFC) spec() flowctl.PFCSpec {
	return flowctl.PFCSpec{Quanta: uint16(p.Quanta), Indefinite: p.Hold == "indefinite", Processing: p.Processing, Ordered: !p.Coalesce}
}

// promisesLossless reports whether the schemes of a switch port promise that no
// lossless frame is dropped there.
func (b *builder) promisesLossless(node, port int) bool {
	promises := promisesOf(b.portAt(node, port).FlowControl)
	handler, err := deadlock.Handlers.Get(b.switchAt(node).Deadlock.Name)
	return err == nil && promises&handler.Promises&registry.Lossless != 0
}

// promisesOf returns what a flow control promises with its parameters; nothing for one
// that does not exist, which is reported elsewhere.
func promisesOf(c Choice) registry.Promise {
	e, err := flowctl.Schemes.Get(c.Name)
	if err != nil {
		return 0
	}
	if s, err := e.New(c.Params); err == nil {
		if c, ok := s.(flowctl.Conditional); ok {
			return c.Keeps(e.Promises)
		}
	}
	return e.Promises
}

func (b *builder) switches(spec *sim.Spec) error {
	tables := b.tables()
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		s, err := b.switchSpec(node, tables[node])
		if err != nil {
			return err
		}
		spec.Switches = append(spec.Switches, s)
	}
	return nil
}

func (b *builder) switchSpec(node int, table *route.Table) (*dataplane.SwitchSpec, error) {
	cfg := &b.switchAt(node).Switch
	policy, err := buffer.Policies.Get(cfg.Policy.Name)
	if err != nil {
		return nil, at("switch.policy.name", err)
	}
	router, err := route.Routers.Get(b.cfg.Routing.Name)
	if err != nil {
		return nil, at("routing.name", err)
	}
	handler, err := deadlock.Handlers.Get(cfg.Deadlock.Name)
	if err != nil {
		return nil, at("switch.deadlock.name", err)
	}
	ports := b.portSpecs(node)
	s := &dataplane.SwitchSpec{
		Name:   b.graph.Names[node],
		Node:   uint16(node),
		Buffer: mmu.Spec{Size: cfg.Buffer.Size, Private: cfg.Buffer.PrivatePerQueue, Cell: cfg.Buffer.Cell, Kinds: b.kinds},
		Ports:  ports,
		Policy: func(e buffer.Env) (buffer.Policy, error) { return policy.New(cfg.Policy.Params, e) },
		Marker: func(port int) (mark.Marker, error) { return b.portAt(node, port).ECN.marker(ports[port].Rate) },
		Deadlock: func(sw deadlock.Switch) (deadlock.Handler, error) {
			h, err := handler.New(cfg.Deadlock.Params, sw)
			if err != nil {
				return nil, b.cfg.Locate(cfg.Deadlock.wrong("switch.deadlock", err))
			}
			return h, nil
		},
		AtEnqueue: cfg.ECN.At == "enqueue", Telemetry: b.set.records(),
		Router: router.New(table, b.seedOf("route", node)), Seed: b.seedOf("switch", node),
		Scheduler: func(port int) sched.Scheduler { return b.scheduler(&b.portAt(node, port).Scheduler) }, Sink: b.sink(node), Checks: b.checks(node), Peaks: b.cfg.Output.Watermarks,
	}
	for i := range ports {
		here := b.portAt(node, i)
		scheme, err := flowScheme(here.FlowControl)
		if err != nil {
			return nil, err
		}
		s.Flow = append(s.Flow, scheme)
		s.ECN = append(s.ECN, b.ecnMask(&here.ECN))
	}
	if cfg.Buffer.ReserveFor == "chip" {
		s.Spare, s.SparePool = b.spare(&cfg.Buffer, cfg.Ports, s.Flow, ports)
	}
	return s, nil
}

// spare is what the ports of the chip take that are not connected: as much as the most
// demanding connected one, in the same way. Pool is what of that belongs to the pool of
// headroom.
func (b *builder) spare(buf *Buffer, chip int, schemes []flowctl.Scheme, ports []flowctl.PortSpec) (all, pool units.Bytes) {
	most, pools := units.Bytes(0), false
	for i := range ports {
		if part := schemes[i].Reserve(&ports[i]); part > most {
			most, pools = part, flowctl.Pools(schemes[i])
		}
	}
	n := units.Bytes(max(0, chip-len(ports)))
	if pools {
		pool = n * most
	}
	queues := units.Bytes(len(ids(maskOf(b.kinds, mmu.Lossless, mmu.Lossy))))
	return n * (most + queues*buf.PrivatePerQueue), pool
}

func flowScheme(c Choice) (flowctl.Scheme, error) {
	e, err := flowctl.Schemes.Get(c.Name)
	if err != nil {
		return nil, at("switch.flow_control.name", err)
	}
	s, err := e.New(c.Params)
	if err != nil {
		return nil, c.wrong("switch.flow_control", err)
	}
	return s, nil
}

func (b *builder) checks(node int) *dataplane.Checks {
	if !b.opts.Invariants {
		return nil
	}
	c := dataplane.NewChecks(b.graph.Names[node])
	b.out.Checks = append(b.out.Checks, c)
	return c
}

// marker builds the marker of a port.
func (e *ECN) marker(r units.Rate) (mark.Marker, error) {
	m, err := mark.Markers.Get(e.Name)
	if err != nil {
		return nil, at("switch.ecn.name", err)
	}
	return m.New(e.Params, r)
}

func (b *builder) ecnMask(e *ECN) uint8 {
	if len(e.Classes) == 0 {
		return maskOf(b.kinds, mmu.Lossless, mmu.Lossy)
	}
	mask := uint8(0)
	for _, g := range e.Classes {
		mask |= b.masks[g]
	}
	return mask
}

// scheduler builds the scheduler of a port.
func (b *builder) scheduler(cfg *Scheduler) sched.Scheduler {
	p := sched.Params{}
	for _, g := range cfg.Strict {
		p.Strict |= b.masks[g]
	}
	for c := range p.Quantum {
		p.Quantum[c] = cfg.Quantum
		if q, ok := cfg.Quanta[c]; ok {
			p.Quantum[c] = q
		}
	}
	name := "strict"
	switch {
	case len(cfg.DWRR) > 0:
		name = "dwrr"
	case len(cfg.RR) > 0:
		name = "rr"
	}
	e, err := sched.Schedulers.Get(name)
	if err != nil {
		panic(err)
	}
	return e.New(p)
}

// hosts builds the NICs. A flow names its sender's transport.
func (b *builder) hosts(spec *sim.Spec) error {
	rtt := b.baseRTT()
	if t := b.cfg.Compat.BaseRTT; t != 0 {
		rtt = t
	}
	var ways []dataplane.Transport
	for _, h := range b.set.transports() {
		way, err := b.transport(h, rtt)
		if err != nil {
			return err
		}
		ways = append(ways, way)
	}
	answers := make([][]dataplane.Transport, len(b.set.ofHosts)) // by group of the receiver
	for to, h := range b.set.ofHosts {
		for i, way := range ways {
			answers[to] = append(answers[to], b.answer(way, b.set.transports()[i], h))
		}
	}
	starts := make([][]uint32, b.graph.Hosts)
	for i := range b.out.Flows.Flow {
		if !b.out.Flows.Waits(i) {
			starts[b.out.Flows.Flow[i].Src] = append(starts[b.out.Flows.Flow[i].Src], uint32(i))
		}
	}
	for _, h := range b.set.transports() {
		if err := h.checkTimeouts(rtt); err != nil {
			return b.ofHost(h, err)
		}
	}
	for node := range b.graph.Hosts {
		e := &b.portEnds()[node][0]
		port := b.portAt(e.to, e.port) // the switch at the other end
		scheme, err := flowScheme(port.FlowControl)
		if err != nil {
			return err
		}
		spec.Hosts = append(spec.Hosts, &dataplane.NICSpec{
			Name: b.graph.Names[node], Node: uint16(node), Port: b.portSpecs(node)[0], Flow: scheme, Scheduler: b.scheduler(&port.Scheduler),
			Kinds: b.kinds, Transports: answers[b.hostAt(node).group], BaseRTT: rtt, Receive: b.receive(node),
			Flows: b.out.Flows, Starts: starts[node], Sink: b.sink(node), Checks: b.checks(node), Scan: b.cfg.Compat.NIC == "scan",
		})
	}
	return nil
}

func lowestID(mask uint8) int {
	for c := range mmu.Classes {
		if mask&(1<<c) != 0 {
			return c
		}
	}
	return 0
}

// receive describes the receive side of a host: its speed and its stuck times.
func (b *builder) receive(node int) dataplane.ReceiveSpec {
	cfg := &b.hostAt(node).Receive
	spec := dataplane.ReceiveSpec{Xoff: cfg.Xoff}
	for _, f := range b.cfg.Faults {
		if f.Stuck && f.Host == b.graph.Names[node] {
			spec.Stuck = append(spec.Stuck, dataplane.Interval{From: f.At, To: f.At + f.For})
		}
	}
	// A host looks at its stuck times one after the other.
	sort.Slice(spec.Stuck, func(i, j int) bool { return spec.Stuck[i].From < spec.Stuck[j].From })
	slow := len(cfg.Hosts) == 0
	for _, h := range cfg.Hosts {
		slow = slow || h == b.graph.Names[node]
	}
	if slow && cfg.Rate > 0 {
		spec.Rate, spec.Buffer = cfg.Rate, cfg.Buffer
	}
	return spec
}

// done returns the stop rule. A flow that cannot be done in time at all does not
// hold it up.
func (b *builder) done() func(now units.Time) bool {
	rule := b.cfg.Run.Stop
	if rule.When == "time" {
		return nil
	}
	all := rule.When == "all_flows_done"
	flows := b.out.Flows
	var left []int
	for i, f := range flows.Flow {
		if (all || flows.Waits(i) || b.cfg.measured(f.Start)) && b.out.Ideal[i] <= rule.AtMost-f.Start {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return func(now units.Time) bool {
		// Flows finish roughly in order of their start: look at the last open
		// ones first and forget what is done.
		for len(left) > 0 && !b.open(left[len(left)-1], all, now) {
			left = left[:len(left)-1]
		}
		return len(left) == 0
	}
}

// doneAt returns the times at which a flow that has not begun stops to count for
// the stop rule.
func (b *builder) doneAt() []units.Time {
	times := []units.Time{b.cfg.measuredUntil()}
	for i := range b.out.Flows.Flow {
		if b.out.Flows.Waits(i) {
			times = append(times, b.out.Flows.Until(i))
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// open reports whether a run must go on for a flow: because it is not complete, or
// because it may still start and count.
func (b *builder) open(i int, all bool, now units.Time) bool {
	flows := b.out.Flows
	if began, ok := flows.Began(i); ok {
		return !flows.Done(i) && (all || b.cfg.measured(began))
	}
	if now >= flows.Until(i) {
		return false
	}
	return all || now < b.cfg.measuredUntil()
}

// measured reports whether a flow that starts then counts in summaries.
func (c *Config) measured(start units.Time) bool {
	return c.Run.Measure.From <= start && start < c.measuredUntil()
}

// measuredUntil is the end of the measurement window.
func (c *Config) measuredUntil() units.Time {
	to := c.Run.Measure.To
	if to == 0 {
		to = c.Run.Arrivals
	}
	return max(to, c.Run.Measure.From+1)
}
