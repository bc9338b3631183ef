package ideal

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// randomPath returns a path of a few stages with similar rates, so that the bottleneck may
// change after thousands of packets.
func randomPath(r *rand.Rand) *flowPath {
	c := &flowPath{payload: 1000, header: 48, ack: units.Bytes(1 + r.IntN(1200)), every: 1 + r.IntN(3)*r.IntN(8)}
	rates := []units.Rate{25 * units.Gbps, 97 * units.Gbps, 99 * units.Gbps, 99_500 * units.Mbps, 100 * units.Gbps, 100 * units.Gbps}
	paths := func() [][]uint16 {
		first := uint16(len(c.stages))
		n := 1 + r.IntN(4)
		for range n + 2 {
			c.stages = append(c.stages, stage{rate: rates[r.IntN(len(rates))], delay: units.Time(1 + r.IntN(1_000_000))})
		}
		list := [][]uint16{{first, first + 2}}
		if r.IntN(3) == 0 {
			list = append(list, []uint16{first, first + 1})
		}
		for i := range list {
			for k := 3; k < n+2; k++ {
				list[i] = append(list[i], first+uint16(k))
			}
		}
		return list
	}
	c.there, c.back = paths(), paths()
	c.rate = c.stages[c.there[0][0]].rate
	if r.IntN(3) == 0 {
		c.rate = 98 * units.Gbps
	}
	if r.IntN(2) == 0 {
		c.window = int64(1 + r.IntN(120))
	}
	return c
}

// TestLeapsAreExact compares FCTs computed with and without leaps.
func TestLeapsAreExact(t *testing.T) {
	leapt := 0
	for i := range 200 {
		r := rand.New(rand.NewPCG(11, uint64(i)))
		c := randomPath(r)
		leaping, walking := newPipeline(c), newPipeline(c)
		walking.period = 0
		// A stage that is busy at first hides the other stages for a while.
		for k := range c.stages {
			if r.IntN(4) == 0 {
				busy := units.Time(r.IntN(200)) * units.Microsecond
				leaping.free[k], walking.free[k] = busy, busy
			}
		}
		for size := units.Bytes(1); size < 20*units.MB; size += units.Bytes(r.IntN(int(size) + 3000)) {
			full := int64((size+999)/1000) - 1
			if leaping.period > 0 && full-leaping.sent > 6*leaping.period {
				leapt++
			}
			if got, want := leaping.fct(size), walking.fct(size); got != want {
				t.Errorf("path %d: FCT of %d B is %d ps with leaps, %d ps without\n%+v", i, size, got, want, *c)
				break
			}
		}
	}
	if leapt < 200 {
		t.Errorf("only %d chances to leap (expected at least 200)", leapt)
	}
}

// TestLongFlowIsCheap computes the FCT of 100 GB, which is feasible only with leaps. Expected:
// 10^8 frames of 83,840 ps, two more frame times for the other two links, and 3 us of cable;
// the ACK takes 3 x (5,120 ps + 1 us).
func TestLongFlowIsCheap(t *testing.T) {
	link := stage{rate: 100 * units.Gbps, delay: units.Microsecond}
	c := &flowPath{
		stages: []stage{link, link, link, link, link, link}, there: [][]uint16{{0, 1, 2}}, back: [][]uint16{{3, 4, 5}},
		payload: 1000, header: 48, ack: 64, every: 1, rate: 100 * units.Gbps,
	}
	p := newPipeline(c)
	want := units.Time(100_000_002*83_840 + 3_000_000 + 3_015_360)
	if got := p.fct(100 * units.GB); got != want {
		t.Errorf("%d ps, want %d ps", got, want)
	}
}
