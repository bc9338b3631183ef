package headroom

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// 80 km at 100 Gbps without processing time: DELTA = 2 x 5,000,000 + 64 + 3000 B. PFC needs
// twice 10,004,564 B per class; Bifrost needs DELTA + 3 x 125,000 + 6000 B for all classes.
func TestLongHaul(t *testing.T) {
	l := &Link{Rate: 100 * units.Gbps, Delay: 400 * units.Microsecond, MTU: 1500, MinFrame: 64}
	for _, c := range []struct {
		name       string
		classes    int
		pfc, needs units.Bytes
	}{
		{"bifrost", 1, 20_009_128, 10_384_064}, {"bifrost", 7, 140_063_896, 10_384_064},
		{"cbfc", 1, 20_009_128, 11_014_656}, // 10,000,000 + 2 x 375,000 + 6000: 7171 frames of 24 blocks of 64
		{"cbfc", 2, 40_018_256, 22_029_312},
	} {
		e, err := flowctl.Schemes.Get(c.name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.New(e.Params())
		if err != nil {
			t.Fatal(err)
		}
		got := LongHaulOf(l, c.classes, s)
		if got.BDP != 10_003_064 || got.PFC != c.pfc || got.Needs != c.needs || !got.Fits {
			t.Errorf("%s, %d classes: %+v", c.name, c.classes, got)
		}
	}
}
