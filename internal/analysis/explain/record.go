// Package explain says why a run went as it did. While a run goes it records what frames
// waited for (Recorder); later it reads these tables beside the results and answers: which
// pauses cost most, who caused them and whom they held (Run.Explain), and where the time of
// a flow went (Run.Flow).
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

// Names of the tables, without their ending.
const (
	framesTable    = "explain-frames"
	eventsTable    = "explain-events"
	linksTable     = "explain-links"
	faultsTable    = "explain-faults"
	deadlocksTable = "explain-deadlocks"
)

// why says what a packet of a flow waited for last at its source.
type why uint8

const (
	whyStart   why = iota // the start of the flow
	whySent               // the packet before it, and pacing
	whyAck                // a frame from the destination, which opened the window
	whyTimer              // a timer of the control, which opened the window
	whyNack               // a frame from the destination, which told of a loss
	whyTimeout            // a timeout
	numWhys
)

var whyNames = [numWhys]string{"start", "sent", "ack", "timer", "nack", "timeout"}

// what happens at a node besides frames that leave.
type what uint8

const (
	evPause  what = iota // a PFC frame leaves that pauses a class, or pauses it on
	evResume             // a PFC frame leaves that resumes a class
	evHeld               // a class of an egress may not send any more
	evOpen               // it may again
	evDrop
	evAcked // a flow is complete
	numWhats
)

var whatNames = [numWhats]string{"pause", "resume", "held", "open", "drop", "acked"}

func frameColumns() []probe.Column {
	return []probe.Column{
		{Name: "port", Doc: "by which the frame leaves"},
		{Name: "in", May: true, Doc: "port by which it came; null at a host"},
		{Name: "flow", May: true, Doc: "flow it belongs to; null: a control frame of the link"},
		{Name: "kind", Type: probe.Text, Texts: packet.KindNames(), Doc: "what it is"},
		{Name: "seq", Doc: "data: number of the packet; ACK, NACK: the one expected next"},
		{Name: "class", Doc: "traffic class"},
		{Name: "queue", Doc: "class whose pause holds it"},
		{Name: "size", Doc: "bytes of the frame"},
		{Name: "came_ps", May: true, Doc: "since when it waits here: its last bit came; at a host: pacing and window allow it, or the reply is made"},
		{Name: "why", Type: probe.Text, Texts: whyNames[:], May: true, Doc: "data at its source: what it waited for before that"},
		{Name: "since_ps", May: true, Doc: "when that happened: the packet before it left, or the window was opened, or the loss was noticed"},
		{Name: "cause_ps", May: true, Doc: "at a host: when the frame came that led to it"},
		{Name: "again", Type: probe.Bool, Doc: "it was sent before"},
		{Name: "ce", Type: probe.Bool, Doc: "it has the congestion mark"},
		{Name: "left", Type: probe.Bool, Doc: "false: it still waited at the end of the run, which is time_ps"},
	}
}

func eventColumns() []probe.Column {
	var reasons []string
	for r := range probe.NumReasons {
		reasons = append(reasons, r.String())
	}
	return []probe.Column{
		{Name: "what", Type: probe.Text, Texts: whatNames[:], Doc: "what happened"},
		{Name: "port", May: true, Doc: "port: of a pause or drop the ingress, of held and open the egress"},
		{Name: "class", May: true, Doc: "traffic class"},
		{Name: "flow", May: true, Doc: "flow, where it is about one"},
		{Name: "kind", Type: probe.Text, Texts: packet.KindNames(), May: true, Doc: "of a frame that was dropped"},
		{Name: "seq", May: true, Doc: "its number"},
		{Name: "reason", Type: probe.Text, Texts: reasons, May: true, Doc: "why it was dropped"},
		{Name: "depth", May: true, Doc: "of a pause"},
		{Name: "by_port", May: true, Doc: "of a pause: held egress in which its frames wait; of a drop: egress whose queue had no room; null: none"},
		{Name: "by_class", May: true, Doc: "and its class"},
		{Name: "queue_bytes", May: true, Doc: "the ingress queue, of a drop with by_port that egress queue, as the policy measures it"},
		{Name: "threshold_bytes", May: true, Doc: "its threshold"},
		{Name: "headroom_bytes", May: true, Doc: "what the queue holds of the headroom"},
		{Name: "headroom_size_bytes", May: true, Doc: "headroom of the port"},
		{Name: "stored_bytes", May: true, Doc: "bytes in the buffer of the node"},
		{Name: "cause_ps", May: true, Doc: "acked: when the frame came that completed the flow"},
	}
}

// Recorder records what an explanation needs. It watches every node and writes while the
// run goes, so that memory does not grow with it.
type Recorder struct {
	graph  *topo.Graph
	spec   *sim.Spec
	frames *metrics.Series
	events *metrics.Series
	nodes  []*node
	create func(name, what string) (io.Writer, error)
}

// New makes a recorder, which Bind and Open complete.
func New() *Recorder { return &Recorder{} }

// Sink returns what watches a node.
func (r *Recorder) Sink(number int) probe.Sink {
	for len(r.nodes) <= number {
		r.nodes = append(r.nodes, nil)
	}
	r.nodes[number] = &node{senders: make(map[uint32]*sender), answers: make(map[uint32][]answer)}
	return r.nodes[number]
}

// Bind tells the recorder the fabric, before the run.
func (r *Recorder) Bind(g *topo.Graph, spec *sim.Spec) {
	r.graph, r.spec = g, spec
	r.frames = metrics.NewSeries(framesTable, g.Names, frameColumns())
	r.events = metrics.NewSeries(eventsTable, g.Names, eventColumns())
	for i, n := range r.nodes {
		n.host = i < g.Hosts
		n.frames, n.events = r.frames.Recorder(i, 0, units.Never), r.events.Recorder(i, 0, units.Never)
	}
}

// Open begins the files.
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

// Flush writes what nodes have recorded. Every node must have run up to the same time.
func (r *Recorder) Flush() error {
	if err := r.frames.Flush(); err != nil {
		return err
	}
	return r.events.Flush()
}

// Close writes what is known at the end.
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
		{Name: "node", Type: probe.Text, Texts: nodes, Doc: "node that sends"},
		{Name: "port", Doc: "its port"},
		{Name: "peer", Type: probe.Text, Texts: nodes, Doc: "node at the other end"},
		{Name: "peer_port", Doc: "and its port"},
		{Name: "rate_bps", Doc: "rate of the link"},
		{Name: "delay_ps", Doc: "from the last bit sent to the last bit there"},
		{Name: "overhead_bytes", Doc: "of the wire, per frame"},
		{Name: "tick_ps", Doc: "to which times of frames are cut; 0: exact"},
		{Name: "host", Type: probe.Bool, Doc: "the node is a host"},
		{Name: "ecn_bytes", May: true, Doc: "queue from which on frames are marked; null: none is"},
	}
}

// links writes every direction of every cable.
func (r *Recorder) links(add func(words ...int64)) error {
	for i := range r.spec.Cables {
		c := &r.spec.Cables[i]
		for _, d := range []struct {
			from, to sim.End
			delay    units.Time
		}{{c.A, c.B, c.AtoB}, {c.B, c.A, c.BtoA}} {
			host := d.from.Node < len(r.spec.Hosts)
			tick, floor := units.Time(0), int64(probe.Null)
			if host {
				tick = r.spec.Hosts[d.from.Node].Port.Tick
			} else {
				sw := r.spec.Switches[d.from.Node-len(r.spec.Hosts)]
				tick = sw.Ports[d.from.Port].Tick
				m, err := sw.Marker(d.from.Port)
				if err != nil {
					return err
				}
				if f := m.Floor(); f <= mmu.MaxBuffer && sw.ECN[d.from.Port] != 0 {
					floor = int64(f)
				}
			}
			add(int64(d.from.Node), int64(d.from.Port), int64(d.to.Node), int64(d.to.Port), int64(c.Rate), int64(d.delay),
				int64(c.Overhead), int64(tick), truth(host), floor)
		}
	}
	return nil
}

func faultColumns(nodes []string) []probe.Column {
	return []probe.Column{
		{Name: "fault", Type: probe.Text, Texts: sim.FaultNames(), Doc: "what is wrong"},
		{Name: "node", Type: probe.Text, Texts: nodes, Doc: "host, or one end of a link"},
		{Name: "port", May: true, Doc: "of a link"},
		{Name: "peer", Type: probe.Text, Texts: nodes, May: true, Doc: "other end of a link"},
		{Name: "peer_port", May: true, Doc: "and its port"},
		{Name: "from_ps", Doc: "when it begins"},
		{Name: "to_ps", May: true, Doc: "when it ends; null: never"},
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

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
