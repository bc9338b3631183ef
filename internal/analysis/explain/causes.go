package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Cause is one reason why the run went as it did.
type Cause struct {
	Kind  Kind       `json:"kind"`
	Where string     `json:"where"`   // port, host or queue
	What  string     `json:"what"`    // in a sentence
	Held  units.Time `json:"held_ps"` // how long egress queues stood still because of it, in all
	Share float64    `json:"share"`   // of all that stood still
	// Pauses that it led to, Trees of them, and the deepest of these.
	Pauses  int      `json:"pauses"`
	Trees   int      `json:"trees"`
	Depth   int      `json:"depth"`
	Ports   int      `json:"ports"` // egress ports that were held, and of hosts among them
	Hosts   int      `json:"hosts"`
	Worst   *Tree    `json:"worst,omitempty"` // the tree that held longest
	Marks   *Marks   `json:"ecn,omitempty"`
	Victims []Victim `json:"victims"`
	// VictimFlows is how many flows were held though they do not use the congested port.
	VictimFlows int `json:"victim_flows"`

	roots []int
	node  int
	port  int // congested egress; -1: a host
	class uint8
}

// Kind is a kind of cause.
type Kind string

// Kinds of causes, those that matter most first.
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

// Tree is a pause and all that it led to.
type Tree struct {
	Root      string      `json:"root"` // the queue that paused first
	Sent      units.Time  `json:"sent_ps"`
	Ended     units.Time  `json:"ended_ps"` // when the last of its pauses ended, or the run did
	Held      units.Time  `json:"held_ps"`
	Pauses    int         `json:"pauses"`
	Depth     int         `json:"depth"`
	Queue     units.Bytes `json:"queue_bytes"` // of the root, when it paused
	Threshold units.Bytes `json:"threshold_bytes"`
	Headroom  units.Bytes `json:"headroom_bytes"`
	Reserved  units.Bytes `json:"headroom_size_bytes"`
	Stored    units.Bytes `json:"stored_bytes"`
	Holds     units.Bytes `json:"filled_bytes"` // frames in the queue at that moment
	Filled    []Share     `json:"filled_by"`
	Workloads []Share     `json:"filled_by_workload"`
	Lines     []string    `json:"drawn"`
}

// Marks is whether senders were told before.
type Marks struct {
	Frames int         `json:"frames"` // that left the congested port shortly before its first pause
	Marked int         `json:"marked"` // of these
	Floor  units.Bytes `json:"marks_from_bytes"`
	Queue  units.Bytes `json:"queue_bytes"` // of the congested port, at its first pause
	On     bool        `json:"on"`          // frames are marked there at all
	// Control is the congestion control of the hosts, unless a workload has its own.
	Control string `json:"congestion_control"`
}

// lately is how long before a pause marks are looked for.
const lately = 50 * units.Microsecond

// maxShown is how many of a list are described one by one.
const maxShown = 5

// group is what a cause is found by.
type group struct{ node, port int }

// congestion groups the trees of pauses by what they begin with: a port that cannot send what
// comes, or a host that does not take it.
func (r *Run) congestion(wanted func(i int, c *Cause) bool) []*Cause {
	found := make(map[group]*Cause)
	var list []*Cause
	of := make([]*Cause, len(r.pauses)) // by root
	for i := range r.pauses {
		p := &r.pauses[i]
		if p.root != i {
			continue
		}
		key := group{p.node, -1}
		if !r.ports[p.node][p.port].host {
			if key.port = r.contents(End{p.node, p.port, p.class}, p.sent).out; key.port < 0 {
				key.port = p.port
			}
		}
		c := found[key]
		if c == nil {
			c = &Cause{node: key.node, port: key.port, class: p.class, Victims: []Victim{}}
			found[key] = c
			list = append(list, c)
		}
		of[i] = c
		c.roots = append(c.roots, i)
	}
	held := r.heldBy()
	total := units.Time(0)
	counted := make([]bool, len(r.pauses))
	for i := range r.pauses {
		total += held[i]
		c := of[r.pauses[i].root]
		if !wanted(i, c) {
			continue
		}
		c.Held += held[i]
		c.Pauses++
		if root := r.pauses[i].root; !counted[root] {
			counted[root] = true
			c.Trees++
		}
		c.Depth = max(c.Depth, r.pauses[i].depth)
	}
	list = slices.DeleteFunc(list, func(c *Cause) bool { return c.Pauses == 0 })
	for _, c := range list {
		c.Share = float64(c.Held) / float64(max(1, total))
	}
	slices.SortStableFunc(list, func(a, b *Cause) int { return cmp.Compare(b.Held, a.Held) })
	for _, c := range list[:min(maxShown, len(list))] {
		r.describe(c, held, wanted)
	}
	return list
}

// heldBy is how long each pause held its egress queue.
func (r *Run) heldBy() []units.Time {
	held := make([]units.Time, len(r.pauses))
	r.eachSpan(func(_ End, s span) {
		if s.by >= 0 {
			held[s.by] += min(s.to, r.end) - s.from
		}
	})
	return held
}

// eachSpan calls use for every time in which an egress queue was held.
func (r *Run) eachSpan(use func(e End, s span)) {
	for node := range r.ports {
		for at := range r.ports[node] {
			for class, list := range r.ports[node][at].held {
				for _, s := range list {
					use(End{node, at, uint8(class)}, s)
				}
			}
		}
	}
}

// describe fills in what is told of a cause.
func (r *Run) describe(c *Cause, held []units.Time, wanted func(int, *Cause) bool) {
	worst := r.worst(c, held, wanted)
	c.Worst = r.tree(worst, held)
	first := &r.pauses[c.roots[0]]
	if c.port < 0 {
		r.describeHost(c)
	} else {
		r.describePort(c, first)
	}
	r.victims(c, wanted)
}

// worst is the tree of a cause that held longest, of those of which a pause is wanted.
func (r *Run) worst(c *Cause, held []units.Time, wanted func(int, *Cause) bool) int {
	sums := make(map[int]units.Time)
	some := make(map[int]bool)
	for i := range r.pauses {
		sums[r.pauses[i].root] += held[i]
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

// tree describes the tree of a root.
func (r *Run) tree(root int, held []units.Time) *Tree {
	p := &r.pauses[root]
	t := &Tree{Root: r.pausing(p), Sent: p.sent, Queue: p.queue, Threshold: p.threshold, Headroom: p.headroom, Reserved: p.reserved,
		Stored: p.buffered, Filled: []Share{}, Workloads: []Share{}}
	for i := root; i < len(r.pauses); i++ {
		if x := &r.pauses[i]; x.root == root {
			t.Pauses++
			t.Held += held[i]
			t.Depth = max(t.Depth, x.depth)
			t.Ended = max(t.Ended, min(x.ended, r.end))
		}
	}
	if !r.ports[p.node][p.port].host {
		in := r.contents(End{p.node, p.port, p.class}, p.sent)
		t.Holds, t.Filled = in.total, in.flows
	} else if t.Filled = r.towards(p); len(t.Filled) > 0 {
		for _, s := range t.Filled {
			t.Holds += s.Bytes
		}
	}
	t.Workloads = workloads(t.Filled)
	t.Filled = t.Filled[:min(maxShown, len(t.Filled))]
	t.Lines = r.draw(root, held)
	return t
}

// towards are the flows whose frames wait for a host that paused.
func (r *Run) towards(p *pause) []Share {
	up := &r.ports[p.node][p.port]
	bytes := make(map[int]units.Bytes)
	total := units.Bytes(0)
	r.waiting(&r.ports[up.peer][up.peerPort], p.class, min(p.ended, r.end-1), func(f *row) {
		bytes[int(f.flow)] += units.Bytes(f.size)
		total += units.Bytes(f.size)
	})
	return r.shares(bytes, total)
}

// workloads adds shares up by workload.
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

// pausing names the ingress queue of a pause, by the node from which its frames come.
func (r *Run) pausing(p *pause) string {
	return fmt.Sprintf("%s class %d", r.portName(p.node, p.port), p.class)
}

// describeHost says why a host paused.
func (r *Run) describeHost(c *Cause) {
	c.Where = r.names[c.node]
	c.Kind = KindSlowHost
	c.What = fmt.Sprintf("%s takes frames more slowly than they come", c.Where)
	for _, f := range r.faults {
		if f.what == "stuck" && f.node == c.node {
			c.Kind = KindStuck
			c.What = fmt.Sprintf("%s is stuck from %s%s: it takes nothing and pauses", c.Where, f.from.Human(), until(f.to))
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

// describePort says why a port cannot send what comes.
func (r *Run) describePort(c *Cause, first *pause) {
	p := &r.ports[c.node][c.port]
	c.Where = r.portName(c.node, c.port)
	egress := End{c.node, c.port, first.class}
	m := &Marks{Floor: p.ecn, Queue: r.egress(egress, first.sent), On: p.ecn >= 0, Control: r.config.Hosts.CC.Name}
	m.Frames, m.Marked = r.marked(egress, max(0, first.sent-lately), first.sent)
	c.Marks = m
	bytes := make(map[int]units.Bytes)
	for in := range r.ports[c.node] {
		for _, s := range r.contents(End{c.node, in, first.class}, first.sent).flows {
			bytes[s.Flow] += s.Bytes
		}
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
	meet := fmt.Sprintf("%s from %s want to leave by %s (%s)", plural(flows, "flow"), plural(len(sources), "host"), c.Where, p.rate)
	switch {
	case p.rate < usual:
		c.Kind = KindSlowLink
		c.What = fmt.Sprintf("%s is slow: %s, where such links have %s; %s", c.Where, p.rate, usual, meet)
	case m.On && m.Queue <= m.Floor && r.heeds(bytes):
		c.Kind = KindECN
		c.What = fmt.Sprintf("%s pauses before it marks: marks begin at %s, and with %s in its queue the threshold of %s was reached; %s",
			c.Where, m.Floor.Human(), m.Queue.Human(), r.pausing(first), meet)
	case len(sources) > 1:
		c.Kind = KindIncast
		c.What = meet
	default:
		c.Kind = KindPort
		c.What = meet
	}
}

// usualRate is the rate that most links have that lead to hosts, or to switches.
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

// maxLines is how long the drawing of a tree gets.
const maxLines = 12

// draw draws a tree: who paused whom, and how long that held. Pauses of one queue because of
// the same pause are one line, and so are the hosts that one switch stopped.
func (r *Run) draw(root int, held []units.Time) []string {
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
			time += held[i]
			next = append(next, children[i]...)
		}
		line := fmt.Sprintf("%s%s paused %s at %s", strings.Repeat("  ", depth), r.names[p.node], r.names[r.ports[p.node][p.port].peer], p.sent.Human())
		if len(same) > 1 {
			line += fmt.Sprintf(" and %d more times", len(same)-1)
		}
		lines = append(lines, line+fmt.Sprintf(": held for %s", time.Human()))
		for len(next) > 0 {
			first := &r.pauses[next[0]]
			var alike, others []int
			for _, i := range next {
				if x := &r.pauses[i]; x.node == first.node && x.port == first.port && x.class == first.class {
					alike = append(alike, i)
				} else {
					others = append(others, i)
				}
			}
			visit(alike, depth+1)
			next = others
		}
	}
	visit([]int{root}, 0)
	if left := len(lines) - maxLines; left > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("... and %d more", left))
	}
	return lines
}
