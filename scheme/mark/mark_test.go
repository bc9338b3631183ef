package mark

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

func TestREDScales(t *testing.T) {
	// 100 KB and 400 KB per 25 Gbps: four times as much at 100 Gbps.
	m, err := newRED(&REDParams{KMin: 100 * units.KB, KMax: 400 * units.KB, PMax: 0.2, Per: 25 * units.Gbps}, 100*units.Gbps)
	if err != nil {
		t.Fatal(err)
	}
	r := m.(*red)
	if r.kmin != 400*units.KB || r.kmax != 1600*units.KB || m.Floor() != r.kmin {
		t.Errorf("kmin %d, kmax %d, floor %d; want 400,000, 1,600,000, 400,000", r.kmin, r.kmax, m.Floor())
	}
}

// Half-way between kmin and kmax the probability is half of pmax: 0.1. Of 10,000 frames 1000
// are marked, within five standard deviations of sqrt(10,000 x 0.1 x 0.9) = 30.
func TestREDProbability(t *testing.T) {
	m, err := newRED(&REDParams{KMin: 100, KMax: 300, PMax: 0.2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.NewPCG(1, 2)
	for _, c := range []struct {
		q    units.Bytes
		want float64
	}{{100, 0}, {101, 10}, {200, 1000}, {300, 2000}, {301, 10000}} {
		n := 0
		for range 10000 {
			if m.Mark(c.q, r) {
				n++
			}
		}
		slack := 5 * math.Sqrt(c.want*(1-c.want/10000))
		if math.Abs(float64(n)-c.want) > slack {
			t.Errorf("%d of 10,000 marked at %d B, want %.0f +- %.0f", n, c.q, c.want, slack)
		}
	}
}

func TestStep(t *testing.T) {
	m, err := newStep(&StepParams{K: 65 * units.KB, Per: 10 * units.Gbps}, 40*units.Gbps) // 260 KB at 40 Gbps
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[units.Bytes]bool{0: false, 260_000: false, 260_001: true} {
		if m.Mark(q, nil) != want {
			t.Errorf("mark at %d B is %v", q, !want)
		}
	}
	if m.Floor() != 260*units.KB {
		t.Errorf("floor %d, want 260,000", m.Floor())
	}
}

func TestBadParameters(t *testing.T) {
	for _, p := range []REDParams{
		{KMin: 0, KMax: 1, PMax: 1}, {KMin: 2, KMax: 1, PMax: 1}, {KMin: 1, KMax: 2}, {KMin: 1, KMax: 2, PMax: 1.1},
		{KMin: 1, KMax: 2, PMax: math.NaN()}, {KMin: 1, KMax: 2, PMax: 1, Per: 1},
	} {
		if _, err := newRED(&p, units.Gbps); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if _, err := newStep(&StepParams{K: -1}, units.Gbps); err == nil {
		t.Error("a negative k is accepted")
	}
}
