package workload

import (
	"slices"
	"strconv"
	"strings"
)

// Placer is a generator of a job: its ranks are placed on GPUs.
type Placer interface {
	// Place returns the GPU of each rank, as indexes in Fabric.GPUs. free are the GPUs that no
	// earlier job has, on hosts of `from`, in order.
	Place(e *Env, free []int32) ([]int32, error)
}

// placements are the ways to place ranks, besides a list of GPUs.
var placements = []string{"packed", "spread", "random"}

// place places a number of ranks on free GPUs; 0 ranks means all of them.
func (e *Env) place(how string, ranks int, free []int32) ([]int32, error) {
	if how == "" {
		how = placements[0]
	}
	if ranks < 0 {
		return nil, keyf("ranks", "%d (expected 0 or more)", ranks)
	}
	if !slices.Contains(placements, how) {
		return e.placeList(how, ranks, free)
	}
	if ranks == 0 {
		ranks = len(free)
	}
	if ranks == 0 || ranks > len(free) {
		return nil, keyf("placement", "%d ranks do not fit on %d free GPUs (expected at most one rank per GPU of `from`)", ranks, len(free))
	}
	switch how {
	case "random":
		free = slices.Clone(free)
		r := e.Placements
		for i := range ranks {
			k := i + r.IntN(len(free)-i)
			free[i], free[k] = free[k], free[i]
		}
	case "spread":
		free = e.spread(free)
	}
	return slices.Clone(free[:ranks]), nil
}

// spread orders GPUs so that neighbours are on different servers: the first free one of each
// server, then the second.
func (e *Env) spread(free []int32) []int32 {
	out := make([]int32, 0, len(free))
	turn := make([]int, len(free)) // position of a GPU among the free ones of its server
	for i := 1; i < len(free); i++ {
		if e.Fabric.GPUs[free[i]].Server == e.Fabric.GPUs[free[i-1]].Server {
			turn[i] = turn[i-1] + 1
		}
	}
	order := make([]int, len(free))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return turn[a] - turn[b] })
	for _, i := range order {
		out = append(out, free[i])
	}
	return out
}

// placeList places ranks on the GPUs of a list such as `0-7 16 24-31`.
func (e *Env) placeList(list string, ranks int, free []int32) ([]int32, error) {
	const want = "(expected packed, spread, random, or numbers of GPUs such as 0-7 16 24-31)"
	var out []int32
	for _, word := range strings.Fields(list) {
		from, to, isRange := strings.Cut(word, "-")
		a, err := strconv.Atoi(from)
		b := a
		if isRange && err == nil {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a {
			return nil, keyf("placement", "%q is not a placement %s", word, want)
		}
		if b >= len(e.Fabric.GPUs) {
			return nil, keyf("placement", "GPU %d does not exist (expected 0 to %d)", b, len(e.Fabric.GPUs)-1)
		}
		for g := a; g <= b; g++ {
			if _, ok := slices.BinarySearch(free, int32(g)); !ok || slices.Contains(out, int32(g)) {
				return nil, keyf("placement", "GPU %d is not free (expected GPUs of `from` that no other rank has)", g)
			}
			out = append(out, int32(g))
		}
	}
	if len(out) == 0 || ranks != 0 && len(out) != ranks {
		return nil, keyf("placement", "%d GPUs for %d ranks %s", len(out), ranks, want)
	}
	return out, nil
}
