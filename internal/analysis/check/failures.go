package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Failure is a set of failed links after which, once routes have followed, there
// are cyclic buffer dependencies.
type Failure struct {
	Links  []string `json:"links"`
	Cycles []Cycle  `json:"cycles"`
	More   bool     `json:"more_cycles,omitempty"`

	down []bool
}

// Failures is what was found about failed links.
type Failures struct {
	AtMost int    `json:"at_most"` // links that fail together
	Links  int    `json:"links"`   // that can fail
	Sets   uint64 `json:"sets"`    // of failed links that were looked at
	Cyclic int    `json:"cyclic"`  // of these that give cycles, without those that contain a smaller one

	listed []Failure // the first of these
}

// maxListed is how many sets of failed links are described.
const maxListed = 100

// Failures looks at every set of at most k failed links between switches, on top of
// those that are down already, with routes around them. A set is not looked at when
// part of it is enough for a cycle. Progress, if not nil, is called
// from several goroutines with the number of sets done and that of all. The fabric itself has no cycle.
func (f *Fabric) Failures(ctx context.Context, t *Traffic, k, workers int, down []bool, progress func(done, all uint64)) (*Failures, error) {
	var links []int32
	for i := range f.graph.Links {
		if f.between(i) && (down == nil || !down[i]) {
			links = append(links, int32(i))
		}
	}
	k = min(k, len(links))
	all, ok := sets(len(links), k)
	if !ok {
		return nil, fmt.Errorf("%d of %d links can fail in more than %d ways; allowed: fewer failures at the same time", k, len(links), maxSets)
	}
	healthy := newHealthy(f, t, down)
	out := &Failures{AtMost: k, Links: len(links), Sets: all}
	var done atomic.Uint64
	var bad [][]int32
	known := make(map[string]bool)
	for size := 1; size <= k; size++ {
		found, err := healthy.search(ctx, links, size, workers, known, func(n uint64) {
			if n = done.Add(n); progress != nil {
				progress(n, all)
			}
		})
		if err != nil {
			return nil, err
		}
		for _, set := range found {
			known[key(set)] = true
		}
		bad = append(bad, found...)
	}
	out.Cyclic = len(bad)
	for _, set := range bad[:min(len(bad), maxListed)] {
		b := Failure{down: make([]bool, len(f.graph.Links))}
		copy(b.down, down)
		for _, l := range set {
			b.down[l] = true
			b.Links = append(b.Links, f.graph.LinkName(int(l)))
		}
		b.Cycles, b.More = f.Cycles(t, b.down)
		out.listed = append(out.listed, b)
	}
	return out, nil
}

// maxSets is more than anyone waits for.
const maxSets = 1_000_000_000

// sets counts the sets of 1 to k of n; false: there are too many.
func sets(n, k int) (uint64, bool) {
	sum, ways := 0.0, 1.0
	for i := range k {
		ways = math.Round(ways * float64(n-i) / float64(i+1))
		if sum += ways; sum > maxSets {
			return 0, false
		}
	}
	return uint64(sum), true
}

func key(set []int32) string { return fmt.Sprint(set) }

// healthy is the fabric before failures. When a link fails, routes to most
// destinations only lose paths: no distance changes, and what is left of their
// dependencies was there before. New ones come from destinations of which a switch
// has lost its last shortest path. So the old dependencies, with the new ones of
// those few destinations, contain all that there are; as long as they have no
// cycle, nothing else must be looked at.
type healthy struct {
	f     *Fabric
	t     *Traffic
	down  []bool
	deps  Dependencies
	place []int32   // of each queue in an order that dependencies keep
	dist  [][]int32 // by destination and switch; nil: too many to keep
	ways  [][]int32 // the same: how many next hops there are
}

// maxKept bounds the numbers that are kept about the healthy fabric.
const maxKept = 1 << 26

func newHealthy(f *Fabric, t *Traffic, down []bool) *healthy {
	w := newWalker(f, t)
	copy(w.down, down)
	w.all()
	h := &healthy{f: f, t: t, down: w.down, deps: w.deps, place: make([]int32, w.deps.queues())}
	var s sorter
	for i, c := range s.sort(&h.deps) {
		h.place[c] = int32(i)
	}
	if len(f.homes)*len(f.out) > maxKept {
		return h
	}
	for _, to := range f.homes {
		w.distances(to)
		ways := make([]int32, len(f.out))
		for c, e := range f.ends {
			if f.between(c/2) && !w.gone(int32(c)) && w.dist[e.to] >= 0 && w.dist[e.from] == w.dist[e.to]+1 {
				ways[e.from]++
			}
		}
		h.dist = append(h.dist, slices.Clone(w.dist))
		h.ways = append(h.ways, ways)
	}
	return h
}

// affected tells whether distances to a destination change.
func (h *healthy) affected(home int, set []int32) bool {
	if h.dist == nil {
		return true
	}
	dist := h.dist[home]
	for i, l := range set {
		upper, ok := h.upper(dist, l)
		if !ok {
			continue
		}
		lost := int32(1)
		for _, other := range set[:i] {
			if u, ok := h.upper(dist, other); ok && u == upper {
				lost++
			}
		}
		if lost == h.ways[home][upper] {
			return true
		}
	}
	return false
}

// upper returns the end of a link that uses it on the way to a destination.
func (h *healthy) upper(dist []int32, link int32) (int32, bool) {
	e := h.f.ends[2*link]
	switch a, b := dist[e.from], dist[e.to]; {
	case a == b || a < 0 || b < 0:
		return 0, false
	case a > b:
		return e.from, true
	}
	return e.to, true
}

// cyclic tells whether there are cycles when a set of links has failed.
func (h *healthy) cyclic(w *walker, s *sorter, set []int32) bool {
	for _, l := range set {
		w.down[l] = true
	}
	defer func() {
		for _, l := range set {
			w.down[l] = false
		}
	}()
	copy(w.deps.next, h.deps.next)
	for _, l := range set {
		for layer := range w.deps.layers {
			clear(w.deps.of(w.deps.queue(2*l, layer)))
			clear(w.deps.of(w.deps.queue(2*l+1, layer)))
		}
	}
	w.place, w.turned = h.place, false
	for home := range h.f.homes {
		if h.affected(home, set) {
			w.towards(home)
		}
	}
	if !w.turned || len(s.sort(&w.deps)) == w.deps.queues() {
		return false
	}
	w.place = nil
	w.all()
	return len(s.sort(&w.deps)) < w.deps.queues()
}

// search returns the sets of a size that give cycles, in order.
func (h *healthy) search(ctx context.Context, links []int32, size, workers int, known map[string]bool, step func(n uint64)) ([][]int32, error) {
	var mu sync.Mutex
	var bad [][]int32
	first := make(chan int) // place of the first link of the set: one task each
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w, s := newWalker(h.f, h.t), &sorter{}
			copy(w.down, h.down)
			for i := range first {
				subsets(links[i+1:], append(make([]int32, 0, size), links[i]), size, func(set []int32) bool {
					if !contains(known, set) && h.cyclic(w, s, set) {
						mu.Lock()
						bad = append(bad, slices.Clone(set))
						mu.Unlock()
					}
					step(1)
					return ctx.Err() == nil
				})
			}
		})
	}
	for i := range links {
		if ctx.Err() != nil {
			break
		}
		first <- i
	}
	close(first)
	wg.Wait()
	slices.SortFunc(bad, slices.Compare[[]int32])
	return bad, ctx.Err()
}

// subsets calls use with every set of a size that continues the chosen links, until
// it returns false.
func subsets(links, chosen []int32, size int, use func([]int32) bool) bool {
	if len(chosen) == size {
		return use(chosen)
	}
	for i, l := range links {
		if !subsets(links[i+1:], append(chosen, l), size, use) {
			return false
		}
	}
	return true
}

// contains tells whether a part of a set is known.
func contains(known map[string]bool, set []int32) bool {
	if len(known) == 0 {
		return false
	}
	part := make([]int32, 0, len(set))
	for bits := 1; bits < 1<<len(set)-1; bits++ {
		part = part[:0]
		for i, l := range set {
			if bits>>i&1 != 0 {
				part = append(part, l)
			}
		}
		if known[key(part)] {
			return true
		}
	}
	return false
}
