package sim

import "github.com/xoff-net/xoff/base/units"

// RunSearching runs to the end of the spec and looks for deadlocks after every nth
// event, as late as it can before the next one and as early.
func (o *Oracle) RunSearching(nth int, use func(now units.Time, list []Deadlock)) {
	for _, n := range o.nodes {
		n.common.Start(0)
	}
	look := func(now units.Time) {
		if now > 0 {
			use(now, o.deadlocks.all(now))
		}
	}
	o.deadlocks.deadlockSearch = newDeadlockSearch(o.spec, o.nics, o.switches)
	for events := 0; o.next() < o.spec.Until; events++ {
		last := o.next()
		o.step()
		if next := min(o.next(), o.spec.Until); events%nth == 0 && next > last {
			look(last + 1)
			look(next)
		}
	}
	o.now = o.spec.Until
}
