package sim

import (
	"container/heap"
	"context"
	"math"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// OracleOptions choose how the oracle runs.
type OracleOptions struct {
	// Progress is called at every CheckPeriod with the simulated time; it may be
	// nil.
	Progress func(now units.Time)
}

// Oracle is the engine that one would write first: every event is a record in
// one heap. It is slow and plain, and shares nothing with the fast engine but
// the data planes, the description of the run and the rules of insertions, so that
// one checks the other.
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

// oracleKind is what an event is. At the same time and node, lower kinds happen
// first.
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

// oracleEvent is something that will happen at a node.
type oracleEvent struct {
	at       units.Time
	node     *oracleNode
	kind     oracleKind
	port     int
	inserted uint64 // running number
	packet   packet.Packet
	ext      packet.Ext
	change   change
	valid    *uint64 // timers: the event counts while this is equal to inserted
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
		return a.node.number < b.node.number // any order will do: they cannot meet
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
	txDone  []uint64     // by port: running number of the TxDone that counts
	wake    uint64       // likewise
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

// NewOracle builds the oracle for a run.
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
		// Both engines number the directions alike: corruption is drawn from the
		// stream of that number.
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

// Run runs until the spec says stop or the context is done, and returns the
// simulated time at which it ended. What is due at that very time is not done.
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
		until = o.spec.lastUntil(o.now, until)
		if o.deadlocks.look(o.now) || o.now >= until {
			break
		}
		check += CheckPeriod
		if next := min(o.next(), until, o.spec.nextAsk(o.now), o.deadlocks.next()); next > check+slots*CheckPeriod {
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

// step carries out the next event.
func (o *Oracle) step() {
	e := heap.Pop(&o.queue).(*oracleEvent)
	if e.valid != nil {
		if *e.valid != e.inserted {
			return // armed again, or disarmed, since
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

// sample takes samples and schedules the next ones.
func (n *oracleNode) sample(now units.Time) {
	n.samples.take(now, n.common.Probe())
	n.o.schedule(&oracleEvent{at: n.samples.next, node: n, kind: oracleSample})
}

// arrive hands a frame to its node, unless the wire damaged it.
func (n *oracleNode) arrive(e *oracleEvent) {
	p := &e.packet
	if e.kind == oracleControl {
		n.control.count(p)
	} else {
		n.hops++
	}
	// A cable has two ends: the wire by which the frame came starts at the peer
	// of this port.
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
	e.packet.At, e.packet.Port, e.packet.Link = e.at, uint16(w.port), 0
	e.packet.Flags &^= packet.Extended
	if len(ext) > 0 {
		e.packet.Flags |= packet.Extended
		e.ext = append(packet.Ext(nil), ext...)
	}
	heap.Push(&n.o.queue, e)
}

// arm schedules a timer in place of the one that slot knows.
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

// Totals returns the sums so far.
func (o *Oracle) Totals() Totals {
	t := totals(o.spec, o.nics, o.switches, o.now)
	for _, n := range o.nodes {
		t.Hops += n.hops
		n.control.addTo(&t)
	}
	return t
}
