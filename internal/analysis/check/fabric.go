// Package check answers questions about a scenario before it runs: whether
// headroom suffices, whether the buffer holds what is promised from it, whether
// classes are treated alike on their way, whether marks come before pauses, whether
// pauses can close a loop, how far they can spread, and what a change does to all that.
package check

import (
	"math/bits"

	"github.com/xoff-net/xoff/topo"
)

// Fabric is a graph prepared for questions about its buffer dependencies. The
// nodes of a dependency graph are channels, the directions of links between
// switches, and stand for the ingress queue at their end: it can be held up by the
// ingress queue at the end of the next channel. Channels from hosts are held up but
// hold up no queue of a switch, and channels to hosts wait for nobody's queue, so
// neither can be part of a cycle.
type Fabric struct {
	graph *topo.Graph
	ends  []ends    // by channel
	out   [][]int32 // by switch: channels that leave it, in order of links
	slot  []int32   // by channel: its place among those that leave its switch
	words int       // of the set of channels that leave a switch
	homes []int32   // switches with hosts
	hosts []int32   // by host: place of its switch among homes
	holds []bool    // by channel: the ingress at its end pauses
	joins []bool    // by channel: it can pause all lossless classes together; nil: none does
	level []int32   // by switch: links to the nearest one with hosts
	first bool      // routes are the first of the equal-cost paths only
}

// ends are switches, numbered from 0. The number of a channel is twice that of its
// link, plus one from B to A.
type ends struct{ from, to int32 }

// NewFabric prepares a graph. Pauses says whether a port of a switch pauses its
// upstream; nil: all do. First restricts routes to the first of the equal-cost
// paths.
func NewFabric(g *topo.Graph, pauses func(node, port int) bool, first bool) *Fabric {
	switches := g.Nodes() - g.Hosts
	f := &Fabric{
		graph: g, ends: make([]ends, 2*len(g.Links)), out: make([][]int32, switches), slot: make([]int32, 2*len(g.Links)),
		hosts: make([]int32, g.Hosts), holds: make([]bool, 2*len(g.Links)), first: first,
	}
	home := make([]int32, switches)
	for i := range home {
		home[i] = -1
	}
	add := func(number, from, to, port int) {
		c := int32(number)
		f.ends[c] = ends{int32(from), int32(to)}
		f.slot[c] = int32(len(f.out[from]))
		f.out[from] = append(f.out[from], c)
		f.holds[c] = pauses == nil || pauses(g.Hosts+to, port)
		f.words = max(f.words, len(f.out[from])/64+1)
	}
	for i, l := range g.Links {
		a, b := l.A-g.Hosts, l.B-g.Hosts
		if a >= 0 {
			add(2*i, a, b, l.PortB)
			add(2*i+1, b, a, l.PortA)
			continue
		}
		if home[b] < 0 {
			home[b] = int32(len(f.homes))
			f.homes = append(f.homes, int32(b))
		}
		f.hosts[l.A] = home[b]
	}
	f.tiers()
	return f
}

// join says which ports of switches pause all lossless classes together. What waits
// there in one class waits for what the others wait for.
func (f *Fabric) join(is func(node, port int) bool) {
	f.joins = make([]bool, len(f.ends))
	for i, l := range f.graph.Links {
		if f.between(i) {
			f.joins[2*i], f.joins[2*i+1] = is(l.B, l.PortB), is(l.A, l.PortA)
		}
	}
}

// joined tells whether the classes of a channel are paused together.
func (f *Fabric) joined(c int32) bool { return f.joins != nil && f.joins[c] }

// tiers finds how far switches are from hosts: the levels of a tree.
func (f *Fabric) tiers() {
	f.level = make([]int32, len(f.out))
	for i := range f.level {
		f.level[i] = -1
	}
	queue := append([]int32(nil), f.homes...)
	for _, h := range queue {
		f.level[h] = 0
	}
	for i := 0; i < len(queue); i++ {
		for _, c := range f.out[queue[i]] {
			if to := f.ends[c].to; f.level[to] < 0 {
				f.level[to] = f.level[queue[i]] + 1
				queue = append(queue, to)
			}
		}
	}
}

func (f *Fabric) switchName(s int32) string { return f.graph.Names[f.graph.Hosts+int(s)] }

// between tells whether a link joins two switches.
func (f *Fabric) between(link int) bool { return f.graph.Links[link].A >= f.graph.Hosts }

// Dependencies is a graph of queues: of channels, once for each layer of traffic. The
// number of a queue is that of its channel, plus that of all channels for each layer
// before its own; a channel whose classes are joined has one queue, in layer 0. Of each
// queue the graph has the set of queues for which frames that come by it wait, as bits
// by layer and slot.
type Dependencies struct {
	fabric *Fabric
	layers int
	next   []uint64
}

func newDependencies(f *Fabric, layers int) Dependencies {
	return Dependencies{f, layers, make([]uint64, len(f.ends)*layers*f.words*layers)}
}

// queues counts them.
func (d *Dependencies) queues() int { return len(d.fabric.ends) * d.layers }

// queue returns that of a channel in a layer.
func (d *Dependencies) queue(c int32, layer int) int32 {
	if d.fabric.joined(c) {
		layer = 0
	}
	return c + int32(layer*len(d.fabric.ends))
}

// channel returns that of a queue.
func (d *Dependencies) channel(q int32) int32 { return q % int32(len(d.fabric.ends)) }

// layer returns that of a queue; of one whose classes are joined, 0.
func (d *Dependencies) layer(q int32) int { return int(q) / len(d.fabric.ends) }

// of returns the set of a queue.
func (d *Dependencies) of(q int32) []uint64 {
	words := d.fabric.words * d.layers
	return d.next[int(q)*words : (int(q)+1)*words]
}

// bit returns where a queue is in sets.
func (d *Dependencies) bit(q int32) (word int, mask uint64) {
	s := d.fabric.slot[d.channel(q)]
	return d.layer(q)*d.fabric.words + int(s/64), 1 << (s % 64)
}

// at returns the queue at a place in sets, of those at the end of another's.
func (d *Dependencies) at(q int32, word, bit int) int32 {
	layer, words := word/d.fabric.words, word%d.fabric.words
	return d.fabric.out[d.fabric.ends[d.channel(q)].to][words*64+bit] + int32(layer*len(d.fabric.ends))
}

// waits appends the queues that a queue waits for.
func (d *Dependencies) waits(list []int32, q int32) []int32 {
	for w, word := range d.of(q) {
		for ; word != 0; word &= word - 1 {
			list = append(list, d.at(q, w, bits.TrailingZeros64(word)))
		}
	}
	return list
}

// has tells whether a queue waits for another.
func (d *Dependencies) has(q, n int32) bool {
	word, mask := d.bit(n)
	return d.fabric.ends[d.channel(q)].to == d.fabric.ends[d.channel(n)].from && d.of(q)[word]&mask != 0
}

// Count returns the number of dependencies.
func (d *Dependencies) Count() int {
	n := 0
	for _, w := range d.next {
		n += bits.OnesCount64(w)
	}
	return n
}

// sorter puts queues in an order in which each comes before those it waits for.
type sorter struct {
	before  []int32 // by queue: how many wait for it and are not in order yet
	order   []int32
	waiting []int32
}

// sort returns as many queues as can be put in order: all of them unless there
// is a cycle.
func (s *sorter) sort(d *Dependencies) []int32 {
	if s.before == nil {
		s.before = make([]int32, d.queues())
	}
	clear(s.before)
	s.order = s.order[:0]
	for c := range s.before {
		s.waiting = d.waits(s.waiting[:0], int32(c))
		for _, n := range s.waiting {
			s.before[n]++
		}
	}
	for c, n := range s.before {
		if n == 0 {
			s.order = append(s.order, int32(c))
		}
	}
	for i := 0; i < len(s.order); i++ {
		s.waiting = d.waits(s.waiting[:0], s.order[i])
		for _, n := range s.waiting {
			if s.before[n]--; s.before[n] == 0 {
				s.order = append(s.order, n)
			}
		}
	}
	return s.order
}

// knot returns the queues that cannot be put in order: those on cycles, and those
// that cycles wait for. It is empty when there is no cycle.
func (d *Dependencies) knot() []int32 {
	var s sorter
	if len(s.sort(d)) == d.queues() {
		return nil
	}
	var left []int32
	for c, n := range s.before {
		if n > 0 {
			left = append(left, int32(c))
		}
	}
	return left
}
