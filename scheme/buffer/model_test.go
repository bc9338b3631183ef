package buffer

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// bench is a miniature switch: a ledger, a policy that follows it, and simple flow control.
type bench struct {
	t     testing.TB
	l     *mmu.Ledger
	p     Policy
	now   units.Time
	slot  uint32
	slots []uint32 // free slots
}

// newBench returns a bench with ports of 10 Gbps (or the given rates) and classes 0 (control), 1
// (lossless) and 2 (lossy). The data classes have the same quantum. The headroom is as large as
// the shared segment.
func newBench(t testing.TB, ports int, shared units.Bytes, params any, build New, rates ...units.Rate) *bench {
	t.Helper()
	spec := mmu.Spec{Ports: ports, Size: 2 * shared, Shared: shared}
	spec.Kinds[0], spec.Kinds[lossless], spec.Kinds[lossy] = mmu.Control, mmu.Lossless, mmu.Lossy
	b := &bench{t: t, l: mmu.NewLedger(spec), slot: 1}
	env := Env{View: b.l.View()}
	for i := range ports {
		rate := 10 * units.Gbps
		if i < len(rates) {
			rate = rates[i]
		}
		env.Rates, env.MTUs = append(env.Rates, rate), append(env.MTUs, 1000)
		env.Quanta = append(env.Quanta, [mmu.Classes]units.Bytes{lossless: 1600, lossy: 1600})
	}
	var err error
	if b.p, err = build(params, env); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.p.(Pairs); ok {
		b.l.KeepPairs()
	}
	return b
}

func (b *bench) arrival(in, out int, class uint8, bytes units.Bytes) *mmu.Arrival {
	kinds := [3]mmu.Kind{mmu.Control, mmu.Lossless, mmu.Lossy}
	return &mmu.Arrival{In: in, Out: out, Class: class, Kind: kinds[class], Bytes: bytes}
}

// offer stores a frame in the shared segment if the policy takes it.
func (b *bench) offer(in, out int, class uint8, bytes units.Bytes) (*mmu.Arrival, bool) {
	a := b.arrival(in, out, class, bytes)
	if !b.p.Fits(b.now, b.l.View(), a) {
		return nil, false
	}
	b.store(a, mmu.Shared)
	return a, true
}

func (b *bench) store(a *mmu.Arrival, s mmu.Segment) {
	if n := len(b.slots); n > 0 {
		a.Slot, b.slots = b.slots[n-1], b.slots[:n-1]
	} else {
		a.Slot = b.slot
		b.slot++
	}
	b.l.Charge(a, s)
	if o, ok := b.p.(Observer); ok {
		o.Enqueued(b.now, b.l.View(), a)
	}
}

func (b *bench) leave(a *mmu.Arrival) {
	b.l.Release(a)
	b.slots = append(b.slots, a.Slot)
	if o, ok := b.p.(Observer); ok {
		o.Dequeued(b.now, b.l.View(), a)
	}
}

// fill offers frames to the given queues in turn until none is taken, and returns the stored
// bytes of each queue. A queue is (in, out, class).
func (b *bench) fill(bytes units.Bytes, queues ...[3]int) []units.Bytes {
	stored := make([]units.Bytes, len(queues))
	for more := true; more; {
		more = false
		for i, q := range queues {
			if _, ok := b.offer(q[0], q[1], uint8(q[2]), bytes); ok {
				stored[i] += bytes
				more = true
			}
		}
	}
	return stored
}

// steady is like fill, but frames also leave: in each round one of every queue, while two are
// offered to it. Queues above their threshold shrink to it.
func (b *bench) steady(rounds int, bytes units.Bytes, queues ...[3]int) []units.Bytes {
	frames := make([][]*mmu.Arrival, len(queues))
	for range rounds {
		for i, q := range queues {
			if len(frames[i]) > 0 {
				b.leave(frames[i][0])
				frames[i] = frames[i][1:]
			}
			for range 2 {
				if a, ok := b.offer(q[0], q[1], uint8(q[2]), bytes); ok {
					frames[i] = append(frames[i], a)
				}
			}
		}
	}
	stored := make([]units.Bytes, len(queues))
	for i := range frames {
		stored[i] = units.Bytes(len(frames[i])) * bytes
	}
	return stored
}

// near fails the test if a value is not within some bytes of the expected one.
func (b *bench) near(what string, got, want, within units.Bytes) {
	b.t.Helper()
	if got < want-within || got > want+within {
		b.t.Errorf("%s is %d B, want %d B +- %d", what, got, want, within)
	}
}

func sum(list []units.Bytes) units.Bytes {
	all := units.Bytes(0)
	for _, b := range list {
		all += b
	}
	return all
}

// gauge returns the value of a gauge.
func (b *bench) gauge(name string, port int, class uint8) float64 {
	b.t.Helper()
	g := b.p.(interface {
		Gauges() []string
		Measure(units.Time, int, uint8, []float64) bool
	})
	values := make([]float64, len(g.Gauges()))
	if !g.Measure(b.now, port, class, values) {
		b.t.Fatalf("port %d, class %d has no gauges", port, class)
	}
	for i, n := range g.Gauges() {
		if n == name {
			return values[i]
		}
	}
	b.t.Fatalf("there is no gauge %s", name)
	return 0
}
