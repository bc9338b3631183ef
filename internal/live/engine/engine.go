// Package engine drives the data planes of a scenario with a real clock: timers, wires with
// a rate and a delay, faults and stop rules are those of the scenario, and everything
// comes as late as the machine lets it. How late is measured.
//
// One goroutine owns all nodes of a process and one agenda of everything that will happen
// to them. With a goroutine for each node every frame would wake another one, which costs
// more than the data plane does; so many nodes of a process cost no more than one busy
// one, and what is due first happens first, whichever node it belongs to. Nodes on other
// cores belong to other processes, on wires between them.
package engine

import (
	"context"
	"errors"
	"time"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// Options choose how a run is driven.
type Options struct {
	Clock Clock // nil: that of the machine
	// Check is how often a run looks whether it may stop, and Progress is called then;
	// it may be nil.
	Check    units.Time
	Progress func(now units.Time)
	// Here says which nodes this process owns; nil: all.
	Here []bool
	// Wires carry the frames; nil: memory, from node to node as they are.
	Wires Wires
	// Outside are hosts of the scenario whose places real hosts take; nil: none.
	Outside *Outside
}

// pollEvery is how often a run whose frames come from elsewhere looks for them.
const pollEvery = 50 * time.Microsecond

// DefaultCheck is often enough for whoever waits, and seldom enough not to be noticed.
const DefaultCheck = units.Millisecond

// Wires carry frames between nodes, in this process or elsewhere.
type Wires interface {
	// Open is told where frames that arrive go. It returns when all nodes of the run can
	// be reached, or with the error of the context.
	Open(ctx context.Context, to Arrivals) error
	// Send takes a frame that leaves a port now and is to arrive at its peer, with its
	// last bit, at due. The packet and its extension are the caller's.
	Send(from sim.End, p *packet.Packet, ext packet.Ext, due units.Time)
	// Poll hands over what has come.
	Poll(now units.Time)
	Close() error
}

// Arrivals takes frames that arrive at a port of this process. The packet and its
// extension stay the caller's. A time that has passed means now.
type Arrivals interface {
	Deliver(to sim.End, p *packet.Packet, ext packet.Ext, due units.Time)
}

// Engine drives the nodes of a run.
type Engine struct {
	spec   *sim.Spec
	opts   Options
	net    *sim.Network
	nodes  []*node
	slots  []slot
	agenda agenda
	now    units.Time
	late   Lateness
	bridge *bridge // nil: there are no real hosts
	never  uint64  // frames from wires that answered what was never sent
}

// kind is what an event is. At the same time and node, lower kinds happen first, as in
// the simulator.
type kind uint8

const (
	kindSample kind = iota
	kindChange
	kindControl
	kindArrival
	kindWake
	kindPace
	kindStart
	kindTxDone
)

// slot is a place in the agenda.
type slot struct {
	n    *node
	kind kind
	port uint16
}

// Slots of a node, before two for each of its ports: TxDone and arrivals.
const (
	slotSample = iota
	slotChange
	slotWake
	slotPace
	slotStart
	ownSlots
)

// order is the place of an event among those of the same time.
func (s *slot) order() uint64 {
	o := uint64(s.n.index)<<24 | uint64(s.kind)<<16 | uint64(s.port)
	if s.kind != kindSample {
		o |= 1 << 63
	}
	return o
}

// New makes a run ready.
func New(spec *sim.Spec, o Options) (*Engine, error) {
	if spec.InsertionOrder {
		return nil, errors.New("compat.ties: insertion is an order of simulated events; a run with a real clock has none")
	}
	if o.Clock == nil {
		clock := &Real{}
		if _, ok := o.Wires.(*Sockets); ok || o.Outside != nil {
			clock.Longest = pollEvery // nobody wakes the clock when a frame comes
		}
		o.Clock = clock
	}
	if o.Check == 0 {
		o.Check = DefaultCheck
	}
	e := &Engine{spec: spec, opts: o}
	for i := range len(spec.Hosts) + len(spec.Switches) {
		ports := 1
		if i >= len(spec.Hosts) {
			ports = len(spec.Switches[i-len(spec.Hosts)].Ports)
		}
		n := &node{e: e, index: i, first: len(e.slots), here: o.Here == nil || o.Here[i], wires: make([]wire, ports), in: make([]inbox, ports)}
		e.nodes = append(e.nodes, n)
		for _, k := range [ownSlots]kind{kindSample, kindChange, kindWake, kindPace, kindStart} {
			e.slots = append(e.slots, slot{n: n, kind: k})
		}
		for p := range ports {
			e.slots = append(e.slots, slot{n, kindTxDone, uint16(p)}, slot{n, kindArrival, uint16(p)})
		}
	}
	e.agenda = newAgenda(len(e.slots))
	var err error
	if o.Outside != nil {
		if e.bridge, spec, err = newBridge(e, spec, o.Outside); err != nil {
			return nil, err
		}
	}
	if e.net, err = sim.NewNetwork(spec, func(i int) dataplane.NICDriver { return e.nodes[i] }); err != nil {
		return nil, err
	}
	for i, n := range e.nodes {
		if o.Outside != nil {
			if line, out := o.Outside.Hosts[i]; out {
				n.here = n.here && line != nil
				if n.here {
					h := newOutsideHost(e.bridge, n, e.net.NIC(i), line)
					e.bridge.hosts = append(e.bridge.hosts, h)
					e.net.Nodes[i] = h
				}
			}
		}
		n.data, n.nic = e.net.Nodes[i], e.net.NIC(i)
		for p := range n.wires {
			w := e.net.Wire(i, p)
			n.wires[p] = wire{w.To, w.Delay}
		}
		if n.here {
			n.arm(slotSample, e.net.NextSample(i))
			n.arm(slotChange, e.net.NextChange(i))
		}
	}
	e.late.slack = e.halfFrame()
	return e, nil
}

// Run runs until the scenario says stop or the context is done, and returns the time at
// which it ended.
func (e *Engine) Run(ctx context.Context) (units.Time, error) {
	if e.opts.Wires != nil {
		if err := e.opts.Wires.Open(ctx, e); err != nil {
			return 0, errors.Join(err, e.opts.Wires.Close())
		}
	}
	e.opts.Clock.Start()
	for _, n := range e.nodes {
		if n.here {
			n.data.Start(0)
		}
	}
	var err error
	until, stop := e.spec.Until, false
	for check := units.Time(0); ; {
		e.runTo(min(check, until))
		if e.opts.Progress != nil {
			e.opts.Progress(e.now)
		}
		if err = ctx.Err(); err != nil {
			break
		}
		if until, stop = e.net.Check(e.now, until); stop {
			break
		}
		check = (e.now/e.opts.Check + 1) * e.opts.Check
	}
	e.net.Finish(e.now)
	if e.opts.Wires != nil {
		err = errors.Join(err, e.opts.Wires.Close())
	}
	if e.bridge != nil {
		err = errors.Join(err, e.bridge.close())
	}
	return e.now, err
}

// runTo waits for a time, and does what is due meanwhile. When it returns everything has
// happened that was due before now, so that all nodes stand at the same time.
func (e *Engine) runTo(stop units.Time) {
	clock, wires := e.opts.Clock, e.opts.Wires
	for {
		if e.now < stop {
			e.now = max(e.now, clock.Now())
			if wires != nil {
				wires.Poll(e.now)
			}
			if e.bridge != nil {
				e.bridge.poll(e.now)
			}
		}
		next := e.agenda.first()
		at := e.agenda.due[next].at
		switch {
		case at < e.now || at == e.now && at < stop:
			e.agenda.set(next, units.Never, 0)
			e.do(&e.slots[next], at)
		case e.now < stop:
			clock.Wait(min(at, stop))
		default:
			return
		}
	}
}

// do carries out the event of a slot that was due at a time.
func (e *Engine) do(s *slot, at units.Time) {
	n, now, what := s.n, e.now, LateTimer
	switch s.kind {
	case kindTxDone:
		what = LateWire
	case kindControl, kindArrival:
		// A frame that came from elsewhere may have been late before it was known.
		what, at = LateFrame, n.in[s.port].front().p.At
	}
	if s.kind != kindSample { // which is many, decides nothing, and would make all others look rare
		e.late.add(what, at, now)
	}
	switch s.kind {
	case kindSample:
		e.net.Sample(now, n.index)
		n.arm(slotSample, e.net.NextSample(n.index))
	case kindChange:
		e.net.Change(now, n.index)
		n.arm(slotChange, e.net.NextChange(n.index))
	case kindControl, kindArrival:
		n.arrive(int(s.port))
	case kindWake:
		n.data.Wake(now)
	case kindPace:
		n.nic.Pace(now)
	case kindStart:
		n.nic.StartFlows(now)
	case kindTxDone:
		n.data.TxDone(now, int(s.port))
	}
}

// Deliver implements Arrivals.
func (e *Engine) Deliver(to sim.End, p *packet.Packet, ext packet.Ext, due units.Time) {
	if n := e.nodes[to.Node]; n.here {
		n.deliver(to.Port, p, ext, due)
	}
}

// Lateness is by how much events came late so far.
func (e *Engine) Lateness() *Lateness { return &e.late }

// Totals returns the sums so far.
func (e *Engine) Totals() sim.Totals { return e.net.Totals(e.now) }

// Final returns the counters of all nodes up to now.
func (e *Engine) Final() sim.Counters { return e.net.Final(e.now) }

// Counters returns the ports and pools of Final, also while the run goes: it changes nothing.
func (e *Engine) Counters() sim.Counters { return e.net.Counters(e.now) }
