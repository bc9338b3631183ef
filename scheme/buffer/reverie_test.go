package buffer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

func reverieBench(t *testing.T, ports int, shared units.Bytes, gamma float64, filter string) *bench {
	return newBench(t, ports, shared, &ReverieParams{Alpha: ratio(2, 1), AlphaLossy: whole, Gamma: gamma, Filter: filter}, newReverie)
}

// Eq. 5 with gamma 1/2. Arrivals of 1000 B: q^ = 0/2 + 1000/2 = 500, 500/2 + 2000/2 = 1250.
// Departures: 1250/2 + 1000/2 = 1125, 1125/2 + 0 = 562.5. With departures only: 0, 0, then 0/2 +
// 1000/2 = 500, and 500/2 + 0 = 250, which is limited to 0.
func TestReverieFilter(t *testing.T) {
	for _, c := range []struct {
		filter string
		want   [4]units.Bytes
	}{{"plain", [4]units.Bytes{500, 1250, 1125, 562}}, {"departure", [4]units.Bytes{0, 0, 500, 0}}} {
		b := reverieBench(t, 2, 100_000, 0.5, c.filter)
		x, y := b.arrival(0, 1, lossless, 1000), b.arrival(0, 1, lossless, 1000)
		for i, step := range []func(){func() { b.store(x, mmu.Shared) }, func() { b.store(y, mmu.Headroom) }, func() { b.leave(x) }, func() { b.leave(y) }} {
			step()
			if q, _ := b.p.Level(0, b.l.View(), 0, lossless); q != c.want[i] {
				t.Errorf("%s, step %d: q^ is %d B, want %d", c.filter, i, q, c.want[i])
			}
		}
	}
}

// In whole bytes and with gamma 0.999, q^ rises only while q exceeds it by 1000 B: from 5,
// 0.999 x 5 + 0.001 x 1004 = 5.999 is 5, and 0.999 x 5 + 0.001 x 1010 = 6.005 is 6.
func TestReverieDepartureInWholeBytes(t *testing.T) {
	b := reverieBench(t, 2, 100_000, 0.999, "departure")
	r := b.p.(*reverie)
	if a, c := r.filtered(5, 1004), r.filtered(5, 1010); a != 5 || c != 6 {
		t.Errorf("q^ is %v and %v, want 5 and 6", a, c)
	}
}

// Eq. 6, with n_p from q^. Lossless: 40,960 B in headroom and 9040 B in the shared segment, gamma
// tiny, so q^ is q, 50,000, and n_p 1. Gamma = 2 (100,000 - 9040). A second queue of 10,240 B
// counts half: 2 / 1.5 (100,000 - 9040 - 10,240) = 107,626.
func TestReverieThreshold(t *testing.T) {
	b := reverieBench(t, 3, 100_000, 1e-12, "plain")
	b.store(b.arrival(0, 1, lossless, 9040), mmu.Shared)
	b.store(b.arrival(0, 1, lossless, 40_960), mmu.Headroom)
	if q, xoff := b.p.Level(0, b.l.View(), 0, lossless); q != 49_999 || xoff != 181_920 {
		t.Errorf("level %d of %d B, want 49,999 of 181,920", q, xoff)
	}
	b.store(b.arrival(1, 2, lossless, 10_240), mmu.Shared)
	_, xoff := b.p.Level(0, b.l.View(), 0, lossless)
	b.near("Gamma", xoff, 107_626, 5) // 10,239 of 10,240 B are counted
}

// Theorem 1 and eq. 13 to 15. With alphas 2 and 1 on 1,200,000 B, lossless queues store 2/4,
// 600,000 B, and lossy queues 300,000 B, whatever their numbers. Theorem 2: 300,000 B stay idle,
// 1,200,000 / (1 + 3). With only lossless queues it is 1,200,000 / (1 + 2); with only lossy
// queues it is the maximum, 1,200,000 / (1 + 1).
func TestReverieTheorems(t *testing.T) {
	lossless2 := [][3]int{{0, 0, lossless}, {1, 1, lossless}}
	lossy3 := [][3]int{{2, 2, lossy}, {3, 3, lossy}, {4, 4, lossy}}
	idle := func(b *bench) units.Bytes { return b.l.View().SharedFree() }
	b := reverieBench(t, 6, 1_200_000, 0.9, "plain")
	stored := b.steady(20_000, 200, append(lossless2, lossy3...)...)
	b.near("lossless bytes", sum(stored[:2]), 600_000, 3000)
	b.near("lossy bytes", sum(stored[2:]), 300_000, 3000)
	b.near("idle bytes, both kinds", idle(b), 300_000, 3000)
	b = reverieBench(t, 6, 1_200_000, 0.9, "plain")
	b.steady(20_000, 200, lossless2...)
	b.near("idle bytes, only lossless queues", idle(b), 400_000, 3000)
	b = reverieBench(t, 6, 1_200_000, 0.9, "plain")
	b.steady(20_000, 200, lossy3...)
	b.near("idle bytes, only lossy queues", idle(b), 600_000, 3000)
}

// Property 1 with gamma 3/4. From q^ = 400 and q = 1200 follows q^ = 600. Per dt, the slope is
// 200. Comparing the old q^ with Gamma, 400 <= Gamma, is 1200 <= Gamma + K 200 with K = 1 / (1 -
// 3/4) = 4. Comparing the new q^, 600 <= Gamma, is the same with K = (3/4) / (1 - 3/4) = 3. The
// same holds for random numbers.
func TestReverieProperty1(t *testing.T) {
	b := reverieBench(t, 2, 100_000, 0.75, "plain")
	r := b.p.(*reverie)
	if hat := r.filtered(400, 1200); hat != 600 {
		t.Fatalf("q^ is %v, want 600", hat)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		hat, q, gamma := math.Trunc(random.Float64()*1e6), units.Bytes(random.IntN(1e6)), math.Trunc(random.Float64()*1e6)
		next := r.filtered(hat, q)
		for _, c := range []struct {
			k   float64
			hat float64 // compared with Gamma
		}{{4, hat}, {3, next}} {
			if math.Abs(c.hat-gamma) < 1 {
				continue // rounding
			}
			if byFilter, bySlope := c.hat <= gamma, float64(q) <= gamma+c.k*(next-hat); byFilter != bySlope {
				t.Fatalf("q^ %v, q %d, Gamma %v, K %v: by the filter %v, by the slope %v", hat, q, gamma, c.k, byFilter, bySlope)
			}
		}
	}
}

// The old q^ counts: 12,000 B at once are taken although they exceed Gamma, and only then is q^ =
// 3000. So a queue may exceed Gamma. The decision is q^ <= Gamma: 8000 of 20,000 B are free; with
// alpha 1/4, Gamma is 2000 B.
func TestReverieDecidesByThePast(t *testing.T) {
	b := newBench(t, 2, 20_000, &ReverieParams{Alpha: ratio(1, 4), AlphaLossy: ratio(1, 4), Gamma: 0.75, Filter: "plain"}, newReverie)
	if _, ok := b.offer(0, 1, lossless, 12_000); !ok {
		t.Error("a burst is refused")
	}
	if q, xoff := b.p.Level(0, b.l.View(), 0, lossless); q != 3000 || xoff != 2000 {
		t.Errorf("level %d of %d B, want 3000 of 2000", q, xoff)
	}
	if _, ok := b.offer(0, 1, lossless, 1); ok {
		t.Error("a frame is taken with q^ above Gamma")
	}
	// A lossy frame counts itself. With 4 B of its queue stored, q^ is 1 and Gamma 7996 / 4 =
	// 1999: 1 + 1998 <= 1999, but not 1 + 1999.
	b.offer(1, 1, lossy, 4)
	if b.p.Fits(0, b.l.View(), b.arrival(1, 1, lossy, 1999)) || !b.p.Fits(0, b.l.View(), b.arrival(1, 1, lossy, 1998)) {
		t.Error("the size of a lossy frame is not included in the comparison with Gamma")
	}
	// A frame larger than the free bytes never fits, whatever the filter.
	if b.p.Fits(0, b.l.View(), b.arrival(1, 1, lossless, 7997)) || !b.p.Fits(0, b.l.View(), b.arrival(1, 1, lossless, 7996)) {
		t.Error("the pool is not the limit")
	}
	// Counted before the decision, a frame of 7996 B makes Gamma 0, which still equals q^.
	if c := b.p.(Counting); !c.FitsCounted(0, b.l.View(), b.arrival(1, 1, lossless, 7996)) || c.FitsCounted(0, b.l.View(), b.arrival(1, 1, lossless, 7997)) {
		t.Error("counted, the pool is not the limit")
	}
}

// A lossy queue that was long is empty, but q^ is not: frames pass one at a time, and q^ falls
// with them. Gamma 1/2: after 8000 B at once q^ is 4000, then 2000 when they have left. With
// alpha 1/10 of 20,000 B, Gamma is 2000: 1000 B more would not fit if the queue were not empty.
// With them q^ is (2000 + 1000) / 2 = 1500, and 750 when they have left, so then they fit.
func TestReverieEmptyLossyQueue(t *testing.T) {
	b := newBench(t, 2, 20_000, &ReverieParams{Alpha: whole, AlphaLossy: ratio(1, 10), Gamma: 0.5, Filter: "plain"}, newReverie)
	burst := b.arrival(0, 1, lossy, 8000)
	b.store(burst, mmu.Shared)
	if _, ok := b.offer(0, 1, lossy, 1000); ok {
		t.Error("a frame is taken with q^ above Gamma")
	}
	b.leave(burst)
	one, ok := b.offer(0, 1, lossy, 1000)
	if !ok {
		t.Fatal("an empty queue is closed")
	}
	if _, ok := b.offer(0, 1, lossy, 1000); ok {
		t.Error("a second frame is taken: 1500 + 1000 > 1900")
	}
	b.leave(one)
	one, _ = b.offer(0, 1, lossy, 100) // 750 + 100
	if _, ok := b.offer(0, 1, lossy, 1000); !ok || one == nil {
		t.Error("the filter has not fallen")
	}
}

// Queries change nothing, and a dropped frame is not an arrival.
func TestReverieQueriesChangeNothing(t *testing.T) {
	b := reverieBench(t, 2, 20_000, 0.9, "plain")
	b.offer(0, 1, lossless, 5000)
	b.offer(0, 1, lossy, 5000)
	r := b.p.(*reverie)
	in, out, n := r.in[lossless], r.out[mmu.Classes+lossy], [2]units.Bytes{r.inN.sums[lossless], r.outN.sums[lossy]}
	for range 100 {
		b.p.Fits(0, b.l.View(), b.arrival(0, 1, lossless, 1000))
		b.p.Level(0, b.l.View(), 0, lossless)
		if _, ok := b.offer(0, 1, lossy, 19_000); ok {
			t.Fatal("19,000 B fit")
		}
	}
	if in != r.in[lossless] || out != r.out[mmu.Classes+lossy] || n != [2]units.Bytes{r.inN.sums[lossless], r.outN.sums[lossy]} {
		t.Error("a query changes the filter")
	}
}

// Sixteen ingress queues send to one egress; one frame leaves for every sixteen that arrive.
// Filtered at departures only, q^ lags far behind, and frames are taken until the pool is full.
// Filtered at every arrival, the first frame is refused earlier.
func TestReverieFiltersDiffer(t *testing.T) {
	for filter, full := range map[string]bool{"plain": false, "departure": true} {
		b := newBench(t, 17, 1_600_000, &ReverieParams{Alpha: whole, AlphaLossy: whole, Gamma: 0.999, Filter: filter}, newReverie)
		var fifo []*mmu.Arrival
		refused := units.Bytes(-1)
		for i := 0; refused < 0; i++ {
			a, ok := b.offer(i%16, 16, lossless, 1000)
			if !ok {
				refused = b.l.View().SharedFree()
				break
			}
			if fifo = append(fifo, a); i%16 == 15 {
				b.leave(fifo[0])
				fifo = fifo[1:]
			}
		}
		if refused < 1000 != full {
			t.Errorf("%s: the first frame is refused with %d B free", filter, refused)
		}
	}
}

// A pool of 10,000 B in a buffer of 20,000 B. With gamma 0.999999 and filter departure, q^ of a
// queue of 10,000 B is 0 after a departure: 10^-6 x 10,000 B is less than a byte. The threshold of
// a full pool is 0, too, so unsafe_overflow stores frames until the buffer is full; without it the
// eleventh does not fit. With gamma 1/2, q^ is 4500 or more after a departure, and none does.
func TestReverieUnsafeOverflow(t *testing.T) {
	for _, c := range []struct {
		gamma  float64
		unsafe bool
		want   int // frames of 1000 B that are stored
	}{{0.999999, true, 20}, {0.999999, false, 10}, {0.5, true, 10}} {
		p := &ReverieParams{Alpha: whole, AlphaLossy: whole, Gamma: c.gamma, Filter: "departure", UnsafeOverflow: c.unsafe}
		b := newBench(t, 3, 10_000, p, newReverie)
		var first *mmu.Arrival
		for range 10 {
			a := b.arrival(0, 1, lossless, 1000)
			b.store(a, mmu.Shared)
			first = a
		}
		b.leave(first)
		b.store(b.arrival(0, 1, lossless, 1000), mmu.Shared)
		n := 10
		for ; n < 30; n++ {
			a := b.arrival(0, 1, lossless, 1000)
			if fits := b.p.Fits(0, b.l.View(), a); fits != b.p.(Counting).FitsCounted(0, b.l.View(), a) {
				t.Errorf("gamma %v, frame %d: the two comparisons differ", c.gamma, n+1)
			}
			if !b.p.Fits(0, b.l.View(), a) {
				break
			}
			b.store(a, mmu.Shared)
		}
		if n != c.want {
			t.Errorf("gamma %v, unsafe %t: %d frames are stored, want %d", c.gamma, c.unsafe, n, c.want)
		}
		if b.p.Fits(0, b.l.View(), b.arrival(1, 2, lossy, 1000)) {
			t.Errorf("gamma %v, unsafe %t: a lossy frame fits into a full pool", c.gamma, c.unsafe)
		}
		if broken := p.Breaks(); broken != 0 != c.unsafe {
			t.Errorf("unsafe %t breaks %v", c.unsafe, broken)
		}
	}
}
