package job

import "github.com/xoff-net/xoff/base/units"

// Host executes the operations of a job at one host. It asks for flows and notices in its
// slices Starts and Notices, which the caller empties after each call.
type Host struct {
	ID      uint32
	Starts  []uint32 // flows to start now
	Notices []Notice

	job    *Job
	left   int // operations that are not complete
	timers timers
	todo   []uint32 // operations that are ready to start
}

// Notice tells another host of the job about the first bit of a copy, or with Receipt that a
// copy was taken. It takes effect at At, at least the scale-up latency after it was sent.
type Notice struct {
	At units.Time
	Op uint32
	To uint32
}

// Events of timers. Their order is the order of simultaneous events.
const (
	startRank = iota // of the rank in op
	finish           // of a compute or copy
	arrive           // first bit of a copy, at its receiver
	land             // last bit of a copy, at its receiver
	receipt          // of a copy, at its sender
)

// Next returns the time at which Run must be called, or Never.
func (h *Host) Next() units.Time {
	if len(h.timers) == 0 {
		return units.Never
	}
	return h.timers[0].at
}

// Job returns the job.
func (h *Host) Job() *Job { return h.job }

// Run handles all timers that are due.
func (h *Host) Run(now units.Time) {
	j := h.job
	for h.Next() <= now {
		t := h.timers.pop()
		switch t.what {
		case startRank:
			r := &j.Ranks[t.op]
			for k := r.First; k < r.End; k++ {
				if j.Ops[k].Deps == 0 {
					h.todo = append(h.todo, k)
				}
			}
		case finish:
			op := &j.Ops[t.op]
			h.next(now, h.streamOf(op))
			if op.Ends != OnReceipt {
				h.complete(now, t.op)
			}
		case receipt:
			h.complete(now, t.op)
		case arrive:
			s := h.streamIn(t.op)
			if s.busy {
				s.queue = append(s.queue, t.op)
			} else {
				s.busy = true
				h.receive(now, t.op)
			}
		case land:
			if s := h.streamIn(t.op); len(s.queue) > 0 {
				k := s.queue[0]
				s.queue = s.queue[1:]
				h.receive(now, k)
			} else {
				s.busy = false
			}
			h.message(now, j.Ops[t.op].To)
		}
		h.drain(now)
	}
}

// Ended is called when a flow of the job is complete at this host: acknowledged at its source,
// or delivered at its destination.
func (h *Host) Ended(now units.Time, flow uint32, source bool) {
	j := h.job
	k := flow - j.Flow0
	switch send := j.Sends[k]; {
	case send&Receipt != 0:
		if !source {
			h.complete(now, send&^Receipt)
		}
	case !source:
		h.message(now, j.Targets[k])
	case j.Ops[send].Ends == OnACK:
		h.complete(now, send)
	}
	h.drain(now)
}

// Notice takes a notice of another host.
func (h *Host) Notice(at units.Time, op uint32) {
	if op&Receipt != 0 {
		h.at(at, receipt, op&^Receipt)
	} else {
		h.at(at, arrive, op)
	}
}

func (h *Host) at(at units.Time, what uint8, op uint32) { h.timers.push(timer{at, op, what}) }

// streamOf returns the stream that a compute or copy occupies.
func (h *Host) streamOf(op *Op) *stream {
	r := &h.job.Ranks[op.Rank]
	if op.Kind == Copy {
		return &h.job.streams[r.streams+uint32(r.Streams)]
	}
	return &h.job.streams[r.streams+uint32(op.Stream)]
}

// streamIn returns the stream by which the receiver of a copy takes it.
func (h *Host) streamIn(op uint32) *stream {
	r := &h.job.Ranks[h.job.receiver(h.job.Ops[op].To)]
	return &h.job.streams[r.streams+uint32(r.Streams)+1]
}

// receiver returns the rank of a target.
func (j *Job) receiver(target uint32) uint32 {
	if target&AnyRecv != 0 {
		return j.Messages[target&^AnyRecv].Rank
	}
	return j.Ops[target].Rank
}

// drain starts the operations that are ready, and those that become ready.
func (h *Host) drain(now units.Time) {
	for i := 0; i < len(h.todo); i++ {
		h.start(now, h.todo[i])
	}
	h.todo = h.todo[:0]
}

// start starts an operation, or lets it wait for its stream.
func (h *Host) start(now units.Time, k uint32) {
	op := &h.job.Ops[k]
	switch op.Kind {
	case Compute, Copy:
		if s := h.streamOf(op); s.busy {
			s.queue = append(s.queue, k)
		} else {
			s.busy = true
			h.occupy(now, k)
		}
	case Send:
		h.begin(now, k)
		h.Starts = append(h.Starts, h.job.Flow0+op.To)
		if op.Ends == OnStart {
			h.complete(now, k)
		}
	case Recv:
		h.begin(now, k)
		if m := h.job.matchers[op.Rank]; m != nil {
			h.post(now, m, k)
		} else if op.arrived {
			h.take(now, k)
		}
	}
}

// occupy runs an operation that got its stream.
func (h *Host) occupy(now units.Time, k uint32) {
	j := h.job
	op := &j.Ops[k]
	h.begin(now, k)
	took := units.Time(op.Work)
	if op.Kind == Copy {
		took = 0
		if to := j.receiver(op.To); to == op.Rank {
			h.message(now, op.To)
		} else {
			took = j.ScaleUp.Rate.TxTime(units.Bytes(op.Work))
			if there := j.Ranks[to].Host; there == h.ID {
				h.at(now+j.ScaleUp.Latency, arrive, k)
			} else {
				h.Notices = append(h.Notices, Notice{now + j.ScaleUp.Latency, k, there})
			}
		}
	}
	h.at(now+took, finish, k)
}

// receive takes a copy whose first bit has arrived.
func (h *Host) receive(now units.Time, k uint32) {
	h.at(now+h.job.ScaleUp.Rate.TxTime(units.Bytes(h.job.Ops[k].Work)), land, k)
}

// next frees a stream and runs the operation that waited longest for it.
func (h *Host) next(now units.Time, s *stream) {
	if len(s.queue) == 0 {
		s.busy = false
		return
	}
	k := s.queue[0]
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	h.occupy(now, k)
}

// begin records the start of an operation.
func (h *Host) begin(now units.Time, k uint32) {
	h.job.Ops[k].began = now + 1
	for _, e := range h.job.EdgesOf(k) {
		if e&AtStart != 0 {
			h.release(e.Op())
		}
	}
}

// complete records the end of an operation.
func (h *Host) complete(now units.Time, k uint32) {
	h.job.Ops[k].ended = now + 1
	h.left--
	for _, e := range h.job.EdgesOf(k) {
		if e&AtStart == 0 {
			h.release(e.Op())
		}
	}
}

// take completes a recv with its message, and tells the sender if that waits for it.
func (h *Host) take(now units.Time, k uint32) {
	h.complete(now, k)
	j := h.job
	to := j.Ops[k].To
	send := &j.Ops[to]
	if send.Ends != OnReceipt {
		return
	}
	at := now + j.ScaleUp.Latency
	switch there := j.Ranks[send.Rank].Host; {
	case send.Kind == Send:
		h.Starts = append(h.Starts, j.Flow0+send.To+1)
	case send.Rank == j.Ops[k].Rank:
		h.complete(now, to)
	case there == h.ID:
		h.at(at, receipt, to)
	default:
		h.Notices = append(h.Notices, Notice{at, to | Receipt, there})
	}
}

func (h *Host) release(k uint32) {
	op := &h.job.Ops[k]
	if op.Deps--; op.Deps == 0 {
		h.todo = append(h.todo, k)
	}
}

// message delivers a message to its target.
func (h *Host) message(now units.Time, target uint32) {
	j := h.job
	if target&AnyRecv == 0 {
		op := &j.Ops[target]
		if op.arrived = true; op.began > 0 {
			h.take(now, target)
		}
		return
	}
	i := target &^ AnyRecv
	msg := &j.Messages[i]
	m := j.matchers[msg.Rank]
	for at, k := range m.posted {
		if j.Patterns[k].matches(msg) {
			m.posted = append(m.posted[:at], m.posted[at+1:]...)
			j.Ops[k].To = msg.Op
			h.take(now, k)
			return
		}
	}
	m.unexpected = append(m.unexpected, i)
}

// post posts a recv of a rank with wildcards.
func (h *Host) post(now units.Time, m *matcher, k uint32) {
	p := h.job.Patterns[k]
	for at, i := range m.unexpected {
		if p.matches(&h.job.Messages[i]) {
			m.unexpected = append(m.unexpected[:at], m.unexpected[at+1:]...)
			h.job.Ops[k].To = h.job.Messages[i].Op
			h.take(now, k)
			return
		}
	}
	m.posted = append(m.posted, k)
}

// timer is an event of a host. Timers are ordered by time, then kind, then operation.
type timer struct {
	at   units.Time
	op   uint32
	what uint8
}

func (t *timer) before(o *timer) bool {
	if t.at != o.at {
		return t.at < o.at
	}
	if t.what != o.what {
		return t.what < o.what
	}
	return t.op < o.op
}

// timers is a binary heap.
type timers []timer

func (h *timers) push(t timer) {
	*h = append(*h, t)
	a := *h
	i := len(a) - 1
	for ; i > 0 && t.before(&a[(i-1)/2]); i = (i - 1) / 2 {
		a[i] = a[(i-1)/2]
	}
	a[i] = t
}

func (h *timers) pop() timer {
	a := *h
	top, t := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(a) {
			if len(a) > 0 {
				a[i] = t
			}
			return top
		}
		if c+1 < len(a) && a[c+1].before(&a[c]) {
			c++
		}
		if t.before(&a[c]) {
			a[i] = t
			return top
		}
		a[i] = a[c]
		i = c
	}
}
