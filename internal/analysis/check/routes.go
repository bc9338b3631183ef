package check

import (
	"math/bits"
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/workload"
)

// Traffic is who may send to whom in some classes.
type Traffic struct {
	Classes packet.ClassMask
	// from tells by place of the receiver's and of the sender's switch among homes
	// whether there is traffic on the usual routes; nil: everyone sends to everyone.
	from [][]bool
	pins []pinned
	// layers, if not empty, are what it consists of instead: traffic of different classes,
	// to which the same happens where classes are paused together.
	layers []*Traffic
}

// parts returns its layers; one without is its own.
func (t *Traffic) parts() []*Traffic {
	if len(t.layers) > 0 {
		return t.layers
	}
	return []*Traffic{t}
}

// coupled makes one of traffic in different classes where ports pause them together.
func (f *Fabric) coupled(kinds []*Traffic) []*Traffic {
	if len(kinds) < 2 || !slices.Contains(f.joins, true) {
		return kinds
	}
	all := &Traffic{layers: kinds}
	for _, t := range kinds {
		all.Classes |= t.Classes
	}
	return []*Traffic{all}
}

// apart tells whether the classes of traffic have no cycle if ports pause them one by
// one.
func (f *Fabric) apart(t *Traffic, down []bool) bool {
	for _, part := range t.parts() {
		if list, _ := f.Cycles(part, down); len(list) > 0 {
			return false
		}
	}
	return true
}

// pinned is a route of its own, through channels.
type pinned struct {
	cause    Cause // what it is called
	channels []int32
}

// walker finds out what traffic does to the buffers on its way. It is used again
// and again.
type walker struct {
	f     *Fabric
	t     []*Traffic // by layer
	down  []bool     // by link
	dist  []int32
	queue []int32
	in    [][]int32 // by switch: channels by which traffic to the destination comes
	seen  []bool    // by switch: there is such traffic
	mask  []uint64
	deps  Dependencies
	// place is that of each queue in an order that dependencies should keep; nil:
	// no matter. Turned tells that one did not.
	place  []int32
	turned bool
}

func newWalker(f *Fabric, t *Traffic) *walker {
	n, parts := len(f.out), t.parts()
	return &walker{
		f: f, t: parts, down: make([]bool, len(f.graph.Links)), dist: make([]int32, n), in: make([][]int32, n), seen: make([]bool, n),
		mask: make([]uint64, f.words*len(parts)), deps: newDependencies(f, len(parts)),
	}
}

// Dependencies returns what traffic makes ingress queues wait for, on all shortest
// paths without the links that are down, and on the routes of its own.
func (f *Fabric) Dependencies(t *Traffic, down []bool) *Dependencies {
	w := newWalker(f, t)
	copy(w.down, down)
	w.all()
	return &w.deps
}

// all starts anew with the dependencies of all traffic.
func (w *walker) all() {
	clear(w.deps.next)
	for home := range w.f.homes {
		w.towards(home)
	}
	for layer, t := range w.t {
		for _, p := range t.pins {
			w.pin(layer, p.channels)
		}
	}
}

// distances finds the links from every switch to one, -1 where there is no way.
// Routes that never learn of failures are found as if there were none.
func (w *walker) distances(to int32) {
	for i := range w.dist {
		w.dist[i] = -1
	}
	w.dist[to] = 0
	w.queue = append(w.queue[:0], to)
	for i := 0; i < len(w.queue); i++ {
		n := w.queue[i]
		for _, c := range w.f.out[n] { // links work in both directions or not at all
			if next := w.f.ends[c].to; w.dist[next] < 0 && !w.gone(c) {
				w.dist[next] = w.dist[n] + 1
				w.queue = append(w.queue, next)
			}
		}
	}
}

func (w *walker) gone(c int32) bool { return w.down[c/2] && !w.f.first }

// towards adds the dependencies of traffic to the hosts of a switch.
func (w *walker) towards(home int) {
	w.distances(w.f.homes[home])
	for layer := range w.t {
		w.flood(layer, home)
	}
}

// flood adds those of a layer; distances are known.
func (w *walker) flood(layer, home int) {
	w.floodFrom(layer, func(from int) bool { return w.t[layer].sends(from, home) })
}

// floodFrom does so for hosts of some switches, by their places among homes.
func (w *walker) floodFrom(layer int, sends func(from int) bool) {
	for i := range w.in {
		w.in[i] = w.in[i][:0]
		w.seen[i] = false
	}
	for from, s := range w.f.homes {
		w.seen[s] = sends(from)
	}
	// From the farthest switch to the nearest, so that all that comes into one is
	// known when it is looked at.
	for i := len(w.queue) - 1; i >= 0; i-- {
		n := w.queue[i]
		if !w.seen[n] {
			continue
		}
		clear(w.mask)
		for _, c := range w.f.out[n] {
			next := w.f.ends[c].to
			if w.gone(c) || w.dist[next] != w.dist[n]-1 {
				continue
			}
			w.seen[next] = true
			w.in[next] = append(w.in[next], c)
			if w.f.holds[c] {
				w.let(layer, c)
			}
			if w.f.first {
				break
			}
		}
		for _, c := range w.in[n] {
			if w.f.holds[c] {
				w.add(w.deps.queue(c, layer))
			}
		}
	}
}

// let puts the queue of a channel into the mask.
func (w *walker) let(layer int, c int32) {
	word, bit := w.deps.bit(w.deps.queue(c, layer))
	w.mask[word] |= bit
}

// add lets a queue wait for those in the mask.
func (w *walker) add(q int32) {
	have := w.deps.of(q)
	for k, m := range w.mask {
		if m &^= have[k]; m == 0 {
			continue
		}
		have[k] |= m
		if w.place == nil || w.turned {
			continue
		}
		for ; m != 0; m &= m - 1 {
			if w.place[w.deps.at(q, k, bits.TrailingZeros64(m))] <= w.place[q] {
				w.turned = true
			}
		}
	}
}

// pin adds the dependencies of a route, up to the first link that is down.
func (w *walker) pin(layer int, channels []int32) {
	for i, c := range channels {
		if w.down[c/2] {
			return
		}
		if i > 0 && w.f.holds[channels[i-1]] && w.f.holds[c] {
			clear(w.mask)
			w.let(layer, c)
			w.add(w.deps.queue(channels[i-1], layer))
		}
	}
}

// sends tells whether hosts of a switch send to hosts of another on usual routes.
func (t *Traffic) sends(from, to int) bool {
	return from != to && (t.from == nil || t.from[to][from])
}

// Cause is traffic that makes frames wait.
type Cause struct {
	From   string `json:"from"` // a switch, for the hosts on it; of a pinned route what it names
	To     string `json:"to"`
	Pinned bool   `json:"pinned,omitempty"`
	Flow   bool   `json:"flow,omitempty"` // pinned for this flow alone, by a list of flows
	// Classes of this traffic, where others are part of the cycle.
	Classes []int `json:"classes,omitempty"`
}

// turn is a dependency.
type turn struct{ in, out int32 }

// causes finds traffic that makes each of the turns.
func (w *walker) causes(turns []turn) map[turn]Cause {
	found := make(map[turn]Cause)
	add := func(t turn, layer int, c Cause) {
		if _, known := found[t]; known {
			return
		}
		if len(w.t) > 1 {
			c.Classes = numbers(w.t[layer].Classes)
		}
		found[t] = c
	}
	for layer, part := range w.t {
		for _, p := range part.pins {
			for i := 1; i < len(p.channels); i++ {
				in, out := p.channels[i-1], p.channels[i]
				if w.down[in/2] || w.down[out/2] {
					break
				}
				add(turn{w.deps.queue(in, layer), w.deps.queue(out, layer)}, layer, p.cause)
			}
		}
	}
	for home := range w.f.homes {
		w.distances(w.f.homes[home])
		for layer := range w.t {
			w.flood(layer, home)
			for _, t := range turns {
				in, out := w.deps.channel(t.in), w.deps.channel(t.out)
				if t != (turn{w.deps.queue(in, layer), w.deps.queue(out, layer)}) || !w.comes(in) || !w.comes(out) {
					continue
				}
				add(t, layer, Cause{From: w.f.switchName(w.origin(in, layer, home)), To: w.f.switchName(w.f.homes[home])})
			}
		}
	}
	return found
}

// comes tells whether traffic that was walked last comes by a channel.
func (w *walker) comes(c int32) bool { return slices.Contains(w.in[w.f.ends[c].to], c) }

// origin returns the nearest switch whose hosts send by a channel to the home that
// was walked last.
func (w *walker) origin(c int32, layer, home int) int32 {
	for {
		s := w.f.ends[c].from
		if from := slices.Index(w.f.homes, s); from >= 0 && w.t[layer].sends(from, home) || len(w.in[s]) == 0 {
			return s
		}
		c = w.in[s][0]
	}
}

// matrix returns a table of who sends to whom, with nobody in it.
func matrix(homes int) [][]bool {
	m := make([][]bool, homes)
	for i := range m {
		m[i] = make([]bool, homes)
	}
	return m
}

// route returns the channels of a route through switches. Where it names no port, it
// takes the first of parallel cables, as the simulator does.
func (f *Fabric) route(hops []workload.Hop) []int32 {
	var channels []int32
	for i := 1; i < len(hops); i++ {
		from, to := int(hops[i-1].Node)-f.graph.Hosts, int(hops[i].Node)-f.graph.Hosts
		at := slices.IndexFunc(f.out[from], func(c int32) bool {
			return int(f.ends[c].to) == to && (hops[i-1].Port < 0 || int(hops[i-1].Port) == f.leaves(c))
		})
		channels = append(channels, f.out[from][at])
	}
	return channels
}

// leaves returns the port of its switch at which a channel begins.
func (f *Fabric) leaves(c int32) int {
	l := &f.graph.Links[c/2]
	if c%2 == 0 {
		return l.PortA
	}
	return l.PortB
}
