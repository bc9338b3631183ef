package sweep

import "testing"

// A merge needs 128 MiB and 100 KiB per point, but at least the memory of a task.
func TestMergeMemory(t *testing.T) {
	for _, c := range []struct {
		task   int64
		points int
		want   int64
	}{
		{192 << 20, 40, 192 << 20},
		{192 << 20, 10_000, 1_158_217_728}, // 134,217,728 + 10,000 * 102,400
		{0, 10_000, 0},                     // unknown
	} {
		if got := (&Load{Memory: c.task}).MergeMemory(c.points); got != c.want {
			t.Errorf("%d points, tasks of %d bytes: got %d, want %d", c.points, c.task, got, c.want)
		}
	}
}
