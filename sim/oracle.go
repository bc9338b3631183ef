package sim

import (
	"container/heap"
	"context"
	"math"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/job"
)

// OracleOptions configure the oracle.
type OracleOptions struct {
	// Progress is called at every CheckPeriod with the simulated time. It may be nil.
	Progress func(now units.Time)
}

// Oracle is the reference engine: every event is a record in one global heap. It is slow
// and simple, and shares only the data planes and the Spec with the fast engine, so each
// checks the other.
type Oracle struct {
	spec      *Spec
	opts      OracleOptions
	queue     oracleQueue
	inserted  uint64
	nodes     []*oracleNode // hosts first
	nics      []*dataplane.NIC
	switches  []*dataplane.Switch
	deadlocks *deadlocks
	now       units.Time
}

// oracleKind is the kind of an event. Of simultaneous events at a node, lower kinds
// happen first.
type oracleKind uint8

const (
	oracleSample oracleKind = iota
	oracleChange
	oracleControl
	oracleArrival
	oracleWake
	oraclePace
	oracleStart
	oracleTxDone
)

// oracleEvent is a scheduled event of a node.
type oracleEvent struct {
	at       units.Time
	node     *oracleNode
	kind     oracleKind
	port     int
	inserted uint64 // sequence number
	packet   packet.Packet
	ext      packet.Ext
	change   change
	valid    *uint64 // timers: the event is valid while this equals inserted
}

// oracleQueue is a heap of events.
type oracleQueue struct {
	events         []*oracleEvent
	insertionOrder bool
}

func (q *oracleQueue) Len() int      { return len(q.events) }
func (q *oracleQueue) Swap(i, j int) { q.events[i], q.events[j] = q.events[j], q.events[i] }
func (q *oracleQueue) Push(x any)    { q.events = append(q.events, x.(*oracleEvent)) }

func (q *oracleQueue) Pop() any {
	last := len(q.events) - 1
	e := q.events[last]
	q.events[last] = nil
	q.events = q.events[:last]
	return e
}

func (q *oracleQueue) Less(i, j int) bool {
	a, b := q.events[i], q.events[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case (a.kind == oracleSample) != (b.kind == oracleSample):
		return a.kind == oracleSample
	case q.insertionOrder:
		return a.inserted < b.inserted
	case a.node != b.node:
		return a.node.number < b.node.number // any order: events of different nodes are independent
	case a.kind != b.kind:
		return a.kind < b.kind
	case a.port != b.port && a.kind != oracleChange:
		return a.port < b.port
	default:
		return a.inserted < b.inserted // changes, in the order of the spec
	}
}

// oracleNode is the driver of one data plane.
type oracleNode struct {
	o *Oracle
	insertions
	number  int
	sw      *dataplane.Switch
	nic     *dataplane.NIC
	common  dataPlane
	samples *sampler
	out     []oracleWire // by port
	txDone  []uint64     // by port: sequence number of the pending TxDone
	wake    uint64       // sequence numbers of pending timers
	pace    uint64
	start   uint64
	hops    uint64
	control Controls
}

// oracleWire is one direction of a cable, seen from its sender.
type oracleWire struct {
	to     *oracleNode
	port   int
	delay  units.Time
	faults *faults
}

// NewOracle returns an oracle for a run. It fails if a cable has no delay or a scheme
// rejects its parameters.
func NewOracle(spec *Spec, opts OracleOptions) (*Oracle, error) {
	if _, err := spec.lookahead(); err != nil {
		return nil, err
	}
	o := &Oracle{spec: spec, opts: opts, queue: oracleQueue{insertionOrder: spec.InsertionOrder}}
	for i := range spec.nodeCount() {
		ports := spec.portCount(i)
		o.nodes = append(o.nodes, &oracleNode{
			o: o, number: i, out: make([]oracleWire, ports),
			txDone: make([]uint64, ports), insertions: insertions{&o.inserted, make([]uint64, ports)},
		})
	}
	for i := range spec.Cables {
		c := &spec.Cables[i]
		// Both engines use the same numbers for the directions of a cable: each
		// direction has its own random stream.
		o.nodes[c.A.Node].out[c.A.Port] = oracleWire{o.nodes[c.B.Node], c.B.Port, c.AtoB, newFaults(c, c.AtoB, spec.Seed, uint64(2*i))}
		o.nodes[c.B.Node].out[c.B.Port] = oracleWire{o.nodes[c.A.Node], c.A.Port, c.BtoA, newFaults(c, c.BtoA, spec.Seed, uint64(2*i+1))}
	}
	for i, list := range spec.changes() {
		for _, c := range list {
			o.schedule(&oracleEvent{at: c.at, node: o.nodes[i], kind: oracleChange, change: c})
		}
	}
	for i, s := range spec.samplers() {
		if s != nil {
			o.nodes[i].samples = s
			o.schedule(&oracleEvent{at: s.next, node: o.nodes[i], kind: oracleSample})
		}
	}
	var err error
	o.nics, o.switches, o.deadlocks, err = spec.nodes(func(i int) dataplane.NICDriver { return o.nodes[i] })
	if err != nil {
		return nil, err
	}
	for i, n := range o.nics {
		o.nodes[i].nic, o.nodes[i].common = n, n
	}
	for i, s := range o.switches {
		n := o.nodes[len(o.nics)+i]
		n.sw, n.common = s, s
	}
	return o, nil
}

func (o *Oracle) schedule(e *oracleEvent) {
	o.inserted++
	e.inserted = o.inserted
	heap.Push(&o.queue, e)
}

// Run runs until the stop rule of the spec holds or the context is done. It returns the
// simulated time at which the run ended; events at that time are not executed.
func (o *Oracle) Run(ctx context.Context) (units.Time, error) {
	for _, n := range o.nodes {
		n.common.Start(0)
	}
	var err error
	until := o.spec.Until
	for check := units.Time(0); ; {
		stop := min(check, until)
		for o.next() < stop {
			o.step()
		}
		o.now = stop
		if o.opts.Progress != nil {
			o.opts.Progress(o.now)
		}
		if err = ctx.Err(); err != nil {
			break
		}
		until = o.spec.endTime(o.now, until)
		if o.deadlocks.check(o.now) || o.now >= until {
			break
		}
		check += CheckPeriod
		if next := min(o.next(), until, o.spec.nextDoneCheck(o.now), o.deadlocks.next()); next > check+slots*CheckPeriod {
			check = next - next%CheckPeriod // nothing happens until then
		}
	}
	for _, s := range o.switches {
		s.Finish(o.now)
	}
	return o.now, err
}

// next returns the time of the next event.
func (o *Oracle) next() units.Time {
	if len(o.queue.events) == 0 {
		return math.MaxInt64
	}
	return o.queue.events[0].at
}

// step executes the next event.
func (o *Oracle) step() {
	e := heap.Pop(&o.queue).(*oracleEvent)
	if e.valid != nil {
		if *e.valid != e.inserted {
			return // armed again or disarmed since then
		}
		*e.valid = 0
	}
	n := e.node
	switch e.kind {
	case oracleSample:
		n.sample(e.at)
	case oracleChange:
		if e.change.table != nil {
			n.sw.SetRoutes(e.change.table)
		} else {
			n.common.LinkChanged(e.at, e.change.port, e.change.up)
		}
	case oracleControl, oracleArrival:
		n.arrive(e)
	case oracleWake:
		n.common.Wake(e.at)
	case oraclePace:
		n.nic.Pace(e.at)
	case oracleStart:
		n.nic.StartFlows(e.at)
	case oracleTxDone:
		n.common.TxDone(e.at, e.port)
	}
}

// sample takes the samples that are due and schedules the next ones.
func (n *oracleNode) sample(now units.Time) {
	n.samples.take(now, n.common.Probe())
	n.o.schedule(&oracleEvent{at: n.samples.next, node: n, kind: oracleSample})
}

// arrive delivers a frame to its node unless the wire lost it.
func (n *oracleNode) arrive(e *oracleEvent) {
	p := &e.packet
	if e.kind == oracleControl {
		n.control.count(p)
	} else {
		n.hops++
	}
	// The wire that carried the frame belongs to the peer of this port.
	back := &n.out[e.port]
	if f := back.to.out[back.port].faults; f != nil && f.damages(p) {
		n.common.Lose(e.at, e.port, p)
		return
	}
	if n.sw != nil {
		n.sw.Arrive(e.at, e.port, p, e.ext)
	} else {
		n.nic.Arrive(e.at, e.port, p, e.ext)
	}
}

// Transmit implements dataplane.Driver.
func (n *oracleNode) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	w := &n.out[port]
	e := &oracleEvent{at: done + w.delay, node: w.to, kind: oracleArrival, port: w.port, packet: *p, inserted: n.send(port)}
	if p.Control() {
		e.kind = oracleControl
	}
	e.packet.At, e.packet.Link = e.at, 0
	e.packet.SetPort(w.port)
	e.packet.Flags &^= packet.Extended
	if len(ext) > 0 {
		e.packet.Flags |= packet.Extended
		e.ext = append(packet.Ext(nil), ext...)
	}
	heap.Push(&n.o.queue, e)
}

// arm schedules a timer and cancels the pending one in slot.
func (n *oracleNode) arm(order uint64, slot *uint64, kind oracleKind, port int, at units.Time) {
	*slot = 0
	if at > units.MaxTime {
		return
	}
	heap.Push(&n.o.queue, &oracleEvent{at: at, node: n, kind: kind, port: port, valid: slot, inserted: order})
	*slot = order
}

// ArmTx implements dataplane.Driver.
func (n *oracleNode) ArmTx(port int, at units.Time) {
	n.arm(n.frameEnds[port], &n.txDone[port], oracleTxDone, port, at)
}

// ArmWake implements dataplane.Driver.
func (n *oracleNode) ArmWake(at units.Time) { n.arm(n.plan(), &n.wake, oracleWake, 0, at) }

// ArmPace implements dataplane.NICDriver.
func (n *oracleNode) ArmPace(at units.Time) { n.arm(n.plan(), &n.pace, oraclePace, 0, at) }

// ArmStart implements dataplane.NICDriver.
func (n *oracleNode) ArmStart(at units.Time, flow uint32) {
	n.arm(startOf(flow), &n.start, oracleStart, 0, at)
}

// insertions numbers the events that a node schedules, for runs in which simultaneous
// events happen in the order in which they were scheduled. ns-3 has the same rules.
type insertions struct {
	last      *uint64  // last number used
	frameEnds []uint64 // by port: number of the end of the current transmission
}

// plan returns the number of an event scheduled now. A timer gets a new number whenever
// it is set, even to the same time.
func (s *insertions) plan() uint64 {
	*s.last++
	return *s.last
}

// send returns the number of the arrival of a frame whose transmission begins now. In
// ns-3 the end of the transmission is a separate event, scheduled before the arrival.
// Here it may become an event later (ArmTx), so its number is reserved now.
func (s *insertions) send(port int) uint64 {
	s.frameEnds[port] = s.plan()
	return s.plan()
}

// startOf returns the number of a flow's start. In ns-3 a starting flow passes through two
// events without delay, so it follows everything scheduled earlier for that time. Flows
// with the same start time start in the order of their indices, on any host.
func startOf(flow uint32) uint64 { return firstStart + uint64(flow) }

// firstStart is larger than the number of any other event.
const firstStart = 1 << 62

// Notify implements dataplane.Notifier.
func (n *oracleNode) Notify(from *job.Host, m job.Notice) { n.o.nics[m.To].Noticed(from.Job(), m) }

// Totals returns the totals so far.
func (o *Oracle) Totals() Totals {
	t := totals(o.spec, o.nics, o.switches, o.now)
	for _, n := range o.nodes {
		t.Hops += n.hops
		n.control.addTo(&t)
	}
	return t
}
