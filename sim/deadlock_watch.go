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

// Deadlock is a set of queues of which each waits for others of the set.
type Deadlock struct {
	Onset units.Time // when the first loop closed
	// End is when a frame of that loop left or was dropped, because a deadlock
	// handler or a fault intervened; Never while none has.
	End units.Time
	// Queues are all egress queues of switches that are stuck, in order of node,
	// port and class: those of loops, and those that wait for them.
	Queues []StuckQueue
	// Loop are those that closed first, as indices into Queues: each waits for the
	// next, the last for the first.
	Loop  []int
	Hosts int // that have something to send and never will
}

// StuckQueue is an egress queue in a deadlock.
type StuckQueue struct {
	End
	Class  uint8
	Peer   End         // the ingress that holds it
	Bytes  units.Bytes // that wait
	Paused units.Time  // since when it is held
	Stuck  units.Time  // since when it is part of a deadlock
}

// deadlocks looks for deadlocks in a run, from time to time and at its end.
type deadlocks struct {
	*deadlockSearch
	stirs []*stir // by switch; nil when the run is not watched
	stop  bool    // the first one ends the run
	found []Deadlock
	open  bool // the last one lasts
}

// watched adds what watches a run for deadlocks and pauses, in copies of the
// descriptions of its nodes.
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
			at := &stir{first: make([]units.Time, len(w.Ports)*mmu.Classes)}
			d.stirs = append(d.stirs, at)
			sw.Pairs, sw.Sink = true, at
			if w.Sink != nil {
				sw.Sink = probe.Fan{w.Sink, at}
			}
		}
		c.Switches[i] = &sw
	}
	return &c, d
}

// stir notes when frames move at a switch.
type stir struct {
	probe.Ignore
	first   []units.Time // by egress queue: departure of a frame since it was cleared; 0: none
	dropped units.Time   // likewise: a deadlock handler gave a frame up
}

// Depart implements probe.Sink.
func (s *stir) Depart(now units.Time, port int, p *packet.Packet) {
	if at := &s.first[port*mmu.Classes+int(p.Class())]; *at == 0 && !p.Control() {
		*at = now
	}
}

// Drop implements probe.Sink.
func (s *stir) Drop(now units.Time, _ int, _ *packet.Packet, why probe.Reason) {
	if why == probe.Handler && s.dropped == 0 {
		s.dropped = now
	}
}

// look is called at every check of a watched run. It reports whether the run is to
// end.
func (d *deadlocks) look(now units.Time) bool {
	if d.stirs == nil {
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
		at := d.stirs[q.Node-len(d.nics)]
		at.first[q.Port*mmu.Classes+int(q.Class)], at.dropped = 0, 0
	}
	return d.stop
}

// next returns the next check after now at which there may be a deadlock although
// nothing has happened: frames that might have been on their way were not.
func (d *deadlocks) next() units.Time {
	if d.stirs == nil || d.open || d.later == units.Never {
		return units.Never
	}
	return (d.later/CheckPeriod + 1) * CheckPeriod
}

// over reports whether the last deadlock has ended, and notes when.
func (d *deadlocks) over(now units.Time) bool {
	last := &d.found[len(d.found)-1]
	end, changed := units.Never, false
	d.scan(now)
	for _, i := range last.Loop {
		q := &last.Queues[i]
		at := d.stirs[q.Node-len(d.nics)]
		if t := at.first[q.Port*mmu.Classes+int(q.Class)]; t != 0 {
			end = min(end, t)
		}
		// A queue that is no longer held, but has not sent yet, will.
		held := d.at(q.End, q.Class)
		if held != nil && held.since != q.Paused || d.sw(q.Node).View().Egress(q.Port, q.Class) < q.Bytes {
			changed = true
			if at.dropped != 0 {
				end = min(end, at.dropped)
			}
		}
	}
	switch {
	case end != units.Never:
		last.End = end
	case changed: // frames went to another port
		last.End = now
	default:
		return false
	}
	d.open = false
	return true
}

// all returns the deadlocks of a run that is at now.
func (d *deadlocks) all(now units.Time) []Deadlock {
	before := len(d.found)
	if d.open && !d.over(now) {
		before-- // more queues may wait for the last one than when it was found
	}
	if !d.search(now) {
		return d.found
	}
	d.date()
	return append(slices.Clip(d.found[:before]), d.describe())
}

// describe makes a Deadlock of a set that is dated.
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
			s.Bytes += f.bytes
		}
		x.Queues = append(x.Queues, s)
	}
	x.Loop = d.loop(members, x.Onset)
	return x
}

// loop returns a loop among the queues that were stuck at a time.
func (d *deadlocks) loop(members []*queue, at units.Time) []int {
	// after returns a queue for which q waits: frames of its pauser are in there.
	after := func(q *queue) int {
		pauser := d.peers[q.Node][q.Port]
		best := -1
		for i, m := range members {
			if m.Node != pauser.Node || m.stuck > at || best >= 0 && m.class != q.class {
				continue
			}
			for _, f := range m.frames {
				// Under a pause of the whole port frames of other classes count, too.
				if f.in == pauser.Port && f.came <= at && (best < 0 || members[best].class != q.class) {
					best = i
				}
			}
		}
		return best
	}
	var way []int
	next := slices.IndexFunc(members, func(q *queue) bool { return q.stuck <= at })
	for next >= 0 {
		if i := slices.Index(way, next); i >= 0 {
			loop := way[i:]
			first := slices.Index(loop, slices.Min(loop))
			return slices.Concat(loop[first:], loop[:first])
		}
		way = append(way, next)
		next = after(members[next])
	}
	return way
}
