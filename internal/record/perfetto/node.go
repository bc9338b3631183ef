package perfetto

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// Kinds of events of a node.
const (
	eventInterval uint8 = iota // an interval begins or ends at classes of a port
	eventFrame                 // the node sends a PFC frame
	eventCounted               // a counter changes
)

// nodeEvent is an event of a node.
type nodeEvent struct {
	at       units.Time
	value    int64
	extra    int32 // eventFrame: index in node.frames
	port     int
	what     uint8
	interval interval
	counter  uint8
	class    uint8
	from, to packet.ClassMask
}

// pfcFrame is a PFC frame that a node sends.
type pfcFrame struct {
	enable, pause packet.ClassMask
	quanta        uint16
	class         [mmu.Classes]pfcClass
}

// pfcClass describes the pause of a class.
type pfcClass struct {
	depth            int
	byPort           int // egress port that blocks its frames; -1: none
	byClass          uint8
	queue, threshold units.Bytes
}

// Counters. Counters of a port are stored in class 0, counters of a node in class 0 of
// port 0.
const (
	countStored = iota // bytes in the buffer of a node
	countRate          // sending rate of a port
	countQueue         // bytes of a lossless ingress queue
	countThreshold
	numCounters
)

var counterNames = [numCounters]string{"buffer", "rate", "queue class %d", "threshold class %d"}

// node collects the events of one node.
type node struct {
	probe.Ignore
	number int
	n      probe.Node
	list   []nodeEvent
	frames []pfcFrame
	sent   []units.Bytes // by port: bytes sent since the last sample
	last   []int64       // by port, class and counter: last value
}

// Attach implements probe.Attached.
func (n *node) Attach(p probe.Node) { n.n = p }

// Blocked implements probe.Sink.
func (n *node) Blocked(now units.Time, port int, from, to packet.ClassMask) {
	n.list = append(n.list, nodeEvent{at: now, what: eventInterval, interval: blocked, port: port, from: from, to: to})
}

// Off implements probe.Sink.
func (n *node) Off(now units.Time, port int, from, to packet.ClassMask) {
	n.list = append(n.list, nodeEvent{at: now, what: eventInterval, interval: off, port: port, from: from, to: to})
}

// Depart implements probe.Sink.
func (n *node) Depart(now units.Time, port int, p *packet.Packet) {
	n.sent[port] += units.Bytes(p.Size)
	if p.Kind() != packet.PFC {
		return
	}
	f := pfcFrame{}
	f.enable, f.pause, f.quanta = p.PFC()
	if f.quanta == 0 {
		f.pause = 0
	}
	causes, _ := n.n.(probe.Causes)
	for c := range f.pause.All() {
		x := pfcClass{depth: p.PauseDepth(c), byPort: -1}
		x.queue, x.threshold = n.n.Level(now, port, c)
		if causes != nil {
			if by, class, ok := causes.PauseCause(port, c); ok {
				x.byPort, x.byClass = by, class
			}
		}
		f.class[c] = x
	}
	n.list = append(n.list, nodeEvent{at: now, what: eventFrame, port: port, extra: int32(len(n.frames))})
	n.frames = append(n.frames, f)
}

// sample reads the node's counters every period.
func (n *node) sample(now units.Time, at probe.Node) {
	v := at.View()
	n.set(now, 0, 0, countStored, int64(v.Stored()))
	for port := range n.sent {
		n.set(now, port, 0, countRate, int64(units.RateOf(n.sent[port], Every)))
		n.sent[port] = 0
		for c := range at.LosslessClasses(port).All() {
			was := n.last[n.index(port, c, countQueue)]
			q, xoff := at.Level(now, port, c)
			if q > 0 || was > 0 {
				n.set(now, port, c, countQueue, int64(q))
				n.set(now, port, c, countThreshold, int64(xoff))
			}
		}
	}
}

func (n *node) index(port int, class, counter uint8) int {
	return (port*mmu.Classes+int(class))*numCounters + int(counter)
}

// set records a counter if its value has changed.
func (n *node) set(now units.Time, port int, class, counter uint8, v int64) {
	if last := &n.last[n.index(port, class, counter)]; *last != v {
		*last = v
		n.list = append(n.list, nodeEvent{at: now, what: eventCounted, port: port, class: class, counter: counter, value: v})
	}
}
