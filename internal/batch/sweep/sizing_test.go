package sweep

import "testing"

// A merge has all points: 128 MiB and 100 KiB for each, unless a point takes more.
func TestMergeMemory(t *testing.T) {
	for _, c := range []struct {
		task   int64
		points int
		want   int64
	}{
		{192 << 20, 40, 192 << 20},
		{192 << 20, 10_000, 1_158_217_728}, // 134,217,728 + 10,000 * 102,400
		{0, 10_000, 0},                     // nobody knows what anything takes
	} {
		if got := (&Load{Memory: c.task}).MergeMemory(c.points); got != c.want {
			t.Errorf("%d points of tasks of %d bytes: %d, want %d", c.points, c.task, got, c.want)
		}
	}
}
