package dataplane

import (
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
)

// SwitchSpec describes a switch. The functions build its parts; they are called
// once per switch, or once per port with its number.
type SwitchSpec struct {
	Name   string
	Node   uint16
	Buffer mmu.Spec // Ports and Shared are filled in by NewSwitch
	Ports  []link.Port
	// Spare is what ports of the chip that are not connected take from the
	// buffer for their headroom.
	Spare units.Bytes
	// SparePool is what of that belongs to the pool of headroom (flowctl.Pooling).
	SparePool units.Bytes
	Policy    func(buffer.Env) (buffer.Policy, error)
	Flow      []flowctl.Scheme // of each port
	Scheduler func(port int) (sched.Scheduler, error)
	Marker    func(port int) (mark.Marker, error)
	ECN       []uint8 // classes that are marked, by port
	AtEnqueue bool    // mark when a frame joins its queue, not when it leaves
	Router    func(route.Env) (route.Router, error)
	Routes    *route.Table
	RouteSeed uint64
	Deadlock  func(deadlock.Switch) (deadlock.Handler, error)
	Seed      uint64
	Sink      probe.Sink
	Checks    *Checks
	Peaks     bool // keep the highest count of every queue
	Pairs     bool // count bytes per ingress, egress and class
	Log       *PauseLog
	// Telemetry is what is written into packets that ask for records; nil: nothing.
	Telemetry *telemetry.Spec
}

// Switch is an output-queued switch with one shared packet memory.
type Switch struct {
	node
	id      uint16
	kinds   [mmu.Classes]mmu.Kind
	router  route.Router
	aside   map[int]fifo // by queue: frames that a deadlock handler keeps apart
	atEnq   bool
	watcher buffer.Observer
	timed   buffer.Waker
	hook    deadlock.Hook
	share   int64 // of the policy, see port.sure
	shift   uint8
	margin  units.Bytes // of all flowctl.Steady receivers the largest
	levels  int64       // of them the smallest, or 0
	rand    *rand.PCG
	memory  memory
	stamps  *stamps     // nil when no flow wants telemetry
	carried packet.Ext  // extension of the frame that is being forwarded
	arrival mmu.Arrival // scratch: arguments of interface calls must not escape
	leaving mmu.Arrival
}

// NewSwitch builds a switch.
func NewSwitch(spec *SwitchSpec, drv Driver) (*Switch, error) {
	n := len(spec.Ports)
	s := &Switch{
		id: spec.Node, kinds: spec.Buffer.Kinds, atEnq: spec.AtEnqueue,
		rand:   rand.NewPCG(spec.Seed, 0),
		memory: memory{packets: make([]packet.Packet, 1, 64), next: make([]uint32, 1, 64)},
	}
	s.node = node{drv: drv, ports: make([]port, n), wakes: newWakes(2*n + 2), sink: spec.Sink, checks: spec.Checks, watched: spec.Sink != nil || spec.Checks != nil, serve: s.serveData, beyond: s.deepestPause, log: spec.Log, resumed: make([]units.Time, n*mmu.Classes)}

	layout := spec.Buffer
	layout.Ports = n
	layout.Shared = SharedSize(spec)
	s.ledger = mmu.NewLedger(layout)
	s.stamps = newStamps(spec)
	s.tallies = s.stamps != nil
	s.view, s.spare = s.ledger.View(), spec.SparePool
	if spec.Peaks {
		s.ledger.KeepPeaks()
	}
	if spec.Pairs {
		s.ledger.KeepPairs()
	}
	rates := make([]units.Rate, n)
	for i := range spec.Ports {
		rates[i] = spec.Ports[i].Rate
	}
	policy, err := spec.Policy(buffer.Env{View: s.view, Rates: rates})
	if err != nil {
		return nil, err
	}
	s.policy = policy
	if s.router, err = spec.Router(route.NewEnv(spec.Routes, s.view, rates, spec.RouteSeed)); err != nil {
		return nil, err
	}
	if _, ok := policy.(buffer.Pairs); ok {
		s.ledger.KeepPairs()
	}
	s.watcher, _ = policy.(buffer.Observer)
	s.pauses, _ = policy.(buffer.PauseObserver)
	s.timed, _ = policy.(buffer.Waker)
	lossless := s.classes(mmu.Lossless)
	for i := range spec.Ports {
		s.initPort(i, spec.Ports[i], spec.Flow[i])
		if s.ports[i].sched, err = spec.Scheduler(i); err != nil {
			return nil, err
		}
		if _, ok := s.ports[i].recv.(flowctl.Passing); !ok {
			s.ports[i].counted = lossless
		}
		s.shortcuts(&s.ports[i])
		if s.watcher != nil {
			s.ports[i].counted = 1<<mmu.Classes - 1
		}
		m, err := spec.Marker(i)
		if err != nil {
			return nil, err
		}
		s.ports[i].marker, s.ports[i].floor, s.ports[i].ecn = m, m.Floor(), spec.ECN[i]
	}
	if s.timed != nil {
		s.wakes.set(s.policyWake(), s.timed.NextWake())
	}
	if spec.Deadlock != nil {
		if s.handler, err = spec.Deadlock(s); err != nil {
			return nil, err
		}
		s.hook, _ = s.handler.(deadlock.Hook)
		if _, ok := s.handler.(deadlock.Pairs); ok {
			s.ledger.KeepPairs()
		}
	}
	attach(spec.Sink, s)
	return s, nil
}

// shortcuts finds out which frames of a port need no questions. Where the policy gives
// a share of what is free, the shared segment takes frames of sure classes while their
// queue is within it; control classes need no more than room, of which that leaves
// enough.
func (s *Switch) shortcuts(p *port) {
	policy, ok := s.policy.(buffer.Proportional)
	if !ok {
		return
	}
	if s.share, s.shift, ok = policy.Share(); !ok {
		return
	}
	lossless, control := s.classes(mmu.Lossless), s.classes(mmu.Control)
	p.sure = control
	if r, ok := p.recv.(flowctl.Sharing); ok && r.Sharing() {
		p.sure |= lossless
	}
	if r, ok := p.recv.(flowctl.Steady); ok {
		margin, levels := r.Steady()
		if s.levels == 0 || levels < s.levels {
			s.levels = levels
		}
		s.margin, p.steady = max(s.margin, margin), lossless
	}
	p.changed()
}

// classes returns those of a kind.
func (s *Switch) classes(kind mmu.Kind) uint8 {
	mask := uint8(0)
	for c, k := range s.kinds {
		if k == kind {
			mask |= 1 << c
		}
	}
	return mask
}

// SharedSize returns what is left for the shared segment of a switch's buffer:
// everything but private segments and headroom. It is negative when they do not
// fit.
func SharedSize(spec *SwitchSpec) units.Bytes {
	left := spec.Buffer.Size - spec.Spare
	for i := range spec.Ports {
		left -= spec.Flow[i].Reserve(&spec.Ports[i])
		for _, k := range spec.Buffer.Kinds {
			if k == mmu.Lossless || k == mmu.Lossy {
				left -= spec.Buffer.Private
			}
		}
	}
	return left
}

func (s *Switch) policyWake() int  { return 2 * len(s.ports) }
func (s *Switch) handlerWake() int { return 2*len(s.ports) + 1 }

// Start begins the run.
func (s *Switch) Start(now units.Time) {
	s.wakes.dirty = true
	s.settle(now)
}

// Arrive takes a frame whose last bit has arrived. The packet is read-only.
func (s *Switch) Arrive(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	if p.Control() {
		if s.watched {
			s.observe(now, in, p)
		}
		s.control(now, in, p, ext)
		s.settle(now)
		return
	}
	if p.Flags&packet.Extended != 0 {
		s.carried = ext
	}
	s.Forward(now, in, p)
}

// Forward is Arrive for a frame that is not link-local. Its extension, if it has
// one, is in s.carried: what nearly no frame has is not handed down.
func (s *Switch) Forward(now units.Time, in int, p *packet.Packet) {
	if s.watched {
		s.observe(now, in, p)
	}
	out := s.router.Route(now, in, p)
	ip := &s.ports[in]
	bit := uint8(1) << p.Class()
	if ip.hookIn&bit != 0 {
		s.arriveHooked(now, in, out, p, s.extension(p))
		s.settle(now)
		return
	}
	if out < 0 {
		s.drop(now, in, p, probe.NoRoute)
		return
	}
	// Whether a frame is data or an ACK is hard to guess: what nearly always holds
	// for both is asked first, without finding out.
	seg, told := mmu.Shared, false
	a := &s.arrival
	cells := s.ledger.Cells(units.Bytes(p.Size))
	if ip.sure&bit == 0 || !s.ledger.Within(in, p.Class(), cells, s.share, s.shift) {
		if ip.brief == nil || s.kinds[p.Class()&7] != mmu.Lossless || !ip.brief.Arrived(now, p.Class(), cells) {
			s.describe(a, in, out, 0, p)
			if seg, told = s.place(now, ip, a); seg == mmu.Drop {
				s.refuse(now, a, p)
				s.ends(now)
				return
			}
		}
	}
	if op := &s.ports[out]; op.idle(now, bit) {
		// Straight through: what is not held need not be counted, unless someone
		// counts it.
		if seg == mmu.Headroom || ip.counted&bit != 0 {
			s.describe(a, in, out, 0, p)
			s.charge(now, ip, a, seg, told)
			s.release(now, a)
		}
		if s.watched {
			s.leaves(now, op, p)
		}
		op.busy = now + op.txTime(p.Size)
		if s.stamps != nil {
			s.passStamped(now, op, p)
		} else {
			s.drv.Transmit(out, p, s.extension(p), op.busy)
		}
		if op.ends != 0 {
			s.more(op)
		}
	} else {
		s.describe(a, in, out, 0, p)
		s.charge(now, ip, a, seg, told)
		slot := s.memory.put(p, in)
		if p.Flags&(packet.Extended|packet.Telemetry) != 0 {
			s.memory.keep(slot, s.carriedBy(p))
		}
		s.join(now, op, slot)
		if s.sink != nil {
			s.sink.Queued(now, in, out, &s.memory.packets[slot], seg)
		}
		if op.wants() {
			s.start(now, op)
		}
	}
	s.ends(now)
}

// extension returns the extension of the frame that is being forwarded.
func (s *Switch) extension(p *packet.Packet) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	return s.carried
}

// leaves tells the checks and the probe that a frame leaves.
func (s *Switch) leaves(now units.Time, p *port, f *packet.Packet) {
	if s.checks != nil {
		s.checks.leaves(now, p, f)
		s.checks.out += uint64(s.ledger.Cells(units.Bytes(f.Size)))
	}
	s.depart(now, p, f)
}

// observe reports an arrival to the probe and the checks.
func (s *Switch) observe(now units.Time, in int, p *packet.Packet) {
	if s.sink != nil {
		s.sink.Arrive(now, in, p)
	}
	if s.checks != nil {
		s.checks.event(now, s.ledger)
		if !p.Control() {
			s.checks.in += uint64(s.ledger.Cells(units.Bytes(p.Size)))
		}
	}
}

// idle reports whether a frame of a class can be sent at once: the wire is free,
// nothing waits that could be sent, and nobody wants to be asked.
func (p *port) idle(now units.Time, bit uint8) bool {
	// One sum instead of five questions, each of which is hard to guess: the sign
	// of a difference of times counts when the wire is taken.
	taken := uint8(uint64(now-p.busy) >> 63)
	return taken|p.armed|p.speaking|p.nonEmpty&^p.blocked|(p.nonEmpty|p.blocked|p.metered|p.hookOut)&bit == 0
}

// describe fills in what the ledger and the policies see of a frame. Field by
// field: a composite literal is built aside and copied.
func (s *Switch) describe(a *mmu.Arrival, in, out int, slot uint32, p *packet.Packet) {
	a.In, a.Out = in, out
	a.Bytes = s.ledger.Cells(units.Bytes(p.Size))
	a.Slot = slot
	class := p.Class()
	a.Class = class
	a.Kind = s.kinds[class]
	a.Unscheduled = p.Flags&packet.Unscheduled != 0
}

// place finds room for a frame. Control classes have no threshold: they take what
// is left of the shared segment. It also returns whether the receiver wants to know
// when the frame is there.
func (s *Switch) place(now units.Time, ip *port, a *mmu.Arrival) (seg mmu.Segment, told bool) {
	switch a.Kind {
	case mmu.Lossless:
		return ip.recv.Place(now, a), true
	case mmu.Control:
		if a.Bytes <= s.view.SharedFree() {
			return mmu.Shared, false
		}
	default:
		if s.policy.Fits(now, s.view, a) {
			return mmu.Shared, false
		}
	}
	return mmu.Drop, false
}

// refuse drops a frame for which there is no room.
func (s *Switch) refuse(now units.Time, a *mmu.Arrival, p *packet.Packet) {
	why := probe.Overflow
	if a.Kind == mmu.Lossless {
		why = probe.Lossless
	}
	s.drop(now, a.In, p, why)
}

// charge stores a frame in the books and tells the receiver, if it wants to know.
func (s *Switch) charge(now units.Time, ip *port, a *mmu.Arrival, seg mmu.Segment, told bool) {
	s.ledger.Charge(a, seg)
	if told {
		ip.recv.Charged(now, a, seg)
	}
	if s.watcher != nil {
		a.Slot = s.nextSlot()
		s.watcher.Enqueued(now, s.view, a)
	}
}

// nextSlot returns the slot that the next stored packet will take; a packet that
// passes straight through borrows its number for the instant.
func (s *Switch) nextSlot() uint32 {
	if s.memory.free != 0 {
		return s.memory.free
	}
	return uint32(len(s.memory.packets))
}

func (s *Switch) drop(now units.Time, in int, p *packet.Packet, why probe.Reason) {
	s.ports[in].Stats.Drops[p.Class()][why]++
	broken := why == probe.Lossless && s.ports[in].lost(now)
	if s.checks != nil {
		s.checks.dropped += uint64(s.ledger.Cells(units.Bytes(p.Size)))
		if broken {
			s.checks.fail(now, "lossless frame of class %d dropped at port %d", p.Class(), in)
		}
	}
	if s.sink != nil {
		s.sink.Drop(now, in, p, why)
	}
}

// join appends a stored packet to its egress queue.
func (s *Switch) join(now units.Time, op *port, slot uint32) {
	p := &s.memory.packets[slot]
	class := p.Class()
	if s.stamps != nil {
		s.stamps.joins(op, p)
	}
	if s.atEnq && op.ecn&(1<<class) != 0 {
		s.mark(now, op, p)
	}
	// Whether a queue is empty is hard to guess: slot 0 takes the link of a
	// predecessor that does not exist.
	q := &op.queues[class&7]
	s.memory.next[q.tail] = slot
	head := q.head
	if q.tail == 0 {
		head = slot
	}
	q.head, q.tail = head, slot
	op.nonEmpty |= 1 << class
	if s.checks != nil {
		s.checks.enqueued(op.queueID(class), slot)
	}
}

// queueID numbers the egress queues of a switch.
func (p *port) queueID(class uint8) int { return int(p.index)*mmu.Classes + int(class) }

// mark sets the congestion mark by the length of the egress queue.
func (s *Switch) mark(now units.Time, op *port, p *packet.Packet) {
	if q := s.view.Egress(int(op.index), p.Class()); q > op.floor && p.Kind() == packet.Data {
		if op.marker.Mark(q, s.rand) {
			p.Flags |= packet.CE
			op.Stats.Marks[p.Class()]++
			if s.sink != nil {
				s.sink.Marked(now, int(op.index), p)
			}
		}
	}
}

// release takes a departing frame out of the books.
func (s *Switch) release(now units.Time, a *mmu.Arrival) {
	s.ledger.Release(a)
	// As in Forward: what nearly always holds for data and for ACKs comes first.
	ip := &s.ports[a.In]
	if ip.calm&(1<<(a.Class&7)) == 0 || !s.ledger.Within(a.In, a.Class, s.margin, s.share, s.shift) ||
		s.levels != 0 && !s.ledger.AllWithin(s.levels, s.share, s.shift) && !s.ledger.PortWithin(a.In, s.levels, s.share, s.shift) {
		if a.Kind == mmu.Lossless {
			ip.recv.Released(now, a)
		}
	}
	if s.watcher != nil {
		s.watcher.Dequeued(now, s.view, a)
	}
}

// TxDone follows the last bit of a frame on a port that had more to send. It returns
// whether another one is pending.
func (s *Switch) TxDone(now units.Time, port int) bool {
	if s.checks != nil {
		s.checks.event(now, s.ledger)
	}
	p := &s.ports[port]
	p.armed = 0
	s.serveData(now, p)
	s.ends(now)
	return p.armed != 0
}

// serveData sends the next frame of a port whose wire is free.
func (s *Switch) serveData(now units.Time, p *port) {
	if p.speaking != 0 && s.speak(now, p) {
		s.more(p)
		return
	}
	eligible := p.nonEmpty &^ p.blocked
	for eligible != 0 {
		class := uint8(p.sched.Pick(eligible)) & 7
		slot := p.queues[class].head
		bit := uint8(1) << class
		if (p.metered|p.hookOut)&bit != 0 {
			if p.metered&bit != 0 && !p.meter.May(now, class, units.Bytes(s.memory.packets[slot].Size)) {
				eligible &^= bit
				continue
			}
			if p.hookOut&bit != 0 && !s.departHooked(now, p, slot) {
				eligible = eligible &^ bit & p.nonEmpty
				continue
			}
		}
		s.send(now, p, class, slot)
		s.more(p)
		return
	}
}

// more asks for TxDone when there is something left to send.
func (s *Switch) more(p *port) {
	if p.speaking|p.nonEmpty&^p.blocked|p.ends != 0 {
		p.armed = 1
		s.drv.ArmTx(int(p.index), p.busy)
	}
}

// send dequeues the packet at the head of a queue and puts it on the wire.
func (s *Switch) send(now units.Time, p *port, class uint8, slot uint32) {
	class &= 7
	q := &p.queues[class]
	f := &s.memory.packets[slot]
	next, tail, gone := s.memory.next[slot], q.tail, uint8(0)
	s.memory.expect(next)
	if next == 0 {
		tail = 0
	}
	if next == 0 {
		gone = 1
	}
	q.head, q.tail = next, tail
	p.nonEmpty &^= gone << class
	p.sched.Sent(int(class), units.Bytes(f.Size), next == 0)
	a := &s.leaving
	s.describe(a, int(f.Port), int(p.index), slot, f)
	s.release(now, a)
	if p.ecn&(1<<class) != 0 && !s.atEnq {
		s.mark(now, p, f)
	}
	if s.watched {
		if s.checks != nil {
			s.checks.dequeued(now, p.queueID(class), slot)
		}
		s.leaves(now, p, f)
	}
	if p.metered&(1<<class) != 0 {
		p.since[class] = now
		p.meter.Sent(now, class, units.Bytes(f.Size))
	}
	p.busy = now + p.txTime(f.Size)
	if s.stamps != nil {
		s.stampStored(now, p, f, slot)
	}
	s.drv.Transmit(int(p.index), f, s.memory.extOf(f, slot), p.busy)
	if p.hookOut != 0 {
		s.departed(now, p, f)
	}
	s.memory.drop(slot)
}

// Wake runs the components whose time has come.
func (s *Switch) Wake(now units.Time) {
	if s.checks != nil {
		s.checks.event(now, s.ledger)
	}
	for left := s.wakes.components(); ; left-- {
		id, ok := s.wakes.pop(now, left)
		if !ok {
			break
		}
		switch id {
		case s.policyWake():
			s.timed.Wake(now, s.view)
			s.wakes.set(id, s.timed.NextWake())
		case s.handlerWake():
			s.handler.Wake(now)
		default:
			s.wake(now, id)
		}
	}
	s.wakes.dirty = true // the driver's timer has fired: tell it the next one
	s.settle(now)
}

// SetRoutes installs new routing tables.
func (s *Switch) SetRoutes(t *route.Table) { s.router.Replace(t) }

// Finish checks the books one last time.
func (s *Switch) Finish(now units.Time) {
	if s.checks != nil {
		s.checks.balance(now, s.ledger)
	}
}
