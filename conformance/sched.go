package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/sched"
)

// Scheduler checks an egress scheduler, with its default parameters and with the parameters in
// also. It must pick only eligible classes, strict ones first. Two instances must agree, a Pick
// without a Sent must have no effect, and nothing may be allocated. If promised, byte shares must
// follow the quanta, also around pauses.
func Scheduler(t testing.TB, e registry.Entry[sched.New], also ...any) {
	t.Helper()
	for _, params := range append([]any{paramsOf(e)}, also...) {
		scheduler(t, e, func() (sched.Scheduler, error) { return e.New(params, SchedulerEnv()) })
	}
}

func scheduler(t testing.TB, e registry.Entry[sched.New], build func() (sched.Scheduler, error)) {
	t.Helper()
	s, err := build()
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	if !eligibleOnly(t, e.Name, must(build()), must(build())) {
		return
	}
	if e.Promises&registry.Proportion != 0 {
		for _, pauses := range []bool{false, true} {
			shares(t, e.Name, must(build()), pauses)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		c := s.Pick(0xff)
		s.Sent(c, 1048, false)
	}); n != 0 {
		t.Errorf("%s: %v allocations per packet", e.Name, n)
	}
	name := e.Name + "/network"
	n := NewNetwork(dumbbell())
	n.Flows, n.Scheduler = burst(40, 0), build
	judge(t, name, runTwice(t, name, n), requirements{lossless: true, inOrder: e.Promises&registry.InOrder != 0, finish: true})
}

const mtu = 1500

func eligibleOnly(t testing.TB, name string, a, b sched.Scheduler) bool {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	first := SchedulerEnv().Strict
	for i := range 5000 {
		mask := packet.ClassMask(r.Uint32())
		if mask == 0 {
			mask = 1 << (i % mmu.Classes)
		}
		c := a.Pick(mask)
		if c < 0 || c >= mmu.Classes || !mask.Has(uint8(c)) {
			t.Errorf("%s: picks class %d of %08b", name, c, mask)
			return false
		}
		if mask&first != 0 && !first.Has(uint8(c)) {
			t.Errorf("%s: picks class %d of %08b while a strict class waits", name, c, mask)
			return false
		}
		if other := b.Pick(mask); other != c {
			t.Errorf("%s: two instances pick %d and %d of %08b", name, c, other, mask)
			return false
		}
		if r.Uint32()%8 == 0 {
			continue // the meter refused: Pick without Sent
		}
		size, last := units.Bytes(64+r.IntN(mtu-63)), r.Uint32()%4 == 0
		a.Sent(c, size, last)
		b.Sent(c, size, last)
	}
	return true
}

// shares serves four backlogged classes. A class has had (bytes sent / quantum) rounds. At any time
// two classes differ by at most one round and a frame of each: a turn in progress, and the overdraft
// of the last frame. With pauses, one class is absent at times and must neither lose nor gain.
func shares(t testing.TB, name string, s sched.Scheduler, pauses bool) {
	t.Helper()
	weights, ok := s.(sched.Weighted)
	if !ok {
		t.Errorf("%s: promises proportional shares, but does not implement sched.Weighted", name)
		return
	}
	var quanta [5]units.Bytes
	for c := range quanta {
		quanta[c] = weights.Quantum(c)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var rounds [5]float64 // since the eligible classes last changed
	eligible := packet.ClassMask(0b11110)
	for i := range 20000 {
		if pauses && i%500 == 0 {
			eligible, rounds = 0b11110, [5]float64{}
			if i%1000 != 0 {
				eligible = 0b11010
			}
		}
		c := s.Pick(eligible)
		size := units.Bytes(64 + r.IntN(mtu-63))
		s.Sent(c, size, false)
		rounds[c] += float64(size) / float64(quanta[c])
		for x := 1; x < 5; x++ {
			for y := 1; y < 5; y++ {
				if !eligible.Has(uint8(x)) || !eligible.Has(uint8(y)) {
					continue
				}
				slack := 1 + mtu/float64(quanta[x]) + mtu/float64(quanta[y])
				if pauses {
					slack++ // the turn that the change interrupted
				}
				if d := rounds[x] - rounds[y]; d > slack {
					t.Errorf("%s: proportional: after %d frames class %d is %.2f rounds ahead of class %d (pauses: %v)", name, i, x, d, y, pauses)
					return
				}
			}
		}
	}
}
