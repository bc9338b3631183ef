package sim

import (
	"runtime"
	"sync"
	"testing"
)

// Nobody passes the gate before everybody has come to it, however late a worker
// is woken. Without spinning, every wait is a sleep.
func TestGateHoldsEverybody(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // more threads than cores: they are preempted anywhere
	const workers, rounds = 8, 5000
	var g barrier
	g.init(workers)
	g.spins = 0
	var came [workers]int // plain: the gate orders the accesses
	early := 0
	var wg sync.WaitGroup
	for id := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rounds {
				came[id]++
				g.wait(id, func() {
					for i := range came {
						if came[i] != came[id] {
							early++
						}
					}
				})
			}
		}()
	}
	wg.Wait()
	if early > 0 {
		t.Errorf("%d times a worker went on before the others had come", early)
	}
}
