package flowctl

import (
	"math"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

var paperWeights = weights{units.Ratio{Num: 1, Den: 4}, units.Ratio{Num: 1, Den: 4}, units.Ratio{Num: 4, Den: 1}}

// arrivals has the arrivals of one queue, PHI = 10,000 B at 100 Gbps: D = 10,000 B / 12.5 B/ns =
// 800 ns. The gradient g is in B/ns; phi^ = (g_avg + 4 v_avg) 800 ns.
//
// The table form counts in bytes per 2^24 ps, 1 B/ns = 16777.2: 100 B in 100 ns are 2^((1701 -
// 4252)/256 + 24) = 16788. The tables have log2 100 = 6 + 165/256 = 1701/256 and log2 100,000 =
// 16 + 156/256 = 4252/256. The line rate is 209,715, a step of the map 6553.6, and n steps are
// 10,000 n / 32 B.
var arrivals = []struct {
	at     units.Time // ns
	length units.Bytes
	ideal  float64
	table  units.Bytes
}{
	{0, 1000, 0, 0},
	{100, 1100, 1000, 1250},    // g 1, avg 0.25, dev 0.25: 1.25 x 800; table 4197 + 4 x 4197 = 20,985: 4 steps
	{200, 1200, 1550, 1562},    // g 1, avg 0.4375, dev 0.25 + (0.75-0.25)/4 = 0.375: 1.9375 x 800; 7344 + 4 x 6295: 5
	{400, 1300, 1312.5, 1562},  // g 0.5, off 0.0625: avg 0.453125, dev 0.296875: 1.640625; 7606 + 4 x 4983 = 27,538: 5
	{450, 1200, 2546.9, 2812},  // g -2, off -2.453125: avg -0.160156, dev 0.835938: 3.183594; -2690 + 4 x 14,032: 9
	{550, 1200, 2038.3, 2187},  // g 0: avg -0.120117, dev 0.666992: 2.547852; -2018 + 4 x 11,196: 7
	{650, 1250, 2124.8, 2187},  // g 0.5: avg 0.034912, dev 0.655273: 2.656006; 585 + 4 x 11,000: 7
	{750, 1650, 5565.7, 5625},  // g 4: avg 1.026184, dev 1.482727: 6.957092; 17,227 + 4 x 24,892: 18
	{850, 1650, 4995.2, 5000},  // g 0: avg 0.769638, dev 1.368591: 6.244003; 12,920 + 4 x 22,975: 16
	{950, 1650, 4362.1, 4375},  // g 0: avg 0.577229, dev 1.218853: 5.452641; 9690 + 4 x 20,461: 14
	{1050, 1625, 3883.4, 4062}, // g -0.25: avg 0.370421, dev 1.120947: 4.854209; 6218 + 4 x 18,817: 13
	{1050, 2625, 3883.4, 4062}, // same time: no new gradient, only the length changes
	{1450, 2625, 3208.9, 3437}, // g 0: avg 0.277816, dev 0.933316: 4.011078; 4663 + 4 x 15,667: 11
	{1550, 2725, 3184.4, 3437}, // g 1: avg 0.458362, dev 0.880533: 3.980493; 7694 + 4 x 14,781: 11
	{1630, 3725, 10000, 10000}, // g 12.5: avg 3.46877, dev 3.67081: 18.15 B/ns, above the line rate
	{1640, 0, 10000, 10000},    // g -372.5: avg -90.5, dev 96.7: the deviation dominates
}

// At 8 Tbps the product of the rate with 2^21 needs more than 64 bits. The line rate is 8e12 x
// 2^21 / 1e12 = 16,777,216 bytes per 2^24 ps, 1 B/ps. PHI = 32,000 B: a step of the map is
// 524,288 and worth 1000 B. 100 B in 400 ps are g = 1/4 B/ps: g_avg and v_avg are 1/16 of the
// line rate, g_avg + 4 v_avg is 5/16 of it: 10 steps (11 if the tables round up).
func TestEstimateOfFastLinks(t *testing.T) {
	s, _ := newTables(paperWeights, 32000, 8000*units.Gbps)
	s.arrive(1000, 3, 1000)
	s.arrive(1400, 3, 1100)
	if got := s.estimate(3); got != 10000 && got != 11000 {
		t.Errorf("%d B, want 10,000 or 11,000", got)
	}
}

func TestEstimatesByHand(t *testing.T) {
	e, q := newIdeal(paperWeights, 10000, 100*units.Gbps), gradient{at: never}
	s, ok := newTables(paperWeights, 10000, 100*units.Gbps)
	if !ok {
		t.Fatal("1/4, 1/4 and 4 are powers of two")
	}
	for i, a := range arrivals {
		e.arrive(&q, a.at*ns, a.length)
		s.arrive(a.at*ns, 3, a.length)
		if got := float64(e.estimate(&q)); math.Abs(got-a.ideal) > 0.56 { // estimates are whole bytes, literals have one decimal
			t.Errorf("arrival %d: the ideal form estimates %v B, want %v", i, got, a.ideal)
		}
		if got := s.estimate(3); got != a.table {
			t.Errorf("arrival %d: the table form estimates %v B, want %v", i, got, a.table)
		}
	}
	if e.estimate(&gradient{at: never}) != 0 || s.estimate(4) != 0 {
		t.Error("another queue has an estimate")
	}
}

// w_g = 1/2 and w_v = 1/4: g 1 gives avg 0.5, dev 0.25, 1.5 x 800; 8394 + 4 x 4197 = 25,182
// are 4 steps. Then g 0: avg 0.25, dev 0.25 + (0.5-0.25)/4 = 0.3125, 1.5 x 800 again;
// 4197 + 4 x 5246 = 25,181.
func TestWeightsOfEstimates(t *testing.T) {
	w := weights{units.Ratio{Num: 1, Den: 2}, units.Ratio{Num: 1, Den: 4}, units.Ratio{Num: 4, Den: 1}}
	e, q := newIdeal(w, 10000, 100*units.Gbps), gradient{at: never}
	s, _ := newTables(w, 10000, 100*units.Gbps)
	for i, length := range []units.Bytes{1000, 1100, 1100} {
		e.arrive(&q, units.Time(i)*100*ns, length)
		s.arrive(units.Time(i)*100*ns, 3, length)
		if i > 0 && (e.estimate(&q) != 1200 || s.estimate(3) != 1250) {
			t.Errorf("arrival %d: %d and %d B, want 1200 and 1250", i, e.estimate(&q), s.estimate(3))
		}
	}
}

// A queue that drains steadily needs nothing.
func TestEstimateIsNeverNegative(t *testing.T) {
	e, q := newIdeal(paperWeights, 10000, 100*units.Gbps), gradient{at: never}
	s, _ := newTables(paperWeights, 10000, 100*units.Gbps)
	for i := range 60 {
		e.arrive(&q, units.Time(i)*100*ns, units.Bytes(60000-100*i))
		s.arrive(units.Time(i)*100*ns, 1, units.Bytes(60000-100*i))
	}
	// avg is -1 (1 - 0.75^59); dev is the rest, below 1e-5.
	if e.estimate(&q) != 0 || s.estimate(1) != 0 {
		t.Errorf("estimates %d and %d B", e.estimate(&q), s.estimate(1))
	}
}

// The tables are within half an entry of the exact functions, a quotient within two entries:
// 2^(2/256) = 1.0054.
func TestTables(t *testing.T) {
	for i := range logTable {
		if want := 256 * math.Log2(1+(float64(i)+0.5)/256); math.Abs(float64(logTable[i])-want) > 0.51 {
			t.Errorf("log %d is %d/256, want %.2f/256", i, logTable[i], want)
		}
		if want := 65536 * math.Exp2(float64(i)/256); math.Abs(float64(expTable[i])-want) > 1.01 {
			t.Errorf("exp %d is %d/65536, want %.2f/65536", i, expTable[i], want)
		}
	}
	for a := uint64(1); a < 1<<26; a = a*5/4 + 1 {
		for b := uint64(1000); b < 1<<36; b = b*7/5 + 3 {
			want := float64(a) / float64(b) * (1 << gradientBits)
			if got := float64(quotient(a, b)); math.Abs(got-want) > want*0.0055+1 {
				t.Fatalf("%d / %d is %v, want %v", a, b, got, want)
			}
		}
	}
	if got := quotient(1<<40, 1); got <= 0 {
		t.Errorf("2^40 / 1 overflows to %d", got)
	}
}

// With 32 steps and a line rate of 209,715: at a threshold, just above it, far beyond.
func TestStepsOfTheMap(t *testing.T) {
	s, _ := newTables(paperWeights, 32000, 100*units.Gbps)
	for g, want := range map[int64]int{-5: 0, 0: 0, 1: 1, 6553: 1, 6554: 2, 104857: 16, 104858: 17, 203161: 31, 203162: 32, 209715: 32, 1 << 50: 32} {
		if got := s.above(g); got != want {
			t.Errorf("g^ of %d is above %d thresholds, want %d", g, got, want)
		}
	}
	if s.phis[1] != 1000 || s.phis[32] != 32000 {
		t.Errorf("one step is %d B, all are %d B", s.phis[1], s.phis[32])
	}
}
