package metrics

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/probe"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/units"
)

// outcome is a run of four flows: one before the window, two finished in it, one
// unfinished.
func outcome() *Outcome {
	flows := dataplane.NewFlows([]dataplane.Flow{
		{Start: 0, Size: 1000, Src: 0, Dst: 1, Class: 1},
		{Start: 10, Size: 10_000, Src: 1, Dst: 0, Class: 2},
		{Start: 20, Size: 10_001, Src: 0, Dst: 2, Class: 1},
		{Start: 30, Size: 5000, Src: 2, Dst: 1, Class: 3},
	})
	flows.Send[0] = dataplane.SendResult{Acked: 500}
	flows.Send[1] = dataplane.SendResult{Acked: 110, Resent: 2, Timeouts: 1}
	flows.Send[2] = dataplane.SendResult{Acked: 320}
	flows.Recv[1] = dataplane.RecvResult{Delivered: 90, Early: 3, Twice: 1}
	flows.Recv[3] = dataplane.RecvResult{Delivered: 400} // its last ACK is still on the way
	o := &Outcome{
		Scenario: "four", Seed: 9, End: 600, Flows: flows,
		Ideal: []units.Time{100, 50, 100, 100}, Origin: []int{0, 0, 1, 1}, Groups: []int{-1, -1, 0, 0},
		Measured: []bool{false, true, true, true}, Workloads: []string{"web", "incast"}, Hosts: []string{"a", "b", "c"},
	}
	o.Totals = sim.Totals{Hops: 77, Pauses: 3, Resumes: 2, Blocked: 40, Marks: 5, PeakUsed: 4096}
	o.Totals.Drops[probe.Lossless] = 1
	o.Totals.Drops[probe.Corrupt] = 2
	return o
}

func TestSummarize(t *testing.T) {
	s := outcome().Summarize()
	if want := (Counts{Offered: 4, Completed: 3, Measured: 3, Finished: 2, Unfinished: 1}); s.Flows != want {
		t.Errorf("flows: got %+v, want %+v", s.Flows, want)
	}
	// Completion times 110-10 = 100 and 320-20 = 300: mean 200, slowdowns 2 and 3.
	if want := (Times{Mean: 200, P50: 100, P95: 300, P99: 300, P999: 300, Max: 300}); *s.FCT != want {
		t.Errorf("fct: got %+v, want %+v", *s.FCT, want)
	}
	if want := (Ratios{Mean: 2.5, P50: 2, P95: 3, P99: 3, P999: 3, Max: 3}); *s.Slowdown != want {
		t.Errorf("slowdown: got %+v, want %+v", *s.Slowdown, want)
	}
	if w := s.Workloads[1]; w.Name != "incast" || w.Measured != 2 || w.Finished != 1 || w.Unfinished != 1 || w.Slowdown.Mean != 3 {
		t.Errorf("workload: got %+v", w)
	}
	// 10,000 B still belongs to the first bucket, 10,001 B does not; both
	// unmeasured and unfinished flows stay out of the statistics.
	if s.Sizes[0].Measured != 2 || s.Sizes[0].Finished != 1 || s.Sizes[1].Finished != 1 || s.Sizes[2].FCT != nil {
		t.Errorf("sizes: got %+v", s.Sizes)
	}
	if s.Drops.Lossless != 1 || s.Drops.Link != 2 || s.Buffer.Peak != 4096 || s.Network.Hops != 77 {
		t.Errorf("totals: got %+v", s)
	}
	if s.Invariants.Checked {
		t.Error("a run without checks says that it was checked")
	}
}

func TestInvariants(t *testing.T) {
	o := outcome()
	o.Checks = []*dataplane.Checks{{}, {Broken: 2, First: "leaf0: x"}, {Broken: 1, First: "leaf1: y"}}
	if got, want := o.Summarize().Invariants, (Invariants{Checked: true, Broken: 3, First: "leaf0: x"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSummaryJSON(t *testing.T) {
	var a, b bytes.Buffer
	if err := outcome().Summarize().Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := outcome().Summarize().Write(&b); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("the same run gives different bytes")
	}
	var back Summary
	if err := json.Unmarshal(a.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != SchemaVersion || back.Scenario != "four" || back.FCT.Mean != 200 {
		t.Errorf("read back: %+v", back)
	}
	if !strings.HasPrefix(a.String(), "{\n  \"schema\": 1,\n") {
		t.Errorf("the schema does not come first: %.40s", a.String())
	}
}

func TestParquet(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := outcome().WriteParquet(w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same run gives different bytes")
	}
	rows, err := parquet.Read[Row](bytes.NewReader(a.Bytes()), int64(a.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want := Row{
		ID: 1, Workload: "web", Src: "b", Dst: "a", Class: 2, Size: 10_000, Start: 10, Acked: 110, Delivered: 90, FCT: 100, Ideal: 50,
		Slowdown: 2, Resent: 2, Timeouts: 1, Early: 3, Twice: 1, Measured: true, Finished: true, Group: -1,
	}
	if len(rows) != 4 || rows[1] != want {
		t.Errorf("got %d rows, second %+v, want %+v", len(rows), rows[1], want)
	}
	if rows[3].Finished || rows[3].FCT != 0 || rows[3].Delivered != 400 {
		t.Errorf("unfinished flow: %+v", rows[3])
	}
}

// More rows than a batch, so that the writer is flushed on the way.
func TestParquetManyRows(t *testing.T) {
	n := 2*rowBatch + 5
	o := &Outcome{
		Flows: dataplane.NewFlows(make([]dataplane.Flow, n)), Ideal: make([]units.Time, n), Origin: make([]int, n), Groups: make([]int, n),
		Measured: make([]bool, n), Workloads: []string{"w"}, Hosts: []string{"a"},
	}
	var buf bytes.Buffer
	if err := o.WriteParquet(&buf); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[Row](bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != n || rows[n-1].ID != int64(n-1) {
		t.Errorf("%d rows, want %d", len(rows), n)
	}
}

func TestCSV(t *testing.T) {
	var buf bytes.Buffer
	if err := outcome().WriteCSV(&buf); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines, want 5", len(lines))
	}
	if want := "1,web,b,a,2,10000,10,110,90,100,50,2,2,1,3,1,true,true,-1"; lines[2] != want {
		t.Errorf("got %s, want %s", lines[2], want)
	}
	if want := "3,incast,c,b,3,5000,30,,400,,100,,0,0,0,0,true,false,0"; lines[4] != want {
		t.Errorf("got %s, want %s", lines[4], want)
	}
}
