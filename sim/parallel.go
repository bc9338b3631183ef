package sim

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel runs the windows on all workers. Nodes are handed out by a counter;
// the last worker to finish a window plans the next one, alone.
func (f *Fast) parallel(ctx context.Context) {
	f.barrier.init(len(f.workers))
	var wg sync.WaitGroup
	for id, w := range f.workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !f.stop {
				for {
					i := f.next.Add(1) - 1
					if i >= int64(len(f.active)) {
						break
					}
					w.run(f.nodes[f.active[i]])
				}
				f.barrier.wait(id, func() { f.advance(ctx) })
			}
		}()
	}
	wg.Wait()
}

// barrier is where workers wait: the last to arrive does a piece of work, then all go on.
// Waiting begins with a short spin, which is fastest when every worker has a
// core, and ends in sleep, which is right when it does not.
type barrier struct {
	size    int32
	spins   int // bounds the spinning
	waiting atomic.Int32
	_       [60]byte
	round   atomic.Int32
	_       [60]byte
	sleeps  []atomic.Int32
	wakeup  []chan struct{}
}

// Every yieldEvery of at most maxSpins spins the scheduler may run others.
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
	// A worker that is slow to wake the others of the last round may wake one that
	// sleeps in this round already: look again.
	for b.round.Load() == round {
		b.sleeps[id].Store(1)
		if b.round.Load() != round && b.sleeps[id].CompareAndSwap(1, 0) {
			return
		}
		<-b.wakeup[id]
	}
}
