// Package trace prints the events of packets, of one flow or at some ports, for xoff run
// --trace.
package trace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/topo"
)

// Tracer collects lines at every node during a run. Flush prints them in order of time, then
// of nodes.
type Tracer struct {
	graph    *topo.Graph
	peers    [][]int
	flow     int64    // -1: trace ports
	ports    [][]bool // by node
	from, to units.Time
	nodes    []*node
	out      *bufio.Writer
	width    int // of the longest node name
}

// New returns a tracer of "flow=N" or "port=PATTERN", from a time until before another.
func New(what string, from, to units.Time, w io.Writer) (*Tracer, error) {
	t := &Tracer{flow: -1, from: from, to: to, out: bufio.NewWriter(w)}
	kind, value, _ := strings.Cut(what, "=")
	switch kind {
	case "flow":
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not a flow (expected an id of flows.parquet, such as flow=0)", value)
		}
		t.flow = int64(n)
	case "port":
		t.ports = [][]bool{}
	default:
		return nil, fmt.Errorf("%q cannot be traced (expected flow=N, port=NODE.portN or port=NODE.to-NODE)", what)
	}
	if to <= from {
		return nil, fmt.Errorf("from is %s and to is %s (expected from before to)", from, to)
	}
	return t, nil
}

// Sink returns the sink of a node.
func (t *Tracer) Sink(number int) probe.Sink {
	for len(t.nodes) <= number {
		t.nodes = append(t.nodes, nil)
	}
	t.nodes[number] = &node{t: t, number: number}
	return t.nodes[number]
}

// Bind sets the fabric and the number of flows before the run.
func (t *Tracer) Bind(what string, g *topo.Graph, flows int) error {
	t.graph, t.peers = g, g.Peers()
	for _, n := range g.Names {
		t.width = max(t.width, len(n))
	}
	if t.flow >= int64(flows) {
		return fmt.Errorf("there is no flow %d (expected 0 to %d)", t.flow, flows-1)
	}
	if t.ports == nil {
		return nil
	}
	_, pattern, _ := strings.Cut(what, "=")
	var err error
	t.ports, err = g.PortsLike(pattern)
	return err
}

// Flush prints the collected lines. Every node must have run up to the same time.
func (t *Tracer) Flush() error {
	var all []line
	for _, n := range t.nodes {
		if n != nil {
			all = append(all, n.lines...)
			n.lines = n.lines[:0]
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		l := &all[i]
		if _, err := fmt.Fprintf(t.out, "%14s  %-*s  %-*s  %s\n", clock(l.at), t.width, t.graph.Names[l.node], t.width+5,
			t.port(l), l.text); err != nil {
			return err
		}
	}
	return t.out.Flush()
}

// port names the port of a line by its peer.
func (t *Tracer) port(l *line) string {
	if l.port < 0 {
		return ""
	}
	peer := fmt.Sprintf("port%d", l.port)
	if p := t.peers[l.node][l.port]; p >= 0 {
		peer = t.graph.Names[p]
	}
	if l.in {
		return "from " + peer
	}
	return "to " + peer
}

// clock formats a time in microseconds, exactly.
func clock(t units.Time) string {
	return fmt.Sprintf("%d.%06d us", t/units.Microsecond, t%units.Microsecond)
}

// line is the description of one event.
type line struct {
	at   units.Time
	node int
	port int // -1: none
	in   bool
	text string
}

// node collects the lines of one node.
type node struct {
	probe.Ignore
	t      *Tracer
	number int
	n      probe.Node
	lines  []line
}

// Attach implements probe.Attached.
func (n *node) Attach(p probe.Node) { n.n = p }

func (n *node) host() bool { return n.number < n.t.graph.Hosts }

func (n *node) at(port int) bool {
	list := n.t.ports
	return list != nil && list[n.number] != nil && list[n.number][port]
}

// wanted reports whether a frame at a port is traced.
func (n *node) wanted(now units.Time, port int, p *packet.Packet) bool {
	if now < n.t.from || now >= n.t.to {
		return false
	}
	if n.t.flow >= 0 {
		return !p.Control() && int64(p.Flow) == n.t.flow
	}
	return n.at(port)
}

func (n *node) add(now units.Time, port int, in bool, format string, args ...any) {
	n.lines = append(n.lines, line{now, n.number, port, in, fmt.Sprintf(format, args...)})
}

// Depart implements probe.Sink.
func (n *node) Depart(now units.Time, port int, p *packet.Packet) {
	if !n.wanted(now, port, p) {
		return
	}
	switch {
	case p.Control() || n.host():
		n.add(now, port, false, "sends     %s", n.frame(p))
	case now == p.At:
		n.add(now, port, false, "departs   %s, straight through", n.frame(p))
	default:
		n.add(now, port, false, "departs   %s, after %s", n.frame(p), clock(now-p.At))
	}
}

// Arrive implements probe.Sink.
func (n *node) Arrive(now units.Time, port int, p *packet.Packet) {
	if !n.wanted(now, port, p) {
		return
	}
	verb := "arrives  "
	if n.host() && !p.Control() {
		verb = map[packet.Kind]string{packet.Data: "delivered", packet.Ack: "acked    ", packet.Nack: "nacked   ",
			packet.CNP: "notified "}[p.Kind()]
	}
	n.add(now, port, true, "%s %s", verb, n.frame(p))
}

// Queued implements probe.Sink.
func (n *node) Queued(now units.Time, in, out int, p *packet.Packet, s mmu.Segment) {
	if !n.wanted(now, out, p) && (n.t.flow >= 0 || !n.wanted(now, in, p)) {
		return
	}
	v, c := n.n.View(), p.Class()
	stored := v.Ingress(in, c)
	text := fmt.Sprintf("queued    %s, in %s; %d B wait here, its ingress queue has %d B private, %d B shared, %d B headroom",
		n.frame(p), s, int64(v.Egress(out, c)), int64(stored.Private), int64(stored.Shared), int64(stored.Headroom))
	if v.Kind(c) == mmu.Lossless {
		_, xoff := n.n.Level(now, in, c)
		text += fmt.Sprintf(" (threshold %d B)", int64(xoff))
	}
	if n.n.BlockedClasses(out).Has(c) {
		text += fmt.Sprintf("; class %d is paused here", c)
	}
	n.add(now, out, false, "%s", text)
}

// Marked implements probe.Sink.
func (n *node) Marked(now units.Time, port int, p *packet.Packet) {
	if n.wanted(now, port, p) {
		n.add(now, port, false, "marked    %s; %d B wait here", n.frame(p), int64(n.n.View().Egress(port, p.Class())))
	}
}

// Drop implements probe.Sink.
func (n *node) Drop(now units.Time, port int, p *packet.Packet, why probe.Reason) {
	if n.wanted(now, port, p) {
		n.add(now, port, true, "DROPPED   %s: %s", n.frame(p), why)
	}
}

// Blocked implements probe.Sink.
func (n *node) Blocked(now units.Time, port int, from, to packet.ClassMask) {
	n.change(now, port, false, from, to, "blocked   may not send", "open      may send")
}

// Off implements probe.Sink.
func (n *node) Off(now units.Time, port int, from, to packet.ClassMask) {
	n.change(now, port, true, from, to, "OFF       wants its peer paused", "ON        lets its peer send")
}

func (n *node) change(now units.Time, port int, in bool, from, to packet.ClassMask, on, off string) {
	if now < n.t.from || now >= n.t.to || !n.at(port) {
		return
	}
	if m := to &^ from; m != 0 {
		n.add(now, port, in, "%s: %s", on, classList(m))
	}
	if m := from &^ to; m != 0 {
		n.add(now, port, in, "%s: %s", off, classList(m))
	}
}

// Flow implements probe.Sink.
func (n *node) Flow(now units.Time, flow uint32, what probe.FlowEvent) {
	if n.t.flow != int64(flow) || now < n.t.from || now >= n.t.to {
		return
	}
	n.add(now, -1, false, "flow %d    %s", flow, map[probe.FlowEvent]string{
		probe.FlowStarts: "starts", probe.FlowDelivered: "is delivered: all packets have arrived",
		probe.FlowAcked:   "is complete: all packets are acknowledged",
		probe.FlowTimeout: "times out: retransmits from the first unacknowledged packet",
		probe.FlowGap:     "misses a packet and requests it",
	}[what])
}

// frame describes a frame.
func (n *node) frame(p *packet.Packet) string {
	if p.Kind() == packet.PFC {
		return pfc(p)
	}
	s := ""
	switch p.Kind() {
	case packet.Data:
		s = fmt.Sprintf("#%d", p.Seq)
	case packet.Ack, packet.Nack:
		s = fmt.Sprintf("%s, next #%d", p.Kind(), p.Seq)
	default:
		s = p.Kind().String()
	}
	if n.t.flow < 0 && !p.Control() {
		s = fmt.Sprintf("flow %d %s", p.Flow, s)
	}
	s += fmt.Sprintf(", %d B, class %d", p.Size, p.Class())
	if p.Flags&packet.Retransmit != 0 {
		s += ", retransmission"
	}
	if p.Flags&packet.CE != 0 {
		s += ", CE"
	}
	return s
}

func pfc(p *packet.Packet) string {
	enable, pause, quanta := p.PFC()
	if quanta == 0 {
		pause = 0
	}
	var parts []string
	if pause != 0 {
		s := fmt.Sprintf("PAUSE %s for %d quanta, depth", classList(pause), quanta)
		for c := range pause.All() {
			s += fmt.Sprintf(" %d", p.PauseDepth(c))
		}
		parts = append(parts, s)
	}
	if resume := enable &^ pause; resume != 0 {
		parts = append(parts, "RESUME "+classList(resume))
	}
	return strings.Join(parts, ", ")
}

func classList(mask packet.ClassMask) string {
	var list []string
	for c := range mask.All() {
		list = append(list, strconv.Itoa(int(c)))
	}
	if len(list) == 1 {
		return "class " + list[0]
	}
	return "classes " + strings.Join(list, " ")
}
