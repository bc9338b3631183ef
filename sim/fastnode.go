package sim

import (
	"math/bits"
	"sync/atomic"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Events of a node happen in the order of a key: time, then class, then port.
// No key depends on when or by whom an event was created, so results do not
// depend on workers or windows.
const (
	keyPortBits  = 10
	keyClassBits = 3
	keyTimeShift = keyPortBits + keyClassBits

	// MaxPorts is the largest number of ports of a node.
	MaxPorts = 1 << keyPortBits
)

// Classes of events at the same time.
const (
	classChange  = iota // a probe samples, then a link fails or recovers, routes change
	classControl        // a control frame has arrived
	classArrival        // any other frame has arrived
	classWake           // timers of components
	classPace           // send times of flows
	classStart          // starts of flows
	classTxDone         // the wire is free again
)

func key(t units.Time, class uint64, port int) uint64 {
	return uint64(t)<<keyTimeShift | class<<keyPortBits | uint64(port)
}

// timer returns the key of a timer, or none.
func timer(t units.Time, class uint64) uint64 {
	if t > units.MaxTime {
		return none
	}
	return key(t, class, 0)
}

// fastNode is a node of the fast engine: a data plane, the frames on the wires
// that lead to it, and its timers.
type fastNode struct {
	// What a window needs of a host is in four cache lines.
	txDone      tree   // by port
	timer       uint64 // the smallest of timers
	later       uint64 // smallest key of the known frames that arrive after the window
	frames      uint64 // that arrived, of any kind
	timers      [4]uint64
	worker      *worker // that runs the node
	sw          *dataplane.Switch
	nic         *dataplane.NIC
	faulty      bool // a wire that leads here may lose frames
	inputs      []input
	outputs     []output
	touched     []uint64 // bitmap of links with frames not yet published
	waiting     []uint64 // bitmap of inputs with known frames that arrive later
	news        []uint64 // bitmap of inputs with frames published by their senders
	common      dataPlane
	links       []*fastWire
	ext         packet.Ext // scratch
	changes     []change
	samples     *sampler     // nil when there are none
	ordered     *orderedNode // not nil in runs in the order of insertion
	index       int          // in the engine's order
	pendingWake uint64       // window of a far wake that is on its way
	control     Controls     // that arrived
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

// output is where a port leads to.
type output struct {
	delay  units.Time
	to     uint32 // node
	toPort uint16
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
	e.Port = o.toPort
	e.Link = w.near.sent
	if p.Flags&packet.Extended != 0 {
		e.Link |= b.keepExt(ext)
	}
}

// transmitFar is Transmit for a frame that arrives further ahead than boxes reach.
//
//go:noinline
func (n *fastNode) transmitFar(port int, p *packet.Packet, ext packet.Ext, at units.Time) {
	l := n.links[port]
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

// run handles every event of the node from the start of a window to its end.
// Whatever arrives before the end is in boxes or on wires already.
func (n *fastNode) run(s *arrivals, from, end units.Time) {
	limit, base := uint64(end)<<keyTimeShift, uint64(from)<<keyTimeShift
	keys, i, sw := s.gather(n, from, end), 0, n.sw
	at := keys[0]
	a := base + at>>placeBits
	for {
		x := n.txDone.top()
		switch k := min(a, x, n.timer); {
		case k >= limit:
			return
		case k == a:
			port, place := int(a&(MaxPorts-1)), at%(2*nearPlace)
			i++
			at = keys[i]
			a = base + at>>placeBits
			if place == 0 {
				n.arriveFar(port)
				continue
			}
			p := s.frames[place-nearPlace]
			switch {
			case p.Control() || p.Flags&packet.Extended != 0 || n.faulty:
				n.arriveSpecial(port, p, s.ext(place-nearPlace, p))
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
			if !pending { // else it has its new time already
				n.txDone.set(port, none)
			}
		default:
			n.fire(units.Time(k >> keyTimeShift))
		}
	}
}

// announce marks a wire as having news.
func (n *fastNode) announce(port uint16, alone bool) {
	if at, bit := &n.news[port>>6], uint64(1)<<(port&63); alone {
		*at |= bit
	} else {
		atomic.OrUint64(at, bit)
	}
}

// arriveFar takes a frame that came by its wire.
func (n *fastNode) arriveFar(port int) {
	in := &n.inputs[port]
	p := in.pop(&n.worker.chunks)
	n.arriveSpecial(port, p, in.ext(p))
}

// arriveSpecial takes a control frame, one with an extension, or one that its
// wire may have damaged.
func (n *fastNode) arriveSpecial(port int, p *packet.Packet, ext packet.Ext) {
	if p.Control() {
		n.control.count(p)
		if ext != nil { // who gets it may append to it
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

// fire handles the timer that is due.
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

// alter takes the samples that are due now, or carries out the next timed change.
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

// next returns the time of the node's next event, as far as it knows.
func (n *fastNode) next() units.Time {
	if k := min(n.later, n.txDone.top(), n.timer); k != none {
		return units.Time(k >> keyTimeShift)
	}
	return units.Never
}

// publish makes what the node sent visible, and notes which nodes have something
// to do when.
func (n *fastNode) publish(w *worker) {
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
	if at := n.next(); at != units.Never {
		w.noteSelf(n, at)
	}
}
