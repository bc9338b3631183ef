package sim

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
)

// near.of multiplies instead of dividing by the window length; the result must be exact.
func TestWindowOfATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := units.Time(rapid.Int64Range(1, int64(CheckPeriod)).Draw(t, "length"))
		index := rapid.Uint64Range(0, 1<<40).Draw(t, "index")
		window := rapid.Uint64Range(0, nearWindows-1).Draw(t, "window")
		n := newNear(1, length)
		n.begin(index)
		start := units.Time(index+window) * length
		for _, at := range []units.Time{start, start + length/2, start + length - 1} {
			if got := n.of(at); got != index+window {
				t.Errorf("windows of %d ps: %d ps is in window %d, want %d", length, at, got, index+window)
			}
		}
		if end := start + length; window == nearWindows-1 && n.far != end {
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
