package sim

import (
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// deadlockSearch finds the queues that are deadlocked: the greatest set of held egress
// queues of which none goes on even if everything outside of the set drains. It
// looks at a fabric that stands still between two events and changes nothing; no
// scheme knows of it. docs/deadlock.md has the reasoning.
//
// A queue that is in the set stays there, with all of its frames, until something
// outside of the model of flow control intervenes (a deadlock handler, a link that
// changes, a lost pause). So the set of any earlier time can be computed from the
// one that is found: from the frames of its members that had come by then. That
// dates a deadlock to the picosecond, however late it is found, and costs a run
// nothing.
type deadlockSearch struct {
	nics     []*dataplane.NIC
	switches []*dataplane.Switch
	rests    []*mmu.Rest // by switch
	peers    [][]End     // by node and port
	delays   [][]units.Time
	bases    []int      // by node: number of its first queue
	queues   []*queue   // those that are held
	ups      [][]*queue // by switch: the held queues that lead to it
	outs     [][]*queue // by switch: its own
	places   []*queue   // by number of the queue; nil for what is not held
	left     []units.Bytes
	held     []dataplane.BlockedQueue
	now      units.Time // the last moment that is seen
	later    units.Time // after now: when the next held queue settles
}

// queue is an egress queue that is held.
type queue struct {
	End
	class   uint8
	waits   bool
	since   units.Time
	settled units.Time // nothing of it is on its way to the peer after that
	next    units.Bytes
	frames  []waiting // of a switch, when it is dated
	loads   []load    // what it holds at the time that is looked at
	free    bool      // a RESUME for it is on its way
	in      bool      // in the set
	stuck   units.Time
}

// waiting is a frame of a held queue.
type waiting struct {
	in    int
	came  units.Time
	bytes units.Bytes
}

// load is what a held queue has of one ingress port.
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
	x.places, x.left = make([]*queue, total), make([]units.Bytes, most)
	x.ups, x.outs = make([][]*queue, len(switches)), make([][]*queue, len(switches))
	return x
}

// at returns a held egress queue, nil when it is not held.
func (x *deadlockSearch) at(e End, class uint8) *queue {
	return x.places[x.bases[e.Node]+e.Port*mmu.Classes+int(class)]
}

// sw returns a node that is a switch; nil for a host.
func (x *deadlockSearch) sw(node int) *dataplane.Switch {
	if node < len(x.nics) {
		return nil
	}
	return x.switches[node-len(x.nics)]
}

// scan lists the held queues of all nodes, as they are after every event before
// now. It reports whether any queue of a switch holds frames: without one there is
// no deadlock.
func (x *deadlockSearch) scan(now units.Time) bool {
	x.now, x.later = now-1, units.Never
	clear(x.places)
	x.queues = x.queues[:0]
	for i := range x.switches {
		x.ups[i], x.outs[i] = x.ups[i][:0], x.outs[i][:0]
	}
	found := false
	add := func(node int) {
		for _, h := range x.held {
			q := &queue{
				End: End{node, h.Port}, class: h.Class, waits: h.Waits, since: h.Since, next: h.Next,
				settled: h.Sent + x.delays[node][h.Port],
			}
			if q.settled > x.now {
				x.later = min(x.later, q.settled)
			}
			x.queues = append(x.queues, q)
			x.places[x.bases[node]+h.Port*mmu.Classes+int(h.Class)] = q
			if to := x.peers[node][h.Port]; to.Node >= len(x.nics) {
				i := to.Node - len(x.nics)
				x.ups[i] = append(x.ups[i], q)
				// A RESUME may be on its way although the peer has changed its mind.
				sent := x.switches[i].LastResume(to.Port, h.Class)
				q.free = sent != 0 && sent+x.delays[to.Node][to.Port]+h.Takes > x.now
			}
			if from := node - len(x.nics); from >= 0 {
				x.outs[from] = append(x.outs[from], q)
				found = found || h.Waits
			}
		}
	}
	for i, n := range x.nics {
		x.held = n.BlockedQueues(now, x.held[:0])
		add(i)
	}
	for i, s := range x.switches {
		x.held = s.BlockedQueues(now, x.held[:0])
		add(len(x.nics) + i)
	}
	return found
}

// search finds the deadlocked queues of now and reports whether there are any.
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

// loadsNow returns what a queue holds now, by ingress port.
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
	s.EachWaiting(q.Port, q.class, func(in int, _ units.Time, b units.Bytes) { list = addLoad(list, in, b) })
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

// reduce puts every queue that was held at t into the set, and takes out those
// that would go on until none is left that would.
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
			// A host takes what comes, sooner or later: even one that is stuck is the
			// root of a pause storm, not part of a deadlock.
			if q.in && x.sw(x.peers[q.Node][q.Port].Node) == nil {
				q.in, changed = false, true
			}
		}
	}
}

// reduceAt takes out the queues that a switch would let go on.
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

// silent reports whether no frame comes to an ingress queue any more, because its
// upstream is in the set, and what was on its way has arrived.
func (x *deadlockSearch) silent(node, port int, class uint8, t units.Time) bool {
	up := x.at(x.peers[node][port], class)
	return up != nil && up.in && up.settled <= t
}

// keepRest makes the rest of a port what is left of it.
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

// favour arranges the rest of a port in its favour, and returns the classes from
// which frames leave, or to which they may come.
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

// date finds out when each queue of the set became part of it.
func (x *deadlockSearch) date() {
	var times []units.Time
	for _, q := range x.queues {
		times = append(times, q.since, q.settled)
		if s := x.sw(q.Node); s != nil {
			s.EachWaiting(q.Port, q.class, func(in int, came units.Time, b units.Bytes) {
				q.frames = append(q.frames, waiting{in, came, b})
				times = append(times, came)
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

// dateBetween dates queues that are in the set at the last of some times, and were
// not before the first.
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
			if f.came <= t {
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
