package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Cause is a cause of pauses or drops.
type Cause struct {
	Kind   Kind       `json:"kind"`
	Where  string     `json:"where"`           // port, host or queue
	What   string     `json:"what"`            // description, one sentence
	Paused units.Time `json:"held_ps"`         // total paused time of egress queues that it caused
	Share  float64    `json:"share"`           // share in all paused time
	Pauses int        `json:"pauses"`          // pauses that it caused
	Trees  int        `json:"trees"`           // trees of these pauses
	Depth  int        `json:"depth"`           // depth of the deepest tree
	Ports  int        `json:"ports"`           // egress ports that it paused
	Hosts  int        `json:"hosts"`           // ports of hosts among them
	Worst  *Tree      `json:"worst,omitempty"` // tree with the most paused time
	Marks  *Marks     `json:"ecn,omitempty"`
	// Victims are the most affected of VictimFlows flows that were paused although they do
	// not use the congested port.
	Victims     []Victim `json:"victims"`
	VictimFlows int      `json:"victim_flows"`

	roots []int
	node  int
	port  int // congested egress port; -1: a host
	class uint8
}

// Kind is a kind of cause.
type Kind string

// Kinds of causes, most important first.
const (
	KindDeadlock Kind = "deadlock"
	KindHeadroom Kind = "headroom too small"
	KindStuck    Kind = "stuck host"
	KindSlowHost Kind = "slow host"
	KindSlowLink Kind = "slow link"
	KindECN      Kind = "marks after pauses"
	KindIncast   Kind = "incast"
	KindPort     Kind = "congested port"
	KindDrops    Kind = "drops"
)

// Tree is a pause and all pauses that it caused.
type Tree struct {
	Root        string      `json:"root"` // queue that paused first
	Sent        units.Time  `json:"sent_ps"`
	Ended       units.Time  `json:"ended_ps"` // end of its last pause, or of the run
	Paused      units.Time  `json:"held_ps"`  // total paused time
	Pauses      int         `json:"pauses"`
	Depth       int         `json:"depth"`
	Queue       units.Bytes `json:"queue_bytes"` // length of the root queue when it paused, as measured by the policy
	Threshold   units.Bytes `json:"threshold_bytes"`
	Headroom    units.Bytes `json:"headroom_bytes"`
	Reserved    units.Bytes `json:"headroom_size_bytes"`
	Stored      units.Bytes `json:"stored_bytes"`
	FilledBytes units.Bytes `json:"filled_bytes"` // bytes of frames in the queue at that time
	Filled      []Share     `json:"filled_by"`    // flows with the largest shares
	Workloads   []Share     `json:"filled_by_workload"`
	Lines       []string    `json:"drawn"` // drawing of the tree
}

// Marks describes whether a congested port marked frames before its first pause.
type Marks struct {
	Frames int         `json:"frames"`           // frames that departed in the markWindow before the first pause
	Marked int         `json:"marked"`           // marked frames among them
	Floor  units.Bytes `json:"marks_from_bytes"` // queue length above which frames are marked
	Queue  units.Bytes `json:"queue_bytes"`      // length of the egress queue at the first pause
	On     bool        `json:"on"`               // the port marks frames
	// Control is the default congestion control of the hosts.
	Control string `json:"congestion_control"`
}

// markWindow is the time before a pause in which marks are counted.
const markWindow = 50 * units.Microsecond

// maxShown is the number of list items that are described one by one.
const maxShown = 5

// portKey identifies a port, or a host (port -1).
type portKey struct{ node, port int }

// congestion groups pause trees by their origin: a congested egress port, or a host that does
// not accept frames. Only pauses that wanted selects count.
func (r *Run) congestion(wanted func(i int, c *Cause) bool) []*Cause {
	found := make(map[portKey]*Cause)
	var list []*Cause
	causes := make([]*Cause, len(r.pauses)) // by root
	congested := r.rootPorts()
	r.progress(loadShare + 0.1)
	for i := range r.pauses {
		p := &r.pauses[i]
		if p.root != i {
			continue
		}
		key := portKey{p.node, -1}
		if !r.ports[p.node][p.port].host {
			if key.port = int(congested[i]); key.port < 0 {
				key.port = p.port
			}
		}
		c := found[key]
		if c == nil {
			c = &Cause{node: key.node, port: key.port, class: p.class, Victims: []Victim{}}
			found[key] = c
			list = append(list, c)
		}
		causes[i] = c
		c.roots = append(c.roots, i)
	}
	paused := r.pausedBy()
	total := units.Time(0)
	counted := make([]bool, len(r.pauses))
	for i := range r.pauses {
		total += paused[i]
		c := causes[r.pauses[i].root]
		if !wanted(i, c) {
			continue
		}
		c.Paused += paused[i]
		c.Pauses++
		if root := r.pauses[i].root; !counted[root] {
			counted[root] = true
			c.Trees++
		}
		c.Depth = max(c.Depth, r.pauses[i].depth)
	}
	list = slices.DeleteFunc(list, func(c *Cause) bool { return c.Pauses == 0 })
	for _, c := range list {
		c.Share = float64(c.Paused) / float64(max(1, total))
	}
	slices.SortStableFunc(list, func(a, b *Cause) int { return cmp.Compare(b.Paused, a.Paused) })
	for i, c := range list[:min(maxShown, len(list))] {
		r.describe(c, paused, wanted)
		r.progress(loadShare + 0.1 + 0.15*float64(i+1)/maxShown)
	}
	return list
}

// pausedBy returns, by pause, how long it paused its egress queue.
func (r *Run) pausedBy() []units.Time {
	paused := make([]units.Time, len(r.pauses))
	r.eachSpan(func(_ End, s span) {
		if s.by >= 0 {
			paused[s.by] += min(s.to, r.end) - s.from
		}
	})
	return paused
}

// eachSpan calls use for every span in which an egress queue was blocked.
func (r *Run) eachSpan(use func(e End, s span)) {
	for node := range r.ports {
		for at := range r.ports[node] {
			for class, list := range r.ports[node][at].blocked {
				for _, s := range list {
					use(End{node, at, uint8(class)}, s)
				}
			}
		}
	}
}

// describe fills in the details of a cause.
func (r *Run) describe(c *Cause, paused []units.Time, wanted func(int, *Cause) bool) {
	worst := r.worst(c, paused, wanted)
	c.Worst = r.tree(worst, paused)
	first := &r.pauses[c.roots[0]]
	if c.port < 0 {
		r.describeHost(c)
	} else {
		r.describePort(c, first)
	}
	r.victims(c, wanted)
}

// worst returns the root of the tree of a cause with the most paused time, among trees with a
// wanted pause.
func (r *Run) worst(c *Cause, paused []units.Time, wanted func(int, *Cause) bool) int {
	sums := make(map[int]units.Time)
	some := make(map[int]bool)
	for i := range r.pauses {
		sums[r.pauses[i].root] += paused[i]
		some[r.pauses[i].root] = some[r.pauses[i].root] || wanted(i, c)
	}
	best := -1
	for _, i := range c.roots {
		if some[i] && (best < 0 || sums[i] > sums[best]) {
			best = i
		}
	}
	return best
}

// tree describes the pause tree of a root.
func (r *Run) tree(root int, paused []units.Time) *Tree {
	p := &r.pauses[root]
	t := &Tree{Root: r.queueName(p), Sent: p.sent, Queue: p.queue, Threshold: p.threshold, Headroom: p.headroom, Reserved: p.reserved,
		Stored: p.buffered, Filled: []Share{}, Workloads: []Share{}}
	for i := root; i < len(r.pauses); i++ {
		if x := &r.pauses[i]; x.root == root {
			t.Pauses++
			t.Paused += paused[i]
			t.Depth = max(t.Depth, x.depth)
			t.Ended = max(t.Ended, min(x.ended, r.end))
		}
	}
	if !r.ports[p.node][p.port].host {
		in := r.contents(End{p.node, p.port, p.class}, p.sent)
		t.FilledBytes, t.Filled = in.total, in.flows
	} else if t.Filled = r.waitingForHost(p); len(t.Filled) > 0 {
		for _, s := range t.Filled {
			t.FilledBytes += s.Bytes
		}
	}
	t.Workloads = workloads(t.Filled)
	t.Filled = t.Filled[:min(maxShown, len(t.Filled))]
	t.Lines = r.draw(root, paused)
	return t
}

// waitingForHost returns the flows whose frames wait for a host that paused.
func (r *Run) waitingForHost(p *pause) []Share {
	up := &r.ports[p.node][p.port]
	bytes := make(map[int]units.Bytes)
	total := units.Bytes(0)
	r.eachWaiting(&r.ports[up.peer][up.peerPort], p.class, min(p.ended, r.end-1), func(f *row) {
		bytes[int(f.flow)] += units.Bytes(f.size)
		total += units.Bytes(f.size)
	})
	return r.shares(bytes, total)
}

// workloads sums shares by workload, largest first.
func workloads(flows []Share) []Share {
	list := []Share{}
	for _, f := range flows {
		i := slices.IndexFunc(list, func(s Share) bool { return s.Workload == f.Workload })
		if i < 0 {
			i = len(list)
			list = append(list, Share{Flow: -1, Workload: f.Workload})
		}
		list[i].Bytes += f.Bytes
		list[i].Share += f.Share
	}
	slices.SortStableFunc(list, func(a, b Share) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}

// queueName names the ingress queue that sent a pause.
func (r *Run) queueName(p *pause) string {
	return fmt.Sprintf("%s class %d", r.portName(p.node, p.port), p.class)
}

// describeHost describes why a host paused.
func (r *Run) describeHost(c *Cause) {
	c.Where = r.names[c.node]
	c.Kind = KindSlowHost
	c.What = fmt.Sprintf("%s accepts frames more slowly than they arrive", c.Where)
	for _, f := range r.faults {
		if f.what == "stuck" && f.node == c.node {
			c.Kind = KindStuck
			c.What = fmt.Sprintf("%s is stuck from %s%s: it accepts no frames and pauses its switch", c.Where, f.from.Human(), until(f.to))
			return
		}
	}
}

func until(to units.Time) string {
	if to >= units.MaxTime {
		return " on"
	}
	return " to " + to.Human()
}

// describePort describes why a port is congested.
func (r *Run) describePort(c *Cause, first *pause) {
	p := &r.ports[c.node][c.port]
	c.Where = r.portName(c.node, c.port)
	egress := End{c.node, c.port, first.class}
	m := &Marks{Floor: p.ecn, Queue: r.egress(egress, first.sent), On: p.ecn >= 0, Control: r.config.Hosts.CC.Name}
	m.Frames, m.Marked = r.marked(egress, max(0, first.sent-markWindow), first.sent)
	c.Marks = m
	bytes := make(map[int]units.Bytes)
	for out := range r.ports[c.node] {
		r.eachWaiting(&r.ports[c.node][out], first.class, first.sent, func(f *row) {
			if f.in >= 0 {
				bytes[int(f.flow)] += units.Bytes(f.size)
			}
		})
	}
	flows, sources := 0, make(map[int]bool)
	users := r.users(c.node, c.port)
	for id := range bytes {
		if users[int32(id)] {
			flows++
			sources[r.flows[id].src] = true
		}
	}
	usual := r.usualRate(r.ports[p.peer][p.peerPort].host)
	load := fmt.Sprintf("congested by %s from %s", plural(flows, "flow"), plural(len(sources), "host"))
	switch {
	case p.rate < usual:
		c.Kind = KindSlowLink
		c.What = fmt.Sprintf("%s is slow: %s, while most such links have %s; %s", c.Where, p.rate, usual, load)
	case m.On && m.Queue <= m.Floor && r.needMarks(bytes):
		c.Kind = KindECN
		c.What = fmt.Sprintf("%s pauses before it marks: marking starts at %s, but %s paused when the egress queue was only %s; %s",
			c.Where, m.Floor.Human(), r.queueName(first), m.Queue.Human(), load)
	case len(sources) > 1:
		c.Kind = KindIncast
		c.What = fmt.Sprintf("%s (%s) is %s", c.Where, p.rate, load)
	default:
		c.Kind = KindPort
		c.What = fmt.Sprintf("%s (%s) is %s", c.Where, p.rate, load)
	}
}

// usualRate returns the most common rate of links from switches to hosts, or to switches.
func (r *Run) usualRate(toHosts bool) units.Rate {
	count := make(map[units.Rate]int)
	best := units.Rate(0)
	for node := range r.ports {
		for i := range r.ports[node] {
			p := &r.ports[node][i]
			if p.peer < 0 || p.host || r.ports[p.peer][p.peerPort].host != toHosts {
				continue
			}
			count[p.rate]++
			if n := count[p.rate]; n > count[best] || n == count[best] && p.rate > best {
				best = p.rate
			}
		}
	}
	return best
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", units.Thousands(uint64(n)), what)
}

// maxLines is the maximum number of lines in the drawing of a tree.
const maxLines = 12

// draw draws a tree: who paused whom, and for how long. Pauses of the same queue with the same
// cause share a line.
func (r *Run) draw(root int, paused []units.Time) []string {
	children := make(map[int][]int)
	for i := root + 1; i < len(r.pauses); i++ {
		if p := &r.pauses[i]; p.root == root && p.parent >= 0 {
			children[p.parent] = append(children[p.parent], i)
		}
	}
	var lines []string
	var visit func(same []int, depth int)
	visit = func(same []int, depth int) {
		p := &r.pauses[same[0]]
		time := units.Time(0)
		var next []int
		for _, i := range same {
			time += paused[i]
			next = append(next, children[i]...)
		}
		line := fmt.Sprintf("%s%s paused %s at %s", strings.Repeat("  ", depth), r.names[p.node], r.names[r.ports[p.node][p.port].peer], p.sent.Human())
		if len(same) > 1 {
			line += fmt.Sprintf(" and %d more times", len(same)-1)
		}
		lines = append(lines, line+fmt.Sprintf(", for %s", time.Human()))
		var queues [][]int // pauses of the same queue, in order of the first
		index := make(map[End]int)
		for _, i := range next {
			x := &r.pauses[i]
			k, known := index[End{x.node, x.port, x.class}]
			if !known {
				k = len(queues)
				index[End{x.node, x.port, x.class}] = k
				queues = append(queues, nil)
			}
			queues[k] = append(queues[k], i)
		}
		for _, siblings := range queues {
			visit(siblings, depth+1)
		}
	}
	visit([]int{root}, 0)
	if left := len(lines) - maxLines; left > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("... and %d more", left))
	}
	return lines
}
