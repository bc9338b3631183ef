package sim

import (
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// deadlockSearch finds the deadlocked queues: the largest set of blocked egress queues
// that all stay blocked even if everything outside the set drains. It reads the state of
// the fabric between two events and changes nothing; schemes are unaware of it. See
// docs/deadlock.md for the reasoning.
//
// A queue that a deadlock handler has armed is left to it, but counts as blocked once it has
// not moved for longer than the handler's patience.
//
// A queue in the set stays there, with all of its frames, until something outside the
// flow control model intervenes: a deadlock handler, a link change or a lost pause. The
// set at an earlier time therefore follows from the set found now: it depends only on
// the frames that members had by then. This dates a deadlock to the picosecond, however
// late it is found, without any work during the run.
type deadlockSearch struct {
	nics     []*dataplane.NIC
	switches []*dataplane.Switch
	rests    []*mmu.Rest // by switch
	peers    [][]End     // by node and port
	delays   [][]units.Time
	bases    []int      // by node: index of its first queue
	queues   []*queue   // blocked queues
	ups      [][]*queue // by switch: blocked queues that send to it
	outs     [][]*queue // by switch: its own blocked queues
	byIndex  []*queue   // by queue index; nil if not blocked
	left     []units.Bytes
	scratch  []dataplane.BlockedQueue
	now      units.Time // last time covered by the scan
	later    units.Time // when the next blocked queue settles or is overdue, after now
}

// queue is a blocked egress queue.
type queue struct {
	End
	class   uint8
	waits   bool
	since   units.Time
	settled units.Time // from then on, none of its frames is in flight to the peer
	next    units.Bytes
	frames  []waiting // stored frames, for dating; switches only
	loads   []load    // bytes stored at the time under test
	free    bool      // a RESUME for it is in flight
	in      bool      // member of the set
	stuck   units.Time
}

// waiting is a frame in a blocked queue.
type waiting struct {
	in      int
	arrived units.Time
	bytes   units.Bytes
	barrier bool
}

// load is the number of bytes in a blocked queue that arrived by one ingress port.
type load struct {
	in    int
	bytes units.Bytes
}

func newDeadlockSearch(spec *Spec, nics []*dataplane.NIC, switches []*dataplane.Switch) *deadlockSearch {
	x := &deadlockSearch{nics: nics, switches: switches}
	total, most := 0, 0
	for node := range spec.nodeCount() {
		n := spec.portCount(node)
		x.peers, x.delays = append(x.peers, make([]End, n)), append(x.delays, make([]units.Time, n))
		x.bases = append(x.bases, total)
		total, most = total+n*mmu.Classes, max(most, n*mmu.Classes)
	}
	for i := range spec.Cables {
		c := &spec.Cables[i]
		x.peers[c.A.Node][c.A.Port], x.delays[c.A.Node][c.A.Port] = c.B, c.AtoB
		x.peers[c.B.Node][c.B.Port], x.delays[c.B.Node][c.B.Port] = c.A, c.BtoA
	}
	for _, s := range switches {
		x.rests = append(x.rests, s.Rest())
	}
	x.byIndex, x.left = make([]*queue, total), make([]units.Bytes, most)
	x.ups, x.outs = make([][]*queue, len(switches)), make([][]*queue, len(switches))
	return x
}

// at returns a blocked egress queue, or nil if the queue is not blocked.
func (x *deadlockSearch) at(e End, class uint8) *queue {
	return x.byIndex[x.bases[e.Node]+e.Port*mmu.Classes+int(class)]
}

// sw returns the switch of a node, or nil for a host.
func (x *deadlockSearch) sw(node int) *dataplane.Switch {
	if node < len(x.nics) {
		return nil
	}
	return x.switches[node-len(x.nics)]
}

// scan lists the blocked queues of all nodes after every event before now. It reports
// whether a blocked queue of a switch stores frames; otherwise there is no deadlock.
func (x *deadlockSearch) scan(now units.Time) bool {
	x.now, x.later = now-1, units.Never
	clear(x.byIndex)
	x.queues = x.queues[:0]
	for i := range x.switches {
		x.ups[i], x.outs[i] = x.ups[i][:0], x.outs[i][:0]
	}
	found := false
	add := func(node int) {
		for _, b := range x.scratch {
			if b.Due > x.now {
				x.later = min(x.later, b.Due)
				continue
			}
			q := &queue{
				End: End{node, b.Port}, class: b.Class, waits: b.Waits, since: b.Since, next: b.Next,
				settled: b.Sent + x.delays[node][b.Port],
			}
			if q.settled > x.now {
				x.later = min(x.later, q.settled)
			}
			x.queues = append(x.queues, q)
			x.byIndex[x.bases[node]+b.Port*mmu.Classes+int(b.Class)] = q
			if to := x.peers[node][b.Port]; to.Node >= len(x.nics) {
				i := to.Node - len(x.nics)
				x.ups[i] = append(x.ups[i], q)
				// A RESUME may be in flight although the peer wants a pause again.
				sent := x.switches[i].LastResume(to.Port, b.Class)
				q.free = sent != 0 && sent+x.delays[to.Node][to.Port]+b.Processing > x.now
			}
			if from := node - len(x.nics); from >= 0 {
				x.outs[from] = append(x.outs[from], q)
				found = found || b.Waits
			}
		}
	}
	for i, n := range x.nics {
		x.scratch = n.BlockedQueues(now, x.scratch[:0])
		add(i)
	}
	for i, s := range x.switches {
		x.scratch = s.BlockedQueues(now, x.scratch[:0])
		add(len(x.nics) + i)
	}
	return found
}

// search finds the queues that are deadlocked now and reports whether there are any.
func (x *deadlockSearch) search(now units.Time) bool {
	if !x.scan(now) {
		return false
	}
	for _, q := range x.queues {
		if s := x.sw(q.Node); s != nil && q.waits {
			q.loads = x.loadsNow(s, q)
		}
	}
	x.reduce(x.now)
	x.queues = slices.DeleteFunc(x.queues, func(q *queue) bool { return !q.in })
	return len(x.queues) > 0
}

// loadsNow returns the bytes stored in a queue now, by ingress port.
func (x *deadlockSearch) loadsNow(s *dataplane.Switch, q *queue) []load {
	var list []load
	v := s.View()
	if v.HasPairs() {
		for in := range s.Ports() {
			if b := v.Pair(in, q.Port, q.class).Bytes; b > 0 {
				list = append(list, load{in, b})
			}
		}
		return list
	}
	s.EachWaiting(q.Port, q.class, func(f *packet.Packet, b units.Bytes) { list = addLoad(list, f.Port(), b) })
	return list
}

func addLoad(list []load, in int, b units.Bytes) []load {
	for i := range list {
		if list[i].in == in {
			list[i].bytes += b
			return list
		}
	}
	return append(list, load{in, b})
}

// reduce puts every queue that was blocked at t into the set. Then it removes queues
// that would send again, until none is left.
func (x *deadlockSearch) reduce(t units.Time) {
	for _, q := range x.queues {
		q.in = q.since <= t && !q.free
	}
	for changed := true; changed; {
		changed = false
		for i := range x.switches {
			changed = x.reduceAt(i, t) || changed
		}
		for _, q := range x.queues {
			// A host eventually takes every frame. Even a stuck host is the root of a
			// pause storm, not part of a deadlock.
			if q.in && x.sw(x.peers[q.Node][q.Port].Node) == nil {
				q.in, changed = false, true
			}
		}
	}
}

// reduceAt removes the queues that a switch would resume. It reports whether it removed
// any.
func (x *deadlockSearch) reduceAt(i int, t units.Time) bool {
	if !slices.ContainsFunc(x.ups[i], func(q *queue) bool { return q.in }) {
		return false
	}
	s := x.switches[i]
	left := x.left[:s.Ports()*mmu.Classes]
	clear(left)
	for _, q := range x.outs[i] {
		if q.in {
			for _, l := range q.loads {
				left[l.in*mmu.Classes+int(q.class)] += l.bytes
			}
		}
	}
	x.rests[i].Clear()
	for port := range s.Ports() {
		x.keepRest(i, port, left, t)
	}
	changed := false
	for _, up := range x.ups[i] {
		if !up.in {
			continue
		}
		port := x.peers[up.Node][up.Port].Port
		rest := flowctl.Rest{Class: up.class, Moves: x.favour(i, port, left, t), Next: up.next}
		rest.View = x.rests[i].View()
		if s.Resumes(x.now, port, &rest) {
			up.in, changed = false, true
		}
		x.keepRest(i, port, left, t)
	}
	return changed
}

// silent reports whether an ingress queue receives no more frames: its upstream is in
// the set, and everything in flight has arrived.
func (x *deadlockSearch) silent(node, port int, class uint8, t units.Time) bool {
	up := x.at(x.peers[node][port], class)
	return up != nil && up.in && up.settled <= t
}

// keepRest sets the rest of a port to the bytes that stay in its queues.
func (x *deadlockSearch) keepRest(i, port int, left []units.Bytes, t units.Time) {
	for class := range uint8(mmu.Classes) {
		b := left[port*mmu.Classes+int(class)]
		switch {
		case b == 0:
		case x.silent(len(x.nics)+i, port, class, t):
			x.rests[i].Keep(port, class, b)
		default:
			x.rests[i].KeepSome(port, class, b, x.switches[i].Headroom(port))
		}
	}
}

// favour sets the rest of a port to its best case. It returns the classes that frames
// leave or may still join.
func (x *deadlockSearch) favour(i, port int, left []units.Bytes, t units.Time) (moves packet.ClassMask) {
	s := x.switches[i]
	for class := range uint8(mmu.Classes) {
		b := left[port*mmu.Classes+int(class)]
		silent := x.silent(len(x.nics)+i, port, class, t)
		if b > 0 && !silent {
			x.rests[i].Favour(port, class, b)
		}
		all := s.View().Ingress(port, class)
		if !silent || s.Quiet(port, class) > t || all.Total() != b {
			moves |= 1 << class
		}
	}
	return moves & s.LosslessClasses(port)
}

// date determines when each queue joined the set.
func (x *deadlockSearch) date() {
	var times []units.Time
	for _, q := range x.queues {
		times = append(times, q.since, q.settled)
		if s := x.sw(q.Node); s != nil {
			s.EachWaiting(q.Port, q.class, func(f *packet.Packet, b units.Bytes) {
				q.frames = append(q.frames, waiting{f.Port(), f.At, b, f.Kind() == packet.Barrier})
				times = append(times, f.At)
			})
		}
		if peer := x.peers[q.Node][q.Port]; x.sw(peer.Node) != nil {
			for class := range uint8(mmu.Classes) {
				times = append(times, x.sw(peer.Node).Quiet(peer.Port, class))
			}
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	last, _ := slices.BinarySearch(times, x.now+1)
	x.dateBetween(slices.Clone(x.queues), times[:last])
}

// dateBetween dates queues by binary search. They are in the set at the last of the
// times and were not before the first.
func (x *deadlockSearch) dateBetween(queues []*queue, times []units.Time) {
	if len(queues) == 0 {
		return
	}
	if len(times) == 1 {
		for _, q := range queues {
			q.stuck = times[0]
		}
		return
	}
	half := len(times) / 2
	t := times[half-1]
	for _, q := range x.queues {
		q.loads = q.loads[:0]
		for _, f := range q.frames {
			if f.arrived <= t {
				q.loads = addLoad(q.loads, f.in, f.bytes)
			}
		}
	}
	x.reduce(t)
	var before, after []*queue
	for _, q := range queues {
		if q.in {
			before = append(before, q)
		} else {
			after = append(after, q)
		}
	}
	x.dateBetween(before, times[:half])
	x.dateBetween(after, times[half:])
}
