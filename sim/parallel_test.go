package sim

import (
	"runtime"
	"sync"
	"testing"
)

// No worker passes the barrier before all have reached it, however late a worker is
// woken. Without spinning, every wait is a sleep.
func TestBarrierWaitsForAll(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // more threads than cores: they are preempted anywhere
	const workers, rounds = 8, 5000
	var b barrier
	b.init(workers)
	b.spins = 0
	var reached [workers]int // not atomic: the barrier orders the accesses
	early := 0
	var wg sync.WaitGroup
	for id := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rounds {
				reached[id]++
				b.wait(id, func() {
					for i := range reached {
						if reached[i] != reached[id] {
							early++
						}
					}
				})
			}
		}()
	}
	wg.Wait()
	if early > 0 {
		t.Errorf("%d times a worker continued before the others had arrived", early)
	}
}
