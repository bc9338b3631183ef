package metrics

import (
	"fmt"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// Deadlock has the results of deadlock detection; docs/deadlock.md defines a deadlock.
type Deadlock struct {
	Watched  bool        `json:"watched"`  // searched during the run; otherwise only at its end
	Found    int         `json:"found"`    // number of deadlocks; without watching, only one that stands at the end is found
	Standing int         `json:"standing"` // 1: the last one stands at the end of the run
	Onset    *units.Time `json:"onset_ps"` // when the first one closed; null: none
	Stuck    units.Time  `json:"stuck_ps"` // total duration of all deadlocks
	Queues   int         `json:"queues"`   // stuck egress queues of switches in the largest one
	Hosts    int         `json:"hosts"`    // largest number of hosts that one deadlock blocked
	Loop     []string    `json:"loop"`     // cycle of the first one: each queue waits for the next, the last for the first
}

func (o *Outcome) deadlock() Deadlock {
	s := Deadlock{Watched: o.Watched, Found: len(o.Counters.Deadlocks), Loop: []string{}}
	for i := range o.Counters.Deadlocks {
		d := &o.Counters.Deadlocks[i]
		end := d.End
		if end == units.Never {
			s.Standing, end = 1, o.End
		}
		s.Stuck += end - d.Onset
		s.Queues, s.Hosts = max(s.Queues, len(d.Queues)), max(s.Hosts, d.Hosts)
		if s.Onset != nil && *s.Onset <= d.Onset {
			continue
		}
		s.Onset, s.Loop = &d.Onset, s.Loop[:0]
		for _, at := range d.Loop {
			s.Loop = append(s.Loop, o.queueName(&d.Queues[at]))
		}
	}
	return s
}

// queueName returns the name of an egress queue for messages.
func (o *Outcome) queueName(q *sim.StuckQueue) string {
	return fmt.Sprintf("%s port %d class %d", o.Nodes[q.Node], q.Port, q.Class)
}

// deadlockColumns is the layout of deadlocks.parquet: one row per deadlock and stuck queue,
// ordered by deadlock, node, port and class.
func (o *Outcome) deadlockColumns() []probe.Column {
	return []probe.Column{
		{Name: "deadlock", Doc: "number of the deadlock, from 0"},
		{Name: "onset_ps", Doc: "when its first cycle closed"},
		{Name: "end_ps", Nullable: true, Doc: "when a frame of that cycle left or was dropped; null: it stands at the end of the run"},
		{Name: "node", Type: probe.Text, Texts: o.Nodes, Doc: "name of the switch"},
		{Name: "port", Doc: "port of the stuck egress queue"},
		{Name: "peer", Type: probe.Text, Texts: o.Nodes, Doc: "node that blocks it"},
		{Name: "class", Doc: "traffic class"},
		{Name: "paused_ps", Doc: "since when it is blocked"},
		{Name: "stuck_ps", Doc: "since when it is part of a deadlock"},
		{Name: "bytes", Doc: "bytes in the queue"},
		{Name: "hop", Nullable: true, Doc: "position in the first cycle, from 0: each waits for the next; null for other queues"},
	}
}

func (o *Outcome) writeDeadlocks(t *Table) error {
	for n := range o.Counters.Deadlocks {
		d := &o.Counters.Deadlocks[n]
		hops := make(map[int]int64)
		for hop, at := range d.Loop {
			hops[at] = int64(hop)
		}
		for i := range d.Queues {
			q := &d.Queues[i]
			hop, ok := hops[i]
			if !ok {
				hop = probe.Null
			}
			err := t.Row([]int64{
				int64(n), int64(d.Onset), orNull(d.End), int64(q.Node), int64(q.Port), int64(q.Peer.Node), int64(q.Class),
				int64(q.Paused), int64(q.Stuck), int64(q.Bytes), hop,
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// orNull returns t, or Null for Never.
func orNull(t units.Time) int64 {
	if t == units.Never {
		return probe.Null
	}
	return int64(t)
}
