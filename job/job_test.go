package job

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/xoff-net/xoff/base/units"
)

// run runs the hosts of a job in steps of time. Flows take 1 us and are acknowledged 1 us
// later.
func run(t *testing.T, j *Job) {
	t.Helper()
	type end struct {
		at     units.Time
		flow   uint32
		source bool
	}
	hosts := make(map[uint32]*Host)
	for _, h := range j.Prepare() {
		hosts[h.ID] = h
	}
	sender := func(f uint32) uint32 { return j.Ranks[j.Ops[j.Sends[f]].Rank].Host }
	receiver := func(f uint32) uint32 {
		if send := j.Sends[f]; send&Receipt != 0 { // from the receiver of the flow before it
			return j.Ranks[j.Ops[send&^Receipt].Rank].Host
		}
		return j.Ranks[j.receiver(j.Targets[f])].Host
	}
	var ends []end
	for now := units.Time(0); now < 50*units.Microsecond; now += 100 * units.Nanosecond {
		left := ends
		ends = nil
		follow := func(h *Host) {
			for _, f := range h.Starts {
				ends = append(ends, end{now + units.Microsecond, f - j.Flow0, false}, end{now + 2*units.Microsecond, f - j.Flow0, true})
			}
			for _, n := range h.Notices {
				hosts[n.To].Notice(n.At, n.Op)
			}
			h.Starts, h.Notices = nil, nil
		}
		for _, e := range left {
			if e.at > now {
				ends = append(ends, e)
				continue
			}
			h := hosts[receiver(e.flow)]
			switch {
			case e.source && j.Sends[e.flow]&Receipt != 0:
				h = hosts[receiver(e.flow-1)]
			case e.source:
				h = hosts[sender(e.flow)]
			}
			h.Ended(now, e.flow+j.Flow0, e.source)
			follow(h)
		}
		for id := range uint32(len(hosts)) {
			h := hosts[id]
			h.Run(now)
			follow(h)
		}
	}
}

const us = units.Microsecond

func times(t *testing.T, j *Job, want ...[2]units.Time) {
	t.Helper()
	for k, w := range want {
		from, ok := j.Ops[k].Began()
		to, done := j.Ops[k].Ended()
		if !ok || !done || from != w[0] || to != w[1] {
			t.Errorf("operation %d, %s: %s to %s, %v (expected %s to %s)", k, j.Ops[k].Kind, from, to, done, w[0], w[1])
		}
	}
	if !j.Done() || j.Left() != 0 {
		t.Errorf("%d operations are left", j.Left())
	}
}

// Two computes of one stream run one after the other although both are ready; one of another
// stream runs beside them. A third waits for the start of the second.
func TestStreams(t *testing.T) {
	j := &Job{Ranks: []Rank{{Domain: -1, End: 4, Streams: 2}}, Edges: []Edge{3 | AtStart}, Ops: []Op{
		{Kind: Compute, Work: int64(2 * us)}, {Kind: Compute, Work: int64(3 * us)},
		{Kind: Compute, Work: int64(4 * us), Stream: 1, First: 1}, {Kind: Compute, Work: int64(us), Stream: 1, Deps: 1, First: 1},
	}}
	run(t, j)
	times(t, j, [2]units.Time{0, 2 * us}, [2]units.Time{2 * us, 5 * us}, [2]units.Time{0, 4 * us}, [2]units.Time{4 * us, 5 * us})
	// Streams compute from 0 to 5 us without a gap.
	j.Iterations, j.Labels = 1, make([]Label, 1)
	if it := j.RankIterations(0)[0]; it.Compute != 5*us || it.Exposed != 0 || it.Waiting() != 0 || !it.Done {
		t.Errorf("%+v", it)
	}
}

// Rank 0 computes 1 us, then sends two flows to rank 1. The first is eager: the compute after
// it starts at 1 us, the one after the second at its ACK, 3 us. Rank 1 posts its second recv
// after 5 us of compute, when its message has long arrived.
func TestFlows(t *testing.T) {
	j := &Job{Flow0: 7, Sends: []uint32{1, 2}, Targets: []uint32{6, 7},
		Ranks: []Rank{{Host: 0, Domain: -1, End: 5, Streams: 1}, {Host: 1, Domain: -1, First: 5, End: 8, Streams: 1}},
		Edges: []Edge{1, 2, 3, 4, 7},
		Ops: []Op{
			{Kind: Compute, Work: int64(us)}, {Kind: Send, Deps: 1, To: 0, Ends: OnStart, First: 2}, {Kind: Send, Deps: 1, To: 1, First: 3},
			{Kind: Compute, Work: int64(us), Deps: 1, First: 4}, {Kind: Compute, Work: int64(us), Deps: 1, First: 4},
			{Kind: Compute, Work: int64(5 * us), Rank: 1, First: 4}, {Kind: Recv, Rank: 1, First: 5}, {Kind: Recv, Rank: 1, Deps: 1, First: 5},
		}}
	run(t, j)
	times(t, j, [2]units.Time{0, us}, [2]units.Time{us, us}, [2]units.Time{us, 3 * us}, [2]units.Time{us, 2 * us}, [2]units.Time{3 * us, 4 * us},
		[2]units.Time{0, 5 * us}, [2]units.Time{0, 2 * us}, [2]units.Time{5 * us, 5 * us})
}

// Rank 1 posts its first recv at once and its second at 5 us. Both messages arrive at 1 us, and
// messages back take 1 us: the sends are complete at 2 and 6 us, long after the ACK of the second.
func TestRendezvous(t *testing.T) {
	for _, wild := range []bool{false, true} {
		j := &Job{Sends: []uint32{0, Receipt, 1, Receipt | 1}, Targets: []uint32{3, 0, 5, 0},
			Ranks: []Rank{{Host: 0, Domain: -1, End: 3, Streams: 1}, {Host: 1, Domain: -1, First: 3, End: 6, Streams: 1}},
			Edges: []Edge{2, 5},
			Ops: []Op{
				{Kind: Send, To: 0, Ends: OnReceipt}, {Kind: Send, To: 2, Ends: OnReceipt}, {Kind: Compute, Work: int64(us), Deps: 1, First: 1},
				{Kind: Recv, Rank: 1, To: 0, First: 1}, {Kind: Compute, Work: int64(5 * us), Rank: 1, First: 1}, {Kind: Recv, Rank: 1, Deps: 1, To: 1, First: 2},
			}}
		if wild {
			j.Targets = []uint32{AnyRecv, 0, AnyRecv | 1, 0}
			j.Messages = []Message{{1, 0, 7, 0}, {1, 0, 8, 1}}
			j.Patterns = map[uint32]Pattern{3: {Wildcard, 7}, 5: {0, Wildcard}}
		}
		run(t, j)
		times(t, j, [2]units.Time{0, 2 * us}, [2]units.Time{0, 6 * us}, [2]units.Time{6 * us, 7 * us},
			[2]units.Time{0, us}, [2]units.Time{0, 5 * us}, [2]units.Time{5 * us, 5 * us})
	}
}

// Copies of 1000 B take 1 us and 500 ns of latency, as does the answer. Rank 1 posts its recv at
// 5 us: the copy leaves until 1 us, when the next begins, and is complete at 5.5 us. Rank 2 has
// the same host as rank 0. Rank 0 sends to itself, and takes it after that, at 6 us.
func TestRendezvousScaleUp(t *testing.T) {
	j := &Job{ScaleUp: ScaleUp{8 * units.Gbps, 500 * units.Nanosecond},
		Ranks: []Rank{{Host: 0, End: 5, Streams: 1}, {Host: 1, First: 5, End: 7, Streams: 1}, {Host: 0, First: 7, End: 8}},
		Edges: []Edge{4, 6},
		Ops: []Op{
			{Kind: Copy, Work: 1000, To: 6, Ends: OnReceipt}, {Kind: Copy, Work: 1000, To: 7, Ends: OnReceipt}, {Kind: Copy, Work: 1000, To: 4, Ends: OnReceipt},
			{Kind: Compute, Work: int64(6 * us)}, {Kind: Recv, To: 2, Deps: 1, First: 1},
			{Kind: Compute, Work: int64(5 * us), Rank: 1, First: 1}, {Kind: Recv, Rank: 1, To: 0, Deps: 1, First: 2}, {Kind: Recv, Rank: 2, To: 1, First: 2},
		}}
	run(t, j)
	times(t, j, [2]units.Time{0, 5500 * units.Nanosecond}, [2]units.Time{us, 3 * us}, [2]units.Time{2 * us, 6 * us}, [2]units.Time{0, 6 * us},
		[2]units.Time{6 * us, 6 * us}, [2]units.Time{0, 5 * us}, [2]units.Time{5 * us, 5 * us}, [2]units.Time{0, 2500 * units.Nanosecond})
}

// Copies of 1000 B at 8 Gbps take 1 us, with 500 ns latency. Ranks 1 and 2 send to rank 0 at
// once: the second waits for the receiver. Rank 1 sends two, one after the other.
func TestScaleUp(t *testing.T) {
	j := &Job{ScaleUp: ScaleUp{8 * units.Gbps, 500 * units.Nanosecond},
		Ranks: []Rank{{Host: 0, End: 3}, {Host: 1, First: 3, End: 5}, {Host: 2, First: 5, End: 6}},
		Ops: []Op{
			{Kind: Recv}, {Kind: Recv}, {Kind: Recv},
			{Kind: Copy, Work: 1000, Rank: 1, To: 0}, {Kind: Copy, Work: 1000, Rank: 1, To: 1}, {Kind: Copy, Work: 1000, Rank: 2, To: 2},
		}}
	run(t, j)
	// Operation 3 arrives from 0.5 to 1.5 us, 5 from 1.5 to 2.5 (it came first), 4 until 3.5.
	times(t, j, [2]units.Time{0, 1500 * units.Nanosecond}, [2]units.Time{0, 3500 * units.Nanosecond}, [2]units.Time{0, 2500 * units.Nanosecond},
		[2]units.Time{0, us}, [2]units.Time{us, 2 * us}, [2]units.Time{0, us})
}

// A recv of any source takes the first message that arrives; a recv from rank 2 takes its own.
func TestWildcards(t *testing.T) {
	j := &Job{ScaleUp: ScaleUp{8 * units.Gbps, 500 * units.Nanosecond},
		Ranks:    []Rank{{Host: 0, End: 2}, {Host: 1, First: 2, End: 3}, {Host: 2, First: 3, End: 4}},
		Patterns: map[uint32]Pattern{0: {Wildcard, Wildcard}, 1: {2, 5}},
		Messages: []Message{{0, 1, 4, 2}, {0, 2, 5, 3}},
		Ops: []Op{
			{Kind: Recv}, {Kind: Recv}, {Kind: Copy, Work: 2000, Rank: 1, To: AnyRecv}, {Kind: Copy, Work: 1000, Rank: 2, To: AnyRecv | 1},
		}}
	run(t, j)
	// Rank 1's message comes first, 0.5 to 2.5 us; rank 2's waits for the receiver.
	times(t, j, [2]units.Time{0, 2500 * units.Nanosecond}, [2]units.Time{0, 3500 * units.Nanosecond})
	if j.Ops[0].To != 2 || j.Ops[1].To != 3 {
		t.Errorf("recvs took the messages of operations %d and %d (expected 2 and 3)", j.Ops[0].To, j.Ops[1].To)
	}
}

// Rank 0 computes 1 us and sends to rank 1, which takes 1 us; its ACK takes another. Rank 1
// computes from 0 to 0.5 us, receives until 2 us and computes 3 us. Rank 0 waits for that.
func criticalJob() *Job {
	return &Job{Iterations: 1, Labels: make([]Label, 1), Sends: []uint32{1}, Targets: []uint32{3},
		Ranks: []Rank{{Host: 0, Domain: -1, End: 2, Streams: 1}, {Host: 1, Domain: -1, First: 2, End: 6, Streams: 1}},
		Edges: []Edge{1, 4, 5},
		Ops: []Op{
			{Kind: Compute, Work: int64(us)}, {Kind: Send, Deps: 1, First: 1},
			{Kind: Compute, Work: int64(us / 2), Rank: 1, First: 1}, {Kind: Recv, Rank: 1, First: 1, To: 1},
			{Kind: Compute, Work: int64(2 * us), Rank: 1, Deps: 1, First: 2}, {Kind: Compute, Work: int64(us), Rank: 1, Deps: 1, First: 3},
		}}
}

func TestExposed(t *testing.T) {
	j := criticalJob()
	run(t, j)
	for rank, want := range []Iteration{{Span{0, 3 * us, 2, true}, us, 2 * us}, {Span{0, 5 * us, 4, true}, 3500 * units.Nanosecond, us}} {
		if it := j.RankIterations(rank)[0]; it != want {
			t.Errorf("rank %d: %+v (expected %+v)", rank, it, want)
		}
	}
	compute, messages := j.Activity(1, 9*us)
	if want := []Interval{{0, us / 2}, {2 * us, 5 * us}}; !reflect.DeepEqual(compute, want) || !reflect.DeepEqual(messages, []Interval{{us, 2 * us}}) {
		t.Errorf("%v, %v", compute, messages)
	}
}

// The path leads from the last compute of rank 1 over the message to the compute of rank 0.
func TestCriticalPath(t *testing.T) {
	j := criticalJob()
	run(t, j)
	want := []Step{{From: 0, To: us, Op: 0}, {From: us, To: 2 * us, Op: 1, Peer: 1}, {From: 2 * us, To: 4 * us, Op: 4, Peer: 1}, {From: 4 * us, To: 5 * us, Op: 5, Peer: 1}}
	if got := j.CriticalPath(0, 9*us); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	// The message was under way at the end of the run.
	j = criticalJob()
	run(t, j)
	for k := range j.Ops {
		if k != 0 && k != 2 {
			j.Ops[k].ended = 0
		}
	}
	want = []Step{want[0], {From: us, To: 9 * us, Op: 1, Peer: 1, Open: true}}
	if got := j.CriticalPath(0, 9*us); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// A compute that waited for its stream follows the one that had it, not what it depends on;
// one that waits for a start follows what started that.
func TestCriticalStream(t *testing.T) {
	j := &Job{Iterations: 1, Labels: make([]Label, 1), Ranks: []Rank{{Domain: -1, End: 4, Streams: 2}}, Edges: []Edge{3 | AtStart}, Ops: []Op{
		{Kind: Compute, Work: int64(2 * us)}, {Kind: Compute, Work: int64(3 * us)},
		{Kind: Compute, Work: int64(us), Stream: 1, First: 1}, {Kind: Compute, Work: int64(4 * us), Stream: 1, Deps: 1, First: 1},
	}}
	run(t, j)
	want := []Step{{From: 0, To: 2 * us, Op: 0}, {From: 2 * us, To: 6 * us, Op: 3}}
	if got := j.CriticalPath(0, 9*us); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// An operation takes at most 64 bytes, with four edges.
func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Op{}) + 4*unsafe.Sizeof(Edge(0)); size > 64 {
		t.Errorf("%d bytes", size)
	}
}
