package explain

import (
	"cmp"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// pause is a pause of one class, from its PAUSE to its RESUME.
type pause struct {
	node, port                   int // port that sent it
	class                        uint8
	sent, ended                  units.Time // ended: Never if it lasts until the end of the run
	came                         units.Time // arrival at the peer
	depth                        int
	byPort                       int // blocked egress port that caused it; -1: none
	byClass                      uint8
	parent, root                 int // indices of pauses; parent: -1 if none
	queue, threshold             units.Bytes
	headroom, reserved, buffered units.Bytes
}

func (r *Run) loadEvents() error {
	t, err := r.table(eventsTable, []string{"time_ps", "port", "class", "flow", "seq", "depth", "by_port", "by_class", "queue_bytes",
		"threshold_bytes", "headroom_bytes", "headroom_size_bytes", "stored_bytes", "cause_ps"}, []string{"node", "what", "kind", "reason"})
	if err != nil {
		return err
	}
	nodes, err := t.indices("node", r.names)
	if err != nil {
		return err
	}
	whats, err := t.indices("what", whatNames[:])
	if err != nil {
		return err
	}
	kinds, err := t.indices("kind", packet.KindNames())
	if err != nil {
		return err
	}
	var reasons []string
	for k := range probe.NumReasons {
		reasons = append(reasons, k.String())
	}
	why, err := t.indices("reason", reasons)
	if err != nil {
		return err
	}
	b := pauseBuilder{Run: r, downs: r.downs()}
	for i, k := range whats {
		at, node := units.Time(t.ints["time_ps"][i]), int(nodes[i])
		n := func(column string) int64 { return t.ints[column][i] }
		if what(k) == evAcked {
			r.acked[int(n("flow"))] = ack{at, units.Time(n("cause_ps"))}
			continue
		}
		b.upTo(at)
		e := End{node, int(n("port")), uint8(n("class"))}
		switch what(k) {
		case evPause:
			b.pause(at, e, pause{
				depth: int(n("depth")), byPort: int(orMinusOne(n("by_port"))), byClass: uint8(orMinusOne(n("by_class"))),
				queue: units.Bytes(n("queue_bytes")), threshold: units.Bytes(orMinusOne(n("threshold_bytes"))),
				headroom: units.Bytes(n("headroom_bytes")), reserved: units.Bytes(n("headroom_size_bytes")), buffered: units.Bytes(n("stored_bytes")),
			})
		case evResume:
			b.ended(at, e)
		case evBlocked:
			p := &r.ports[e.Node][e.Port]
			p.blocked[e.Class] = append(p.blocked[e.Class], span{at, units.Never, b.blockingPause(at, e)})
		case evOpen:
			if list := r.ports[e.Node][e.Port].blocked[e.Class]; len(list) > 0 {
				list[len(list)-1].to = at
			}
		case evDrop:
			r.drops = append(r.drops, drop{
				at: at, node: e.Node, port: e.Port, out: int(orMinusOne(n("by_port"))), class: e.Class, flow: int(orMinusOne(n("flow"))), kind: packet.Kind(kinds[i]),
				seq: uint32(n("seq")), reason: probe.Reason(why[i]), queue: units.Bytes(n("queue_bytes")),
				threshold: units.Bytes(orMinusOne(n("threshold_bytes"))), headroom: units.Bytes(n("headroom_bytes")),
				reserved: units.Bytes(n("headroom_size_bytes")), stored: units.Bytes(n("stored_bytes")),
			})
		default:
		}
	}
	return nil
}

// orMinusOne returns -1 for a null value.
func orMinusOne(v int64) int64 {
	if v == probe.Null {
		return -1
	}
	return v
}

// End is one class of a port.
type End struct {
	Node, Port int
	Class      uint8
}

// pauseBuilder builds pauses from PFC frames.
type pauseBuilder struct {
	*Run
	downs []fault // future link changes, by time
}

// downs returns all changes of links, down and up, as faults that start at the change.
func (r *Run) downs() []fault {
	var list []fault
	for _, f := range r.faults {
		if f.what == "down" {
			list = append(list, f)
			f.from = f.to
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b fault) int { return cmp.Compare(a.from, b.from) })
	return list
}

// upTo applies link changes up to a time: they end the pauses at both ends.
func (b *pauseBuilder) upTo(at units.Time) {
	for len(b.downs) > 0 && b.downs[0].from <= at {
		f := b.downs[0]
		b.downs = b.downs[1:]
		for class := range uint8(8) {
			b.ended(f.from, End{f.node, f.port, class})
			b.ended(f.from, End{f.peer, f.peerPort, class})
		}
	}
}

// last returns the last pause of an ingress queue, or nil.
func (b *pauseBuilder) last(e End) *pause {
	list := b.ports[e.Node][e.Port].pauses[e.Class]
	if len(list) == 0 {
		return nil
	}
	return &b.pauses[list[len(list)-1]]
}

func (b *pauseBuilder) ended(at units.Time, e End) {
	if p := b.last(e); p != nil && p.ended == units.Never {
		p.ended = at
	}
}

// pause adds the pause of a PFC frame. It ignores frames that only refresh a pause.
func (b *pauseBuilder) pause(at units.Time, e End, p pause) {
	if was := b.last(e); was != nil && was.ended == units.Never {
		return
	}
	from := &b.ports[e.Node][e.Port]
	p.node, p.port, p.class, p.sent, p.ended = e.Node, e.Port, e.Class, at, units.Never
	p.came = at + from.takes(uint16(packet.PFCSize)) + from.delay
	if i := sort.Search(len(from.sent), func(i int) bool { return b.frames[from.sent[i]].at >= at }); i < len(from.sent) {
		p.came = from.arrives(&b.frames[from.sent[i]])
	}
	p.parent, p.root = -1, len(b.pauses)
	if p.byPort >= 0 {
		p.parent = b.blockingPause(at, End{e.Node, p.byPort, p.byClass})
	}
	if p.parent >= 0 {
		p.root = b.pauses[p.parent].root
	}
	from.pauses[e.Class] = append(from.pauses[e.Class], len(b.pauses))
	b.pauses = append(b.pauses, p)
}

// blockingPause returns the index of the pause that blocks an egress queue at a time: the last
// one that has arrived from its peer, or -1.
func (b *pauseBuilder) blockingPause(at units.Time, e End) int {
	here := &b.ports[e.Node][e.Port]
	list := b.ports[here.peer][here.peerPort].pauses[e.Class]
	for i := len(list) - 1; i >= 0; i-- {
		if b.pauses[list[i]].came <= at {
			return list[i]
		}
	}
	return -1
}
