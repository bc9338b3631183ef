package explain_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

// Following queues once finds the same congested ports as adding up a queue at every pause.
func TestRootPorts(t *testing.T) {
	r, _ := recorded(t, racks+"workload:\n"+answers+everybody)
	if n, wrong := r.RootPortsByHand(); n < 20 || wrong != 0 {
		t.Errorf("%d of %d roots have another congested port", wrong, n)
	}
}

// Progress never goes back, and is reported while frames are read and causes are described.
func TestProgress(t *testing.T) {
	folder, _ := play(t, racks+"workload:\n"+answers, run.Options{Watchers: []run.Watcher{watcher{explain.New()}}})
	s, err := metrics.ReadSummary(folder)
	if err != nil {
		t.Fatal(err)
	}
	var shares []float64
	r, err := explain.Load(folder, s, func(share float64) { shares = append(shares, share) })
	if err != nil {
		t.Fatal(err)
	}
	loaded := len(shares)
	if _, err := r.Explain(explain.Options{At: -1}); err != nil {
		t.Fatal(err)
	}
	for i, share := range shares {
		if share < 0 || share > 1 || i > 0 && share < shares[i-1] {
			t.Fatalf("progress %v", shares)
		}
	}
	if loaded < 16 || len(shares) < loaded+2 {
		t.Errorf("%d reports while loading, %d in all", loaded, len(shares))
	}
}

// In cells of 2 KB a frame of 1,048 B takes 2 KB. The queue is drawn as thresholds count it: at
// every pause it is as long as its threshold, or has just been. Counting bytes of frames, it
// would be half as long.
func TestOccupancyCountsCells(t *testing.T) {
	r, _ := recorded(t, racks+"workload:\n"+answers, "switch.buffer={size: 32MiB, cell: 2KB}")
	e, err := r.Explain(explain.Options{At: -1})
	if err != nil {
		t.Fatal(err)
	}
	o := r.Occupancy(e.Causes[0])
	if o == nil || len(o.Thresholds) < 3 {
		t.Fatalf("occupancy %+v", o)
	}
	for _, x := range o.Thresholds {
		most := units.Bytes(0) // the queue may shrink while the frame that pauses waits for the wire
		for _, l := range o.Levels {
			if l.At > x.At-units.Microsecond && l.At <= x.At {
				most = max(most, l.Bytes)
			}
		}
		if most < x.Bytes*98/100 {
			t.Errorf("paused at %s with %d B in the queue, but the line is at %d B", x.At, most, x.Bytes)
		}
	}
}
