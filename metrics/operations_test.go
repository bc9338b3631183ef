package metrics

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// ring returns an operation of three steps from a to b to c to a, and one that never starts.
// The steps take 110, 410 and 160 ps, in an empty network 100, 150 and 100: step 2 lost 260 ps. A
// fourth flow of the operation ends before the chain.
func ring() *Outcome {
	flows := dataplane.NewFlows([]dataplane.Flow{
		{Start: 1000, Size: 100, Src: 0, Dst: 1},
		{Start: 1000, Size: 100, Src: 2, Dst: 1},
		{Start: 1000, Size: 100, Src: 1, Dst: 2},
		{Start: 1000, Size: 100, Src: 2, Dst: 0},
		{Start: 1000, Size: 300, Src: 0, Dst: 1},
	})
	waits := []dataplane.Wait{{Flow: 2, On: []uint32{0, 1}}, {Flow: 3, On: []uint32{2}}, {Flow: 4, On: []uint32{3}}}
	flows.Depend(slices.Values(waits))
	flows.Begin(2, 1110)
	flows.Begin(3, 1520)
	for i, at := range []units.Time{1100, 1050, 1510, 1670} {
		flows.Recv[i].Delivered, flows.Send[i].Acked = at, at+10
	}
	return &Outcome{
		End: 2000, Flows: flows, Payloads: []units.Bytes{1000}, Ideal: []units.Time{100, 100, 150, 100, 100},
		Origin: make([]int32, 5), Groups: []int32{0, 0, 0, 0, 1}, Workloads: []string{"sum"}, Hosts: []string{"a", "b", "c"},
		Nodes: []string{"a", "b", "c"}, Measured: func(i int) bool { return i < 4 }, Grouping: DefaultGrouping(),
	}
}

func TestOperations(t *testing.T) {
	o := ring()
	s := o.Summarize()
	want := SlowestOperation{
		Workload: "sum", Operation: 0, Time: 670, Steps: 3, Step: 2, StepTime: 410, StepIdeal: 150, Straggler: "b", To: "c",
	}
	for name, got := range map[string]*Operations{"all": s.Operations, "workload": s.Workloads[0].Operations} {
		if got == nil || got.Measured != 1 || got.Finished != 1 || got.Unfinished != 0 || got.Time.Max != 670 || *got.Slowest != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := s.Operations.Slowest.String(); got != "sum 0 took 670ps: step 2 of 3, b to c, 410ps instead of 150ps" {
		t.Error(got)
	}
	var csv bytes.Buffer
	for _, f := range o.Tables() {
		if f.Name == "operations" {
			if err := f.Write(&bytes.Buffer{}, &csv); err != nil {
				t.Fatal(err)
			}
		}
	}
	lines := strings.Split(csv.String(), "\n")
	for i, row := range []string{
		"sum,0,4,400,400,1000,1670,670,3,2,410,150,b,c,2,true,true",
		"sum,1,1,300,0,1000,,,,,,,,,,false,false",
	} {
		if lines[i+1] != row {
			t.Errorf("row %d: %s, want %s", i, lines[i+1], row)
		}
	}
}

// An interrupted operation is unfinished, and its last flow so far is the straggler.
func TestUnfinishedOperation(t *testing.T) {
	o := ring()
	o.Flows.Recv[3].Delivered, o.Flows.Send[3].Acked = 0, 0
	s := o.Summarize().Operations
	if s.Measured != 1 || s.Finished != 0 || s.Unfinished != 1 || s.Time != nil || s.Slowest != nil {
		t.Errorf("%+v", s)
	}
	// From 1520 to the end at 2000 are 480 ps; ideally 100, so 380 are lost.
	if p := o.operations()[0]; p.slow != 3 || p.took != 480 || p.straggler != 3 {
		t.Errorf("%+v", p)
	}
}

// Flow 1 delivers 10,000 B in 80 ps, flow 2 has 4 packets of 1000 B in the 580 ps to
// the end of the run, flow 3 delivers 5000 B in 370 ps: 19,000 B from 10 to 600 ps.
func TestThroughput(t *testing.T) {
	o := outcome()
	o.Flows.Recv[2].Next = 4
	got := o.Summarize().Throughput
	if got.Delivered != 19_000 || got.Rate != float64(8*19_000)/590*1e12 {
		t.Errorf("%+v", got)
	}
	slow, fast := float64(8*4000)/580*1e12, float64(8*10_000)/80*1e12
	if f := got.Flows; f.Min != slow || f.P1 != slow || f.P50 != float64(8*5000)/370*1e12 || f.Max != fast {
		t.Errorf("%+v", f)
	}
}

// A port at 8 Tbps moves 1 B/ps: 300 B and 30 B of PAUSE in 600 ps are 55 %.
func TestUtilisation(t *testing.T) {
	o := outcome()
	o.Counters.Ports = []sim.PortResult{
		{Node: 0, Peer: 3, Host: true, Rate: 8000 * units.Gbps}, {Node: 3, Peer: 0, Rate: 8000 * units.Gbps},
		{Node: 3, Port: 1, Peer: 1, Rate: 8000 * units.Gbps}, {Node: 3, Port: 2, Peer: -1},
	}
	o.Counters.Ports[1].Stats.Sent[2], o.Counters.Ports[1].Stats.SentControl = 300, 30
	l := o.Summarize().Links
	if l[0].Ports != 1 || l[0].Sent != 0 || l[2].Ports != 0 {
		t.Errorf("%+v", l)
	}
	if to := l[1]; to.Ports != 2 || to.Sent != 330 || to.Utilisation.Max != 0.55 || to.Utilisation.Mean != 0.275 || to.Busiest != "s to a" {
		t.Errorf("%+v", to)
	}
}
