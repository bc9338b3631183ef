package check

import "slices"

// Hop is a step of a cycle: frames from one neighbour wait at a switch for the next one.
type Hop struct {
	Switch string `json:"switch"`
	In     string `json:"in"`   // ingress port of the frames
	From   string `json:"from"` // neighbour that sent them
	To     string `json:"to"`   // neighbour that they wait for
	// Valley is true if frames go down and up again, as no route of a tree does without
	// failures.
	Valley bool `json:"valley,omitempty"`
	// Joined is true if the ingress port pauses all lossless classes together.
	Joined bool  `json:"pauses_port,omitempty"`
	Cause  Cause `json:"traffic"` // example of traffic that takes this hop
}

// Cycle is a cyclic buffer dependency: the queue of each hop can wait for the queue of the
// next hop, and the last for the first.
type Cycle struct {
	Hops []Hop `json:"hops"`

	queues []int32
}

// Limits of the search for cycles.
const (
	MaxCycles = 10  // cycles listed per strongly connected group of queues
	maxStarts = 256 // queues per group from which the search starts
)

// Cycles returns the cyclic buffer dependencies of traffic t when some links are down, and
// whether there are more than the listed ones.
func (f *Fabric) Cycles(t *Traffic, down []bool) (list []Cycle, more bool) {
	w := newWalker(f, t)
	copy(w.down, down)
	w.all()
	return w.cycles()
}

// cycles returns, for each strongly connected group of queues, the shortest elementary cycles
// through its members: at most MaxCycles, shortest first. More reports whether there are
// others. The order depends only on the graph.
func (w *walker) cycles() (list []Cycle, more bool) {
	var turns []turn
	for _, group := range w.deps.groups() {
		found, others := w.deps.shortest(group)
		more = more || others
		for _, queues := range found {
			list = append(list, Cycle{queues: queues})
			for i, q := range queues {
				turns = append(turns, turn{q, queues[(i+1)%len(queues)]})
			}
		}
	}
	if len(list) == 0 {
		return nil, false
	}
	causes := w.causes(turns)
	for i := range list {
		list[i].Hops = w.deps.hops(list[i].queues, causes)
	}
	return list, more
}

// groups returns the strongly connected components with at least two queues, by Tarjan's
// algorithm.
func (d *Dependencies) groups() [][]int32 {
	var groups [][]int32
	var stack []int32
	number := make([]int32, d.queues()) // order of visits, from 1
	least := make([]int32, d.queues())  // smallest number on the stack that the queue reaches
	onStack := make([]bool, d.queues())
	visited := int32(0)
	var visit func(q int32)
	visit = func(q int32) {
		visited++
		number[q], least[q] = visited, visited
		bottom := len(stack)
		stack, onStack[q] = append(stack, q), true
		for _, n := range d.waits(nil, q) {
			if number[n] == 0 {
				visit(n)
				least[q] = min(least[q], least[n])
			} else if onStack[n] {
				least[q] = min(least[q], number[n])
			}
		}
		if least[q] < number[q] {
			return // its group has an earlier member
		}
		group := slices.Clone(stack[bottom:])
		stack = stack[:bottom]
		for _, n := range group {
			onStack[n] = false
		}
		if len(group) > 1 {
			slices.Sort(group)
			groups = append(groups, group)
		}
	}
	for _, q := range d.unsortable() {
		if number[q] == 0 {
			visit(q)
		}
	}
	slices.SortFunc(groups, func(a, b []int32) int { return int(a[0] - b[0]) })
	return groups
}

// shortest returns the distinct shortest cycles through the queues of a group, shortest
// first, and whether there are more.
func (d *Dependencies) shortest(group []int32) (cycles [][]int32, more bool) {
	inside := make([]bool, d.queues())
	for _, c := range group {
		inside[c] = true
	}
	starts := group[:min(len(group), maxStarts)]
	for _, start := range starts {
		cycle := d.through(start, inside)
		if !slices.ContainsFunc(cycles, func(c []int32) bool { return slices.Equal(c, cycle) }) {
			cycles = append(cycles, cycle)
		}
	}
	slices.SortStableFunc(cycles, func(a, b []int32) int { return len(a) - len(b) })
	if len(cycles) > MaxCycles {
		return cycles[:MaxCycles], true
	}
	return cycles, len(starts) < len(group)
}

// through returns the shortest cycle through a queue, rotated so that its smallest queue
// comes first.
func (d *Dependencies) through(start int32, inside []bool) []int32 {
	parent := make(map[int32]int32)
	queue := []int32{start}
	var list []int32
	for i := 0; i < len(queue); i++ {
		c := queue[i]
		list = d.waits(list[:0], c)
		for _, n := range list {
			if n == start {
				cycle := []int32{c}
				for c != start {
					c = parent[c]
					cycle = append(cycle, c)
				}
				slices.Reverse(cycle)
				least := slices.Index(cycle, slices.Min(cycle))
				return slices.Concat(cycle[least:], cycle[:least])
			}
			if _, known := parent[n]; !known && inside[n] {
				parent[n] = c
				queue = append(queue, n)
			}
		}
	}
	panic("check: a queue of a strongly connected group is on no cycle")
}

// hops describes a cycle.
func (d *Dependencies) hops(queues []int32, causes map[turn]Cause) []Hop {
	var hops []Hop
	f := d.fabric
	for i, q := range queues {
		next := queues[(i+1)%len(queues)]
		c, n := d.channel(q), d.channel(next)
		from, here, to := f.ends[c].from, f.ends[c].to, f.ends[n].to
		hops = append(hops, Hop{
			Switch: f.switchName(here), In: f.ingress(c), From: f.switchName(from), To: f.switchName(to),
			Valley: f.level[here] < f.level[from] && f.level[here] < f.level[to], Joined: f.joined(c), Cause: causes[turn{q, next}],
		})
	}
	return hops
}
