// Package explain finds the causes of pauses, drops and slow flows in a recorded run; it backs
// `xoff explain` and the reports. During the run, a Recorder writes down what frames waited
// for. Later, Run.Explain finds which pauses cost most, what caused them and which flows they
// delayed, and Run.Flow breaks down the completion time of a flow.
package explain

import (
	"fmt"
	"io"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Names of the tables, without the extension.
const (
	framesTable    = "explain-frames"
	eventsTable    = "explain-events"
	linksTable     = "explain-links"
	faultsTable    = "explain-faults"
	deadlocksTable = "explain-deadlocks"
)

// why is the event that a data packet waited for last at its source.
type why uint8

const (
	whyStart   why = iota // the start of the flow
	whySent               // the departure of the previous packet, and pacing
	whyAck                // a frame from the destination that opened the window
	whyTimer              // a timer of congestion control that opened the window
	whyNack               // a frame from the destination that reported a loss
	whyTimeout            // a retransmission timeout
	numWhys
)

var whyNames = [numWhys]string{"start", "sent", "ack", "timer", "nack", "timeout"}

// what is a kind of event at a node, other than the departure of a frame.
type what uint8

const (
	evPause   what = iota // a PFC frame departs that pauses a class or refreshes its pause
	evResume              // a PFC frame departs that resumes a class
	evBlocked             // a class of an egress port may no longer send
	evOpen                // it may send again
	evDrop                // a frame is dropped
	evAcked               // a flow is complete
	numWhats
)

var whatNames = [numWhats]string{"pause", "resume", "held", "open", "drop", "acked"}

func frameColumns() []probe.Column {
	return []probe.Column{
		{Name: "port", Doc: "egress port of the frame"},
		{Name: "in", Nullable: true, Doc: "ingress port of the frame; null at a host"},
		{Name: "flow", Nullable: true, Doc: "flow of the frame; null: a control frame of the link"},
		{Name: "kind", Type: probe.Text, Texts: packet.KindNames(), Doc: "kind of the frame"},
		{Name: "seq", Doc: "data: packet number; ACK, NACK: packet number expected next"},
		{Name: "class", Doc: "traffic class"},
		{Name: "queue", Doc: "class whose pauses apply to the frame"},
		{Name: "size", Doc: "frame size in bytes"},
		{Name: "came_ps", Nullable: true, Doc: "when it started to wait here: its last bit arrived; at a host: pacing and window allowed it, or the reply was created"},
		{Name: "why", Type: probe.Text, Texts: whyNames[:], Nullable: true, Doc: "data at its source: what it waited for before came_ps"},
		{Name: "since_ps", Nullable: true, Doc: "when that event happened: the previous packet left, the window opened, or the loss was detected"},
		{Name: "cause_ps", Nullable: true, Doc: "at a host: arrival of the frame that triggered it"},
		{Name: "again", Type: probe.Bool, Doc: "it is a retransmission"},
		{Name: "ce", Type: probe.Bool, Doc: "it has the congestion mark"},
		{Name: "left", Type: probe.Bool, Doc: "it departed; false: it was still waiting at the end of the run, time_ps"},
	}
}

func eventColumns() []probe.Column {
	var reasons []string
	for r := range probe.NumReasons {
		reasons = append(reasons, r.String())
	}
	return []probe.Column{
		{Name: "what", Type: probe.Text, Texts: whatNames[:], Doc: "kind of event"},
		{Name: "port", Nullable: true, Doc: "ingress port of a pause or drop; egress port of held and open"},
		{Name: "class", Nullable: true, Doc: "traffic class"},
		{Name: "flow", Nullable: true, Doc: "flow of the event, if any"},
		{Name: "kind", Type: probe.Text, Texts: packet.KindNames(), Nullable: true, Doc: "drop: kind of the frame"},
		{Name: "seq", Nullable: true, Doc: "drop: packet number of the frame"},
		{Name: "reason", Type: probe.Text, Texts: reasons, Nullable: true, Doc: "drop: reason"},
		{Name: "depth", Nullable: true, Doc: "pause: its depth"},
		{Name: "by_port", Nullable: true, Doc: "pause: blocked egress port that its frames wait for; drop: egress port whose queue had no room; null: none"},
		{Name: "by_class", Nullable: true, Doc: "class of by_port"},
		{Name: "queue_bytes", Nullable: true, Doc: "length of the ingress queue, or of the egress queue of a drop with by_port, as measured by the policy"},
		{Name: "threshold_bytes", Nullable: true, Doc: "threshold of that queue"},
		{Name: "headroom_bytes", Nullable: true, Doc: "headroom used by the ingress queue"},
		{Name: "headroom_size_bytes", Nullable: true, Doc: "headroom of the port"},
		{Name: "stored_bytes", Nullable: true, Doc: "bytes stored in the node's buffer"},
		{Name: "cause_ps", Nullable: true, Doc: "acked: arrival of the frame that completed the flow"},
	}
}

// Recorder records what explanations need. It watches every node and writes during the run,
// so memory use does not grow with the length of the run.
type Recorder struct {
	graph  *topo.Graph
	spec   *sim.Spec
	frames *metrics.Series
	events *metrics.Series
	nodes  []*node
	create func(name, what string) (io.Writer, error)
}

// New returns a recorder. Call Sink for every node, then Bind, then Open.
func New() *Recorder { return &Recorder{} }

// Sink returns the sink that watches a node.
func (r *Recorder) Sink(number int) probe.Sink {
	for len(r.nodes) <= number {
		r.nodes = append(r.nodes, nil)
	}
	r.nodes[number] = &node{senders: make(map[uint32]*sender), answers: make(map[uint32][]answer)}
	return r.nodes[number]
}

// Bind sets the fabric before the run.
func (r *Recorder) Bind(g *topo.Graph, spec *sim.Spec) {
	r.graph, r.spec = g, spec
	r.frames = metrics.NewSeries(framesTable, g.Names, frameColumns())
	r.events = metrics.NewSeries(eventsTable, g.Names, eventColumns())
	for i, n := range r.nodes {
		n.host = i < g.Hosts
		n.frames, n.events = r.frames.Recorder(i, 0, units.Never), r.events.Recorder(i, 0, units.Never)
	}
}

// Open creates the files that are written during the run.
func (r *Recorder) Open(create func(name, what string) (io.Writer, error)) error {
	r.create = create
	for _, s := range []*metrics.Series{r.frames, r.events} {
		w, err := create(s.Name+".parquet", "for `xoff explain`")
		if err != nil {
			return err
		}
		if err := s.Open(w, nil); err != nil {
			return err
		}
	}
	return nil
}

// Flush writes the recorded rows. All nodes must have run up to the same time.
func (r *Recorder) Flush() error {
	if err := r.frames.Flush(); err != nil {
		return err
	}
	return r.events.Flush()
}

// Close completes the files and writes the tables of links, faults and deadlocks.
func (r *Recorder) Close(o *metrics.Outcome) error {
	for _, n := range r.nodes {
		n.finish(o.End)
	}
	if err := r.frames.Close(o.End); err != nil {
		return err
	}
	if err := r.events.Close(o.End); err != nil {
		return err
	}
	if err := r.table(linksTable, linkColumns(r.graph.Names), r.links); err != nil {
		return err
	}
	if err := r.table(faultsTable, faultColumns(r.graph.Names), r.faults); err != nil {
		return err
	}
	if len(o.Jobs) > 0 {
		columns := jobColumns(o)
		if err := r.table(jobsTable, columns, func(add func(words ...int64)) error {
			jobs(o, columns, add)
			return nil
		}); err != nil {
			return err
		}
	}
	w, err := r.create(deadlocksTable+".parquet", "for `xoff explain`")
	if err != nil {
		return err
	}
	f := o.Deadlocks()
	return f.Write(w, nil)
}

func (r *Recorder) table(name string, columns []probe.Column, rows func(add func(words ...int64)) error) error {
	w, err := r.create(name+".parquet", "for `xoff explain`")
	if err != nil {
		return err
	}
	t, err := metrics.NewTable(columns, w, nil)
	if err != nil {
		return err
	}
	var failed error
	err = rows(func(words ...int64) {
		if failed == nil {
			failed = t.Row(words)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return t.Close()
}

func linkColumns(nodes []string) []probe.Column {
	return []probe.Column{
		{Name: "node", Type: probe.Text, Texts: nodes, Doc: "sending node"},
		{Name: "port", Doc: "port of the sending node"},
		{Name: "peer", Type: probe.Text, Texts: nodes, Doc: "receiving node"},
		{Name: "peer_port", Doc: "port of the receiving node"},
		{Name: "rate_bps", Doc: "link rate"},
		{Name: "delay_ps", Doc: "from the departure to the arrival of the last bit"},
		{Name: "overhead_bytes", Doc: "wire overhead per frame"},
		{Name: "tick_ps", Doc: "granularity to which frame times are truncated; 0: exact"},
		{Name: "host", Type: probe.Bool, Doc: "the sending node is a host"},
		{Name: "ecn_bytes", Nullable: true, Doc: "queue length above which frames are marked; null: never"},
		{Name: "cell_bytes", Doc: "accounting unit of the sending node's buffer; 0 or 1: bytes"},
		{Name: "packet_bytes", Doc: "bytes that the buffer charges for each frame in addition to its cells"},
	}
}

// links adds a row for each direction of every cable.
func (r *Recorder) links(add func(words ...int64)) error {
	for i := range r.spec.Cables {
		c := &r.spec.Cables[i]
		for _, d := range []struct {
			from, to sim.End
			delay    units.Time
		}{{c.A, c.B, c.AtoB}, {c.B, c.A, c.BtoA}} {
			host := d.from.Node < len(r.spec.Hosts)
			tick, floor := units.Time(0), int64(probe.Null)
			var buffer mmu.Spec
			if host {
				tick = r.spec.Hosts[d.from.Node].Port.Tick
			} else {
				sw := r.spec.Switches[d.from.Node-len(r.spec.Hosts)]
				tick, buffer = sw.Ports[d.from.Port].Tick, sw.Buffer
				m, err := sw.Marker(d.from.Port)
				if err != nil {
					return err
				}
				if f := m.Floor(); f <= mmu.MaxBuffer && sw.ECN[d.from.Port] != 0 {
					floor = int64(f)
				}
			}
			add(int64(d.from.Node), int64(d.from.Port), int64(d.to.Node), int64(d.to.Port), int64(c.Rate), int64(d.delay),
				int64(c.Overhead), int64(tick), boolToInt(host), floor, int64(buffer.Cell), int64(buffer.PerPacket))
		}
	}
	return nil
}

func faultColumns(nodes []string) []probe.Column {
	return []probe.Column{
		{Name: "fault", Type: probe.Text, Texts: sim.FaultNames(), Doc: "kind of fault"},
		{Name: "node", Type: probe.Text, Texts: nodes, Doc: "host, or one end of the link"},
		{Name: "port", Nullable: true, Doc: "port of the link at node; null: fault of a host"},
		{Name: "peer", Type: probe.Text, Texts: nodes, Nullable: true, Doc: "other end of the link"},
		{Name: "peer_port", Nullable: true, Doc: "port of the link at peer"},
		{Name: "from_ps", Doc: "start of the fault"},
		{Name: "to_ps", Nullable: true, Doc: "end of the fault; null: never"},
	}
}

func (r *Recorder) faults(add func(words ...int64)) error {
	for _, f := range r.spec.Faults() {
		to := int64(f.To)
		if f.To >= units.MaxTime {
			to = probe.Null
		}
		port, peer, peerPort := int64(probe.Null), int64(probe.Null), int64(probe.Null)
		if f.Cable >= 0 {
			c := &r.spec.Cables[f.Cable]
			port, peer, peerPort = int64(c.A.Port), int64(c.B.Node), int64(c.B.Port)
		}
		add(int64(f.What), int64(f.Node), port, peer, peerPort, int64(f.From), to)
	}
	return nil
}

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
