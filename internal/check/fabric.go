// Package check answers questions about a scenario before it runs: whether
// headroom suffices, whether the buffer holds what is promised from it, whether
// classes are treated alike on their way, and whether pauses can close a loop.
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

// Dependencies is a graph of channels. Of each it has the set of channels for which
// frames that come by it wait, as bits by slot.
type Dependencies struct {
	fabric *Fabric
	next   []uint64
}

func newDependencies(f *Fabric) Dependencies {
	return Dependencies{f, make([]uint64, len(f.ends)*f.words)}
}

// of returns the set of a channel.
func (d *Dependencies) of(c int32) []uint64 {
	at := int(c) * d.fabric.words
	return d.next[at : at+d.fabric.words]
}

// waits appends the channels that a channel waits for.
func (d *Dependencies) waits(list []int32, c int32) []int32 {
	out := d.fabric.out[d.fabric.ends[c].to]
	for w, word := range d.of(c) {
		for ; word != 0; word &= word - 1 {
			list = append(list, out[w*64+bits.TrailingZeros64(word)])
		}
	}
	return list
}

// has tells whether a channel waits for another.
func (d *Dependencies) has(c, n int32) bool {
	s := d.fabric.slot[n]
	return d.fabric.ends[c].to == d.fabric.ends[n].from && d.of(c)[s/64]>>(s%64)&1 != 0
}

// Count returns the number of dependencies.
func (d *Dependencies) Count() int {
	n := 0
	for _, w := range d.next {
		n += bits.OnesCount64(w)
	}
	return n
}

// sorter puts channels in an order in which each comes before those it waits for.
type sorter struct {
	before  []int32 // by channel: how many wait for it and are not in order yet
	order   []int32
	waiting []int32
}

// sort returns as many channels as can be put in order: all of them unless there
// is a cycle.
func (s *sorter) sort(d *Dependencies) []int32 {
	if s.before == nil {
		s.before = make([]int32, len(d.fabric.ends))
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

// knot returns the channels that cannot be put in order: those on cycles, and those
// that cycles wait for. It is empty when there is no cycle.
func (d *Dependencies) knot() []int32 {
	var s sorter
	if len(s.sort(d)) == len(d.fabric.ends) {
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
