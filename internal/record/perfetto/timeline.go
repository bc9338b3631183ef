// Package perfetto writes a run as a timeline for Perfetto's viewer (ui.perfetto.dev): a
// process per node, tracks per port and class, slices of what queues wanted, said and had
// to wait, counters of what they held, and arrows from a pause to what it stopped and to
// the pause that this led to.
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

// Timeline collects events at every node while it runs, and writes them in order of time,
// then of nodes, when it is told that all nodes have come that far.
type Timeline struct {
	graph *topo.Graph
	peers [][]sim.End
	lags  [][]units.Time // by node and port: from the first bit of a PAUSE to its arrival at the peer
	nodes []*node
	w     writer
	due   []merged
	turns []turn // of faults that are to come, by time

	queues [][]*queue      // by node, then port and class
	ports  [][]bool        // described
	known  []bool          // nodes that are described
	lists  map[uint64]bool // tracks of faults that are described
}

// merged is an event in its place.
type merged struct {
	*happened
	n *node
}

// queue is a class of a port.
type queue struct {
	open     [numIntervals]bool
	tracks   [numIntervals]uint64 // 0: not described
	counters [numCounters]uint64
	sent     []pause // that may still arrive, and the last that did
}

// pause is one that was sent.
type pause struct {
	id     uint64
	at     units.Time
	joined bool // an arrow leads from it
}

// interval is something that lasts.
type interval uint8

const (
	off    interval = iota // an ingress queue wants its upstream to hold
	paused                 // the upstream was told so
	held                   // an egress queue may not send
	numIntervals
)

var intervalNames = [numIntervals]string{"OFF", "pauses", "held"}

// New makes a timeline, which Bind and Open complete.
func New() *Timeline { return &Timeline{lists: make(map[uint64]bool)} }

// Sink returns what watches a node.
func (t *Timeline) Sink(number int) probe.Sink {
	for len(t.nodes) <= number {
		t.nodes = append(t.nodes, nil)
	}
	t.nodes[number] = &node{number: number}
	return t.nodes[number]
}

// Bind tells the timeline the fabric before the run, and adds what it samples.
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
	t.turns = faults(g, spec)
	for i, n := range t.nodes {
		n.sent = make([]units.Bytes, len(t.peers[i]))
		n.last = make([]int64, len(t.peers[i])*mmu.Classes*numCounters)
		spec.Samples = append(spec.Samples, sim.Sample{Node: i, Every: Every, Take: n.sample})
	}
}

// Open begins the file.
func (t *Timeline) Open(out io.Writer) { t.w.out = bufio.NewWriterSize(out, 1<<16) }

// Events is how many were written.
func (t *Timeline) Events() int { return t.w.events }

// Flush writes what nodes have collected. Every node must have run up to the same time.
func (t *Timeline) Flush() error {
	t.due = t.due[:0]
	for _, n := range t.nodes {
		for i := range n.list {
			t.due = append(t.due, merged{&n.list[i], n})
		}
	}
	slices.SortStableFunc(t.due, func(a, b merged) int { return cmp.Compare(a.at, b.at) })
	for _, e := range t.due {
		t.turnsUpTo(e.at)
		t.write(e.n, e.happened)
	}
	for _, n := range t.nodes {
		n.list, n.frames = n.list[:0], n.frames[:0]
	}
	if t.w.err == nil {
		t.w.err = t.w.out.Flush()
	}
	return t.w.err
}

// Close ends what is open, and writes what is known when the run is over.
func (t *Timeline) Close(end units.Time, deadlocks []sim.Deadlock) error {
	if err := t.Flush(); err != nil {
		return err
	}
	t.turnsUpTo(end)
	for _, x := range t.turns { // of faults that outlast the run
		if !x.begins && x.from <= end {
			t.turn(&turn{fault: x.fault, at: end})
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

// portName is that of a port within its node: by its neighbour, with its number, since
// there can be several.
func (t *Timeline) portName(node, port int) string {
	return fmt.Sprintf("to-%s (port%d)", t.graph.Names[t.peers[node][port].Node], port)
}

// full names a class of a port.
func (t *Timeline) full(node, port int, class uint8) string {
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

// track returns the track of something that lasts at a queue.
func (t *Timeline) track(q *queue, node, port int, class uint8, k interval) uint64 {
	if q.tracks[k] == 0 {
		name := fmt.Sprintf("%s class %d", intervalNames[k], class)
		q.tracks[k] = uuid(t.graph.Names[node] + "/" + t.portName(node, port) + "/" + name)
		t.w.track(q.tracks[k], t.port(node, port), name)
	}
	return q.tracks[k]
}

// write writes an event of a node.
func (t *Timeline) write(n *node, e *happened) {
	switch e.what {
	case changed:
		for c := range (e.from ^ e.to).All() {
			t.change(e, n.number, c, e.to.Has(c))
		}
	case framed:
		t.frame(e.at, n, e.port, &n.frames[e.extra])
	case counted:
		t.count(n.number, e)
	}
}

func (t *Timeline) change(e *happened, node int, class uint8, on bool) {
	q := t.queue(node, e.port, class)
	switch {
	case on == q.open[e.interval]:
	case !on:
		t.end(e.at, node, e.port, class, e.interval)
	case e.interval == held:
		t.hold(e.at, node, e.port, class)
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
