package explain_test

import (
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
)

func TestUnion(t *testing.T) {
	got := explain.Union([]explain.Span{{From: 5, To: 9}, {From: 1, To: 3}, {From: 3, To: 4}, {From: 6, To: 7}, {From: 20, To: 21}})
	if want := []explain.Span{{From: 1, To: 4}, {From: 5, To: 9}, {From: 20, To: 21}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// c is stuck for 50 us from 2 us; its PAUSE and its RESUME reach s after 5120 ps and 1 us. a
// sends one frame of 1048 B at 5 us, which is 838.4 Mb/s in the first 10 us.
func TestBlockedByHand(t *testing.T) {
	r, _ := recorded(t, star+"{from: a, to: c, size: 1KB, start: 5us}]}\n", "faults=[{at: 2us, host: c, stuck: true, for: 50us}]")
	lanes := r.Blocked(5)
	if len(lanes) != 1 || lanes[0].Name != "s.to-c" || !slices.Equal(lanes[0].Spans, []explain.Span{{From: 3005120, To: 53005120}}) {
		t.Errorf("blocked: %v", lanes)
	}
	rate := r.Rate("a.to-s", 10*units.Microsecond)
	if rate[0] < 838.399e6 || rate[0] > 838.401e6 || slices.Max(rate[1:]) != 0 {
		t.Errorf("a.to-s sends %v", rate)
	}
	if r.Rate("nowhere", units.Microsecond) != nil {
		t.Error("an unknown port has a rate")
	}
}

// The storm of an incast: the blocked time of ports sums to the summary's, the storm is named
// after its cause, and the pausing queue exceeds its threshold and ends empty.
func TestTimelineOfAStorm(t *testing.T) {
	r, done := recorded(t, racks+"workload:\n"+answers+bystanders)
	e, err := r.Explain(explain.Options{At: -1})
	if err != nil {
		t.Fatal(err)
	}
	sum := units.Time(0)
	list := r.Blocked(1000)
	for i := range list {
		sum += list[i].Lasted()
		if i > 0 && list[i].Lasted() > list[i-1].Lasted() {
			t.Errorf("%s is out of order", list[i].Name)
		}
	}
	if want := done.Summary.Pauses.Blocked; sum != want || sum == 0 {
		t.Errorf("blocked for %s in total, the summary has %s", sum, want)
	}
	storms := r.Storms(e)
	if len(storms) == 0 || storms[0].Name != "leaf0.to-host0" || storms[0].Lasted() == 0 {
		t.Errorf("storms: %v", storms)
	}
	o := r.Occupancy(e.Causes[0])
	if o == nil || len(o.Levels) == 0 || len(o.Thresholds) == 0 {
		t.Fatalf("occupancy %+v", o)
	}
	most := units.Bytes(0)
	for i, l := range o.Levels {
		most = max(most, l.Bytes)
		if l.Bytes < 0 || i > 0 && l.At <= o.Levels[i-1].At {
			t.Fatalf("%d bytes at %s", l.Bytes, l.At)
		}
	}
	if most < o.Thresholds[0].Bytes || o.Levels[len(o.Levels)-1].Bytes != 0 {
		t.Errorf("%s has at most %d B, its threshold is %d B; %d B at the end", o.Queue, most, o.Thresholds[0].Bytes, o.Levels[len(o.Levels)-1].Bytes)
	}
}
