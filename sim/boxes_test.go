package sim

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// near.of multiplies instead of dividing by the window length; the result must be exact.
func TestWindowOfATime(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		length := units.Time(rapid.Int64Range(1, int64(CheckPeriod)).Draw(t, "length"))
		index := rapid.Uint64Range(0, 1<<40).Draw(t, "index")
		window := rapid.Uint64Range(0, maxNearWindows-1).Draw(t, "window")
		n := newNear(1, length, maxNearWindows)
		n.begin(index)
		start := units.Time(index+window) * length
		for _, at := range []units.Time{start, start + length/2, start + length - 1} {
			if got := n.of(at); got != index+window {
				t.Errorf("windows of %d ps: %d ps is in window %d, want %d", length, at, got, index+window)
			}
		}
		if end := start + length; window == maxNearWindows-1 && n.far != end {
			t.Errorf("boxes reach to %d ps, want %d", n.far, end)
		}
	})
}

// Workers that only write get free items from workers that read.
func TestLevel(t *testing.T) {
	few, many := &stock[int]{free: []int{1}}, &stock[int]{free: []int{2, 3, 4, 5, 6}}
	level([]*stock[int]{few, many}, 2) // (5 - 1) / 2 = 2 is not more than 2
	if len(few.free) != 1 || len(many.free) != 5 {
		t.Errorf("%v and %v: levelled a small difference", few.free, many.free)
	}
	level([]*stock[int]{few, many}, 1)
	if len(few.free) != 3 || len(many.free) != 3 {
		t.Errorf("%v and %v after levelling, want three each", few.free, many.free)
	}
}

// Boxes reach as far as most frames fly.
func TestDepthOfBoxes(t *testing.T) {
	const ns = units.Nanosecond
	cable := func(delay units.Time) Cable { return Cable{Rate: 100 * units.Gbps, AtoB: delay, BtoA: delay} }
	for _, c := range []struct {
		window units.Time
		cables []Cable
		want   uint64
	}{
		{50 * ns, []Cable{cable(50 * ns), cable(250 * ns), cable(250 * ns)}, maxNearWindows}, // 4.2 KB take 336 ns
		{50 * ns, []Cable{cable(50 * ns), cable(units.Millisecond)}, minNearWindows},         // half of them fly too far
		{1000 * ns, []Cable{cable(1000 * ns)}, minNearWindows},                               // eight are enough
		{10 * ns, []Cable{cable(10 * ns)}, minNearWindows},                                   // sixteen are not
	} {
		if got := nearWindows(c.cables, c.window); got != c.want {
			t.Errorf("windows of %d ps: boxes for %d windows, want %d", c.window, got, c.want)
		}
	}
}
