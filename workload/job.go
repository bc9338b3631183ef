package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/goal"
	"github.com/xoff-net/xoff/job"
)

// A job is described by a goal.Source: a graph of send, recv and calc operations per rank. The
// CPU of a calc is its stream; the NIC of a send is a channel, with its own connection.

// Labelled is a goal.Source whose operations belong to collectives or parts of a model.
type Labelled interface {
	goal.Source
	Labels() []job.Label
	Label(op goal.Op) int32 // of an operation, or -1
}

// jobOptions are the keys that all jobs share.
type jobOptions struct {
	eager      units.Bytes // sends up to this size are complete at once
	rendezvous units.Bytes // sends from this size on are complete when their recv took the message; 0: none
	iterations int
}

// message is one end of a message before matching.
type message struct{ from, to, tag, op uint32 }

// assembly is a job under construction.
type assembly struct {
	env          *Env
	source       goal.Source
	job          *job.Job
	plan         *Plan
	class        uint8
	hashes       map[uint64]uint32 // ECMP hashes of connections, by ranks and channel
	sends, recvs []message
	wild         map[uint32]bool // ranks with wildcards
}

// job builds a job from a source. It reads each rank once.
func (e *Env) job(s goal.Source, o jobOptions) (*Plan, error) {
	j := &job.Job{Start: e.Start, Iterations: max(1, o.iterations), ScaleUp: e.Fabric.ScaleUp}
	a := &assembly{env: e, source: s, job: j, plan: &Plan{Job: j}, class: e.Classes.Next(), hashes: make(map[uint64]uint32), wild: make(map[uint32]bool)}
	labelled, _ := s.(Labelled)
	if labelled != nil {
		j.Labels = labelled.Labels()
	}
	for r := range s.Ranks() {
		if r < 2 {
			a.reserve(r)
		}
		g, err := s.Rank(r)
		if err != nil {
			return nil, err
		}
		if err := a.rank(uint32(r), g, labelled, o); err != nil {
			return nil, a.named(err)
		}
	}
	if err := a.match(); err != nil {
		return nil, err
	}
	a.sends, a.recvs = nil, nil
	return a.plan, a.named(a.acyclic())
}

// reserve reserves memory for a file: for its operations and dependencies before the first
// rank, and for as many messages per rank as in the first rank after it.
func (a *assembly) reserve(rank int) {
	f, ok := a.source.(*goal.File)
	if !ok || f.Ops > maxOps || f.Edges > maxOps {
		return
	}
	j := a.job
	if rank == 0 {
		j.Ops, j.Edges = make([]job.Op, 0, f.Ops), make([]job.Edge, 0, f.Edges)
		return
	}
	more := func(have int) int { return min(have*(f.Ranks()-1), int(f.Ops)-len(j.Ops)) }
	flows := more(len(a.plan.Flows))
	a.plan.Flows, j.Sends, j.Targets = slices.Grow(a.plan.Flows, flows), slices.Grow(j.Sends, flows), slices.Grow(j.Targets, flows)
	a.sends, a.recvs = slices.Grow(a.sends, more(len(a.sends))), slices.Grow(a.recvs, more(len(a.recvs)))
}

// maxOps limits the operations of a job: targets have 31 bits.
const maxOps = 1<<31 - 1

// rank adds the operations of a rank.
func (a *assembly) rank(r uint32, g *goal.Graph, labelled Labelled, o jobOptions) error {
	j, e := a.job, a.env
	base := uint32(len(j.Ops))
	gpu := &e.Fabric.GPUs[e.Placed[r]]
	rank := job.Rank{Host: uint32(gpu.Host), Domain: gpu.Domain, First: base, End: base + uint32(len(g.Ops))}
	if len(j.Ops)+len(g.Ops) > maxOps || len(j.Edges)+g.NumEdges() > maxOps {
		return fmt.Errorf("rank %d: more than %d operations or dependencies up to this rank", r, maxOps)
	}
	for k := range g.Ops {
		in := &g.Ops[k]
		op := job.Op{Rank: r, First: uint32(len(j.Edges)), Deps: in.Deps, Label: -1, Work: int64(max(1, in.Size))}
		if labelled != nil {
			op.Label = labelled.Label(*in)
		}
		at := uint32(len(j.Ops))
		switch in.Kind {
		case goal.Calc:
			if in.Size > uint64(e.MaxDelay/units.Nanosecond)*1000 {
				return fmt.Errorf("rank %d, operation %d: calc of %d ns (expected at most %d)", r, k, in.Size, uint64(e.MaxDelay/units.Nanosecond)*1000)
			}
			op.Kind, op.Work, op.Stream = job.Compute, int64(in.Size)*int64(units.Nanosecond), in.CPU
			rank.Streams = max(rank.Streams, int(in.CPU)+1)
		case goal.Recv:
			op.Kind = job.Recv
			if in.Peer == goal.Any || in.Tag == goal.Any {
				a.wild[r] = true
			}
			a.recvs = append(a.recvs, message{in.Peer, r, in.Tag, at})
		case goal.Send:
			if in.Size > uint64(e.MaxSize) {
				return fmt.Errorf("rank %d, operation %d: send of %d bytes (expected at most %s)", r, k, in.Size, e.MaxSize)
			}
			a.send(&op, in, r, gpu, o)
			if in.Tag == goal.Any {
				a.wild[in.Peer] = true
			}
			a.sends = append(a.sends, message{r, in.Peer, in.Tag, at})
		}
		j.Ops = append(j.Ops, op)
		for _, edge := range g.Edges(k) {
			to := job.Edge(base + uint32(edge.Op()))
			if edge.AtStart() {
				to |= job.AtStart
			}
			j.Edges = append(j.Edges, to)
		}
	}
	j.Ranks = append(j.Ranks, rank)
	return nil
}

// send makes a send a flow, or a copy inside the domain.
func (a *assembly) send(op *job.Op, in *goal.Op, r uint32, from *GPU, o jobOptions) {
	e := a.env
	to := &e.Fabric.GPUs[e.Placed[in.Peer]]
	switch size := units.Bytes(op.Work); {
	case o.rendezvous > 0 && size >= o.rendezvous:
		op.Ends = job.OnReceipt
	case size <= o.eager:
		op.Ends = job.OnStart
	}
	if in.Peer == r || from.Domain >= 0 && from.Domain == to.Domain {
		op.Kind = job.Copy
		return
	}
	op.Kind, op.To = job.Send, uint32(len(a.plan.Flows))
	f := Flow{Start: e.Start, Src: from.Host, Dst: to.Host, Size: units.Bytes(op.Work), Class: a.class, Group: op.Label, Hash: a.hash(r, in.Peer, in.NIC)}
	a.flow(f, uint32(len(a.job.Ops)))
	if op.Ends == job.OnReceipt {
		f.Src, f.Dst, f.Size, f.Hash = f.Dst, f.Src, 1, a.hash(in.Peer, r, in.NIC)
		a.flow(f, job.Receipt|uint32(len(a.job.Ops)))
	}
}

// flow adds a flow of a send.
func (a *assembly) flow(f Flow, send uint32) {
	a.plan.add(f)
	a.job.Sends = append(a.job.Sends, send)
	a.job.Targets = append(a.job.Targets, 0)
}

// hash returns the ECMP hash of the connection between two ranks on a channel.
func (a *assembly) hash(from, to uint32, channel uint8) uint32 {
	pair := uint64(from)<<32 | uint64(to)<<8 | uint64(channel)
	hash, ok := a.hashes[pair]
	if !ok {
		hash = a.env.hash()
		a.hashes[pair] = hash
	}
	return hash
}

// match connects each send with its recv: the k-th from one rank to another with a tag with
// the k-th such recv. Ranks with wildcards match messages as they arrive.
func (a *assembly) match() error {
	j := a.job
	order := func(x, y message) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to), cmp.Compare(x.tag, y.tag), cmp.Compare(x.op, y.op))
	}
	if len(a.wild) > 0 {
		j.Patterns = make(map[uint32]job.Pattern)
		open := make(map[uint32]int) // by rank: recvs minus sends
		var sends, recvs []message   // of ranks with wildcards
		a.recvs = slices.DeleteFunc(a.recvs, func(m message) bool {
			if a.wild[m.to] {
				j.Patterns[m.op] = job.Pattern{From: m.from, Tag: m.tag}
				recvs = append(recvs, m)
				open[m.to]++
			}
			return a.wild[m.to]
		})
		a.sends = slices.DeleteFunc(a.sends, func(m message) bool {
			if a.wild[m.to] {
				a.target(m.op, job.AnyRecv|uint32(len(j.Messages)))
				j.Messages = append(j.Messages, job.Message{Rank: m.to, From: m.from, Tag: m.tag, Op: m.op})
				sends = append(sends, m)
				open[m.to]--
			}
			return a.wild[m.to]
		})
		if err := a.impossible(sends, recvs); err != nil {
			return err
		}
		for r := range uint32(len(j.Ranks)) {
			if n := open[r]; n != 0 {
				return a.mismatched(fmt.Errorf("rank %d: %d messages are sent to it, and it has %d recvs more than that (expected a recv for each)", r, a.sentTo(r), n))
			}
		}
	}
	slices.SortFunc(a.sends, order)
	slices.SortFunc(a.recvs, order)
	for i := range min(len(a.sends), len(a.recvs)) {
		s, r := a.sends[i], a.recvs[i]
		if s.from != r.from || s.to != r.to || s.tag != r.tag {
			r.op, s.op = s.op, r.op
			if order(s, r) < 0 {
				return a.unmatched(a.sends[i], goal.Send)
			}
			return a.unmatched(a.recvs[i], goal.Recv)
		}
		a.target(s.op, r.op)
	}
	switch n := min(len(a.sends), len(a.recvs)); {
	case len(a.sends) > n:
		return a.unmatched(a.sends[n], goal.Send)
	case len(a.recvs) > n:
		return a.unmatched(a.recvs[n], goal.Recv)
	}
	return nil
}

// impossible returns an error if a send to a rank with wildcards fits none of its recvs, or if
// more recvs name a source, a tag or both than there are such sends. In what is left, the order
// of messages decides.
func (a *assembly) impossible(sends, recvs []message) error {
	const any = goal.Any
	type kind struct{ to, from, tag uint32 }
	named := func(m message) [3]kind {
		return [...]kind{{m.to, m.from, m.tag}, {m.to, m.from, any}, {m.to, any, m.tag}}
	}
	offered, accepted := make(map[kind]int), make(map[kind]bool)
	for _, m := range recvs {
		accepted[kind{m.to, m.from, m.tag}] = true
	}
	loose := make(map[uint32]bool) // ranks to which a send of any tag leads: it fits any tag
	for _, m := range sends {
		if m.tag == any {
			loose[m.to] = true
			continue
		}
		fits := accepted[kind{m.to, any, any}]
		for _, k := range named(m) {
			fits = fits || accepted[k]
			offered[k]++
		}
		if !fits {
			return a.unmatched(m, goal.Send)
		}
	}
	for _, m := range recvs {
		for i, k := range named(m) {
			if k.from == any && k.tag == any || i > 0 && k == named(m)[0] || loose[m.to] {
				continue
			}
			if offered[k]--; offered[k] < 0 {
				return a.unmatched(m, goal.Recv)
			}
		}
	}
	return nil
}

// sentTo counts the messages to a rank with wildcards.
func (a *assembly) sentTo(r uint32) int {
	n := 0
	for i := range a.job.Messages {
		if a.job.Messages[i].Rank == r {
			n++
		}
	}
	return n
}

// unmatched returns the error for a send without its recv, or the reverse.
func (a *assembly) unmatched(m message, kind goal.Kind) error {
	rank, peer := m.from, m.to
	if kind == goal.Recv {
		rank, peer = peer, rank
	}
	return a.mismatched(fmt.Errorf("%s", goal.Mismatch{Rank: rank, Peer: peer, Tag: m.tag, Kind: kind, Count: 1, Op: int(m.op - a.job.Ranks[rank].First)}))
}

// mismatched adds the way to see all mismatches of a file.
func (a *assembly) mismatched(err error) error {
	if f, ok := a.source.(*goal.File); ok {
		return fmt.Errorf("%s: %w; fix: see all with xoff check %s", f.Name(), err, f.Name())
	}
	return err
}

// named adds the file of an operation.
func (a *assembly) named(err error) error {
	if f, ok := a.source.(*goal.File); ok && err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return err
}

// target sets where the message of a send arrives.
func (a *assembly) target(send, target uint32) {
	op := &a.job.Ops[send]
	if op.Kind == job.Send {
		a.job.Targets[op.To] = target
	} else {
		op.To = target
	}
	if target&job.AnyRecv == 0 {
		a.job.Ops[target].To = send
	}
}

// acyclic returns an error if ranks wait for each other. Messages to ranks with wildcards may
// match in any order, so such jobs are not checked.
func (a *assembly) acyclic() error {
	j := a.job
	if len(j.Patterns) > 0 {
		return nil
	}
	const missing = 1 << 31 // in left: the message of a recv has not arrived
	left := make([]uint32, len(j.Ops))
	posted := make([]bool, len(j.Ops))
	var ready []uint32
	for k := range j.Ops {
		if left[k] = j.Ops[k].Deps; left[k] == 0 {
			ready = append(ready, uint32(k))
		}
		if j.Ops[k].Kind == job.Recv {
			left[k] |= missing
		}
	}
	follow := func(k uint32, started bool) {
		for _, e := range j.EdgesOf(k) {
			if to := e.Op(); started == (e&job.AtStart != 0) {
				if left[to]--; left[to]&^missing == 0 {
					ready = append(ready, to)
				}
			}
		}
	}
	done := 0
	complete := func(k uint32) {
		done++
		follow(k, false)
	}
	take := func(recv uint32) {
		if left[recv] > 0 || !posted[recv] {
			return
		}
		complete(recv)
		if send := j.Ops[recv].To; j.Ops[send].Ends == job.OnReceipt {
			complete(send)
		}
	}
	for len(ready) > 0 {
		k := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		follow(k, true)
		op := &j.Ops[k]
		if op.Kind == job.Recv {
			posted[k] = true
			take(k)
			continue
		}
		if op.Kind != job.Compute {
			recv := op.To
			if op.Kind == job.Send {
				recv = j.Targets[op.To]
			}
			left[recv] &^= missing
			take(recv)
		}
		if op.Kind == job.Compute || op.Ends != job.OnReceipt {
			complete(k)
		}
	}
	if done == len(j.Ops) {
		return nil
	}
	for k := range j.Ops {
		if op := &j.Ops[k]; left[k] > 0 && op.Kind == job.Recv {
			return fmt.Errorf("rank %d, operation %d: this recv never completes: it waits for a message that waits for it, through other ranks (expected no cycle)",
				op.Rank, uint32(k)-j.Ranks[op.Rank].First)
		}
	}
	return fmt.Errorf("operations wait for each other (expected no cycle)")
}

// jobFlows estimates the number of flows of a job from a number of operations.
func jobFlows(ops float64) float64 { return math.Ceil(ops / 2) }
