// Package job executes jobs, such as an iteration of training: graphs of compute, send and recv
// operations of ranks. A rank is a GPU with a NIC. All operations of a rank are executed by the
// host with that NIC, so hosts run in parallel and the order of events at a host decides
// everything. Time and completions of flows go in; flows to start and notices come out.
package job

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// Kind is the kind of an operation.
type Kind uint8

// Kinds of operations.
const (
	Compute Kind = iota // occupies a stream of its rank
	Send                // a flow to another host
	Copy                // a message inside a scale-up domain, without packets
	Recv                // completes when it is posted and its message has arrived
)

func (k Kind) String() string { return [...]string{"compute", "send", "copy", "recv"}[k] }

// Op is an operation of a rank. The host of its rank writes the unexported fields during a run.
type Op struct {
	Work   int64  // Compute: duration in ps; others: bytes
	Rank   uint32 // in Job.Ranks
	First  uint32 // index in Job.Edges of its first edge
	Deps   uint32 // operations of the same rank that it waits for; counts down during a run
	To     uint32 // Send: flow, relative to Job.Flow0; Copy: its target; Recv: its Send or Copy, if known
	Label  int32  // in Job.Labels; -1: none
	Kind   Kind
	Stream uint8 // Compute: stream of its rank
	Ends   End   // Send, Copy: when it is complete for its rank
	// arrived means that the message of a recv has arrived.
	arrived      bool
	began, ended units.Time // plus one; 0: not yet
}

// End says when a send is complete for its rank.
type End uint8

// Ends of sends. A copy is complete when its last bit has left, or like OnReceipt.
const (
	OnACK     End = iota // with its last ACK
	OnStart              // at once, as an eager send
	OnReceipt            // when it knows that its recv has taken the message: rendezvous
)

// Edge leads from an operation to one of the same rank that waits for it.
type Edge uint32

// AtStart marks an edge that waits for the start of the operation instead of its end.
const AtStart Edge = 1 << 31

// Op returns the index of the waiting operation.
func (e Edge) Op() uint32 { return uint32(e &^ AtStart) }

// Receipt is the bit of a send in Job.Sends or in a notice: the flow or notice tells its rank
// that its recv has taken the message. Such a flow comes after the flow of the send.
const Receipt = 1 << 31

// AnyRecv is the bit of a target that is an index in Job.Messages instead of a recv: the
// receiving rank has wildcards, so its messages are matched as they arrive.
const AnyRecv = 1 << 31

// Wildcard as the source or tag of a Pattern matches all.
const Wildcard = 1<<32 - 1

// Message is a message to a rank with wildcards. Op is its Send or Copy.
type Message struct{ Rank, From, Tag, Op uint32 }

// Pattern is what a recv of a rank with wildcards matches.
type Pattern struct{ From, Tag uint32 }

func (p Pattern) matches(m *Message) bool {
	return (p.From == m.From || p.From == Wildcard) && (p.Tag == m.Tag || p.Tag == Wildcard || m.Tag == Wildcard)
}

// Rank is one GPU of a job.
type Rank struct {
	Host    uint32
	Domain  int32  // scale-up domain; -1: none
	First   uint32 // its operations are First to End-1
	End     uint32
	Streams int // number of its compute streams

	streams uint32 // index in Job.streams: compute streams, scale-up out, scale-up in
}

// Label describes a group of operations: a collective, or a part of the model.
type Label struct {
	Name      string
	Operation string // collective operation, such as all_reduce; empty: not a collective
	Algorithm string
	Ranks     int
	Size      units.Bytes // of the collective, as nccl-tests count it
	Iteration int
}

// ScaleUp is the network inside a domain. It never blocks: a rank sends and receives one
// message at a time, each at the full rate.
type ScaleUp struct {
	Rate    units.Rate
	Latency units.Time
}

// Job is a job in a run. The fields are read-only during the run.
type Job struct {
	Name       string
	Start      units.Time
	Iterations int
	Ranks      []Rank
	Ops        []Op
	Edges      []Edge
	Labels     []Label
	ScaleUp    ScaleUp
	Flow0      uint32   // number of the first of its flows
	Sends      []uint32 // by flow: its send; with Receipt: the send that it completes
	Targets    []uint32 // by flow: its recv, or AnyRecv with an index in Messages
	Messages   []Message
	Patterns   map[uint32]Pattern // of recvs of ranks with wildcards

	streams  []stream
	matchers map[uint32]*matcher // by rank with wildcards
	hosts    []*Host
}

// stream is a serial resource. Waiting operations are served in the order in which they became
// ready.
type stream struct {
	queue []uint32
	busy  bool
}

// matcher matches the messages and recvs of a rank with wildcards.
type matcher struct {
	posted     []uint32 // recvs, in the order of posting
	unexpected []uint32 // messages, in the order of arrival
}

// EdgesOf returns the edges of an operation.
func (j *Job) EdgesOf(k uint32) []Edge {
	end := uint32(len(j.Edges))
	if int(k)+1 < len(j.Ops) {
		end = j.Ops[k+1].First
	}
	return j.Edges[j.Ops[k].First:end]
}

// Prepare returns the executors of the hosts of a job. It is called once, before a run.
func (j *Job) Prepare() []*Host {
	n := 0
	for i := range j.Ranks {
		j.Ranks[i].streams = uint32(n)
		n += j.Ranks[i].Streams + 2
	}
	j.streams = make([]stream, n)
	j.matchers = make(map[uint32]*matcher)
	for k := range j.Patterns {
		if r := j.Ops[k].Rank; j.matchers[r] == nil {
			j.matchers[r] = &matcher{}
		}
	}
	for i := range j.Messages {
		if r := j.Messages[i].Rank; j.matchers[r] == nil {
			j.matchers[r] = &matcher{}
		}
	}
	byHost := make(map[uint32]*Host)
	for i := range j.Ranks {
		r := &j.Ranks[i]
		h := byHost[r.Host]
		if h == nil {
			h = &Host{ID: r.Host, job: j}
			byHost[r.Host] = h
			j.hosts = append(j.hosts, h)
		}
		h.left += int(r.End - r.First)
		h.at(j.Start, startRank, uint32(i))
	}
	return j.hosts
}

// Owns reports whether a flow belongs to the job.
func (j *Job) Owns(flow uint32) bool { return flow-j.Flow0 < uint32(len(j.Sends)) }

// Done reports whether all operations are complete. It is called between events of hosts.
func (j *Job) Done() bool {
	for _, h := range j.hosts {
		if h.left > 0 {
			return false
		}
	}
	return true
}

// Left returns the number of operations that are not complete.
func (j *Job) Left() int {
	n := 0
	for _, h := range j.hosts {
		n += h.left
	}
	return n
}

// Began returns when an operation started, and false if it has not. A recv starts when it is
// posted.
func (o *Op) Began() (units.Time, bool) { return o.began - 1, o.began > 0 }

// Ended returns when an operation was complete, and false if it is not.
func (o *Op) Ended() (units.Time, bool) { return o.ended - 1, o.ended > 0 }

// Stuck returns a recv that waits for a message that nobody will send, with a message that no
// recv takes, if there is one. It returns an empty text unless the job can only wait at the
// time end, but does not look at flows. Only jobs with wildcards can wait so.
func (j *Job) Stuck(end units.Time) string {
	if len(j.matchers) == 0 {
		return ""
	}
	for _, h := range j.hosts {
		if len(h.timers) > 0 {
			return ""
		}
	}
	text := ""
	for k := range j.Ops {
		op := &j.Ops[k]
		if max(op.began, op.ended)+j.ScaleUp.Latency > end {
			return "" // a notice may be under way
		}
		if p, ok := j.Patterns[uint32(k)]; ok && text == "" && op.began > 0 && op.ended == 0 {
			text = fmt.Sprintf("rank %d, operation %d: recv from %s with %s gets no message",
				op.Rank, uint32(k)-j.Ranks[op.Rank].First, number("rank", p.From), number("tag", p.Tag))
		}
	}
	for r := range uint32(len(j.Ranks)) {
		if m := j.matchers[r]; m != nil && len(m.unexpected) > 0 {
			msg := &j.Messages[m.unexpected[0]]
			if text != "" {
				text += "; "
			}
			return text + fmt.Sprintf("rank %d, operation %d: send to rank %d with %s has no recv",
				msg.From, msg.Op-j.Ranks[msg.From].First, r, number("tag", msg.Tag))
		}
	}
	return text
}

func number(what string, v uint32) string {
	if v == Wildcard {
		return "any " + what
	}
	return fmt.Sprintf("%s %d", what, v)
}
