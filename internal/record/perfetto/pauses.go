package perfetto

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// frame begins and ends pauses according to a PFC frame that a node sends.
func (t *Timeline) frame(at units.Time, n *node, port int, f *pfcFrame) {
	for c := range f.enable.All() {
		switch q := t.queue(n.number, port, c); {
		case !f.pause.Has(c):
			if q.open[paused] {
				t.end(at, n.number, port, c, paused)
			}
		case !q.open[paused]: // else it is a refresh
			t.pause(at, n.number, port, c, q, &f.class[c])
		}
	}
}

// pause begins a pause. An arrow leads to it from the blocked egress queue that caused it,
// if there is one.
func (t *Timeline) pause(at units.Time, node, port int, class uint8, q *queue, p *pfcClass) {
	id := uuid(fmt.Sprintf("pause %d %d %d %d", node, port, class, at))
	peer := t.peers[node][port]
	args := []arg{
		{name: "of", text: t.queueName(peer.Node, peer.Port, class)}, {name: "depth", n: uint64(p.depth)},
		{name: "queue_bytes", n: uint64(p.queue)}, {name: "threshold_bytes", n: uint64(p.threshold)},
	}
	var ends []uint64
	if p.byPort >= 0 {
		by := t.queue(node, p.byPort, p.byClass)
		args = append(args, arg{name: "because_blocked", text: t.queueName(node, p.byPort, p.byClass)})
		if by.open[blocked] {
			edge := uuid(fmt.Sprintf("cause %d", id))
			ends = []uint64{edge}
			t.w.event(&event{kind: typeInstant, category: "cause", name: "causes a pause", track: t.track(by, node, p.byPort, p.byClass, blocked),
				at: at, flows: ends, args: []arg{{name: "pauses", text: t.queueName(peer.Node, peer.Port, class)}}})
		}
	}
	q.arrived(at, t.lags[node][port])
	q.sent = append(q.sent, pause{id: id, at: at})
	t.begin(at, node, port, class, paused, "pauses "+t.graph.Names[peer.Node], []uint64{id}, ends, args)
}

// block begins a time in which an egress queue is blocked. An arrow leads to it from the
// peer's pause that arrived last.
func (t *Timeline) block(at units.Time, node, port int, class uint8) {
	peer := t.peers[node][port]
	from := t.queue(peer.Node, peer.Port, class)
	lag := t.lags[peer.Node][peer.Port]
	from.arrived(at, lag)
	var ends []uint64
	args := []arg{{name: "by", text: t.queueName(peer.Node, peer.Port, class)}}
	if len(from.sent) > 0 && from.sent[0].at+lag <= at && !from.sent[0].linked {
		p := &from.sent[0]
		p.linked = true
		ends = []uint64{p.id}
		args = append(args, arg{name: "paused_ps", n: uint64(p.at)})
	}
	t.begin(at, node, port, class, blocked, "blocked by "+t.graph.Names[peer.Node], nil, ends, args)
}

// arrived removes the pauses before the last one that has arrived.
func (q *queue) arrived(at, lag units.Time) {
	for len(q.sent) > 1 && q.sent[1].at+lag <= at {
		q.sent = append(q.sent[:0], q.sent[1:]...)
	}
}

// count writes a counter.
func (t *Timeline) count(node int, e *nodeEvent) {
	q := t.queue(node, e.port, e.class)
	id := &q.counters[e.counter]
	if *id == 0 {
		name, parent, path := counterNames[e.counter], uint64(0), t.graph.Names[node]
		unit, unitName := uint64(unitBytes), ""
		if e.counter == countStored {
			parent = t.process(node)
		} else {
			parent = t.port(node, e.port)
			path += "/" + t.portName(node, e.port)
		}
		switch e.counter {
		case countRate:
			unit, unitName = unitOther, "bps"
		case countQueue, countThreshold:
			name = fmt.Sprintf(name, e.class)
		}
		*id = uuid(path + "/" + name)
		t.w.counter(*id, parent, name, unit, unitName)
	}
	t.w.event(&event{kind: typeCounter, track: *id, at: e.at, value: e.value})
}

// deadlocks writes each deadlock as a process, with a track for the loop and one for each
// stuck queue.
func (t *Timeline) deadlocks(end units.Time, list []sim.Deadlock) {
	for i := range list {
		d := &list[i]
		name := fmt.Sprintf("deadlock %d", i)
		id, to := uuid(name), min(end, d.End)
		t.w.process(id, firstExtraPID+1+i, name)
		loop := ""
		for _, k := range d.Loop {
			q := &d.Queues[k]
			loop += t.queueName(q.Node, q.Port, q.Class) + " -> "
		}
		t.span(id, name+"/whole", "loop", name, d.Onset, to, []arg{{name: "loop", text: loop + "back to the first"}})
		for k := range d.Queues {
			q := &d.Queues[k]
			where := t.queueName(q.Node, q.Port, q.Class)
			t.span(id, fmt.Sprintf("%s/%d/%s", name, q.Port, where), where, "stuck", q.Stuck, max(q.Stuck, to), []arg{{name: "bytes", n: uint64(q.Bytes)}})
		}
	}
}

// span writes a slice on a new track.
func (t *Timeline) span(parent uint64, path, track, name string, from, to units.Time, args []arg) {
	id := uuid(path)
	t.w.track(id, parent, track)
	t.w.event(&event{kind: typeBegin, name: name, track: id, at: from, args: append(args, arg{name: "begin_ps", n: uint64(from)})})
	t.w.event(&event{kind: typeEnd, track: id, at: to, args: []arg{{name: "end_ps", n: uint64(to)}}})
}
