package job

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// Span is the time from the first start to the last end of some operations.
type Span struct {
	From, To units.Time
	Ops      int
	Done     bool // all are complete
}

func (s *Span) add(o *Op, network bool) {
	if s.Ops++; s.Ops == 1 {
		s.From, s.Done = units.Never, true
	}
	at, began := o.Began()
	if began && network {
		s.From = min(s.From, at)
	}
	if at, ended := o.Ended(); ended {
		s.To = max(s.To, at)
	} else {
		s.Done = false
	}
}

// Collectives returns the span of each label: from its first send or copy to the end of its
// last operation.
func (j *Job) Collectives() []Span {
	list := make([]Span, len(j.Labels))
	for k := range j.Ops {
		if o := &j.Ops[k]; o.Label >= 0 {
			list[o.Label].add(o, o.Kind == Send || o.Kind == Copy)
		}
	}
	return list
}

// Interval is a span of time.
type Interval struct{ From, To units.Time }

// Iteration is what one rank did in one iteration.
type Iteration struct {
	Span
	Compute units.Time // time in which at least one stream computed
	Exposed units.Time // time in which no stream computed and a message from or to the rank was under way
}

// Waiting returns the time of the iteration in which the rank neither computed nor
// communicated.
func (i *Iteration) Waiting() units.Time { return i.To - i.From - i.Compute - i.Exposed }

// RankIterations returns the iterations of a rank. Recvs are posted early, so they do not
// start an iteration. Operations without a label belong to the first.
func (j *Job) RankIterations(rank int) []Iteration {
	list := make([]Iteration, j.Iterations)
	busy := make([]struct{ compute, all []Interval }, j.Iterations)
	r := &j.Ranks[rank]
	for k := r.First; k < r.End; k++ {
		o := &j.Ops[k]
		i := j.iterationOf(o)
		list[i].add(o, o.Kind != Recv && (o.Kind != Compute || o.Work > 0))
		if s := j.busy(o, 0); s.From < s.To {
			b := &busy[i]
			if b.all = append(b.all, s); o.Kind == Compute {
				b.compute = append(b.compute, s)
			}
		}
	}
	for i := range list {
		it := &list[i]
		if it.From == units.Never || it.Ops == 0 {
			it.From = max(j.Start, it.To)
		}
		it.Compute = lasted(Union(busy[i].compute), it.From, it.To)
		it.Exposed = lasted(Union(busy[i].all), it.From, it.To) - it.Compute
	}
	return list
}

// busy returns the time in which a rank computes or communicates because of an operation. An
// operation that has begun and not ended lasts until end; with end 0 it does not count. A
// recv lasts from the start of its send.
func (j *Job) busy(o *Op, end units.Time) Interval {
	if o.began == 0 {
		return Interval{}
	}
	s := Interval{o.began - 1, o.ended - 1}
	if o.ended == 0 {
		s.To = end
	}
	if o.Kind == Recv {
		if o.ended == 0 {
			return Interval{}
		}
		send := &j.Ops[o.To]
		if s.From = send.began - 1; o.ended == o.began && send.ended > 0 { // it arrived before
			s.To = min(s.To, send.ended-1)
		}
	}
	return s
}

// Activity returns when a rank computed, and when a message from or to it was under way, in
// order and without overlaps. end is the end of the run.
func (j *Job) Activity(rank int, end units.Time) (compute, messages []Interval) {
	r := &j.Ranks[rank]
	for k := r.First; k < r.End; k++ {
		o := &j.Ops[k]
		if s := j.busy(o, end); s.From >= s.To {
			continue
		} else if o.Kind == Compute {
			compute = append(compute, s)
		} else {
			messages = append(messages, s)
		}
	}
	return Union(compute), Union(messages)
}

// Union sorts intervals and merges those that overlap or touch. It reuses the slice.
func Union(list []Interval) []Interval {
	slices.SortFunc(list, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
	out := list[:0]
	for _, s := range list {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// lasted returns the time that intervals cover between two times.
func lasted(list []Interval, from, to units.Time) units.Time {
	sum := units.Time(0)
	for _, s := range list {
		sum += max(0, min(s.To, to)-max(s.From, from))
	}
	return sum
}
