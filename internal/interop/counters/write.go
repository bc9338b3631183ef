package counters

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// Write writes a set as CSV, in order of counters and times.
func (s *Set) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, strings.Join(columns[:], ","))
	for _, one := range s.Series {
		queue := ""
		if one.Kind >= QueueBytes {
			queue = strconv.Itoa(one.Class)
		}
		name := one.Name()
		for i := range one.Samples {
			x := &one.Samples[i]
			fmt.Fprintf(out, "%s,%s,%s,%s,%s,%d\n", FormatTime(x.At), one.Switch, one.Port, queue, name, x.Value)
		}
	}
	return out.Flush()
}

// Recorder counts the events of simulated switches as switches count frames. PFC frames
// include refreshes and resumes.
type Recorder struct {
	Every units.Time // sampling period; 0: only the start and the end
	Hosts int        // number of hosts, if known: the first nodes, which are not counted
	nodes []*node
}

// node counts the events of one switch.
type node struct {
	probe.Ignore
	every units.Time
	ports [][]period // by port and time
}

// period has the counts of one sampling period of a port, by kind and class. Counters of the
// whole port are in class 0.
type period [NumKinds][Classes]uint64

// Sink implements run.Watcher.
func (r *Recorder) Sink(at int) probe.Sink {
	if at < r.Hosts {
		return nil
	}
	for len(r.nodes) <= at {
		r.nodes = append(r.nodes, nil)
	}
	r.nodes[at] = &node{every: r.Every}
	return r.nodes[at]
}

// Flush implements run.Watcher.
func (r *Recorder) Flush() error { return nil }

func (n *node) at(now units.Time, port int) *period {
	for len(n.ports) <= port {
		n.ports = append(n.ports, nil)
	}
	i := 0
	if n.every > 0 {
		i = int(now / n.every)
	}
	for len(n.ports[port]) <= i {
		n.ports[port] = append(n.ports[port], period{})
	}
	return &n.ports[port][i]
}

// Depart implements probe.Sink.
func (n *node) Depart(now units.Time, port int, p *packet.Packet) {
	c := n.at(now, port)
	c[OutOctets][0] += uint64(p.Size)
	if p.Control() {
		c.pfc(PFCSent, p)
		return
	}
	c[QueueBytes][p.Class()] += uint64(p.Size)
	c[QueuePackets][p.Class()]++
}

// Arrive implements probe.Sink.
func (n *node) Arrive(now units.Time, port int, p *packet.Packet) {
	c := n.at(now, port)
	c[InOctets][0] += uint64(p.Size)
	if p.Control() {
		c.pfc(PFCReceived, p)
		return
	}
	c[GroupBytes][p.Class()] += uint64(p.Size)
	c[GroupPackets][p.Class()]++
}

func (c *period) pfc(kind Kind, p *packet.Packet) {
	if p.Kind() != packet.PFC {
		return
	}
	enabled, _, _ := p.PFC()
	for class := range Classes {
		c[kind][class] += uint64(enabled >> class & 1)
	}
}

// Marked implements probe.Sink.
func (n *node) Marked(now units.Time, port int, p *packet.Packet) {
	n.at(now, port)[Marks][p.Class()]++
}

// Drop implements probe.Sink.
func (n *node) Drop(now units.Time, port int, p *packet.Packet, _ probe.Reason) {
	if !p.Control() {
		n.at(now, port)[GroupDrops][p.Class()]++
	}
}

// Total returns the count of a port over the whole run. Class is -1 for counters of the port.
func (r *Recorder) Total(at, port int, kind Kind, class int) uint64 {
	if at >= len(r.nodes) || r.nodes[at] == nil || port >= len(r.nodes[at].ports) {
		return 0
	}
	sum := uint64(0)
	for i := range r.nodes[at].ports[port] {
		sum += r.nodes[at].ports[port][i][kind][max(0, class)]
	}
	return sum
}

// Set returns the counters of all switches as samples at each period, and at the end. Ports have
// the names port0, port1 ...
func (r *Recorder) Set(names []string, hosts int, classes [Classes]bool, end units.Time) *Set {
	s := &Set{}
	every := r.Every
	if every <= 0 || every > end {
		every = max(1, end)
	}
	for at, n := range r.nodes {
		if n == nil || at < hosts {
			continue
		}
		for port, periods := range n.ports {
			for kind := range NumKinds {
				for class := range Classes {
					k := Key{names[at], fmt.Sprintf("port%d", port), kind, class}
					switch {
					case kind == QueueDrops: // drops are counted where a frame comes in
						continue
					case kind <= OutOctets && class == 0:
						k.Class = -1
					case kind <= OutOctets || !classes[class]:
						continue
					}
					s.sampled(k, periods, class, every, end)
				}
			}
		}
	}
	return s
}

// sampled adds the samples of a counter.
func (s *Set) sampled(k Key, periods []period, class int, every, end units.Time) {
	s.add(k, Sample{})
	sum, i := uint64(0), 0
	for t := units.Time(0); t < end; {
		t = min(t+every, end)
		for ; i < len(periods) && (t == end || units.Time(i)*every < t); i++ {
			sum += periods[i][k.Kind][class]
		}
		s.add(k, Sample{At: int64(t / units.Nanosecond), Value: sum})
	}
}
