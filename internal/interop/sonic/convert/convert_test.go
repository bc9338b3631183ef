package convert

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// Whole metres survive the conversion to a delay: 40 m are 202,020.2 ps, rounded up.
func TestDelays(t *testing.T) {
	if delay(40) != 202021 || metresFor(202021) != 40 || metresFor(202020) != 39 {
		t.Errorf("%d ps, %d m, %d m", delay(40), metresFor(202021), metresFor(202020))
	}
	for m := int64(1); m < 1_000_000; m += 997 {
		if got := metresFor(delay(m)); got != m {
			t.Fatalf("%d m became %d m", m, got)
		}
	}
}

func TestExponents(t *testing.T) {
	for n := int64(-8); n <= 7; n++ {
		var r units.Ratio
		if err := r.UnmarshalText([]byte(power(n))); err != nil {
			t.Fatal(err)
		}
		if got, err := exponent("alpha", r); got != n || err != nil {
			t.Errorf("2^%d is %s, read as %d, %v", n, power(n), got, err)
		}
	}
	for _, r := range []units.Ratio{{Num: 1, Den: 3}, {Num: 3, Den: 1}, {Num: 256, Den: 1}, {Num: 1, Den: 512}, {}} {
		if _, err := exponent("alpha", r); err == nil {
			t.Errorf("%v is accepted as a power of two", r)
		}
	}
}

func TestNodeName(t *testing.T) {
	for name, want := range map[string]string{"leaf-1": "leaf-1", "10.0.0.1": "s10-0-0-1", "str2.a/b": "str2-a-b", "": "s", "_x": "s_x"} {
		if got := nodeName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Among equally common values the first one wins.
func TestMostCommon(t *testing.T) {
	list := []int{3, 1, 1, 3, 2}
	for range 100 {
		if got := mostCommon(list, func(x *int) int { return *x }); got != 3 {
			t.Fatal(got)
		}
	}
}
