package sim

import (
	"container/heap"
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// insertions numbers the events that a node plans, for runs in which
// simultaneous events happen in the order in which they were planned. The rules
// are those of ns-3, and the same for both engines.
type insertions struct {
	last      *uint64  // the last number given
	frameEnds []uint64 // by port: number of the end of the frame that is being sent
}

// plan numbers an event that is planned now: a timer that is set, even to the time
// it had.
func (s *insertions) plan() uint64 {
	*s.last++
	return *s.last
}

// send numbers the arrival of a frame whose transmission begins now. In ns-3 the
// end of a transmission is an event of its own, planned before the arrival at the
// other end; here it may become one later, then it has this number.
func (s *insertions) send(port int) uint64 {
	s.frameEnds[port] = s.plan()
	return s.plan()
}

// startOf numbers the start of a flow. In ns-3 a flow passes through two events
// without delay when it starts, so it comes after whatever was planned for that
// time before; flows of the same time start in the order of their numbers,
// whatever their hosts.
func startOf(flow uint32) uint64 { return firstStart + uint64(flow) }

const (
	// firstStart is beyond the number of any other event.
	firstStart = 1 << 62
	// thisWindow is beyond the number of any event that was planned before the
	// current window of the fast engine.
	thisWindow = 1 << 61
)

// moment is a place in the order of events.
type moment struct {
	at     units.Time
	number uint64 // among those of the same time
}

var never = moment{at: units.Never}

func (m moment) before(o moment) bool { return m.at < o.at || m.at == o.at && m.number < o.number }

// planner gives the fast engine the order of insertion. A node that runs its
// window alone cannot know how many events others have planned before its own, and
// need not: what arrives was sent in an earlier window, so whatever it plans for
// itself comes after that, in its own order. Such events have the numbers from
// thisWindow on until the window is over. Then the planner goes through what all
// nodes have done, in order, and gives every planned event the number that it
// would have had in one global queue.
type planner struct {
	heads heads
	last  uint64 // number given
}

// newPlanner makes the nodes of an engine follow the order of insertion. Timed
// changes are planned before all else, in the order of the nodes.
func newPlanner(nodes []*fastNode) *planner {
	p := &planner{}
	for i, n := range nodes {
		ports := len(n.inputs)
		p.last += uint64(len(n.changes))
		o := &orderedNode{
			fastNode: n, number: uint64(i), lastChange: p.last, wires: make([]numbers, ports),
			agenda: newAgenda(ports + ownEvents), given: thisWindow,
		}
		o.insertions = insertions{&o.given, make([]uint64, ports)}
		o.armChange()
		n.ordered = o
	}
	return p
}

// finish ends a window in which some of the nodes were active.
func (p *planner) finish(nodes []*fastNode, active []int32) {
	p.heads = p.heads[:0]
	for _, i := range active {
		if o := nodes[i].ordered; o.advance() {
			p.heads = append(p.heads, o)
		}
	}
	heap.Init(&p.heads)
	for len(p.heads) > 0 {
		o := p.heads[0]
		for children := o.log[o.merged-1].given - thisWindow; uint64(len(o.final)) < children; {
			p.last++
			o.final = append(o.final, p.last)
		}
		if o.advance() {
			heap.Fix(&p.heads, 0)
		} else {
			heap.Pop(&p.heads)
		}
	}
	for _, i := range active {
		nodes[i].ordered.numberPlanned()
	}
}

// heads is a heap of the nodes whose logs are not yet merged. The next event of a
// log is known with its final number: whatever planned it is before it in the same
// log, or in an earlier window.
type heads []*orderedNode

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return h[i].head.before(h[j].head) }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(*orderedNode)) }

func (h *heads) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	*h = (*h)[:last]
	return o
}

// orderedNode is a node of the fast engine in the order of insertion. It has
// events of its own in place of the timers of fastNode.
type orderedNode struct {
	*fastNode
	insertions
	agenda     // by port: ends of frames; then ownEvents
	number     uint64
	lastChange uint64    // number of the last timed change
	wires      []numbers // by port: of the frames that arrive
	ranks      []uint64  // of the arrivals of the window

	// The current window.
	given uint64 // the last number given
	log   []logged
	sent  []sending

	// The planner's part.
	merged int      // of the log
	head   moment   // of the log, with its final number
	final  []uint64 // numbers in place of thisWindow + 1, + 2, ...
}

// logged is an event that has planned others.
type logged struct {
	moment
	given uint64 // numbers up to this
}

// sending is a frame on its way.
type sending struct {
	number uint64 // of its arrival
	port   uint16
}

// Events of a node's agenda, after those of its ports.
const (
	ownWake = iota
	ownPace
	ownStart
	ownChange
	ownEvents
)

func (o *orderedNode) own(event int) int { return len(o.inputs) + event }

// Transmit implements dataplane.Driver.
func (o *orderedNode) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	o.fastNode.Transmit(port, p, ext, done)
	o.sent = append(o.sent, sending{o.send(port), uint16(port)})
}

// ArmTx implements dataplane.Driver.
func (o *orderedNode) ArmTx(port int, at units.Time) { o.set(port, moment{at, o.frameEnds[port]}) }

// ArmWake implements dataplane.Driver.
func (o *orderedNode) ArmWake(at units.Time) { o.set(o.own(ownWake), moment{at, o.plan()}) }

// ArmPace implements dataplane.NICDriver.
func (o *orderedNode) ArmPace(at units.Time) { o.set(o.own(ownPace), moment{at, o.plan()}) }

// ArmStart implements dataplane.NICDriver.
func (o *orderedNode) ArmStart(at units.Time, flow uint32) {
	// A number that nobody uses: an event after which another may be due sooner
	// than its number says is one that the planner must know.
	o.plan()
	o.set(o.own(ownStart), moment{at, startOf(flow)})
}

// armChange plans the next sample or timed change. Samples come before all else.
func (o *orderedNode) armChange() {
	next := never
	if len(o.changes) > 0 {
		next = moment{o.changes[0].at, o.lastChange + 1 - uint64(len(o.changes))}
	}
	if o.samples != nil && o.samples.next <= next.at {
		next = moment{at: o.samples.next}
	}
	o.set(o.own(ownChange), next)
}

// begun follows the start of the node.
func (o *orderedNode) begun() {
	o.done(moment{number: o.number})
	o.timer = timer(o.first().at, 0)
}

// done notes an event if it has planned others.
func (o *orderedNode) done(m moment) {
	if before := len(o.log); before == 0 && o.given > thisWindow || before > 0 && o.given > o.log[before-1].given {
		o.log = append(o.log, logged{m, o.given})
	}
}

// run is fastNode.run in the order of insertion.
func (o *orderedNode) run(s *arrivals, from, end units.Time) {
	keys := s.gather(o.fastNode, from, end)
	ranks := o.sortTies(keys)
	for i := 0; ; {
		next, arrival := o.first(), moment{from + units.Time(keys[i]>>(placeBits+keyTimeShift)), ranks[i]}
		arrives := arrival.before(next)
		if arrives {
			next = arrival
		}
		if next.at >= end {
			break
		}
		if arrives {
			place, port := keys[i]%(2*nearPlace), int(keys[i]>>placeBits&(MaxPorts-1))
			i++
			if place == 0 {
				o.arriveFar(port)
			} else {
				p := s.frames[place-nearPlace]
				o.arriveSpecial(port, p, s.ext(place-nearPlace, p))
			}
		} else {
			o.fire(next.at)
		}
		o.done(next)
	}
	o.timer = timer(o.first().at, 0)
}

// sortTies puts arrivals that are sorted by time into the order of insertion, and
// returns their numbers, with none after them.
func (o *orderedNode) sortTies(keys []uint64) []uint64 {
	ranks := o.ranks[:0]
	for i, k := range keys[:len(keys)-1] {
		r := o.wires[k>>placeBits&(MaxPorts-1)].take()
		ranks = append(ranks, r)
		for j := i; j > 0 && keys[j-1]>>(placeBits+keyTimeShift) == k>>(placeBits+keyTimeShift) && ranks[j-1] > r; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
			ranks[j], ranks[j-1] = ranks[j-1], ranks[j]
		}
	}
	o.ranks = append(ranks, none)
	return o.ranks
}

// fire handles the first event of the agenda.
func (o *orderedNode) fire(now units.Time) {
	event := o.firstEvent()
	o.set(event, never)
	switch event - len(o.inputs) {
	case ownWake:
		o.common.Wake(now)
	case ownPace:
		o.nic.Pace(now)
	case ownStart:
		o.nic.StartFlows(now)
	case ownChange:
		o.alter(now)
		o.armChange()
	default:
		o.common.TxDone(now, event)
	}
}

// advance goes on to the next event of the log and reports whether there is one.
func (o *orderedNode) advance() bool {
	if o.merged == len(o.log) {
		return false
	}
	o.head = o.log[o.merged].moment
	o.finalize(&o.head.number)
	o.merged++
	return true
}

// finalize replaces a number of this window.
func (o *orderedNode) finalize(number *uint64) {
	if *number > thisWindow && *number < firstStart {
		*number = o.final[*number-thisWindow-1]
	}
}

// numberPlanned gives everything that the node has planned its final number. The order
// among its own events stays what it was.
func (o *orderedNode) numberPlanned() {
	for _, s := range o.sent {
		o.finalize(&s.number)
		l := o.links[s.port]
		l.to.ordered.wires[l.toPort].push(s.number)
	}
	for i := range o.frameEnds {
		o.finalize(&o.frameEnds[i])
	}
	for i := range o.planned {
		o.finalize(&o.planned[i].number)
	}
	o.log, o.sent, o.final = o.log[:0], o.sent[:0], o.final[:0]
	o.merged, o.given = 0, thisWindow
}

// numbers is a queue.
type numbers struct {
	list []uint64
	head int
}

func (q *numbers) push(n uint64) {
	if len(q.list) == cap(q.list) && 2*q.head >= len(q.list) {
		q.list, q.head = slices.Delete(q.list, 0, q.head), 0
	}
	q.list = append(q.list, n)
}

func (q *numbers) take() uint64 {
	q.head++
	return q.list[q.head-1]
}

// agenda holds one moment per event and has the first always at hand: a winner
// tree.
type agenda struct {
	planned []moment
	winners []uint16 // node i has the children 2i and 2i+1; the last len(planned) are the leaves
}

func newAgenda(n int) agenda {
	a := agenda{make([]moment, n), make([]uint16, 2*n)}
	for i := range n {
		a.winners[n+i] = uint16(i)
	}
	for i := range n {
		a.set(i, never)
	}
	return a
}

func (a *agenda) firstEvent() int { return int(a.winners[1]) }
func (a *agenda) first() moment   { return a.planned[a.winners[1]] }

func (a *agenda) set(event int, m moment) {
	a.planned[event] = m
	for i := (len(a.planned) + event) / 2; i > 0; i /= 2 {
		l, r := a.winners[2*i], a.winners[2*i+1]
		if a.planned[r].before(a.planned[l]) {
			l = r
		}
		a.winners[i] = l
	}
}
