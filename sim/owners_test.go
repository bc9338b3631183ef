package sim

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/xoff-net/xoff/dataplane"
)

// Owners have similar numbers of ports. Their switches come first, with the largest in front.
func TestOwners(t *testing.T) {
	const hosts, leaves = 8, 4 // two hosts per leaf, and a spine
	for _, c := range []struct {
		workers int
		ends    []int
		order   []int // hosts 0 to 7, leaves 8 to 11, spine 12
	}{
		{1, []int{13}, []int{0, 1, 8, 2, 3, 9, 4, 5, 10, 6, 7, 11, 12}},
		{2, []int{8, 13}, []int{8, 9, 0, 1, 2, 3, 4, 5, 12, 10, 11, 6, 7}},
		{3, []int{6, 10, 13}, []int{8, 9, 0, 1, 2, 3, 10, 4, 5, 6, 12, 11, 7}},
	} {
		var f Fast
		for i := range hosts + leaves + 1 {
			ports := 1
			if i >= hosts {
				ports = 3
			}
			if i == hosts+leaves {
				ports = 4
			}
			n := newFastNode(ports)
			n.index = i
			if i < hosts {
				n.outputs[0].to = uint32(hosts + i/2)
			} else {
				n.sw = &dataplane.Switch{}
			}
			f.nodes = append(f.nodes, n)
		}
		ends, order := f.arrange(c.workers), []int(nil)
		for _, n := range f.nodes {
			order = append(order, n.index)
		}
		if !slices.Equal(ends, c.ends) || !slices.Equal(order, c.order) {
			t.Errorf("%d workers: ends %v, order %v, want %v, %v", c.workers, ends, order, c.ends, c.order)
		}
	}
}

// Every active node is taken exactly once, also if its owner takes none: nodes are stolen.
func TestEveryNodeIsTakenOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // more threads than cores: they are preempted anywhere
	const workers, nodes, rounds = 72, 216, 300
	f := &Fast{queued: make([]word, (workers+63)/64)}
	for i := range workers {
		f.workers = append(f.workers, &worker{f: f, index: i, end: int32((i + 1) * nodes / workers)})
	}
	for round := range rounds {
		f.active = f.active[:0]
		for i := range int32(nodes) {
			if round%3 == 0 || i < nodes/workers || (int(i)+round)%5 == 0 { // in two rounds of three mostly nodes of the first worker
				f.active = append(f.active, i)
			}
		}
		f.share()
		taken := make([]int, nodes) // not atomic: no index is taken twice
		var wg sync.WaitGroup
		for i, w := range f.workers {
			w.all = f.workers
			if i == 0 && round%2 == 0 {
				continue // late until the others are done
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				for at := w.take(); at >= 0; at = w.take() {
					if taken[f.active[at]]++; taken[f.active[at]] > 1 {
						return
					}
				}
			}()
		}
		wg.Wait()
		for _, i := range f.active {
			if taken[i] != 1 {
				t.Fatalf("round %d: node %d was taken %d times", round, i, taken[i])
			}
		}
	}
}
