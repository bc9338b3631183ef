// Package perfetto writes the timeline of a run for Perfetto's viewer (ui.perfetto.dev), for
// xoff run --perfetto and xoff export perfetto. A process is a node, with tracks per port and
// class. Slices show when queues are OFF, pause their upstream and are blocked; counters show
// occupancy. Arrows lead from a pause to the queue that it blocks, and on to the next pause.
package perfetto

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Every is the period of counters.
const Every = 10 * units.Microsecond

// Timeline collects events at every node during a run. Flush writes them in order of time,
// then of nodes.
type Timeline struct {
	graph      *topo.Graph
	peers      [][]sim.End
	lags       [][]units.Time // by node and port: from the first bit of a PAUSE to its arrival at the peer
	nodes      []*node
	w          writer
	due        []dueEvent
	faultEdges []faultEdge // edges of faults that are not written yet, by time

	queues      [][]*queue      // by node, then port and class
	ports       [][]bool        // ports that are described
	known       []bool          // nodes that are described
	faultTracks map[uint64]bool // tracks of faults that are described
}

// dueEvent is an event to be written, with its node.
type dueEvent struct {
	*nodeEvent
	n *node
}

// queue is a class of a port.
type queue struct {
	open     [numIntervals]bool
	tracks   [numIntervals]uint64 // 0: not described
	counters [numCounters]uint64
	sent     []pause // pauses in flight, and the last that arrived
}

// pause is a pause that was sent.
type pause struct {
	id     uint64
	at     units.Time
	linked bool // it has an arrow
}

// interval is a state of a queue that lasts.
type interval uint8

const (
	off     interval = iota // an ingress queue wants its upstream paused
	paused                  // an ingress queue has sent a PAUSE
	blocked                 // an egress queue may not send
	numIntervals
)

var intervalNames = [numIntervals]string{"OFF", "pauses", "blocked"}

// New returns a timeline. Call Sink for every node, then Bind and Open.
func New() *Timeline { return &Timeline{faultTracks: make(map[uint64]bool)} }

// Sink returns the sink of a node.
func (t *Timeline) Sink(number int) probe.Sink {
	for len(t.nodes) <= number {
		t.nodes = append(t.nodes, nil)
	}
	t.nodes[number] = &node{number: number}
	return t.nodes[number]
}

// Bind sets the fabric before the run, and adds its samples to spec.
func (t *Timeline) Bind(g *topo.Graph, spec *sim.Spec) {
	t.graph = g
	t.known = make([]bool, g.Nodes())
	for _, n := range g.Ports() {
		t.peers = append(t.peers, make([]sim.End, n))
		t.lags = append(t.lags, make([]units.Time, n))
		t.ports = append(t.ports, make([]bool, n))
		t.queues = append(t.queues, make([]*queue, n*mmu.Classes))
	}
	for i := range spec.Cables {
		c := &spec.Cables[i]
		line := c.Rate.TxTime(packet.PFCSize + c.Overhead)
		t.peers[c.A.Node][c.A.Port], t.peers[c.B.Node][c.B.Port] = c.B, c.A
		t.lags[c.A.Node][c.A.Port], t.lags[c.B.Node][c.B.Port] = line+c.AtoB, line+c.BtoA
	}
	t.faultEdges = faults(g, spec)
	for i, n := range t.nodes {
		n.sent = make([]units.Bytes, len(t.peers[i]))
		n.last = make([]int64, len(t.peers[i])*mmu.Classes*numCounters)
		spec.Samples = append(spec.Samples, sim.Sample{Node: i, Every: Every, Take: n.sample})
	}
}

// Open sets the file to write to.
func (t *Timeline) Open(out io.Writer) { t.w.out = bufio.NewWriterSize(out, 1<<16) }

// Events returns the number of written events.
func (t *Timeline) Events() int { return t.w.events }

// Flush writes the collected events. Every node must have run up to the same time.
func (t *Timeline) Flush() error {
	t.due = t.due[:0]
	for _, n := range t.nodes {
		for i := range n.list {
			t.due = append(t.due, dueEvent{&n.list[i], n})
		}
	}
	slices.SortStableFunc(t.due, func(a, b dueEvent) int { return cmp.Compare(a.at, b.at) })
	for _, e := range t.due {
		t.writeFaults(e.at)
		t.write(e.n, e.nodeEvent)
	}
	for _, n := range t.nodes {
		n.list, n.frames = n.list[:0], n.frames[:0]
	}
	if t.w.err == nil {
		t.w.err = t.w.out.Flush()
	}
	return t.w.err
}

// Close ends open slices and writes faults and deadlocks, at the end of the run.
func (t *Timeline) Close(end units.Time, deadlocks []sim.Deadlock) error {
	if err := t.Flush(); err != nil {
		return err
	}
	t.writeFaults(end)
	for _, x := range t.faultEdges { // ends of faults that outlast the run
		if !x.begins && x.from <= end {
			t.writeFault(&faultEdge{fault: x.fault, at: end})
		}
	}
	for node, list := range t.queues {
		for i, q := range list {
			for k := range numIntervals {
				if q != nil && q.open[k] {
					t.end(end, node, i/mmu.Classes, uint8(i%mmu.Classes), k)
				}
			}
		}
	}
	t.deadlocks(end, deadlocks)
	if t.w.err == nil {
		t.w.err = t.w.out.Flush()
	}
	return t.w.err
}

// process returns the track of a node.
func (t *Timeline) process(node int) uint64 {
	name := t.graph.Names[node]
	id := uuid(name)
	if !t.known[node] {
		t.known[node] = true
		t.w.process(id, node+1, name)
	}
	return id
}

// portName names a port within its node by its peer and, as there can be several ports to a
// peer, by its number.
func (t *Timeline) portName(node, port int) string {
	return fmt.Sprintf("to-%s (port%d)", t.graph.Names[t.peers[node][port].Node], port)
}

// queueName names a class of a port.
func (t *Timeline) queueName(node, port int, class uint8) string {
	return fmt.Sprintf("%s.to-%s class %d", t.graph.Names[node], t.graph.Names[t.peers[node][port].Node], class)
}

// port returns the track of a port.
func (t *Timeline) port(node, port int) uint64 {
	name := t.portName(node, port)
	id := uuid(t.graph.Names[node] + "/" + name)
	if !t.ports[node][port] {
		t.ports[node][port] = true
		t.w.track(id, t.process(node), name)
	}
	return id
}

func (t *Timeline) queue(node, port int, class uint8) *queue {
	q := &t.queues[node][port*mmu.Classes+int(class)]
	if *q == nil {
		*q = &queue{}
	}
	return *q
}

// track returns the track of an interval of a queue.
func (t *Timeline) track(q *queue, node, port int, class uint8, k interval) uint64 {
	if q.tracks[k] == 0 {
		name := fmt.Sprintf("%s class %d", intervalNames[k], class)
		q.tracks[k] = uuid(t.graph.Names[node] + "/" + t.portName(node, port) + "/" + name)
		t.w.track(q.tracks[k], t.port(node, port), name)
	}
	return q.tracks[k]
}

// write writes an event of a node.
func (t *Timeline) write(n *node, e *nodeEvent) {
	switch e.what {
	case eventInterval:
		for c := range (e.from ^ e.to).All() {
			t.change(e, n.number, c, e.to.Has(c))
		}
	case eventFrame:
		t.frame(e.at, n, e.port, &n.frames[e.extra])
	case eventCounted:
		t.count(n.number, e)
	}
}

func (t *Timeline) change(e *nodeEvent, node int, class uint8, on bool) {
	q := t.queue(node, e.port, class)
	switch {
	case on == q.open[e.interval]:
	case !on:
		t.end(e.at, node, e.port, class, e.interval)
	case e.interval == blocked:
		t.block(e.at, node, e.port, class)
	default:
		t.begin(e.at, node, e.port, class, off, "OFF", nil, nil, nil)
	}
}

// begin begins a slice.
func (t *Timeline) begin(at units.Time, node, port int, class uint8, k interval, name string, flows, ends []uint64, args []arg) {
	q := t.queue(node, port, class)
	q.open[k] = true
	t.w.event(&event{kind: typeBegin, category: intervalNames[k], name: name, track: t.track(q, node, port, class, k), at: at,
		flows: flows, ends: ends, args: append(args, arg{name: "begin_ps", n: uint64(at)})})
}

func (t *Timeline) end(at units.Time, node, port int, class uint8, k interval) {
	q := t.queue(node, port, class)
	q.open[k] = false
	t.w.event(&event{kind: typeEnd, track: t.track(q, node, port, class, k), at: at, args: []arg{{name: "end_ps", n: uint64(at)}}})
}
