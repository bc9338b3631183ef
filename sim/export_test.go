package sim

import "github.com/xoff-net/xoff/base/units"

// RunSearching runs to spec.Until and searches for deadlocks after every nth event: once
// right after it and once right before the next.
func (o *Oracle) RunSearching(nth int, use func(now units.Time, list []Deadlock)) {
	for _, n := range o.nodes {
		n.common.Start(0)
	}
	search := func(now units.Time) {
		if now > 0 {
			use(now, o.deadlocks.all(now))
		}
	}
	o.deadlocks.deadlockSearch = newDeadlockSearch(o.spec, o.nics, o.switches)
	for events := 0; o.next() < o.spec.Until; events++ {
		last := o.next()
		o.step()
		if next := min(o.next(), o.spec.Until); events%nth == 0 && next > last {
			search(last + 1)
			search(next)
		}
	}
	o.now = o.spec.Until
}

// Stolen returns the number of nodes of the first worker that another worker ran last.
func (f *Fast) Stolen() int {
	n := 0
	for _, node := range f.nodes[:f.workers[0].end] {
		if node.worker != f.workers[0] {
			n++
		}
	}
	return n
}
