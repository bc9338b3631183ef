package job

import (
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// Step is a part of the critical path of an iteration: a compute, or a message from the start
// of its send to its arrival. The rank of a message is the sender's.
type Step struct {
	From, To units.Time
	Op       uint32 // Compute, Send or Copy
	Peer     uint32 // receiving rank; of a compute: its rank
	Acked    bool   // the next step waits for its end at the sender, such as the last ACK, not for its arrival
	Open     bool   // it was not complete at the end of the run
}

// pathFinder walks back from the last operation of an iteration.
type pathFinder struct {
	*Job
	before   map[uint32]*sources // by rank
	occupied map[stay]uint32     // operations that used a stream, by the time at which they left it
	indexed  map[uint32]bool     // ranks in occupied
	floor    units.Time          // start of the iteration
	steps    []Step
}

// sources are the edges of a rank by the operation to which they lead: operation k of the
// rank has list[first[k]:first[k+1]], each with the operation at which the edge begins.
type sources struct {
	first []uint32
	list  []Edge
}

// stay is the end of the use of a stream.
type stay struct {
	rank   uint32
	kind   Kind
	stream uint8
	end    units.Time
}

// CriticalPath returns the steps that determine the time of an iteration, in order: each
// begins when the previous one ends, from the start of the iteration or of the job to the end
// of its last operation. Time between steps passes at a rank without compute or message. For
// an iteration that was not complete at the end of the run, it is the path to the message
// that is under way for the longest time. It returns nil if the iteration has not begun.
func (j *Job) CriticalPath(iteration int, end units.Time) []Step {
	p := &pathFinder{Job: j, before: make(map[uint32]*sources), occupied: make(map[stay]uint32), indexed: make(map[uint32]bool)}
	last, done := p.last(iteration)
	if last < 0 {
		return nil
	}
	if done {
		p.ended(uint32(last))
	} else {
		op := &j.Ops[last]
		s := Step{From: op.began - 1, To: end, Op: uint32(last), Peer: op.Rank, Open: true}
		if op.Kind != Compute {
			s.Peer = j.receiver(j.targetOf(op))
		}
		p.add(s)
		p.started(uint32(last))
	}
	slices.Reverse(p.steps)
	return p.steps
}

// targetOf returns the target of a send or copy.
func (j *Job) targetOf(op *Op) uint32 {
	if op.Kind == Send {
		return j.Targets[op.To]
	}
	return op.To
}

// iterationOf returns the iteration of an operation.
func (j *Job) iterationOf(op *Op) int {
	if op.Label < 0 {
		return 0
	}
	return j.Labels[op.Label].Iteration
}

// last returns the operation of an iteration that ended last, or -1. If some are not
// complete, it returns the compute or message that began first of those.
func (p *pathFinder) last(iteration int) (last int, done bool) {
	last, open, left := -1, -1, false
	p.floor = units.Never
	for k := range p.Ops {
		op := &p.Ops[k]
		if p.iterationOf(op) != iteration {
			continue
		}
		if at, ok := op.Began(); ok && op.Kind != Recv && (op.Kind != Compute || op.Work > 0) {
			p.floor = min(p.floor, at)
		}
		switch {
		case op.ended > 0:
			if last < 0 || op.ended > p.Ops[last].ended {
				last = k
			}
		default:
			left = true
			if op.began > 0 && op.Kind != Recv && (open < 0 || op.began < p.Ops[open].began) {
				open = k
			}
		}
	}
	if !left {
		return last, true
	}
	return open, false
}

// add adds a step before the known ones.
func (p *pathFinder) add(s Step) {
	if s.From = max(s.From, p.floor); s.From < s.To {
		p.steps = append(p.steps, s)
	}
}

// ended walks back from the end of an operation.
func (p *pathFinder) ended(k uint32) {
	for {
		op := &p.Ops[k]
		began, to := op.began-1, op.ended-1
		switch {
		case op.Kind == Recv && to > began:
			send := &p.Ops[op.To]
			p.add(Step{From: send.began - 1, To: to, Op: op.To, Peer: op.Rank})
			k = op.To
		case op.Kind == Compute && op.Work > 0:
			p.add(Step{From: began, To: to, Op: k, Peer: op.Rank})
		case op.Ends == OnReceipt && p.targetOf(op)&AnyRecv == 0:
			recv := p.targetOf(op)
			p.add(Step{From: p.Ops[recv].ended - 1, To: to, Op: k, Peer: p.Ops[recv].Rank, Acked: true})
			k = recv
			continue
		case op.Kind == Send && to > began, op.Kind == Copy:
			p.add(Step{From: began, To: to, Op: k, Peer: p.receiver(p.targetOf(op)), Acked: true})
		}
		var ok bool
		if k, ok = p.endBefore(k); !ok {
			return
		}
	}
}

// started walks back from the start of an operation.
func (p *pathFinder) started(k uint32) {
	if k, ok := p.endBefore(k); ok {
		p.ended(k)
	}
}

// endBefore returns the operation whose end let an operation start.
func (p *pathFinder) endBefore(k uint32) (uint32, bool) {
	for {
		next, end, ok := p.cause(k)
		if !ok || end {
			return next, ok
		}
		k = next
	}
}

// cause returns the operation whose end, or start, let an operation start. It returns false
// at the start of the iteration or job.
func (p *pathFinder) cause(k uint32) (next uint32, end, ok bool) {
	op := &p.Ops[k]
	if op.began-1 <= p.floor {
		return 0, false, false
	}
	at := units.Time(-1)
	s, i := p.index(op.Rank), k-p.Ranks[op.Rank].First
	for _, e := range s.list[s.first[i]:s.first[i+1]] {
		before := &p.Ops[e.Op()]
		event := before.ended
		if e&AtStart != 0 {
			event = before.began
		}
		if event > at {
			next, end, ok, at = e.Op(), e&AtStart == 0, true, event
		}
	}
	if at < op.began && (op.Kind == Compute || op.Kind == Copy) {
		p.streams(op.Rank)
		if b, used := p.occupied[stay{op.Rank, op.Kind, op.Stream, op.began}]; used && b != k {
			return b, true, true
		}
	}
	return next, end, ok
}

// index returns the edges of a rank by the operation to which they lead.
func (p *pathFinder) index(rank uint32) *sources {
	if s, ok := p.before[rank]; ok {
		return s
	}
	r := &p.Ranks[rank]
	s := &sources{first: make([]uint32, r.End-r.First+1)}
	each := func(use func(k uint32, e Edge)) {
		for k := r.First; k < r.End; k++ {
			for _, e := range p.EdgesOf(k) {
				use(e.Op()-r.First, Edge(k)|e&AtStart)
			}
		}
	}
	each(func(k uint32, _ Edge) { s.first[k+1]++ })
	for k := range r.End - r.First {
		s.first[k+1] += s.first[k]
	}
	s.list = make([]Edge, s.first[r.End-r.First])
	next := slices.Clone(s.first)
	each(func(k uint32, e Edge) {
		s.list[next[k]] = e
		next[k]++
	})
	p.before[rank] = s
	return s
}

// streams records when the operations of a rank left its streams.
func (p *pathFinder) streams(rank uint32) {
	if p.indexed[rank] {
		return
	}
	p.indexed[rank] = true
	r := &p.Ranks[rank]
	for k := r.First; k < r.End; k++ {
		if op := &p.Ops[k]; (op.Kind == Compute || op.Kind == Copy) && op.ended > op.began {
			p.occupied[stay{rank, op.Kind, op.Stream, op.ended}] = k
		}
	}
}
