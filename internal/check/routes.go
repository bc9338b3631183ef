package check

import (
	"slices"

	"github.com/xoff-net/xoff/workload"
)

// Traffic is who may send to whom in some classes.
type Traffic struct {
	Classes []uint8
	// from tells by place of the receiver's and of the sender's switch among homes
	// whether there is traffic on the usual routes; nil: everyone sends to everyone.
	from [][]bool
	pins []pinned
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
	t     *Traffic
	down  []bool // by link
	dist  []int32
	queue []int32
	in    [][]int32 // by switch: channels by which traffic to the destination comes
	seen  []bool    // by switch: there is such traffic
	mask  []uint64
	deps  Dependencies
	// place is that of each channel in an order that dependencies should keep; nil:
	// no matter. Turned tells that one did not.
	place  []int32
	turned bool
}

func newWalker(f *Fabric, t *Traffic) *walker {
	n := len(f.out)
	return &walker{
		f: f, t: t, down: make([]bool, len(f.graph.Links)), dist: make([]int32, n), in: make([][]int32, n), seen: make([]bool, n),
		mask: make([]uint64, f.words), deps: newDependencies(f),
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
	for _, p := range w.t.pins {
		w.pin(p.channels)
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
	to := w.f.homes[home]
	w.distances(to)
	for i := range w.in {
		w.in[i] = w.in[i][:0]
		w.seen[i] = false
	}
	for from, s := range w.f.homes {
		w.seen[s] = w.t.sends(from, home)
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
				w.mask[w.f.slot[c]/64] |= 1 << (w.f.slot[c] % 64)
			}
			if w.f.first {
				break
			}
		}
		for _, c := range w.in[n] {
			if w.f.holds[c] {
				w.add(c, w.mask)
			}
		}
	}
}

// add lets a channel wait for a set of others.
func (w *walker) add(c int32, mask []uint64) {
	have := w.deps.of(c)
	for k, m := range mask {
		if m &^= have[k]; m == 0 {
			continue
		}
		have[k] |= m
		if w.place == nil || w.turned {
			continue
		}
		out := w.f.out[w.f.ends[c].to]
		for s := range out[k*64 : min(len(out), k*64+64)] {
			if m>>s&1 != 0 && w.place[out[k*64+s]] <= w.place[c] {
				w.turned = true
			}
		}
	}
}

// pin adds the dependencies of a route, up to the first link that is down.
func (w *walker) pin(channels []int32) {
	for i, c := range channels {
		if w.down[c/2] {
			return
		}
		if i > 0 && w.f.holds[channels[i-1]] && w.f.holds[c] {
			clear(w.mask)
			w.mask[w.f.slot[c]/64] |= 1 << (w.f.slot[c] % 64)
			w.add(channels[i-1], w.mask)
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
}

// turn is a dependency.
type turn struct{ in, out int32 }

// causes finds traffic that makes each of the turns.
func (w *walker) causes(turns []turn) map[turn]Cause {
	found := make(map[turn]Cause)
	for _, p := range w.t.pins {
		for i := 1; i < len(p.channels); i++ {
			t := turn{p.channels[i-1], p.channels[i]}
			if w.down[t.in/2] || w.down[t.out/2] {
				break
			}
			if _, known := found[t]; !known {
				found[t] = p.cause
			}
		}
	}
	for home := range w.f.homes {
		w.towards(home)
		for _, t := range turns {
			if _, known := found[t]; known || !slices.Contains(w.in[w.f.ends[t.in].to], t.in) || !slices.Contains(w.in[w.f.ends[t.out].to], t.out) {
				continue
			}
			found[t] = Cause{From: w.f.switchName(w.origin(t.in, home)), To: w.f.switchName(w.f.homes[home])}
		}
	}
	return found
}

// origin returns the nearest switch whose hosts send by a channel to the home that
// was walked last.
func (w *walker) origin(c int32, home int) int32 {
	for {
		s := w.f.ends[c].from
		if from := slices.Index(w.f.homes, s); from >= 0 && w.t.sends(from, home) || len(w.in[s]) == 0 {
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
