package explain

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// node is the sink that records one node.
type node struct {
	probe.Ignore
	host           bool
	n              probe.Node
	frames, events *probe.Recorder
	taken          taken               // the last frame that the host accepted
	senders        map[uint32]*sender  // by flow that starts at this host
	answers        map[uint32][]answer // by flow: replies that have not departed, in order
}

// taken is a frame that a host accepted.
type taken struct {
	at, came units.Time
	flow     uint32
}

// answer is a reply that waits to depart from its host.
type answer struct {
	at, came units.Time // creation, and arrival of the frame that it answers
	queue    uint8
}

// sender is the state of a flow at its source.
type sender struct {
	start  units.Time
	sent   units.Time // departure of the last packet; Never before the first
	paced  units.Time // when pacing allows the next packet
	may    bool       // the window allows sending
	opened moment     // when the window last opened
	lost   moment     // when a loss was last detected that has no retransmission yet; at 0: none
	late   bool       // a timeout is being handled
}

// moment is an event of a flow.
type moment struct {
	at   units.Time
	by   why
	came units.Time // arrival of the frame that triggered it
}

// Attach implements probe.Attached.
func (n *node) Attach(p probe.Node) { n.n = p }

// Taken implements probe.Ends.
func (n *node) Taken(now units.Time, p *packet.Packet) { n.taken = taken{now, p.At, p.Flow} }

// Answered implements probe.Ends.
func (n *node) Answered(reply *packet.Packet, queue uint8) {
	n.answers[reply.Flow] = append(n.answers[reply.Flow], answer{n.taken.at, n.taken.came, queue})
}

// Sends implements probe.Ends.
func (n *node) Sends(flow uint32, paced units.Time) { n.senders[flow].paced = paced }

// MaySend implements probe.Ends.
func (n *node) MaySend(now units.Time, flow uint32, may bool) {
	s := n.senders[flow]
	if s == nil {
		return // the flow is complete
	}
	if may && !s.may {
		s.opened = n.moment(now, flow, whyAck, whyTimer)
	}
	s.may = may
}

// moment returns an event of a flow, triggered by the frame that was accepted now, or else by
// a timer.
func (n *node) moment(now units.Time, flow uint32, frame, timer why) moment {
	if n.taken.at == now && n.taken.flow == flow {
		return moment{now, frame, n.taken.came}
	}
	return moment{at: now, by: timer}
}

// Lost implements probe.Ends.
func (n *node) Lost(now units.Time, flow uint32) {
	s := n.senders[flow]
	s.lost = n.moment(now, flow, whyNack, whyTimeout)
	if s.late {
		s.lost, s.late = moment{at: now, by: whyTimeout}, false
	}
}

// Flow implements probe.Sink.
func (n *node) Flow(now units.Time, flow uint32, what probe.FlowEvent) {
	switch what {
	case probe.FlowStarts:
		n.senders[flow] = &sender{start: now, sent: units.Never, paced: now, may: true}
	case probe.FlowTimeout:
		n.senders[flow].late = true
	case probe.FlowAcked:
		delete(n.senders, flow)
		n.event(now, event{what: evAcked, port: probe.Null, class: probe.Null, flow: int64(flow), cause: int64(n.taken.came)})
	default:
	}
}

// frame is a row of the frames table.
type frame struct {
	in, flow, queue int64
	came, since     int64
	cause           int64
	why             int64
	departed        bool
}

// Depart implements probe.Sink.
func (n *node) Depart(now units.Time, port int, p *packet.Packet) {
	f := frame{in: probe.Null, flow: int64(p.Flow), queue: int64(p.Class()), why: probe.Null, since: probe.Null, cause: probe.Null, departed: true}
	switch {
	case p.Control():
		f.flow, f.came = probe.Null, probe.Null
		if p.Kind() == packet.PFC {
			n.pfc(now, port, p)
		}
	case !n.host:
		f.in, f.came = int64(p.Port()), int64(p.At)
		if p.Kind() == packet.Foreign {
			f.flow = probe.Null
		}
	case p.Kind() == packet.Data:
		n.senders[p.Flow].leaves(now, p, &f)
	default:
		list := n.answers[p.Flow]
		a := list[0]
		if len(list) == 1 {
			delete(n.answers, p.Flow)
		} else {
			n.answers[p.Flow] = list[1:]
		}
		f.came, f.cause, f.queue = int64(a.at), int64(a.came), int64(a.queue)
	}
	n.add(now, port, p, &f)
}

// leaves fills in what a departing packet waited for at its source.
func (s *sender) leaves(now units.Time, p *packet.Packet, f *frame) {
	ready := min(max(s.paced, s.start), now)
	by := moment{at: s.sent, by: whySent}
	switch {
	case p.Flags&packet.Retransmit != 0 && s.lost.at != 0:
		by = s.lost
		s.lost = moment{}
		ready = max(ready, by.at)
	case s.sent == units.Never:
		by = moment{at: s.start, by: whyStart}
	case s.opened.at > ready:
		by = s.opened
		ready = by.at
	}
	s.sent = now
	f.came, f.why, f.since = int64(ready), int64(by.by), int64(by.at)
	if by.by == whyAck || by.by == whyNack {
		f.cause = int64(by.came)
	}
}

func (n *node) add(now units.Time, port int, p *packet.Packet, f *frame) {
	n.frames.Add(now, int64(port), f.in, f.flow, int64(p.Kind()), int64(p.Seq), int64(p.Class()), f.queue, int64(p.Size), f.came, f.why,
		f.since, f.cause, boolToInt(p.Flags&packet.Retransmit != 0), boolToInt(p.Flags&packet.CE != 0), boolToInt(f.departed))
}

// event is a row of the events table; unused columns are probe.Null.
type event struct {
	what                       what
	port, class                int64
	flow, kind, seq, reason    int64
	depth, byPort, byClass     int64
	queue, threshold, headroom int64
	reserved, stored, cause    int64
}

// event writes an event that has only what, port, class, flow and cause.
func (n *node) event(now units.Time, e event) {
	for _, v := range []*int64{&e.kind, &e.seq, &e.reason, &e.depth, &e.byPort, &e.byClass, &e.queue, &e.threshold, &e.headroom, &e.reserved, &e.stored} {
		*v = probe.Null
	}
	n.write(now, &e)
}

func (n *node) write(now units.Time, e *event) {
	n.events.Add(now, int64(e.what), e.port, e.class, e.flow, e.kind, e.seq, e.reason, e.depth, e.byPort, e.byClass, e.queue, e.threshold,
		e.headroom, e.reserved, e.stored, e.cause)
}

// fill sets the occupancy of an ingress queue and of its node.
func (n *node) fill(now units.Time, e *event, port int, class uint8) {
	v := n.n.View()
	occupancy := v.Ingress(port, class)
	e.queue, e.threshold = int64(occupancy.Total()), probe.Null
	if n.n.LosslessClasses(port).Has(class) {
		q, xoff := n.n.Level(now, port, class)
		e.queue, e.threshold = int64(q), int64(xoff)
	}
	e.headroom, e.reserved = int64(v.In(port, class, mmu.Headroom)), int64(n.n.Headroom(port))
	e.stored = int64(v.Stored())
}

// pfc writes an event for every class that a PFC frame pauses or resumes.
func (n *node) pfc(now units.Time, port int, p *packet.Packet) {
	enable, pause, quanta := p.PFC()
	if quanta == 0 {
		pause = 0
	}
	causes, _ := n.n.(probe.Causes)
	for c := range enable.All() {
		switch {
		case !pause.Has(c):
			n.event(now, event{what: evResume, port: int64(port), class: int64(c), flow: probe.Null, cause: probe.Null})
		default:
			e := event{what: evPause, port: int64(port), class: int64(c), flow: probe.Null, kind: probe.Null, seq: probe.Null, reason: probe.Null,
				depth: int64(p.PauseDepth(c)), byPort: probe.Null, byClass: probe.Null, cause: probe.Null}
			if causes != nil {
				if by, class, ok := causes.PauseCause(port, c); ok {
					e.byPort, e.byClass = int64(by), int64(class)
				}
			}
			n.fill(now, &e, port, c)
			n.write(now, &e)
		}
	}
}

// Blocked implements probe.Sink.
func (n *node) Blocked(now units.Time, port int, from, to packet.ClassMask) {
	for c := range (from ^ to).All() {
		e := event{what: evOpen, port: int64(port), class: int64(c), flow: probe.Null, cause: probe.Null}
		if to.Has(c) {
			e.what = evBlocked
		}
		n.event(now, e)
	}
}

// Drop implements probe.Sink.
func (n *node) Drop(now units.Time, port int, p *packet.Packet, reason probe.Reason) {
	e := event{what: evDrop, port: int64(port), class: int64(p.Class()), flow: int64(p.Flow), kind: int64(p.Kind()), seq: int64(p.Seq),
		reason: int64(reason), depth: probe.Null, byPort: probe.Null, byClass: probe.Null, cause: probe.Null}
	if p.Control() || p.Kind() == packet.Foreign {
		e.flow, e.seq = probe.Null, probe.Null
	}
	n.fill(now, &e, port, p.Class())
	if r, ok := n.n.(probe.Refuser); ok && reason == probe.Overflow {
		if out, q, limit, ok := r.Refused(now); ok {
			e.byPort, e.byClass, e.queue, e.threshold = int64(out), int64(p.Class()), int64(q), int64(limit)
		}
	}
	n.write(now, &e)
}

// finish writes the frames that are still waiting at the end of the run.
func (n *node) finish(end units.Time) {
	h, ok := n.n.(probe.Buffered)
	if !ok {
		return
	}
	h.EachBuffered(func(out int, p *packet.Packet) {
		if !p.OfFlow() {
			return
		}
		n.add(end, out, p, &frame{in: int64(p.Port()), flow: int64(p.Flow), queue: int64(p.Class()), came: int64(p.At),
			why: probe.Null, since: probe.Null, cause: probe.Null})
	})
}
