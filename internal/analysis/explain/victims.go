package explain

import (
	"cmp"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/units"
)

// Victim is a flow that was paused although it does not use the congested port.
type Victim struct {
	Flow     int        `json:"flow"`
	Workload string     `json:"workload"`
	Src      string     `json:"src"`
	Dst      string     `json:"dst"`
	Paused   units.Time `json:"held_ps"` // time for which its frames were paused by the cause
	Cost     units.Time `json:"cost_ps"` // share of that in its FCT
	FCT      units.Time `json:"fct_ps"`  // 0 if it did not finish
}

// victims fills in the ports that a cause paused and its victims.
func (r *Run) victims(c *Cause, wanted func(int, *Cause) bool) {
	mine := make(map[int]bool, len(c.roots))
	for _, i := range c.roots {
		mine[i] = true
	}
	users := make(map[int32]bool)
	if c.port >= 0 {
		users = r.users(c.node, c.port)
	} else {
		up := &r.ports[c.node][0]
		users = r.users(up.peer, up.peerPort)
	}
	paused := make(map[int]units.Time)
	ports := make(map[portKey]bool)
	var queue queueFrames
	r.eachSpan(func(e End, s span) {
		if s.by < 0 || !mine[r.pauses[s.by].root] || !wanted(s.by, c) {
			return
		}
		if at := (portKey{e.Node, e.Port}); !ports[at] {
			ports[at] = true
			c.Ports++
			if r.ports[e.Node][e.Port].host {
				c.Hosts++
			}
		}
		if queue.End != e || queue.sent == nil {
			queue = r.framesOf(e)
		}
		for flow, since := range r.waitingFlows(&queue, s) {
			if !users[flow] {
				paused[int(flow)] += min(s.to, r.end) - max(since, s.from)
			}
		}
	})
	c.VictimFlows = len(paused)
	for id, time := range paused {
		f := &r.flows[id]
		c.Victims = append(c.Victims, Victim{Flow: id, Workload: f.workload, Src: r.names[f.src], Dst: r.names[f.dst], Paused: time, FCT: max(0, f.fct)})
	}
	slices.SortFunc(c.Victims, func(a, b Victim) int { return cmp.Or(cmp.Compare(b.Paused, a.Paused), cmp.Compare(a.Flow, b.Flow)) })
	c.Victims = c.Victims[:min(maxShown, len(c.Victims))]
	for i := range c.Victims {
		v := &c.Victims[i]
		steps, err := r.Steps(v.Flow)
		if err != nil {
			continue
		}
		for _, s := range steps {
			if s.Part == Paused && s.Pause >= 0 && mine[r.pauses[s.Pause].root] {
				v.Cost += s.To - s.From
			}
		}
	}
}

// queueFrames are the frames of flows that departed from an egress queue, in order of time.
type queueFrames struct {
	End
	sent []int32
}

func (r *Run) framesOf(e End) queueFrames {
	q := queueFrames{e, []int32{}}
	for _, i := range r.ports[e.Node][e.Port].sent {
		if f := &r.frames[i]; f.queue == e.Class && f.flow >= 0 && f.came != none {
			q.sent = append(q.sent, i)
		}
	}
	return q
}

// waitingFlows returns the flows that waited in an egress queue while it was blocked, and since
// when.
func (r *Run) waitingFlows(q *queueFrames, s span) map[int32]units.Time {
	list := make(map[int32]units.Time)
	note := func(f *row) {
		if f.came < min(s.to, r.end) {
			if was, ok := list[f.flow]; !ok || f.came < was {
				list[f.flow] = f.came
			}
		}
	}
	p := &r.ports[q.Node][q.Port]
	i := sort.Search(len(q.sent), func(i int) bool { return r.frames[q.sent[i]].at >= s.to })
	for ; i < len(q.sent); i++ {
		f := &r.frames[q.sent[i]]
		if f.came >= s.to && (!p.host || f.at > s.to+waitingAhead) {
			break
		}
		note(f)
	}
	if s.to >= r.end {
		for _, i := range p.waiting {
			if f := &r.frames[i]; f.queue == q.Class && f.flow >= 0 && f.came != none {
				note(f)
			}
		}
	}
	return list
}
