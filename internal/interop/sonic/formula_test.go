package sonic

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

func chipNamed(name string) chips.Chip {
	c, err := chips.ModelledNamed(name)
	if err != nil {
		panic(err)
	}
	return c
}

func chip(t *testing.T, name string) *chips.Chip {
	t.Helper()
	c := chipNamed(name)
	return &c
}

// Computed by hand from SONiC's scripts, with frames of 9100 B and lossless frames of 1024 B.
func TestComputedHeadroom(t *testing.T) {
	for _, c := range []struct {
		chip          string
		speed         units.Rate
		metres, small int64
		lanes         int
		shared        bool
		want          ComputedHeadroom
	}{
		// 9100 + 5050.5 + 819.2 + 25,216 = 40,185.7; x 3 + 1024 = 121,581
		{"spc3", 100 * units.Gbps, 40, 100, 4, true, ComputedHeadroom{19456, 121856, 19456}},
		// 9100 + 151,515.2 + 819.2 + 57,920 = 219,354.4; x 1.2353 + 1024 = 271,991
		{"spc3", 400 * units.Gbps, 300, 50, 8, true, ComputedHeadroom{38912, 272384, 38912}},
		// tiles add 800 x 15: 120,243.2; 149,560 -> 150,528; no shared pool adds 2048
		{"spc4", 800 * units.Gbps, 40, 50, 8, false, ComputedHeadroom{38912, 152576, 200704}},
		// 9100 + 36,991 + 819.2 + 25,216 = 72,126.2; x 1.875 + 1024 = 136,261
		{"tofino2", 100 * units.Gbps, 300, 50, 4, true, ComputedHeadroom{69632, 137216, 69632}},
	} {
		p := &Port{Speed: c.speed, MTU: 9100, Lanes: c.lanes}
		got := computeHeadroom(chip(t, c.chip), p, c.metres, Pattern{MTU: 1024, Small: c.small}, c.shared)
		if got != c.want {
			t.Errorf("%s at %s over %d m: %+v, want %+v", c.chip, c.speed, c.metres, got, c.want)
		}
	}
}

// By hand: cable 2 x 40 / 1.98e8 s at 12.5e9 B/s = 5050.5; reaction 394 x 64 = 25,216.
// Last case, 5 m: (631.31 + 25,216 + 9,100 + 819.2) x 4 + 1,024 = 144,090.05, rounded up.
func TestNeed(t *testing.T) {
	for _, c := range []struct {
		chip   string
		speed  units.Rate
		metres int64
		want   Need
	}{
		{"td3", 100 * units.Gbps, 40, Need{14151, 41210, 161767}},
		{"td3", 100 * units.Gbps, 300, Need{46979, 74038, 293080}},
		{"th3", 400 * units.Gbps, 300, Need{160616, 220379, 878442}},
		{"th", 100 * units.Gbps, 5, Need{9732, 36791, 144091}},
	} {
		if got := NeedOf(c.speed, c.metres, 9100, 1024, chip(t, c.chip)); got != c.want {
			t.Errorf("%s at %s over %d m: %+v, want %+v", c.chip, c.speed, c.metres, got, c.want)
		}
	}
}

// A speed that is not listed uses the number of the next faster one.
func TestResponse(t *testing.T) {
	for speed, want := range map[units.Rate]units.Bytes{100 * units.Gbps: 25216, 30 * units.Gbps: 7552, 1600 * units.Gbps: 57920} {
		if got := ResponseBytes(speed); got != want {
			t.Errorf("%s: %d, want %d", speed, got, want)
		}
	}
}
