package sim

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Deadlock is a set of queues that wait for each other.
type Deadlock struct {
	Onset units.Time // when the first loop closed
	// End is when a deadlock handler or a fault first made a frame of that loop depart or be
	// dropped. It is Never while the deadlock lasts.
	End units.Time
	// Queues lists all stuck egress queues of switches, by node, port and class: members
	// of loops and queues that wait for them.
	Queues []StuckQueue
	// Loop is the loop that closed first, as indices into Queues: each queue waits for
	// the next, and the last for the first.
	Loop  []int
	Hosts int // number of hosts with frames that they can never send
}

// StuckQueue is an egress queue in a deadlock.
type StuckQueue struct {
	End
	Class  uint8
	Peer   End         // ingress port that paused it
	Bytes  units.Bytes // stored bytes
	Paused units.Time  // when it was blocked
	Stuck  units.Time  // when it became part of a deadlock
}

// deadlocks searches a run for deadlocks: periodically if it is watched, and at the end.
type deadlocks struct {
	*deadlockSearch
	activity []*activity // by switch; nil if the run is not watched
	stop     bool        // end the run at the first deadlock
	found    []Deadlock
	open     bool // the last deadlock has not ended
}

// watched returns a spec whose nodes record what deadlock detection and the pause log
// need. It copies the specs of the nodes that it changes.
func (s *Spec) watched() (*Spec, *deadlocks) {
	d := &deadlocks{stop: s.StopAtDeadlock}
	watch := s.WatchDeadlocks || s.StopAtDeadlock
	if !watch && !s.LogPauses {
		return s, d
	}
	c := *s
	c.Hosts, c.Switches = slices.Clone(s.Hosts), slices.Clone(s.Switches)
	for i, h := range s.Hosts {
		host := *h
		if s.LogPauses {
			host.Log = dataplane.NewPauseLog(1)
		}
		c.Hosts[i] = &host
	}
	for i, w := range s.Switches {
		sw := *w
		if s.LogPauses {
			sw.Log = dataplane.NewPauseLog(len(w.Ports))
		}
		if watch {
			at := &activity{first: make([]units.Time, len(w.Ports)*mmu.Classes)}
			d.activity = append(d.activity, at)
			sw.Pairs, sw.Sink = true, at
			if w.Sink != nil {
				sw.Sink = probe.Fan{w.Sink, at}
			}
		}
		c.Switches[i] = &sw
	}
	return &c, d
}

// activity records when frames leave a switch.
type activity struct {
	probe.Ignore
	first   []units.Time // by egress queue: first departure since the last reset; 0: none
	dropped units.Time   // first drop by a deadlock handler since the last reset; 0: none
}

// Depart implements probe.Sink.
func (s *activity) Depart(now units.Time, port int, p *packet.Packet) {
	if at := &s.first[port*mmu.Classes+int(p.Class())]; *at == 0 && !p.Control() && p.Kind() != packet.Barrier {
		*at = now
	}
}

// Drop implements probe.Sink.
func (s *activity) Drop(now units.Time, _ int, _ *packet.Packet, why probe.Reason) {
	if why == probe.Handler && s.dropped == 0 {
		s.dropped = now
	}
}

// check searches for deadlocks if the run is watched. The engine calls it at every
// CheckPeriod. It reports whether the run must end.
func (d *deadlocks) check(now units.Time) bool {
	if d.activity == nil {
		return false
	}
	if d.open && !d.over(now) {
		return d.stop
	}
	if !d.search(now) {
		return false
	}
	d.date()
	d.found, d.open = append(d.found, d.describe()), true
	last := &d.found[len(d.found)-1]
	for _, i := range last.Loop {
		q := &last.Queues[i]
		at := d.activity[q.Node-len(d.nics)]
		at.first[q.Port*mmu.Classes+int(q.Class)], at.dropped = 0, 0
	}
	return d.stop
}

// next returns the time of the next check that may find a deadlock without a new event. By
// then, frames that may be in flight now have arrived.
func (d *deadlocks) next() units.Time {
	if d.activity == nil || d.open || d.later == units.Never {
		return units.Never
	}
	return (d.later/CheckPeriod + 1) * CheckPeriod
}

// over reports whether the last deadlock has ended, and records when.
func (d *deadlocks) over(now units.Time) bool {
	last := &d.found[len(d.found)-1]
	end, changed := units.Never, false
	d.scan(now)
	for _, i := range last.Loop {
		q := &last.Queues[i]
		at := d.activity[q.Node-len(d.nics)]
		if t := at.first[q.Port*mmu.Classes+int(q.Class)]; t != 0 {
			end = min(end, t)
		}
		// A queue that is no longer blocked will send soon; its departure ends the deadlock.
		blocked := d.at(q.End, q.Class)
		if blocked != nil && blocked.since > q.Paused || d.sw(q.Node).View().Egress(q.Port, q.Class) < q.Bytes {
			changed = true
			if at.dropped != 0 {
				end = min(end, at.dropped)
			}
		}
	}
	switch {
	case end != units.Never:
		last.End = end
	case changed: // frames moved to another port
		last.End = now
	default:
		return false
	}
	d.open = false
	return true
}

// all returns the deadlocks found up to now.
func (d *deadlocks) all(now units.Time) []Deadlock {
	before := len(d.found)
	if d.open && !d.over(now) {
		before-- // describe it again: more queues may wait for it by now
	}
	if !d.search(now) {
		return d.found
	}
	d.date()
	return append(slices.Clip(d.found[:before]), d.describe())
}

// describe returns the result of search and date as a Deadlock.
func (d *deadlocks) describe() Deadlock {
	x := Deadlock{Onset: units.Never, End: units.Never}
	var members []*queue
	hosts := make(map[int]bool)
	for _, q := range d.queues {
		switch {
		case !q.waits:
		case d.sw(q.Node) == nil:
			hosts[q.Node] = true
		default:
			members = append(members, q)
			x.Onset = min(x.Onset, q.stuck)
		}
	}
	x.Hosts = len(hosts)
	slices.SortFunc(members, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.class, b.class))
	})
	for _, q := range members {
		s := StuckQueue{End: q.End, Class: q.class, Peer: d.peers[q.Node][q.Port], Paused: q.since, Stuck: q.stuck}
		for _, f := range q.frames {
			if !f.barrier { // a handler takes it back without moving the queue
				s.Bytes += f.bytes
			}
		}
		x.Queues = append(x.Queues, s)
	}
	x.Loop = d.loop(members, x.Onset)
	return x
}

// loop returns a loop among the queues that were stuck at the given time, as indices into
// members.
func (d *deadlocks) loop(members []*queue, at units.Time) []int {
	// blocker returns the index of a queue that q waits for, or -1: a queue that stores
	// frames of the ingress that paused q.
	blocker := func(q *queue) int {
		pauser := d.peers[q.Node][q.Port]
		best := -1
		for i, m := range members {
			if m.Node != pauser.Node || m.stuck > at || best >= 0 && m.class != q.class {
				continue
			}
			for _, f := range m.frames {
				// If the whole port is paused, frames of other classes count too.
				if f.in == pauser.Port && f.arrived <= at && (best < 0 || members[best].class != q.class) {
					best = i
				}
			}
		}
		return best
	}
	var path []int
	next := slices.IndexFunc(members, func(q *queue) bool { return q.stuck <= at })
	for next >= 0 {
		if i := slices.Index(path, next); i >= 0 {
			loop := path[i:]
			first := slices.Index(loop, slices.Min(loop))
			return slices.Concat(loop[first:], loop[:first])
		}
		path = append(path, next)
		next = blocker(members[next])
	}
	return path
}
