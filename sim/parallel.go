package sim

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel runs windows on all workers. The last worker to finish a window plans the next
// one.
func (f *Fast) parallel(ctx context.Context) {
	f.barrier.init(len(f.workers))
	var wg sync.WaitGroup
	for id, w := range f.workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !f.stop {
				for i := w.take(); i >= 0; i = w.take() {
					w.run(f.nodes[f.active[i]])
				}
				f.barrier.wait(id, func() { f.advance(ctx) })
			}
		}()
	}
	wg.Wait()
}

// barrier lets workers wait for each other. The last one to arrive calls a function, then
// all continue. A waiting worker first spins, which is fastest if every worker has a core,
// then sleeps.
type barrier struct {
	size    int32
	spins   int // limit of spins before sleeping
	waiting atomic.Int32
	_       [60]byte
	round   atomic.Int32
	_       [60]byte
	sleeps  []atomic.Int32
	wakeup  []chan struct{}
}

// A worker spins at most maxSpins times and yields to the scheduler every yieldEvery
// spins.
const (
	maxSpins   = 20000
	yieldEvery = 1000
)

func (b *barrier) init(n int) {
	b.size, b.spins = int32(n), maxSpins
	b.sleeps = make([]atomic.Int32, n)
	b.wakeup = make([]chan struct{}, n)
	for i := range b.wakeup {
		b.wakeup[i] = make(chan struct{}, 1)
	}
}

func (b *barrier) wait(id int, last func()) {
	round := b.round.Load()
	if b.waiting.Add(1) == b.size {
		last()
		b.waiting.Store(0)
		b.round.Add(1)
		for i := range b.sleeps {
			if b.sleeps[i].CompareAndSwap(1, 0) {
				b.wakeup[i] <- struct{}{}
			}
		}
		return
	}
	for i := 1; i <= b.spins; i++ {
		if b.round.Load() != round {
			return
		}
		if i%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
	// A slow worker may still send wakeups of the last round to one that already sleeps
	// in this round, so check the round again after each wakeup.
	for b.round.Load() == round {
		b.sleeps[id].Store(1)
		if b.round.Load() != round && b.sleeps[id].CompareAndSwap(1, 0) {
			return
		}
		<-b.wakeup[id]
	}
}
