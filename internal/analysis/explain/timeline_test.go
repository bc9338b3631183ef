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

// c is stuck for 50 us from 2 us on: its PAUSE and its RESUME take 5120 ps and 1 us to s. a
// sends one frame of 1048 B at 5 us, which is 838.4 Mb/s in the first 10 us.
func TestHeldByHand(t *testing.T) {
	r, _ := recorded(t, star+"{from: a, to: c, size: 1KB, start: 5us}]}\n", "faults=[{at: 2us, host: c, stuck: true, for: 50us}]")
	held := r.Held(5)
	if len(held) != 1 || held[0].Name != "s.to-c" || !slices.Equal(held[0].Spans, []explain.Span{{From: 3005120, To: 53005120}}) {
		t.Errorf("held: %v", held)
	}
	rate := r.Rate("a.to-s", 10*units.Microsecond)
	if rate[0] < 838.399e6 || rate[0] > 838.401e6 || slices.Max(rate[1:]) != 0 {
		t.Errorf("a.to-s sends %v", rate)
	}
	if r.Rate("nowhere", units.Microsecond) != nil {
		t.Error("a port that is not there has a rate")
	}
}

// The storm of an incast: what ports were held adds up to what the summary says, the storm has
// the name of its cause, and the queue that paused stood above its threshold and ends empty.
func TestTimelineOfAStorm(t *testing.T) {
	r, done := recorded(t, racks+"workload:\n"+answers+bystanders)
	e, err := r.Explain(explain.Options{At: -1})
	if err != nil {
		t.Fatal(err)
	}
	sum := units.Time(0)
	list := r.Held(1000)
	for i := range list {
		sum += list[i].Lasted()
		if i > 0 && list[i].Lasted() > list[i-1].Lasted() {
			t.Errorf("%s comes too late", list[i].Name)
		}
	}
	if want := done.Summary.Pauses.Blocked; sum != want || sum == 0 {
		t.Errorf("held for %s in all, the summary has %s", sum, want)
	}
	storms := r.Storms(e)
	if len(storms) == 0 || storms[0].Name != "leaf0.to-host0" || storms[0].Lasted() == 0 {
		t.Errorf("storms: %v", storms)
	}
	o := r.Occupancy(e.Causes[0])
	if o == nil || len(o.Held) == 0 || len(o.Thresholds) == 0 {
		t.Fatalf("occupancy %+v", o)
	}
	most := units.Bytes(0)
	for i, l := range o.Held {
		most = max(most, l.Bytes)
		if l.Bytes < 0 || i > 0 && l.At <= o.Held[i-1].At {
			t.Fatalf("%d bytes at %s", l.Bytes, l.At)
		}
	}
	if most < o.Thresholds[0].Bytes || o.Held[len(o.Held)-1].Bytes != 0 {
		t.Errorf("%s holds at most %d, its threshold is %d; %d in the end", o.Queue, most, o.Thresholds[0].Bytes, o.Held[len(o.Held)-1].Bytes)
	}
}
