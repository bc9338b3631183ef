package buffer

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

func abmParams() *ABMParams {
	return &ABMParams{Where: "both", Alpha: whole, AlphaLossy: whole, LossyPool: ratio(4, 5), Window: 10 * units.Microsecond}
}

// Steady state of n long queues of a class: each gets alpha / n of the free bytes, so together
// they get alpha / (1 + alpha) of the pool, whatever n is. Lossy: 1/2 of 800,000 B. Lossless,
// with the lossy bytes stored: 1/2 of the remaining 600,000 B.
func TestABMSteadyState(t *testing.T) {
	for _, n := range []int{1, 4} {
		b := newBench(t, 10, 1_000_000, abmParams(), newABM)
		var queues [][3]int
		for i := range n {
			queues = append(queues, [3]int{i, i, lossy})
		}
		b.near("lossy bytes", sum(b.fill(100, queues...)), 400_000, 1000)
		queues = nil
		for i := range n {
			queues = append(queues, [3]int{i, 9, lossless})
		}
		b.near("lossless bytes", sum(b.fill(100, queues...)), 300_000, 1000)
	}
}

// n_p, the number of congested queues, has fractions: a queue of 10,240 B counts as half. One of
// 20,480 B and two of 10,240 B make two queues. 1,000,000 - 40,960 = 959,040 B are free, and each
// queue gets half of them.
func TestABMCountsFractions(t *testing.T) {
	b := newBench(t, 4, 1_000_000, abmParams(), newABM)
	big, small := b.arrival(0, 3, lossless, 20_480), b.arrival(1, 3, lossless, 10_240)
	b.store(big, mmu.Shared)
	b.store(small, mmu.Shared)
	b.store(b.arrival(2, 3, lossless, 10_240), mmu.Shared)
	if n := b.gauge("congested_queues", 0, lossless); n != 2 {
		t.Errorf("%v congested queues, want 2", n)
	}
	if _, xoff := b.p.Level(0, b.l.View(), 0, lossless); xoff != 479_520 {
		t.Errorf("threshold %d B, want 479,520", xoff)
	}
	// Headroom bytes count for n_p but do not use the pool. With 10,240 B more the queue counts
	// as one: n_p is 2.5, and the threshold 959,040 x 2 / 5 = 383,616.
	b.store(b.arrival(1, 3, lossless, 10_240), mmu.Headroom)
	if _, xoff := b.p.Level(0, b.l.View(), 0, lossless); xoff != 383_616 {
		t.Errorf("threshold %d B, want 383,616", xoff)
	}
	b.leave(big)
	b.leave(small) // releases headroom first
	// 20,480 B are stored, half a queue each, so n_p is 1: 1,000,000 - 20,480.
	if _, xoff := b.p.Level(0, b.l.View(), 0, lossless); xoff != 979_520 {
		t.Errorf("threshold %d B, want 979,520", xoff)
	}
}

// A line of 10 Gbps carries 12,500 B in a window of 10 us. A queue of more than 20,480 B that
// sent 5000 B in the last window gets 2/5 of the threshold. With 30,000 B stored, 770,000 of the
// lossy pool's 800,000 B are free, and 2/5 of these are 308,000.
func TestABMDrainRate(t *testing.T) {
	b := newBench(t, 4, 1_000_000, abmParams(), newABM)
	var list []*mmu.Arrival
	for range 40 {
		a := b.arrival(0, 1, lossy, 1000)
		b.store(a, mmu.Shared)
		list = append(list, a)
	}
	leave := func(n int) {
		for range n {
			b.leave(list[0])
			list = list[1:]
		}
	}
	wantDropThreshold := func(want units.Bytes) {
		t.Helper()
		if got := units.Bytes(b.gauge("threshold_bytes", 1, lossy)); got != want {
			t.Errorf("at %s: drop threshold %d B, want %d", b.now, got, want)
		}
	}
	b.now = 3 * units.Microsecond
	leave(5)
	wantDropThreshold(765_000) // no window has ended yet: line rate
	b.now = 12 * units.Microsecond
	leave(5)
	wantDropThreshold(308_000)
	b.now = 19 * units.Microsecond
	wantDropThreshold(308_000)
	b.now = 20 * units.Microsecond // the last window is 10 to 20 us, also with 5000 B
	wantDropThreshold(308_000)
	b.now = 31 * units.Microsecond // 20 to 30 us: nothing sent; drain rates count only above 2048 B
	wantDropThreshold(770_000)
	leave(10) // 20,000 B are not above 20,480
	b.now = 41 * units.Microsecond
	wantDropThreshold(780_000)
}

// Unscheduled frames, lossless or lossy, have their own alpha. Xoff uses the regular alpha.
func TestABMUnscheduled(t *testing.T) {
	p := abmParams()
	p.Alpha, p.AlphaLossy, p.UnscheduledAlpha = ratio(1, 10), ratio(1, 10), ratio(1024, 1)
	b := newBench(t, 4, 1_000_000, p, newABM)
	for _, class := range []uint8{lossless, lossy} {
		a := b.arrival(0, 1, class, 200_000)
		if b.p.Fits(0, b.l.View(), a) {
			t.Errorf("class %d: 200,000 B fit a threshold of 100,000 B", class)
		}
		a.Unscheduled = true
		if !b.p.Fits(0, b.l.View(), a) {
			t.Errorf("class %d: an unscheduled frame does not fit", class)
		}
	}
	if _, xoff := b.p.Level(0, b.l.View(), 0, lossless); xoff != 100_000 {
		t.Errorf("threshold %d B, want 100,000", xoff)
	}
}

// where: egress keeps Dynamic Threshold at the ingress: alpha 1/8 for any number of lossless
// queues, and for lossy ingress queues.
func TestABMEgressOnly(t *testing.T) {
	p := abmParams()
	p.Where, p.Alpha, p.AlphaLossyIngress, p.LossyPool = "egress", ratio(1, 8), ratio(1, 8), whole
	b := newBench(t, 9, 900_000, p, newABM)
	// Two queues: 900,000 / 8 / (1 + 2/8) = 90,000 each.
	stored := b.fill(100, [3]int{0, 8, lossless}, [3]int{1, 8, lossless})
	b.near("first", stored[0], 90_000, 200)
	b.near("second", stored[1], 90_000, 200)
	// A lossy ingress queue in addition: (720,000 - q) / 8 = q at 80,000.
	b.near("lossy", sum(b.fill(100, [3]int{2, 3, lossy})), 80_000, 200)
}
