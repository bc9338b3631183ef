package metrics

import (
	"bytes"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// late writes a row when the run ends.
type late struct {
	probe.Ignore
	out *probe.Recorder
}

func (l *late) Finish(now units.Time) { l.out.Add(now, 99) }

// writeSeries lets two nodes write rows (time, value) in three steps and flushes after some
// of them.
func writeSeries(t *testing.T, flush [3]bool) string {
	t.Helper()
	s := NewSeries("probe-x", []string{"a", "b", "c"}, []probe.Column{{Name: "v"}})
	first, second := s.Recorder(0, 2, units.Never), s.Recorder(2, 0, 30)
	s.Watch(&late{out: first})
	var pq, text bytes.Buffer
	if err := s.Open(&pq, &text); err != nil {
		t.Fatal(err)
	}
	steps := [3]func(){
		func() { first.Add(1, 1); second.Add(1, 2); second.Add(3, 3); first.Add(3, 4); first.Add(3, 5) },
		func() { second.Add(10, 6); first.Add(12, 7); second.Add(12, 8) },
		func() { second.Add(29, 9); second.Add(30, 10); first.Add(31, 11) },
	}
	for i, step := range steps {
		if step(); flush[i] {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(40); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// Rows are ordered by time, then by node, then as written, whenever they are flushed. Rows
// outside a recorder's time span are left out.
func TestSeries(t *testing.T) {
	want := "time_ps,node,v\n1,c,2\n3,a,4\n3,a,5\n3,c,3\n10,c,6\n12,a,7\n12,c,8\n29,c,9\n31,a,11\n40,a,99\n"
	for i := range 8 {
		if got := writeSeries(t, [3]bool{i&1 != 0, i&2 != 0, i&4 != 0}); got != want {
			t.Errorf("flushes %03b: got\n%swant\n%s", i, got, want)
		}
	}
}
