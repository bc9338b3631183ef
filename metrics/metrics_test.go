package metrics

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// outcome returns a run of four flows: one before the window, two finished in it, one
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
	flows.Recv[3] = dataplane.RecvResult{Delivered: 400} // its last ACK is still in flight
	o := &Outcome{
		Scenario: "four", Seed: 9, End: 600, Flows: flows,
		Ideal: []units.Time{100, 50, 100, 100}, Origin: []int32{0, 0, 1, 1}, Groups: []int32{-1, -1, 0, 0}, Payloads: []units.Bytes{1000},
		Measured:  func(i int) bool { return i > 0 },
		Workloads: []string{"web", "incast"}, Hosts: []string{"a", "b", "c"}, Nodes: []string{"a", "b", "c", "s"}, Grouping: DefaultGrouping(),
	}
	o.Totals = sim.Totals{Hops: 77, Pauses: 3, Resumes: 2, Blocked: 40, Marks: 5, PeakUsed: 4096, Control: 7}
	pfc, request := &o.Totals.Controls[0], &o.Totals.Controls[packet.Request-packet.PFC]
	pfc.Frames, pfc.Bytes, request.Frames, request.Bytes = 4, 256, 3, 192
	o.Totals.Depths[1], o.Totals.Depths[3] = 2, 1
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
	// 10,000 B is in the first bucket, 10,001 B is not; unmeasured and unfinished flows are
	// not in the statistics.
	if s.Sizes[0].Measured != 2 || s.Sizes[0].Finished != 1 || s.Sizes[1].Finished != 1 || s.Sizes[2].FCT != nil {
		t.Errorf("sizes: got %+v", s.Sizes)
	}
	if s.Drops.Lossless != 1 || s.Drops.Link != 2 || s.Buffer.Peak != 4096 || s.Network.Hops != 77 {
		t.Errorf("totals: got %+v", s)
	}
	// 4 x 64 B and 3 x 64 B.
	kinds := ControlKinds{PFC: ControlCount{4, 256}, Request: ControlCount{3, 192}}
	if n := s.Network; n.Control != 7 || n.Bytes != 448 || n.Kinds != kinds {
		t.Errorf("control frames: got %+v", n)
	}
	if s.Invariants.Checked {
		t.Error("a run without checks reports that it was checked")
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
	if !strings.HasPrefix(a.String(), "{\n  \"schema\": 2,\n") {
		t.Errorf("the schema does not come first: %.40s", a.String())
	}
}

// flowRow is a row of flows.parquet, for reading.
type flowRow struct {
	ID        int64    `parquet:"id"`
	Workload  string   `parquet:"workload"`
	Src       string   `parquet:"src"`
	Dst       string   `parquet:"dst"`
	Class     int64    `parquet:"class"`
	Size      int64    `parquet:"size_bytes"`
	Start     int64    `parquet:"start_ps"`
	Acked     *int64   `parquet:"acked_ps,optional"`
	Delivered *int64   `parquet:"delivered_ps,optional"`
	FCT       *int64   `parquet:"fct_ps,optional"`
	Ideal     int64    `parquet:"ideal_ps"`
	Slowdown  *float64 `parquet:"slowdown,optional"`
	Measured  bool     `parquet:"measured"`
	Finished  bool     `parquet:"finished"`
	Group     int64    `parquet:"group"`
}

// writeTable returns a table of a run as parquet and as CSV.
func writeTable(t *testing.T, o *Outcome, name string) (pq, text []byte) {
	t.Helper()
	for _, f := range o.Tables() {
		if f.Name == name {
			var a, b bytes.Buffer
			if err := f.Write(&a, &b); err != nil {
				t.Fatal(err)
			}
			return a.Bytes(), b.Bytes()
		}
	}
	t.Fatalf("there is no table %s", name)
	return nil, nil
}

func TestFlowsParquet(t *testing.T) {
	a, _ := writeTable(t, outcome(), "flows")
	b, _ := writeTable(t, outcome(), "flows")
	if !bytes.Equal(a, b) {
		t.Error("the same run gives different bytes")
	}
	rows, err := parquet.Read[flowRow](bytes.NewReader(a), int64(len(a)))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows, want 4", len(rows))
	}
	r := rows[1]
	if r.ID != 1 || r.Workload != "web" || r.Src != "b" || r.Dst != "a" || r.Class != 2 || r.Size != 10_000 || r.Start != 10 || *r.Acked != 110 ||
		*r.Delivered != 90 || *r.FCT != 100 || r.Ideal != 50 || *r.Slowdown != 2 || !r.Measured || !r.Finished || r.Group != -1 {
		t.Errorf("second row: %+v", r)
	}
	// The last ACK of the fourth flow has not arrived.
	if u := rows[3]; u.Finished || u.FCT != nil || u.Acked != nil || u.Slowdown != nil || *u.Delivered != 400 {
		t.Errorf("unfinished flow: %+v", u)
	}
}

func TestFlowsCSV(t *testing.T) {
	_, text := writeTable(t, outcome(), "flows")
	want := strings.Join([]string{
		"id,workload,src,dst,class,size_bytes,start_ps,acked_ps,delivered_ps,fct_ps,ideal_ps,slowdown,resent,timeouts,early,twice,measured,finished,group,delivered_bytes,goodput_bps",
		"0,web,a,b,1,1000,0,500,,500,100,5,0,0,0,0,false,true,-1,0,0",
		"1,web,b,a,2,10000,10,110,90,100,50,2,2,1,3,1,true,true,-1,10000,1e+15",
		"2,incast,a,c,1,10001,20,320,,300,100,3,0,0,0,0,true,true,0,0,0",
		"3,incast,c,b,3,5000,30,,400,,100,,0,0,0,0,true,false,0,5000,1.0810810810810811e+14",
	}, "\n") + "\n"
	if string(text) != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}

// With more rows than a row group, the writer is flushed before the end. All
// column types and nulls occur.
func TestTableManyRows(t *testing.T) {
	columns := []probe.Column{
		{Name: "n"}, {Name: "maybe", Nullable: true}, {Name: "word", Type: probe.Text, Texts: []string{"x", "y"}},
		{Name: "truth", Type: probe.Bool}, {Name: "real", Type: probe.Float},
	}
	var buf bytes.Buffer
	table, err := NewTable(columns, &buf, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(rowGroup + 517)
	for i := range n {
		maybe := i
		if i%3 == 0 {
			maybe = probe.Null
		}
		if err := table.Row([]int64{i, maybe, i % 2, i % 2, int64(math.Float64bits(float64(i) / 2))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	type row struct {
		N     int64   `parquet:"n"`
		Maybe *int64  `parquet:"maybe,optional"`
		Word  string  `parquet:"word"`
		Truth bool    `parquet:"truth"`
		Real  float64 `parquet:"real"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(rows)) != n || table.Rows() != n {
		t.Fatalf("%d rows, want %d", len(rows), n)
	}
	for i, r := range rows {
		word := [2]string{"x", "y"}[i%2]
		if r.N != int64(i) || (r.Maybe == nil) != (i%3 == 0) || r.Maybe != nil && *r.Maybe != int64(i) || r.Word != word || r.Truth != (i%2 == 1) || r.Real != float64(i)/2 {
			t.Fatalf("row %d: %+v", i, r)
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if groups := len(f.RowGroups()); groups != 2 {
		t.Errorf("%d row groups, want 2: memory is bounded by their size", groups)
	}
}
