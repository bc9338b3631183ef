package sim

import (
	"math/bits"
	"sync/atomic"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// The events of a node are ordered by key: time, then class, then port. A key does not
// depend on when or by whom an event was created, so results do not depend on workers or
// windows.
const (
	keyPortBits  = packet.PortBits
	keyClassBits = 3
	keyTimeShift = keyPortBits + keyClassBits

	// MaxPorts is the maximum number of ports of a node.
	MaxPorts = packet.MaxPorts
)

// Classes of events, in the order in which simultaneous events happen.
const (
	classChange  = iota // samples of probes, then changes of links and routes
	classControl        // arrivals of control frames
	classArrival        // arrivals of other frames
	classWake           // timers of components
	classPace           // send times of flows
	classStart          // starts of flows
	classTxDone         // ends of transmissions
)

func key(t units.Time, class uint64, port int) uint64 {
	return uint64(t)<<keyTimeShift | class<<keyPortBits | uint64(port)
}

// timer returns the key of a timer, or none if t is beyond units.MaxTime.
func timer(t units.Time, class uint64) uint64 {
	if t > units.MaxTime {
		return none
	}
	return key(t, class, 0)
}

// fastNode is a node of the fast engine: a data plane, the frames in flight to it, and
// its timers.
type fastNode struct {
	// A window of a host uses only the first four cache lines.
	txDone      tree   // by port
	timer       uint64 // smallest of timers
	later       uint64 // smallest key of known frames that arrive after the window
	frames      uint64 // number of frames that arrived, of any kind
	timers      [4]uint64
	worker      *worker // worker that runs the node
	sw          *dataplane.Switch
	nic         *dataplane.NIC
	faulty      bool // an incoming wire may lose frames
	inputs      []input
	outputs     []output
	touched     []uint64 // bitmap of links with unpublished frames
	waiting     []uint64 // bitmap of inputs with known frames that arrive later
	news        []uint64 // bitmap of inputs with frames published by their senders
	common      dataPlane
	links       []*fastWire
	ext         packet.Ext // scratch
	changes     []change
	samples     *sampler     // nil if the node is not sampled
	ordered     *orderedNode // nil unless Spec.InsertionOrder is set
	index       int          // index in Fast.nodes
	pendingWake uint64       // window of the pending far wake
	control     Controls     // control frames that arrived
}

// Slots of fastNode.timers.
const (
	timerChange = iota
	timerWake
	timerPace
	timerStart
)

func newFastNode(ports int) *fastNode {
	words := (ports + 63) / 64
	n := &fastNode{
		txDone: newTree(ports), inputs: make([]input, ports), outputs: make([]output, ports), links: make([]*fastWire, ports),
		touched: make([]uint64, words), waiting: make([]uint64, words), news: make([]uint64, words),
		timers: [4]uint64{none, none, none, none}, timer: none, later: none,
	}
	return n
}

// output is the peer of a port and the delay to it.
type output struct {
	delay  units.Time
	to     uint32 // node
	toPort packet.Ingress
}

// Transmit implements dataplane.Driver.
func (n *fastNode) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	o, w := &n.outputs[port], n.worker
	at := done + o.delay
	if at >= w.near.far {
		n.transmitFar(port, p, ext, at)
		return
	}
	index := w.near.of(at)
	b := w.near.box(o.to, index)
	if b.n%blockFrames == 0 {
		w.open(b, index, o.to)
	}
	e := &b.last.frames[b.n%blockFrames]
	b.n++
	*e = *p
	e.At = at
	e.Enter(o.toPort)
	e.Link = w.near.sent
	if p.Flags&packet.Extended != 0 {
		e.Link |= b.keepExt(ext)
	}
}

// transmitFar is Transmit for a frame that arrives after the last window with boxes.
//
//go:noinline
func (n *fastNode) transmitFar(port int, p *packet.Packet, ext packet.Ext, at units.Time) {
	l := n.links[port]
	n.worker.wires = true
	if l.tail == l.flushed {
		l.first = at
	}
	l.push(&n.worker.chunks, p, at)
	n.touched[uint(port)>>6] |= 1 << (uint(port) & 63)
	if p.Flags&packet.Extended != 0 {
		l.extend(ext)
	}
}

// ArmTx implements dataplane.Driver.
func (n *fastNode) ArmTx(port int, at units.Time) { n.txDone.set(port, key(at, classTxDone, port)) }

// ArmWake implements dataplane.Driver.
func (n *fastNode) ArmWake(at units.Time) { n.setTimer(timerWake, timer(at, classWake)) }

// ArmPace implements dataplane.NICDriver.
func (n *fastNode) ArmPace(at units.Time) { n.setTimer(timerPace, timer(at, classPace)) }

// ArmStart implements dataplane.NICDriver.
func (n *fastNode) ArmStart(at units.Time, _ uint32) { n.setTimer(timerStart, timer(at, classStart)) }

func (n *fastNode) setTimer(slot int, k uint64) {
	n.timers[slot] = k
	n.timer = min(n.timers[0], n.timers[1], n.timers[2], n.timers[3])
}

func (n *fastNode) armChange() {
	k := none
	if len(n.changes) > 0 {
		k = timer(n.changes[0].at, classChange)
	}
	if n.samples != nil {
		k = min(k, timer(n.samples.next, classChange))
	}
	n.setTimer(timerChange, k)
}

// run handles every event of the node between from and end. Every frame that arrives
// before end is already in a box or on a wire.
func (n *fastNode) run(s *arrivals, from, end units.Time) {
	limit, base := uint64(end)<<keyTimeShift, uint64(from)<<keyTimeShift
	keys, i, sw := s.gather(n, from, end), 0, n.sw
	at := keys[0]
	a := base + at>>refBits
	for {
		x := n.txDone.top()
		switch k := min(a, x, n.timer); {
		case k >= limit:
			return
		case k == a:
			port, ref := int(a&(MaxPorts-1)), at%(2*nearRef)
			i++
			at = keys[i]
			a = base + at>>refBits
			if ref == 0 {
				n.arriveFar(port)
				continue
			}
			p := s.frames[ref-nearRef]
			switch {
			case p.Control() || p.Flags&packet.Extended != 0 || n.faulty:
				n.arriveSpecial(port, p, s.ext(ref-nearRef, p))
			case sw != nil:
				sw.Forward(p.At, port, p, nil)
			default:
				n.nic.Arrive(p.At, port, p, nil)
			}
		case k == x:
			port, now, pending := int(x&(MaxPorts-1)), units.Time(x>>keyTimeShift), false
			if sw != nil {
				pending = sw.TxDone(now, port)
			} else {
				pending = n.nic.TxDone(now, port)
			}
			if !pending { // otherwise the data plane has armed it again
				n.txDone.set(port, none)
			}
		default:
			n.fire(units.Time(k >> keyTimeShift))
		}
	}
}

// announce flags an input wire that has new frames.
func (n *fastNode) announce(port uint16, alone bool) {
	if at, bit := &n.news[port>>6], uint64(1)<<(port&63); alone {
		*at |= bit
	} else {
		atomic.OrUint64(at, bit)
	}
}

// arriveFar handles a frame that arrives on a wire rather than in a box.
func (n *fastNode) arriveFar(port int) {
	in := &n.inputs[port]
	p := in.pop(&n.worker.chunks)
	n.arriveSpecial(port, p, in.ext(p))
}

// arriveSpecial handles a control frame, a frame with an extension, or a frame that its
// wire may have corrupted.
func (n *fastNode) arriveSpecial(port int, p *packet.Packet, ext packet.Ext) {
	if p.Control() {
		n.control.count(p)
		if ext != nil { // the receiver may append to it
			n.ext = append(n.ext[:0], ext...)
			ext = n.ext
		}
	}
	if f := n.inputs[port].faults; f != nil && f.damages(p) {
		n.common.Lose(p.At, port, p)
		return
	}
	if n.sw != nil {
		n.sw.Arrive(p.At, port, p, ext)
	} else {
		n.nic.Arrive(p.At, port, p, ext)
	}
}

// fire runs the timer that is due.
func (n *fastNode) fire(now units.Time) {
	switch n.timer {
	case n.timers[timerChange]:
		n.alter(now)
		n.armChange()
	case n.timers[timerWake]:
		n.setTimer(timerWake, none)
		n.common.Wake(now)
	case n.timers[timerPace]:
		n.setTimer(timerPace, none)
		n.nic.Pace(now)
	default:
		n.setTimer(timerStart, none)
		n.nic.StartFlows(now)
	}
}

// alter takes the samples that are due now, or applies the next timed change.
func (n *fastNode) alter(now units.Time) {
	if n.samples != nil && n.samples.next == now {
		n.samples.take(now, n.common.Probe())
		return
	}
	c := n.changes[0]
	n.changes = n.changes[1:]
	if c.table != nil {
		n.sw.SetRoutes(c.table)
		return
	}
	n.common.LinkChanged(now, c.port, c.up)
}

// publish makes the frames that the node sent visible to their receivers, and schedules
// the receivers and the node itself.
func (n *fastNode) publish(w *worker) {
	if w.wires {
		n.publishFar(w)
	}
	k := min(n.later, n.txDone.top(), n.timer)
	if k == none {
		return
	}
	at := units.Time(k >> keyTimeShift)
	if at < w.near.far {
		w.slots[w.near.of(at)%slots][uint(n.index)>>6] |= 1 << (n.index & 63)
		return
	}
	w.noteSelf(n, at)
}

// publishFar publishes the frames that use their wire.
func (n *fastNode) publishFar(w *worker) {
	alone := len(w.all) == 1
	for i := range n.touched {
		m := n.touched[i]
		n.touched[i] = 0
		for ; m != 0; m &= m - 1 {
			l := n.links[i<<6+bits.TrailingZeros64(m)]
			first := l.flush(alone)
			l.to.announce(l.toPort, alone)
			w.note(l.to, first)
		}
	}
}
