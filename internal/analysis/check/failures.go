package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Failure is a set of failed links that causes cyclic buffer dependencies after rerouting.
type Failure struct {
	Links  []string `json:"links"`
	Cycles []Cycle  `json:"cycles"`
	More   bool     `json:"more_cycles,omitempty"`

	down []bool
}

// Failures is the result of checking sets of failed links.
type Failures struct {
	AtMost int    `json:"at_most"` // links that fail at the same time
	Links  int    `json:"links"`   // links that can fail
	Sets   uint64 `json:"sets"`    // sets of failed links that were checked
	Cyclic int    `json:"cyclic"`  // minimal sets that cause cycles

	listed []Failure // the first maxListed of them
}

// maxListed is the maximum number of sets of failed links that are described.
const maxListed = 100

// Failures checks every set of at most k failed links between switches, in addition to the
// links that are down already, with routes around them. It skips sets of which a subset
// causes a cycle. If progress is not nil, several goroutines call it with the numbers of
// checked and of all sets. Without failures, the fabric must have no cycle.
func (f *Fabric) Failures(ctx context.Context, t *Traffic, k, workers int, down []bool, progress func(done, all uint64)) (*Failures, error) {
	var links []int32
	for i := range f.graph.Links {
		if f.betweenSwitches(i) && (down == nil || !down[i]) {
			links = append(links, int32(i))
		}
	}
	k = min(k, len(links))
	all, ok := sets(len(links), k)
	if !ok {
		return nil, fmt.Errorf("%d failures among %d links are too many sets to check (expected at most %d sets); fix: use fewer failures", k, len(links), maxSets)
	}
	healthy := newHealthy(f, t, down)
	out := &Failures{AtMost: k, Links: len(links), Sets: all}
	var done atomic.Uint64
	var cyclic [][]int32
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
		cyclic = append(cyclic, found...)
	}
	out.Cyclic = len(cyclic)
	for _, set := range cyclic[:min(len(cyclic), maxListed)] {
		x := Failure{down: make([]bool, len(f.graph.Links))}
		copy(x.down, down)
		for _, l := range set {
			x.down[l] = true
			x.Links = append(x.Links, f.graph.LinkName(int(l)))
		}
		x.Cycles, x.More = f.Cycles(t, x.down)
		out.listed = append(out.listed, x)
	}
	return out, nil
}

// maxSets is the maximum number of sets of failed links; checking more takes too long.
const maxSets = 1_000_000_000

// sets returns the number of sets of 1 to k out of n; false if it exceeds maxSets.
func sets(n, k int) (uint64, bool) {
	sum, size := 0.0, 1.0
	for i := range k {
		size = math.Round(size * float64(n-i) / float64(i+1)) // sets of i+1
		if sum += size; sum > maxSets {
			return 0, false
		}
	}
	return uint64(sum), true
}

func key(set []int32) string { return fmt.Sprint(set) }

// healthy is the fabric before failures. When a link fails, routes to most destinations only
// lose paths: distances stay the same, and their remaining dependencies existed before. New
// dependencies arise only for destinations to which a switch has lost its last shortest
// path. The old dependencies plus the new ones of these few destinations are therefore a
// superset; if it has no cycle, the set of failed links is harmless.
type healthy struct {
	f        *Fabric
	t        *Traffic
	down     []bool
	deps     Dependencies
	rank     []int32   // by queue: position in a topological order of deps
	dist     [][]int32 // by destination and switch: hops; nil: too large to keep
	nextHops [][]int32 // by destination and switch: number of next hops
}

// maxKept is the maximum number of distances that are kept.
const maxKept = 1 << 26

func newHealthy(f *Fabric, t *Traffic, down []bool) *healthy {
	w := newWalker(f, t)
	copy(w.down, down)
	w.all()
	h := &healthy{f: f, t: t, down: w.down, deps: w.deps, rank: make([]int32, w.deps.queues())}
	var s sorter
	for i, c := range s.sort(&h.deps) {
		h.rank[c] = int32(i)
	}
	if len(f.homes)*len(f.out) > maxKept {
		return h
	}
	for _, to := range f.homes {
		w.distances(to)
		hops := make([]int32, len(f.out))
		for c, e := range f.ends {
			if f.betweenSwitches(c/2) && !w.isDown(int32(c)) && w.dist[e.to] >= 0 && w.dist[e.from] == w.dist[e.to]+1 {
				hops[e.from]++
			}
		}
		h.dist = append(h.dist, slices.Clone(w.dist))
		h.nextHops = append(h.nextHops, hops)
	}
	return h
}

// affected reports whether any distance to a destination may change when the set of links
// fails.
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
		if lost == h.nextHops[home][upper] {
			return true
		}
	}
	return false
}

// upper returns the end of a link that is farther from the destination and sends across it;
// false if neither does.
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

// cyclic reports whether the failure of a set of links causes cycles.
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
	w.rank, w.outOfOrder = h.rank, false
	for home := range h.f.homes {
		if h.affected(home, set) {
			w.addDestination(home)
		}
	}
	if !w.outOfOrder || len(s.sort(&w.deps)) == w.deps.queues() {
		return false
	}
	w.rank = nil
	w.all()
	return len(s.sort(&w.deps)) < w.deps.queues()
}

// search returns the sets of the given size that cause cycles, in order. It skips sets with a
// known subset.
func (h *healthy) search(ctx context.Context, links []int32, size, workers int, known map[string]bool, step func(n uint64)) ([][]int32, error) {
	var mu sync.Mutex
	var cyclic [][]int32
	first := make(chan int) // index of the first link of the sets of a task
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w, s := newWalker(h.f, h.t), &sorter{}
			copy(w.down, h.down)
			for i := range first {
				subsets(links[i+1:], append(make([]int32, 0, size), links[i]), size, func(set []int32) bool {
					if !hasKnownSubset(known, set) && h.cyclic(w, s, set) {
						mu.Lock()
						cyclic = append(cyclic, slices.Clone(set))
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
	slices.SortFunc(cyclic, slices.Compare[[]int32])
	return cyclic, ctx.Err()
}

// subsets calls use with every set of the given size that starts with chosen and continues
// with links, until use returns false.
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

// hasKnownSubset reports whether a proper subset of set is known.
func hasKnownSubset(known map[string]bool, set []int32) bool {
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
