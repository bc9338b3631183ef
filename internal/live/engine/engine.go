// Package engine runs the data planes of a scenario on a real clock, for `xoff live`. Timers,
// rates, delays, faults and stop rules are the scenario's. Events are as late as the machine
// makes them, and the engine measures how late.
//
// One goroutine owns all nodes of a process and one agenda of their events, which it executes
// in order of time. With a goroutine per node, every frame would wake another goroutine, which
// costs more than the data plane. To use more cores, run nodes in several processes.
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

// Options configure an Engine.
type Options struct {
	Clock Clock // nil: Real
	// Check is the interval at which the engine checks the stop rules and calls Progress, which
	// may be nil. 0: DefaultCheck.
	Check    units.Time
	Progress func(now units.Time)
	// Here marks the nodes of this process; nil: all.
	Here []bool
	// Wires carry the frames; nil: packets are passed in memory.
	Wires Wires
	// Outside are the real hosts; nil: none.
	Outside *Outside
}

// A run with sockets or real hosts polls for frames every pollEvery. If none arrived for quietFor,
// it sleeps until the next one arrives.
const (
	pollEvery = 50 * time.Microsecond
	quietFor  = 200 * units.Microsecond
)

// DefaultCheck is the default of Options.Check.
const DefaultCheck = units.Millisecond

// Wires carry frames between nodes, in this process or elsewhere.
type Wires interface {
	// Open connects the wires; received frames go to to. It returns when all nodes of the run
	// can be reached, or with the error of the context.
	Open(ctx context.Context, to Arrivals) error
	// Send sends a frame that leaves a port now, at the latest with Flush. Its last bit arrives
	// at the peer at due. The caller keeps the packet and its extension.
	Send(from sim.End, p *packet.Packet, ext packet.Ext, due units.Time)
	// Flush reports whether frames were waiting.
	Flush() bool
	// Poll delivers received frames. It may leave some of them for the next call.
	Poll(now units.Time)
	Close() error
}

// Arrivals accepts frames for ports of this process. The caller keeps the packet and its
// extension. A time in the past means now.
type Arrivals interface {
	Deliver(to sim.End, p *packet.Packet, ext packet.Ext, due units.Time)
}

// Engine runs the nodes of a scenario on a clock.
type Engine struct {
	spec   *sim.Spec
	opts   Options
	net    *sim.Network
	nodes  []*node
	slots  []slot
	agenda agenda
	now    units.Time
	waits  units.Time // since when frames may wait to be sent; Never: none do
	late   Lateness
	bridge *bridge // nil: no real hosts
	rings  rings   // nil: frames do not end a sleep

	impossible uint64 // frames from wires that no correct peer sends
}

// kind is the kind of an event. Of simultaneous events of a node, lower kinds happen first, as in
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

// slot is a slot of the agenda.
type slot struct {
	n    *node
	kind kind
	port uint16
}

// Slots of a node. Two slots for each port follow: TxDone and arrivals.
const (
	slotSample = iota
	slotChange
	slotWake
	slotPace
	slotStart
	ownSlots
)

// order returns the order of an event among simultaneous events.
func (s *slot) order() uint64 {
	o := uint64(s.n.index)<<24 | uint64(s.kind)<<16 | uint64(s.port)
	if s.kind != kindSample {
		o |= 1 << 63
	}
	return o
}

// New returns an engine that is ready to Run.
func New(spec *sim.Spec, o Options) (*Engine, error) {
	if spec.InsertionOrder {
		return nil, errors.New("compat.ties is insertion, which a run with a real clock does not support (expected key)")
	}
	e := &Engine{spec: spec}
	if o.Clock == nil {
		clock := &Real{}
		if _, ok := o.Wires.(*Sockets); ok || o.Outside != nil {
			clock.Longest = pollEvery
		}
		if e.rings = ringsOf(&o); e.rings != nil {
			clock.until = e.sleepUntilFrame
		}
		o.Clock = clock
	}
	if o.Check == 0 {
		o.Check = DefaultCheck
	}
	e.opts = o
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

// ringsOf returns the rings of a run that receives frames only from rings; otherwise nil.
func ringsOf(o *Options) rings {
	var all rings
	if s, ok := o.Wires.(*Sockets); ok {
		for _, p := range s.ports {
			if p.ring == nil {
				return nil
			}
			all.add(p.ring)
		}
	}
	if o.Outside != nil {
		for _, h := range o.Outside.Hosts {
			if r, ok := h.(*Ring); ok {
				all.add(r)
			} else if h != nil {
				return nil
			}
		}
	}
	return all
}

// sleepUntilFrame implements Real.until.
func (e *Engine) sleepUntilFrame(d time.Duration) bool {
	came := units.Time(0)
	if s, ok := e.opts.Wires.(*Sockets); ok {
		came = s.came
	}
	if e.bridge != nil {
		came = max(came, e.bridge.came)
	}
	if e.now-came < quietFor {
		return false
	}
	e.rings.wait(d)
	return true
}

// Run runs until a stop rule of the scenario applies or the context is done. It returns the time
// of the run at its end.
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
	if s, ok := e.opts.Wires.(*Sockets); ok && err == nil {
		s.leave()
	}
	if e.opts.Wires != nil {
		err = errors.Join(err, e.opts.Wires.Close())
	}
	if e.bridge != nil {
		err = errors.Join(err, e.bridge.close())
	}
	return e.now, err
}

// eventsPerPoll is the number of due events after which the engine reads the clock and polls again.
const eventsPerPoll = 16

// An engine that is behind by lateFor sends frames only every sendEvery, to send several with one
// system call. It counts the delay as lateness.
const (
	lateFor   = 2 * units.Microsecond
	sendEvery = 20 * units.Microsecond
)

// runTo executes events until the time stop. When it returns, all events due before now have
// happened, so all nodes are at the same time.
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
		e.waits = min(e.waits, e.now)
		behind := e.agenda.next() < e.now-lateFor
		more := e.runDue(stop)
		next := min(e.agenda.next(), stop)
		if e.now >= stop && !more || !behind || next > e.now+lateFor || e.now > e.waits+sendEvery {
			e.send()
		}
		switch {
		case more:
		case e.now < stop:
			clock.Wait(next)
		default:
			return
		}
	}
}

// send sends the frames that wait in wires and for real hosts.
func (e *Engine) send() {
	waited := e.opts.Wires != nil && e.opts.Wires.Flush()
	waited = e.bridge != nil && e.bridge.flush() || waited
	if waited && e.now > e.waits {
		e.late.add(LateWire, e.waits, e.now)
	}
	e.waits = units.Never
}

// runDue executes up to eventsPerPoll events that are due now. It reports whether more may be due.
func (e *Engine) runDue(stop units.Time) bool {
	for range eventsPerPoll {
		next := e.agenda.first()
		at := e.agenda.due[next].at
		if at > e.now || at == e.now && at >= stop {
			return false
		}
		e.agenda.set(next, units.Never, 0)
		e.do(&e.slots[next], at)
	}
	return true
}

// do executes the event of a slot that was due at a time.
func (e *Engine) do(s *slot, at units.Time) {
	n, now, what := s.n, e.now, LateTimer
	switch s.kind {
	case kindTxDone:
		what = LateWire
	case kindControl, kindArrival:
		// A frame from a socket may have been late before the engine received it.
		what, at = LateFrame, n.in[s.port].front().p.At
	}
	if s.kind != kindSample { // samples are many and change nothing, so they would dilute the statistics
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

// Lateness returns the lateness of events so far.
func (e *Engine) Lateness() *Lateness { return &e.late }

// Totals returns the totals so far.
func (e *Engine) Totals() sim.Totals { return e.net.Totals(e.now) }

// Final returns the counters of all nodes up to now.
func (e *Engine) Final() sim.Counters { return e.net.Final(e.now) }

// Counters returns the ports and pools of Final. It is safe during the run.
func (e *Engine) Counters() sim.Counters { return e.net.Counters(e.now) }
