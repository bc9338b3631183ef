// Package check analyses a scenario or a set of switch configurations without running it;
// it backs `xoff check`. It reports headroom that is too small, overcommitted buffers,
// classes that ports treat differently, marks that come after pauses, loops of pauses, and
// how far pauses can spread. It also compares two versions of a scenario.
package check

import (
	"math/bits"

	"github.com/xoff-net/xoff/topo"
)

// Fabric is a topology prepared for the analysis of buffer dependencies. The nodes of a
// dependency graph are channels: the directions of links between switches. A channel stands
// for the ingress queue at its end, which the ingress queue at the end of the next channel
// can block. Channels from hosts block no queue of a switch, and channels to hosts wait for
// no queue, so neither can be part of a cycle.
type Fabric struct {
	graph     *topo.Graph
	ends      []ends    // by channel
	out       [][]int32 // by switch: channels that leave it, in order of links
	slot      []int32   // by channel: its index in out of its switch
	words     int       // 64-bit words in a set of channels that leave a switch
	homes     []int32   // switches with hosts
	hosts     []int32   // by host: index of its switch in homes
	pauses    []bool    // by channel: the ingress at its end can pause
	joins     []bool    // by channel: that ingress can pause all lossless classes together; nil: none can
	level     []int32   // by switch: hops to the nearest switch with hosts
	firstPath bool      // routes use only the first equal-cost path
}

// ends are the two switches of a channel, numbered from 0. Link i has the channels 2i, from A
// to B, and 2i+1, from B to A.
type ends struct{ from, to int32 }

// NewFabric prepares a topology. Function pauses reports whether a port of a switch can pause
// its upstream; if nil, all ports can. With firstPath, routes use only the first equal-cost
// path.
func NewFabric(g *topo.Graph, pauses func(node, port int) bool, firstPath bool) *Fabric {
	switches := g.Nodes() - g.Hosts
	f := &Fabric{
		graph: g, ends: make([]ends, 2*len(g.Links)), out: make([][]int32, switches), slot: make([]int32, 2*len(g.Links)),
		hosts: make([]int32, g.Hosts), pauses: make([]bool, 2*len(g.Links)), firstPath: firstPath,
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
		f.pauses[c] = pauses == nil || pauses(g.Hosts+to, port)
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

// join sets the switch ports that pause all lossless classes together. Each class at such a
// port waits for everything that any of them waits for.
func (f *Fabric) join(is func(node, port int) bool) {
	f.joins = make([]bool, len(f.ends))
	for i, l := range f.graph.Links {
		if f.betweenSwitches(i) {
			f.joins[2*i], f.joins[2*i+1] = is(l.B, l.PortB), is(l.A, l.PortA)
		}
	}
}

// joined reports whether the classes of a channel are paused together.
func (f *Fabric) joined(c int32) bool { return f.joins != nil && f.joins[c] }

// tiers sets the level of every switch: its distance from hosts, as in a tree.
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

// betweenSwitches reports whether both ends of a link are switches.
func (f *Fabric) betweenSwitches(link int) bool { return f.graph.Links[link].A >= f.graph.Hosts }

// Dependencies is a dependency graph of queues. Every channel has one queue per layer of
// traffic, numbered channel + layer * channels; if its classes are joined, it has only the
// queue of layer 0. The graph stores, for each queue, the set of queues that its frames wait
// for, as bits by layer and slot.
type Dependencies struct {
	fabric *Fabric
	layers int
	next   []uint64
}

func newDependencies(f *Fabric, layers int) Dependencies {
	return Dependencies{f, layers, make([]uint64, len(f.ends)*layers*f.words*layers)}
}

// queues returns the number of queues.
func (d *Dependencies) queues() int { return len(d.fabric.ends) * d.layers }

// queue returns the queue of a channel in a layer.
func (d *Dependencies) queue(c int32, layer int) int32 {
	if d.fabric.joined(c) {
		layer = 0
	}
	return c + int32(layer*len(d.fabric.ends))
}

// channel returns the channel of a queue.
func (d *Dependencies) channel(q int32) int32 { return q % int32(len(d.fabric.ends)) }

// layer returns the layer of a queue: 0 if its classes are joined.
func (d *Dependencies) layer(q int32) int { return int(q) / len(d.fabric.ends) }

// of returns the set of queues that q waits for.
func (d *Dependencies) of(q int32) []uint64 {
	words := d.fabric.words * d.layers
	return d.next[int(q)*words : (int(q)+1)*words]
}

// bit returns the position of a queue in sets.
func (d *Dependencies) bit(q int32) (word int, mask uint64) {
	s := d.fabric.slot[d.channel(q)]
	return d.layer(q)*d.fabric.words + int(s/64), 1 << (s % 64)
}

// at returns the queue at a position in the set of q.
func (d *Dependencies) at(q int32, word, bit int) int32 {
	layer, words := word/d.fabric.words, word%d.fabric.words
	return d.fabric.out[d.fabric.ends[d.channel(q)].to][words*64+bit] + int32(layer*len(d.fabric.ends))
}

// waits appends the queues that q waits for to list.
func (d *Dependencies) waits(list []int32, q int32) []int32 {
	for w, word := range d.of(q) {
		for ; word != 0; word &= word - 1 {
			list = append(list, d.at(q, w, bits.TrailingZeros64(word)))
		}
	}
	return list
}

// has reports whether queue q waits for queue n.
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

// sorter sorts queues topologically: each comes before the queues it waits for.
type sorter struct {
	before  []int32 // by queue: number of unsorted queues that wait for it
	order   []int32
	waiting []int32
}

// sort returns the queues that can be sorted: all of them unless there is a cycle. The result
// is valid until the next call.
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

// unsortable returns the queues on cycles and the queues that cycles wait for. It is empty if
// there is no cycle.
func (d *Dependencies) unsortable() []int32 {
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
