package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/mark"
)

// Marker checks an ECN marker. It must mark nothing at or below its floor, mark more on longer
// queues, and give the same marks for the same random stream. Nothing may be allocated.
func Marker(t testing.TB, e registry.Entry[mark.New]) {
	t.Helper()
	for _, rate := range []units.Rate{10 * units.Gbps, 100 * units.Gbps, 400 * units.Gbps} {
		m, err := e.New(paramsOf(e), rate)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			return
		}
		second := must(e.New(paramsOf(e), rate))
		floor := m.Floor()
		if floor < 0 {
			t.Errorf("%s: floor is %d B (expected 0 or more)", e.Name, floor)
			return
		}
		r, s := rand.NewPCG(1, 2), rand.NewPCG(1, 2)
		for _, q := range []units.Bytes{0, 1, floor / 2, floor - 1, floor} {
			for range 50 {
				if m.Mark(q, r) {
					t.Errorf("%s: marks at %d B, its floor is %d B", e.Name, q, floor)
					return
				}
			}
		}
		*r = *s
		const tries = 4000
		before := 0
		for step := units.Bytes(1); step <= 64; step *= 2 {
			q := min(floor, 1<<40) + step*20*units.KB
			marks := 0
			for range tries {
				a := m.Mark(q, r)
				if a != second.Mark(q, s) {
					t.Errorf("%s: two markers with the same random stream differ at %d B", e.Name, q)
					return
				}
				if a {
					marks++
				}
			}
			// Four standard deviations of a binomial distribution: sqrt(4000/4) = 32 at most.
			if marks < before-4*32 {
				t.Errorf("%s: %d of %d marked at %d B, fewer than %d on a shorter queue", e.Name, marks, tries, q, before)
			}
			before = max(before, marks)
		}
		if n := testing.AllocsPerRun(100, func() { m.Mark(floor+1, r) }); n != 0 {
			t.Errorf("%s: %v allocations per packet", e.Name, n)
		}
	}
	name := e.Name + "/network"
	n := NewNetwork(dumbbell())
	n.Flows = burst(40, 0)
	n.Marker = func(r units.Rate) (mark.Marker, error) { return e.New(paramsOf(e), r) }
	judge(t, name, runTwice(t, name, n), requirements{lossless: true, inOrder: true, finish: true})
}
