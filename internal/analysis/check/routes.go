package check

import (
	"math/bits"
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/workload"
)

// Traffic describes who may send to whom in some classes.
type Traffic struct {
	Classes packet.ClassMask
	// from[to][from] reports traffic on shortest paths between the hosts of two switches,
	// given as indices in Fabric.homes. If nil, everyone sends to everyone.
	from [][]bool
	pins []pinned
	// layers, if not empty, replace from and pins: each is the traffic of some classes.
	// They interact at ports that pause classes together.
	layers []*Traffic
}

// parts returns the layers of t, or t itself if it has none.
func (t *Traffic) parts() []*Traffic {
	if len(t.layers) > 0 {
		return t.layers
	}
	return []*Traffic{t}
}

// coupled combines the traffic of different classes if any port pauses classes together.
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

// acyclicPerClass reports whether traffic would have no cycle if ports paused its classes
// separately.
func (f *Fabric) acyclicPerClass(t *Traffic, down []bool) bool {
	for _, part := range t.parts() {
		if list, _ := f.Cycles(part, down); len(list) > 0 {
			return false
		}
	}
	return true
}

// pinned is a pinned route as a list of channels.
type pinned struct {
	cause    Cause // how findings name it
	channels []int32
}

// walker computes the buffer dependencies of traffic. It is reusable.
type walker struct {
	f     *Fabric
	t     []*Traffic // by layer
	down  []bool     // by link
	dist  []int32    // by switch: hops to the destination; -1: unreachable
	queue []int32    // reachable switches, nearest first
	in    [][]int32  // by switch: channels on which traffic to the destination arrives
	seen  []bool     // by switch: it has such traffic
	mask  []uint64
	deps  Dependencies
	// rank is the position of each queue in an expected order; nil: none. If a new
	// dependency contradicts it, outOfOrder is set.
	rank       []int32
	outOfOrder bool
}

func newWalker(f *Fabric, t *Traffic) *walker {
	n, parts := len(f.out), t.parts()
	return &walker{
		f: f, t: parts, down: make([]bool, len(f.graph.Links)), dist: make([]int32, n), in: make([][]int32, n), seen: make([]bool, n),
		mask: make([]uint64, f.words*len(parts)), deps: newDependencies(f, len(parts)),
	}
}

// Dependencies returns the buffer dependencies of traffic when some links are down: on all
// remaining shortest paths and on pinned routes.
func (f *Fabric) Dependencies(t *Traffic, down []bool) *Dependencies {
	w := newWalker(f, t)
	copy(w.down, down)
	w.all()
	return &w.deps
}

// all computes the dependencies of all traffic from scratch.
func (w *walker) all() {
	clear(w.deps.next)
	for home := range w.f.homes {
		w.addDestination(home)
	}
	for layer, t := range w.t {
		for _, p := range t.pins {
			w.pin(layer, p.channels)
		}
	}
}

// distances sets the hops from every switch to one switch. Static routes ignore failed links.
func (w *walker) distances(to int32) {
	for i := range w.dist {
		w.dist[i] = -1
	}
	w.dist[to] = 0
	w.queue = append(w.queue[:0], to)
	for i := 0; i < len(w.queue); i++ {
		n := w.queue[i]
		for _, c := range w.f.out[n] { // links fail in both directions at once
			if next := w.f.ends[c].to; w.dist[next] < 0 && !w.isDown(c) {
				w.dist[next] = w.dist[n] + 1
				w.queue = append(w.queue, next)
			}
		}
	}
}

func (w *walker) isDown(c int32) bool { return w.down[c/2] && !w.f.firstPath }

// addDestination adds the dependencies of traffic to the hosts of a switch.
func (w *walker) addDestination(home int) {
	w.distances(w.f.homes[home])
	for layer := range w.t {
		w.flood(layer, home)
	}
}

// flood adds the dependencies of a layer's traffic to home. Call distances first.
func (w *walker) flood(layer, home int) {
	w.floodFrom(layer, func(from int) bool { return w.t[layer].sends(from, home) })
}

// floodFrom is flood with senders given by sends, for indices in Fabric.homes.
func (w *walker) floodFrom(layer int, sends func(from int) bool) {
	for i := range w.in {
		w.in[i] = w.in[i][:0]
		w.seen[i] = false
	}
	for from, s := range w.f.homes {
		w.seen[s] = sends(from)
	}
	// From the farthest switch to the nearest: all channels into a switch are known when it
	// is visited.
	for i := len(w.queue) - 1; i >= 0; i-- {
		n := w.queue[i]
		if !w.seen[n] {
			continue
		}
		clear(w.mask)
		for _, c := range w.f.out[n] {
			next := w.f.ends[c].to
			if w.isDown(c) || w.dist[next] != w.dist[n]-1 {
				continue
			}
			w.seen[next] = true
			w.in[next] = append(w.in[next], c)
			if w.f.pauses[c] {
				w.addToMask(layer, c)
			}
			if w.f.firstPath {
				break
			}
		}
		for _, c := range w.in[n] {
			if w.f.pauses[c] {
				w.addDeps(w.deps.queue(c, layer))
			}
		}
	}
}

// addToMask adds the queue of a channel to the mask.
func (w *walker) addToMask(layer int, c int32) {
	word, bit := w.deps.bit(w.deps.queue(c, layer))
	w.mask[word] |= bit
}

// addDeps makes a queue wait for the queues in the mask.
func (w *walker) addDeps(q int32) {
	have := w.deps.of(q)
	for k, m := range w.mask {
		if m &^= have[k]; m == 0 {
			continue
		}
		have[k] |= m
		if w.rank == nil || w.outOfOrder {
			continue
		}
		for ; m != 0; m &= m - 1 {
			if w.rank[w.deps.at(q, k, bits.TrailingZeros64(m))] <= w.rank[q] {
				w.outOfOrder = true
			}
		}
	}
}

// pin adds the dependencies of a pinned route, up to the first link that is down.
func (w *walker) pin(layer int, channels []int32) {
	for i, c := range channels {
		if w.down[c/2] {
			return
		}
		if i > 0 && w.f.pauses[channels[i-1]] && w.f.pauses[c] {
			clear(w.mask)
			w.addToMask(layer, c)
			w.addDeps(w.deps.queue(channels[i-1], layer))
		}
	}
}

// sends reports whether hosts of one switch send to hosts of another on shortest paths.
func (t *Traffic) sends(from, to int) bool {
	return from != to && (t.from == nil || t.from[to][from])
}

// Cause is traffic that causes a buffer dependency.
type Cause struct {
	From   string `json:"from"` // switch of the senders; for a pinned route, its from
	To     string `json:"to"`   // switch of the receivers; for a pinned route, its to
	Pinned bool   `json:"pinned,omitempty"`
	Flow   bool   `json:"flow,omitempty"` // a list of flows sets the route of this flow
	// Classes are the classes of this traffic, if the cycle has several.
	Classes []int `json:"classes,omitempty"`
}

// turn is a dependency: frames in queue in wait for queue out.
type turn struct{ in, out int32 }

// causes returns an example of traffic for each of the turns.
func (w *walker) causes(turns []turn) map[turn]Cause {
	found := make(map[turn]Cause)
	add := func(t turn, layer int, c Cause) {
		if _, known := found[t]; known {
			return
		}
		if len(w.t) > 1 {
			c.Classes = classIDs(w.t[layer].Classes)
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
				if t != (turn{w.deps.queue(in, layer), w.deps.queue(out, layer)}) || !w.carries(in) || !w.carries(out) {
					continue
				}
				add(t, layer, Cause{From: w.f.switchName(w.origin(in, layer, home)), To: w.f.switchName(w.f.homes[home])})
			}
		}
	}
	return found
}

// carries reports whether a channel carries traffic to the destination of the last flood.
func (w *walker) carries(c int32) bool { return slices.Contains(w.in[w.f.ends[c].to], c) }

// origin returns the nearest switch whose hosts send through a channel to home, the
// destination of the last flood.
func (w *walker) origin(c int32, layer, home int) int32 {
	for {
		s := w.f.ends[c].from
		if from := slices.Index(w.f.homes, s); from >= 0 && w.t[layer].sends(from, home) || len(w.in[s]) == 0 {
			return s
		}
		c = w.in[s][0]
	}
}

// matrix returns an empty table of who sends to whom.
func matrix(homes int) [][]bool {
	m := make([][]bool, homes)
	for i := range m {
		m[i] = make([]bool, homes)
	}
	return m
}

// route returns the channels of a route. A hop without a port takes the first of parallel
// cables, as in the simulator.
func (f *Fabric) route(hops []workload.Hop) []int32 {
	var channels []int32
	for i := 1; i < len(hops); i++ {
		from, to := int(hops[i-1].Node)-f.graph.Hosts, int(hops[i].Node)-f.graph.Hosts
		at := slices.IndexFunc(f.out[from], func(c int32) bool {
			return int(f.ends[c].to) == to && (hops[i-1].Port < 0 || int(hops[i-1].Port) == f.egressPort(c))
		})
		channels = append(channels, f.out[from][at])
	}
	return channels
}

// egressPort returns the port of its switch at which a channel begins.
func (f *Fabric) egressPort(c int32) int {
	l := &f.graph.Links[c/2]
	if c%2 == 0 {
		return l.PortA
	}
	return l.PortB
}
