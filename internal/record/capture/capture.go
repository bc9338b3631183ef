// Package capture writes the frames at selected ports of a run to a pcapng file, for xoff
// run --pcap. Headers are real; comments add what no frame contains.
package capture

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/topo"
)

// Spec selects what is captured.
type Spec struct {
	Ports    string // patterns of topo.Graph.PortsLike
	From, To units.Time
	Limit    units.Bytes // size of the file
}

// Check validates the spec.
func (s *Spec) Check() error {
	if s.To <= s.From {
		return fmt.Errorf("from is %s and to is %s (expected from before to)", s.From, s.To)
	}
	if s.Limit < MinLimit {
		return fmt.Errorf("the limit is %s (expected at least %s)", s.Limit, MinLimit)
	}
	return nil
}

// MinLimit is the smallest file that can contain frames.
const MinLimit = 4 * units.KB

// Capture collects frames at every node during a run. Flush writes them in order of time,
// then of nodes.
type Capture struct {
	spec   Spec
	nodes  []*node
	graph  *topo.Graph
	flows  *dataplane.Flows
	hosts  []*dataplane.NICSpec
	w      writer
	frames int
	last   units.Time // time of the last written frame
	full   bool       // the limit is reached
	due    []*record
}

// New returns a capture. Call Sink for every node, then Bind and Open.
func New(spec Spec) *Capture { return &Capture{spec: spec} }

// Sink returns the sink of a node.
func (c *Capture) Sink(number int) probe.Sink {
	for len(c.nodes) <= number {
		c.nodes = append(c.nodes, nil)
	}
	c.nodes[number] = &node{c: c, number: number}
	return c.nodes[number]
}

// port is a captured port.
type port struct {
	iface      uint32
	here, peer frame.MAC
	peerName   string
}

// Bind sets the fabric and its flows before the run.
func (c *Capture) Bind(g *topo.Graph, flows *dataplane.Flows, hosts []*dataplane.NICSpec) error {
	c.graph, c.flows, c.hosts = g, flows, hosts
	chosen, err := g.PortsLike(c.spec.Ports)
	if err != nil {
		return err
	}
	for i, n := range c.nodes {
		if n != nil && chosen[i] != nil {
			n.ports = make([]*port, len(chosen[i]))
		}
	}
	join := func(a, portA, b, portB int) {
		if chosen[a] != nil && chosen[a][portA] && c.nodes[a] != nil {
			c.nodes[a].ports[portA] = &port{
				here: frame.PortMAC(uint32(a), uint16(portA)), peer: frame.PortMAC(uint32(b), uint16(portB)), peerName: g.Names[b],
			}
		}
	}
	for _, l := range g.Links {
		join(l.A, l.PortA, l.B, l.PortB)
		join(l.B, l.PortB, l.A, l.PortA)
	}
	return nil
}

// about is the comment of the file.
const about = "Frames of a simulated run. Headers are real; payload is zeros, as long as in the simulation. " +
	"A frame can be longer or shorter than the simulated one, whose header size is set by the scenario. " +
	"Sent frames have the time of their first bit, received frames the time of their last bit."

// Open writes the beginning of the file to out.
func (c *Capture) Open(out io.Writer) error {
	c.w.out = out
	if err := c.w.section(about); err != nil {
		return err
	}
	peers := c.graph.Peers()
	rates := make(map[[2]int]units.Rate)
	for _, l := range c.graph.Links {
		rates[[2]int{l.A, l.PortA}], rates[[2]int{l.B, l.PortB}] = l.Rate, l.Rate
	}
	next := uint32(0)
	for i, n := range c.nodes {
		if n == nil {
			continue
		}
		for j, p := range n.ports {
			if p == nil {
				continue
			}
			p.iface = next
			next++
			number, name := c.graph.PortNames(i, j, peers[i][j])
			if several(peers[i], peers[i][j]) {
				name = number
			}
			if err := c.w.iface(name, fmt.Sprintf("port %d of %s, to %s", j, c.graph.Names[i], p.peerName), rates[[2]int{i, j}]); err != nil {
				return err
			}
		}
	}
	return nil
}

// several reports whether a node has more than one port to a peer.
func several(peers []int, peer int) bool {
	n := 0
	for _, p := range peers {
		if p == peer {
			n++
		}
	}
	return n > 1
}

// record is a captured frame, with its FCS.
type record struct {
	at         units.Time
	start, end int // in node.bytes
	n          *node
	port       *port
	flow, seq  uint32
	out        bool
	comment    string
}

// Flush writes the collected frames. Every node must have run up to the same time.
func (c *Capture) Flush() error {
	c.due = c.due[:0]
	for _, n := range c.nodes {
		if n != nil {
			for i := range n.records {
				c.due = append(c.due, &n.records[i])
			}
		}
	}
	slices.SortStableFunc(c.due, func(a, b *record) int { return cmp.Compare(a.at, b.at) })
	for _, r := range c.due {
		if c.full {
			break
		}
		c.w.packet(r.port.iface, r.at, r.out, r.n.bytes[r.start:r.end], r.comment)
		if c.w.size+units.Bytes(len(c.w.block)) > c.spec.Limit {
			c.full = true
			break
		}
		if err := c.w.flush(); err != nil {
			return err
		}
		c.frames++
		c.last = r.at
	}
	for _, n := range c.nodes {
		if n != nil {
			n.bytes, n.records = n.bytes[:0], n.records[:0]
		}
	}
	return nil
}

// Frames returns the number of written frames.
func (c *Capture) Frames() int { return c.frames }

// Full reports whether the limit was reached, and returns the time of the last written
// frame.
func (c *Capture) Full() (units.Time, bool) { return c.last, c.full }

// message fills in what frames contain of a flow; see MessageOf.
func (c *Capture) message(flow uint32, m *frame.Message) bool {
	return MessageOf(c.flows, c.hosts, flow, m)
}

// MessageOf fills in what frames contain of a flow; false: there is no such flow.
func MessageOf(flows *dataplane.Flows, hosts []*dataplane.NICSpec, flow uint32, m *frame.Message) bool {
	if int64(flow) >= int64(len(flows.Flow)) {
		return false
	}
	f := &flows.Flow[flow]
	transport := &hosts[f.Src].Transports[f.Transport]
	*m = frame.Message{
		Src: f.Src, Dst: f.Dst, Size: f.Size, Payload: transport.Payload, Header: transport.Header,
		TCP: transport.Recovery == dataplane.SACK, Selective: transport.Recovery != dataplane.GoBackN,
	}
	return true
}

// node collects the frames of one node.
type node struct {
	probe.Ignore
	c       *Capture
	number  int
	n       probe.Node
	ports   []*port // nil: not captured
	records []record
	bytes   []byte
	ext     packet.Ext // of the arriving frame
	left    units.Time // when the departing frame left
	marked  mark
	message frame.Message
}

// mark is an ECN mark that a frame got when it left its queue.
type mark struct {
	at        units.Time
	flow, seq uint32
	queue     units.Bytes
	set       bool
}

// Attach implements probe.Attached.
func (n *node) Attach(p probe.Node) { n.n = p }

// at returns a port if it is captured now, else nil.
func (n *node) at(now units.Time, port int) *port {
	if n.ports == nil || n.ports[port] == nil || now < n.c.spec.From || now >= n.c.spec.To || n.c.full {
		return nil
	}
	return n.ports[port]
}

// Depart implements probe.Sink.
func (n *node) Depart(now units.Time, _ int, _ *packet.Packet) { n.left = now }

// Sent implements probe.Wire.
func (n *node) Sent(port int, p *packet.Packet, ext packet.Ext) {
	if at := n.at(n.left, port); at != nil {
		n.add(n.left, port, at, true, p, ext)
	}
}

// Received implements probe.Wire.
func (n *node) Received(_ int, _ *packet.Packet, ext packet.Ext) { n.ext = append(n.ext[:0], ext...) }

// Arrive implements probe.Sink.
func (n *node) Arrive(now units.Time, port int, p *packet.Packet) {
	if at := n.at(now, port); at != nil {
		n.add(now, port, at, false, p, n.ext)
	}
}

func (n *node) add(now units.Time, number int, at *port, out bool, p *packet.Packet, ext packet.Ext) {
	if p.OfFlow() && !n.c.message(p.Flow, &n.message) {
		return // a scheme's frame without a flow
	}
	start := len(n.bytes)
	from, to := at.peer, at.here
	if out {
		from, to = to, from
	}
	n.bytes = frame.Append(n.bytes, from, to, p, ext, &n.message)
	n.bytes = frame.AppendFCS(n.bytes, start)
	n.records = append(n.records, record{at: now, start: start, end: len(n.bytes), n: n, port: at, flow: p.Flow, seq: p.Seq,
		out: out, comment: n.comment(now, number, at, out, p, ext)})
	n.marked.set = false
}

// Marked implements probe.Sink.
func (n *node) Marked(now units.Time, port int, p *packet.Packet) {
	if n.at(now, port) != nil {
		n.marked = mark{now, p.Flow, p.Seq, n.n.View().Egress(port, p.Class()), true}
	}
}

// Drop implements probe.Sink: it comments the frame that has just arrived. A frame that the
// link corrupted has not arrived.
func (n *node) Drop(now units.Time, port int, p *packet.Packet, why probe.Reason) {
	at := n.at(now, port)
	if at == nil || why == probe.Corrupt || len(n.records) == 0 {
		return
	}
	r := &n.records[len(n.records)-1]
	if r.out || r.port != at || r.at != now || r.flow != p.Flow || r.seq != p.Seq {
		return
	}
	r.comment = n.dropped(now, port, p, why)
}
