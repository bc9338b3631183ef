package cc_test

import (
	"math"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// watched has statistics of samples of the bottleneck queue.
type watched struct {
	mean, least, most float64
	crossed           int // number of crossings of a level
}

// watch samples the queue at the finest possible interval.
func (b *bottleneck) watch(from, to units.Time, level units.Bytes) watched {
	b.t.Helper()
	w := watched{least: 1e18}
	b.until(from)
	above, n := b.queue() > level, 0
	for at := from; at <= to; at += sim.CheckPeriod {
		b.until(at)
		q := float64(b.queue())
		w.mean, w.least, w.most = w.mean+q, min(w.least, q), max(w.most, q)
		n++
		if now := b.queue() > level; now != above {
			above = now
			w.crossed++
		}
	}
	w.mean /= float64(n)
	return w
}

// The queues of HPCC and PowerTCP stay below one bandwidth-delay product (10 Gbps x
// 21.2 us = 26.5 KB) on average, from 10 round trips after the last flow has started
// to 6 ms. Li et al. 2019, section 3.1: in-flight bytes stay below the product;
// Addanki et al. 2022, Theorem 1: the queue is the sum of the additive steps, here
// 16 x 150 Mbps x 21.2 us = 6.4 KB.
func TestStandingQueue(t *testing.T) {
	const bdp = 26_500
	for _, control := range []string{"{name: hpcc}", "{name: powertcp}", "{name: hpcc, preset: hpcc-sim}", "{name: powertcp, preset: hpcc-sim}"} {
		for _, n := range []int{2, 16} {
			b := newSetup("rdma", rdmaKeys(control), n, 100*units.Microsecond).build(t)
			from := units.Time(n-1)*b.interval + 10*b.Spec.Hosts[0].BaseRTT
			if w := b.watch(from, 6*units.Millisecond, bdp); !(w.mean < bdp) {
				t.Errorf("%s, %d flows: the queue is %.0f B on average, want less than %d B", control, n, w.mean, bdp)
			}
			b.checkInvariants()
		}
	}
}

// Alizadeh et al. 2010, section 3.3: the queue of DCTCP oscillates around K and never empties
// if K is more than C x RTT / 7 = 3.8 KB; it is 65 KB.
func TestDCTCPQueue(t *testing.T) {
	const k = 65 * units.KB
	for _, n := range []int{2, 16} {
		b := newSetup("tcp", tcpKeys("{name: dctcp}", "{name: step, k: 65KB}"), n, units.Millisecond).build(t)
		w := b.watch(40*units.Millisecond, 60*units.Millisecond, k)
		if math.Abs(w.mean/float64(k)-1) > 0.1 || w.least < float64(k)/2 || w.most > 1.5*float64(k) || w.crossed < 100 {
			t.Errorf("%d flows: %+v; want a mean within 10 %% of %s, nothing below half or above one and a half of it, and 100 crossings", n, w, k)
		}
		b.checkInvariants()
	}
}
