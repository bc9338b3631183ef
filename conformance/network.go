package conformance

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Network is a small fabric for testing schemes in code instead of with a scenario file. Every
// component can be chosen per node or port. NewNetwork sets defaults.
type Network struct {
	Graph    *topo.Graph
	Tables   []*route.Table // by node; nil: shortest paths
	Kinds    [mmu.Classes]mmu.Kind
	Shared   units.Bytes // shared segment of every switch; private segments and headroom are added
	Private  units.Bytes
	Cell     units.Bytes
	Overhead units.Bytes
	PFC      link.PFC

	Flow      func(node, port int) flowctl.Scheme
	Policy    func(node int, e buffer.Env) (buffer.Policy, error)
	Scheduler func() (sched.Scheduler, error)
	Marker    func(units.Rate) (mark.Marker, error)
	Router    func(route.Env) (route.Router, error)
	Deadlock  func(node int, s deadlock.Switch) (deadlock.Handler, error)
	Control   cc.Factory
	Receive   func(node int) dataplane.ReceiveSpec
	Down      map[int][]units.Interval // by link index

	Flows       []dataplane.Flow // transport 0 sends frames of 1048 B, transport 1 of 64 B
	Timeout     units.Time       // retransmission timeout (go-back-N)
	AckEvery    int              // packets per ACK; 0: one
	Until       units.Time
	Linger      units.Time  // time to run after the last flow is done, because duplicates may still be in flight
	Options     sim.Options // engine options: they do not change results
	NoShortcuts bool        // ask policies and receivers about every frame
	Watch       bool        // look for deadlocks during the run, not only at the end
}

// Payloads of full packets of transports 0 and 1, and their header size.
const (
	bigPayload   units.Bytes = 1000
	smallPayload units.Bytes = 16
	header       units.Bytes = 48
)

// NewNetwork returns a network with control class 0 and seven lossless classes, with PFC, Dynamic
// Threshold, DWRR, no marking and no congestion control.
func NewNetwork(g *topo.Graph) *Network {
	n := &Network{Graph: g, Shared: 150 * units.KB, Private: 1500, PFC: link.PFC{Quanta: 65535}, Timeout: 4 * units.Millisecond,
		Until: 20 * units.Millisecond}
	n.Kinds[0] = mmu.Control
	for c := 1; c < mmu.Classes; c++ {
		n.Kinds[c] = mmu.Lossless
	}
	pfc := must(must(flowctl.Schemes.Get("pfc")).New(&flowctl.SIHParams{}))
	n.Flow = func(int, int) flowctl.Scheme { return pfc }
	dt := must(buffer.Policies.Get("dt"))
	n.Policy = func(_ int, e buffer.Env) (buffer.Policy, error) {
		return dt.New(&buffer.DTParams{Alpha: units.Ratio{Num: 1, Den: 8}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, e)
	}
	dwrr := must(sched.Schedulers.Get("dwrr"))
	n.Scheduler = func() (sched.Scheduler, error) { return dwrr.New(dwrr.Params(), SchedulerEnv()) }
	none := must(mark.Markers.Get("none"))
	n.Marker = func(r units.Rate) (mark.Marker, error) { return none.New(nil, r) }
	ecmp := must(route.Routers.Get("ecmp"))
	n.Router = func(e route.Env) (route.Router, error) { return ecmp.New(nil, e) }
	n.Control = must(must(cc.Algorithms.Get("none")).New(nil))
	n.Receive = func(int) dataplane.ReceiveSpec { return dataplane.ReceiveSpec{} }
	return n
}

// must unwraps results that cannot fail, because this package chose the names and parameters.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// SchedulerEnv returns an environment in which class 0 has strict priority.
func SchedulerEnv() sched.Env { return sched.Env{Strict: 1, Served: 0xfe, Rate: 100 * units.Gbps} }

func (n *Network) portSpec(l topo.Link, node int) link.Port {
	return link.Port{
		Rate: l.Rate, DelayIn: l.Delay, DelayOut: l.Delay, MTU: bigPayload + header, MinFrame: header + 1,
		WireOverhead: n.Overhead, Cell: n.Cell, Lossless: mmu.ClassesOf(n.Kinds, mmu.Lossless), PFC: n.PFC, Host: node < n.Graph.Hosts,
		Ports:  uint16(n.Graph.Ports()[node]),
		ToHost: node >= n.Graph.Hosts && min(l.A, l.B) < n.Graph.Hosts,
	}
}

func (n *Network) ports(node int) []link.Port {
	ports := make([]link.Port, n.Graph.Ports()[node])
	for _, l := range n.Graph.Links {
		if l.A == node {
			ports[l.PortA] = n.portSpec(l, node)
		}
		if l.B == node {
			ports[l.PortB] = n.portSpec(l, node)
		}
	}
	return ports
}

// Result is the result of a run.
type Result struct {
	Err    error
	End    units.Time
	Totals sim.Totals
	Flows  *dataplane.Flows
	// Deadlocks are the deadlocks found.
	Deadlocks []sim.Deadlock
	Nodes     []*Record // hosts, then switches
	Views     []mmu.View
	Broken    []string // first violated invariant of each node with violations
	Allocs    uint64
}

// Digest returns a hash of all events at all nodes, in order.
func (r *Result) Digest() uint64 {
	h := fnv.New64a()
	for _, n := range r.Nodes {
		fmt.Fprint(h, n.digest, ";")
	}
	return h.Sum64()
}

// Unfinished returns the number of flows that were not fully acknowledged.
func (r *Result) Unfinished() int {
	n := 0
	for i := range r.Flows.Flow {
		if !r.Flows.Done(i) {
			n++
		}
	}
	return n
}

// dropped returns the number of frames dropped for any reason; each leaves a gap.
func (r *Result) dropped() uint64 {
	n := uint64(0)
	for _, d := range r.Totals.Drops {
		n += d
	}
	return n
}

// Run builds the network and runs it until all flows are done or Until is reached, with all
// invariants checked. A panic is returned as Result.Err.
func (n *Network) Run() *Result { return n.run(true) }

func (n *Network) run(watch bool) (out *Result) {
	flows := append([]dataplane.Flow(nil), n.Flows...)
	out = &Result{Flows: dataplane.NewFlows(flows)}
	spec := &sim.Spec{Flows: out.Flows, Seed: 1, MinFrame: header + 1 + n.Overhead, Until: n.Until, Linger: n.Linger, WatchDeadlocks: n.Watch}
	spec.Done = func(units.Time) bool { return out.Unfinished() == 0 }
	for i, l := range n.Graph.Links {
		spec.Cables = append(spec.Cables, sim.Cable{
			A: sim.End{Node: l.A, Port: l.PortA}, B: sim.End{Node: l.B, Port: l.PortB}, Rate: l.Rate,
			AtoB: l.Delay, BtoA: l.Delay, Overhead: n.Overhead, Down: n.Down[i],
		})
	}
	var checks []*dataplane.Checks
	attach := func(node int) (probe.Sink, *dataplane.Checks) {
		if !watch {
			return nil, nil
		}
		r := newRecord(n.Graph.Ports()[node])
		c := dataplane.NewChecks(n.Graph.Names[node])
		out.Nodes, checks = append(out.Nodes, r), append(checks, c)
		return r, c
	}
	for node := range n.Graph.Hosts {
		h := n.host(node, out.Flows)
		h.Sink, h.Checks = attach(node)
		spec.Hosts = append(spec.Hosts, h)
	}
	tables := n.Tables
	if tables == nil {
		tables = topo.Routes(n.Graph, nil)
	}
	for node := n.Graph.Hosts; node < n.Graph.Nodes(); node++ {
		s := n.sw(node, tables[node], out)
		s.Sink, s.Checks = attach(node)
		spec.Switches = append(spec.Switches, s)
	}
	defer func() {
		if p := recover(); p != nil {
			out.Err = fmt.Errorf("panic: %v", p)
		}
	}()
	f, err := sim.NewFast(spec, n.Options)
	if err != nil {
		out.Err = err
		return out
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out.End, out.Err = f.Run(context.Background())
	runtime.ReadMemStats(&after)
	out.Allocs = after.Mallocs - before.Mallocs
	out.Totals = f.Totals()
	out.Deadlocks = f.Final().Deadlocks
	for _, c := range checks {
		if c.Broken > 0 {
			out.Broken = append(out.Broken, c.First)
		}
	}
	return out
}

func (n *Network) host(node int, flows *dataplane.Flows) *dataplane.NICSpec {
	full := dataplane.Transport{
		Control: n.Control, Payload: bigPayload, Header: header, AckSize: 64, AckEvery: max(1, n.AckEvery), CNPEvery: 50 * units.Microsecond,
		NackEvery: 500 * units.Microsecond, Timeout: n.Timeout, MaxTimeout: 4 * n.Timeout,
	}
	small := full
	small.Payload = smallPayload
	h := &dataplane.NICSpec{
		Name: n.Graph.Names[node], Node: uint32(node), Port: n.ports(node)[0], Flow: n.Flow(node, 0), Scheduler: must(n.Scheduler()),
		Kinds: n.Kinds, Transports: []dataplane.Transport{full, small}, BaseRTT: 10 * units.Microsecond, Receive: n.Receive(node), Flows: flows,
	}
	for i := range flows.Flow {
		if int(flows.Flow[i].Src) == node {
			h.Starts = append(h.Starts, uint32(i))
		}
	}
	return h
}

func (n *Network) sw(node int, table *route.Table, out *Result) *dataplane.SwitchSpec {
	s := &dataplane.SwitchSpec{
		Name: n.Graph.Names[node], Node: uint32(node), Buffer: mmu.Spec{Private: n.Private, Cell: n.Cell, Kinds: n.Kinds}, Ports: n.ports(node),
		Scheduler: func(int) (sched.Scheduler, error) { return n.Scheduler() }, Router: n.Router, Routes: table,
		RouteSeed: uint64(node), Seed: uint64(node),
		NoShortcuts: n.NoShortcuts,
	}
	s.Policy = func(e buffer.Env) (buffer.Policy, error) {
		out.Views = append(out.Views, e.View)
		return n.Policy(node, e)
	}
	if n.Deadlock != nil {
		s.Deadlock = func(d deadlock.Switch) (deadlock.Handler, error) { return n.Deadlock(node, d) }
	}
	s.Marker = func(port int) (mark.Marker, error) { return n.Marker(s.Ports[port].Rate) }
	for port := range s.Ports {
		s.Flow = append(s.Flow, n.Flow(node, port))
		s.ECN = append(s.ECN, 0xfe)
	}
	s.Buffer.Size = n.Shared - dataplane.SharedSize(s)
	return s
}

// Record is a probe that records what the suites need.
type Record struct {
	probe.Ignore
	BlockedNow []packet.ClassMask // by port: classes that may not send now
	PausedNow  []packet.ClassMask // by port: classes that the upstream is asked to pause now
	Drops      [probe.NumReasons]uint64
	Pauses     uint64 // number of changes in the requested pauses
	digest     uint64
}

func newRecord(ports int) *Record {
	return &Record{BlockedNow: make([]packet.ClassMask, ports), PausedNow: make([]packet.ClassMask, ports), digest: 14695981039346656037}
}

// note adds an event to the digest (FNV-1a over words).
func (r *Record) note(kind uint64, now units.Time, port int, a, b uint64) {
	for _, w := range [5]uint64{kind, uint64(now), uint64(port), a, b} {
		r.digest = (r.digest ^ w) * 1099511628211
	}
}

// Depart implements probe.Sink.
func (r *Record) Depart(now units.Time, port int, p *packet.Packet) {
	r.note(1, now, port, uint64(p.Flow)<<32|uint64(p.Seq), uint64(p.Hash)<<32|uint64(p.Meta)<<8|uint64(p.Flags))
}

// Arrive implements probe.Sink.
func (r *Record) Arrive(now units.Time, port int, p *packet.Packet) {
	r.note(2, now, port, uint64(p.Flow)<<32|uint64(p.Seq), uint64(p.Meta))
}

// Drop implements probe.Sink.
func (r *Record) Drop(now units.Time, port int, p *packet.Packet, why probe.Reason) {
	r.Drops[why]++
	r.note(3, now, port, uint64(p.Flow)<<32|uint64(p.Seq), uint64(why))
}

// Blocked implements probe.Sink.
func (r *Record) Blocked(now units.Time, port int, _, to packet.ClassMask) {
	r.BlockedNow[port] = to
	r.note(4, now, port, uint64(to), 0)
}

// Paused implements probe.Sink.
func (r *Record) Paused(now units.Time, port int, _, to packet.ClassMask) {
	r.PausedNow[port] = to
	r.Pauses++
	r.note(5, now, port, uint64(to), 0)
}
