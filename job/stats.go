package job

import (
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

// Iteration is what one rank did in one iteration.
type Iteration struct {
	Span
	Compute units.Time // time in which at least one stream computed
}

// Exposed returns the time of the iteration in which the rank did not compute.
func (i *Iteration) Exposed() units.Time { return i.To - i.From - i.Compute }

// RankIterations returns the iterations of a rank. Recvs are posted early, so they do not
// start an iteration. Operations without a label belong to the first.
func (j *Job) RankIterations(rank int) []Iteration {
	list := make([]Iteration, j.Iterations)
	computes := make([][]Op, j.Iterations)
	r := &j.Ranks[rank]
	for k := r.First; k < r.End; k++ {
		o := &j.Ops[k]
		i := 0
		if o.Label >= 0 {
			i = j.Labels[o.Label].Iteration
		}
		list[i].add(o, o.Kind != Recv && (o.Kind != Compute || o.Work > 0))
		if o.Kind == Compute && o.Work > 0 && o.ended > 0 {
			computes[i] = append(computes[i], *o)
		}
	}
	for i := range list {
		if it := &list[i]; it.From == units.Never || it.Ops == 0 {
			it.From = max(j.Start, it.To)
		}
		list[i].Compute = union(computes[i])
	}
	return list
}

// union returns the time that intervals of operations cover.
func union(ops []Op) units.Time {
	slices.SortFunc(ops, func(a, b Op) int { return int(min(max(a.began-b.began, -1), 1)) })
	sum, end := units.Time(0), units.Time(0)
	for i := range ops {
		if ops[i].ended > end {
			sum += ops[i].ended - max(end, ops[i].began)
			end = ops[i].ended
		}
	}
	return sum
}
