package buffer

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

func ratio(num, den int64) units.Ratio { return units.Ratio{Num: num, Den: den} }

// fig4 is Fig. 4 of Reverie: an ingress pool of 1800 KB, of which lossy queues may use 1400.
func fig4(t *testing.T) *bench {
	return newBench(t, 8, 1_800_000, &SONiCParams{Alpha: whole, AlphaLossy: whole, LossyPool: ratio(7, 9), LosslessPool: whole}, newSONiC)
}

// Reverie eq. 2, 3, 10 and 11. With two lossy queues and alpha 1 the lossy pool stores 2 x
// 1,400,000 / (1 + 2) = 933,333 B. Three lossless queues store 1,800,000 x 3/4 - 1,400,000 x 3/4
// x 2/3 = 1,350,000 - 700,000 = 650,000 B. PFC thresholds are 1,800,000 - 933,333 - 650,000 =
// 216,667 B (a third of 650,000). Drop thresholds are 1,400,000 - 933,333 = 466,667 B (half of
// 933,333).
func TestSONiCSteadyState(t *testing.T) {
	b := fig4(t)
	lossyQueues := [][3]int{{0, 0, lossy}, {1, 1, lossy}}
	stored := b.steady(30_000, 100, append(lossyQueues, [3]int{2, 0, lossless}, [3]int{3, 1, lossless}, [3]int{4, 2, lossless})...)
	b.near("lossy bytes", sum(stored[:2]), 933_333, 300)
	b.near("lossless bytes", sum(stored[2:]), 650_000, 500)
	_, xoff := b.p.Level(0, b.l.View(), 2, lossless)
	b.near("PFC threshold", xoff, 216_667, 500)
	b.near("drop threshold", units.Bytes(b.gauge("threshold_bytes", 0, lossy)), 466_667, 300)

	// Fig. 5b: drop thresholds do not depend on lossless queues. Fig. 5a: without lossy queues
	// the PFC threshold is 1,800,000 / (1 + 3) = 450,000 B.
	b = fig4(t)
	b.fill(100, lossyQueues...)
	b.near("drop threshold without lossless queues", units.Bytes(b.gauge("threshold_bytes", 0, lossy)), 466_667, 300)
	b = fig4(t)
	b.fill(100, [3]int{2, 0, lossless}, [3]int{3, 1, lossless}, [3]int{4, 2, lossless})
	_, xoff = b.p.Level(0, b.l.View(), 2, lossless)
	b.near("PFC threshold without lossy queues", xoff, 450_000, 500)
}

// Issue 1 of Reverie: with many queues the lossy ones fill their pool, and the lossless ones get
// the rest: 1,400,000 x 30 / 31 = 1,354,839 B and (1,800,000 - 1,354,839) x 30 / 31 = 430,801 B.
// The paper has 30 queues each; here 3 queues have an alpha of 10.
func TestSONiCPrefersLossy(t *testing.T) {
	b := newBench(t, 8, 1_800_000, &SONiCParams{Alpha: ratio(10, 1), AlphaLossy: ratio(10, 1), LossyPool: ratio(7, 9), LosslessPool: whole}, newSONiC)
	stored := b.steady(30_000, 100, [3]int{0, 0, lossy}, [3]int{1, 1, lossy}, [3]int{2, 2, lossy}, [3]int{3, 3, lossless}, [3]int{4, 4, lossless}, [3]int{5, 5, lossless})
	b.near("lossy bytes", sum(stored[:3]), 1_354_839, 400)
	b.near("lossless bytes", sum(stored[3:]), 430_801, 400)
}

// Complete sharing: the first queue gets everything. Static partition: a quarter for lossless
// queues, three quarters for lossy queues, independent of each other.
func TestSONiCExtremes(t *testing.T) {
	most := ratio(1<<20, 1)
	b := newBench(t, 4, 100_000, &SONiCParams{Alpha: most, AlphaLossy: most, LossyPool: whole, LosslessPool: whole}, newSONiC)
	b.near("complete sharing, lossless alone", sum(b.fill(100, [3]int{0, 0, lossless})), 100_000, 0)
	b = newBench(t, 4, 100_000, &SONiCParams{Alpha: most, AlphaLossy: most, LossyPool: whole, LosslessPool: whole}, newSONiC)
	b.near("complete sharing, lossy alone", sum(b.fill(100, [3]int{0, 0, lossy})), 100_000, 0)
	b = newBench(t, 4, 100_000, &SONiCParams{Alpha: most, AlphaLossy: most, LossyPool: ratio(3, 4), LosslessPool: ratio(1, 4)}, newSONiC)
	b.near("partition, lossless", sum(b.fill(100, [3]int{0, 0, lossless})), 25_000, 0)
	b.near("partition, lossy", sum(b.fill(100, [3]int{0, 0, lossy}, [3]int{1, 1, lossy})), 75_000, 0)
}

// Single frames: 100,000 B, a lossy pool of 80,000 B, alphas 1/2 and 1.
func TestSONiCSteps(t *testing.T) {
	b := newBench(t, 4, 100_000, &SONiCParams{Alpha: ratio(1, 2), AlphaLossy: whole, AlphaLossyIngress: ratio(1, 4), LossyPool: ratio(4, 5), LosslessPool: whole}, newSONiC)
	fits := func(class uint8, in, out int, bytes units.Bytes, want bool) {
		t.Helper()
		if got := b.p.Fits(0, b.l.View(), b.arrival(in, out, class, bytes)); got != want {
			t.Errorf("class %d, %d B: fits is %v", class, bytes, got)
		}
	}
	counted := func(bytes units.Bytes, want bool) {
		t.Helper()
		if got := b.p.(Counting).FitsCounted(0, b.l.View(), b.arrival(0, 1, lossless, bytes)); got != want {
			t.Errorf("%d B, counted: fits is %v", bytes, got)
		}
	}
	fits(lossless, 0, 1, 50_000, true) // 100,000 / 2
	fits(lossless, 0, 1, 50_001, false)
	counted(33_333, true)           // (100,000 - 33,333) / 2 = 33,333
	counted(33_334, false)          // (100,000 - 33,334) / 2 = 33,333
	fits(lossy, 0, 1, 25_000, true) // ingress: 100,000 / 4
	fits(lossy, 0, 1, 25_001, false)
	one := b.arrival(0, 1, lossy, 20_000)
	b.store(one, mmu.Shared)            // 80,000 free, 60,000 in the lossy pool
	fits(lossy, 2, 1, 20_000, true)     // ingress 80,000 / 4; egress 20,000 + 20,000 <= 60,000
	fits(lossy, 0, 3, 1, false)         // its ingress queue is at its limit of 80,000 / 4
	fits(lossless, 0, 1, 40_000, true)  // 80,000 / 2
	fits(lossless, 0, 1, 40_001, false) //
	two := b.arrival(2, 1, lossy, 20_000)
	b.store(two, mmu.Shared)        // 60,000 free, 40,000 in the lossy pool
	fits(lossy, 3, 1, 1, false)     // egress: 40,001 > 40,000
	fits(lossy, 3, 2, 15_000, true) // another egress; ingress 60,000 / 4
	b.leave(one)
	b.leave(two)
	fits(lossless, 0, 1, 50_000, true)
	fits(lossy, 0, 1, 25_000, true)
	// Bytes in headroom do not count for the pool of lossless queues.
	b = newBench(t, 4, 100_000, &SONiCParams{Alpha: whole, AlphaLossy: whole, LossyPool: whole, LosslessPool: ratio(1, 2)}, newSONiC)
	b.store(b.arrival(0, 1, lossless, 10_000), mmu.Shared)
	b.store(b.arrival(0, 1, lossless, 30_000), mmu.Headroom)
	if q, xoff := b.p.Level(0, b.l.View(), 0, lossless); q != 10_000 || xoff != 40_000 {
		t.Errorf("level %d of %d B, want 10,000 of 50,000 - 10,000", q, xoff)
	}
}
