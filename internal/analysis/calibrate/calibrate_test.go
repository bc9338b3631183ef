package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/counters"
	"github.com/xoff-net/xoff/scenario"
)

// A cheap world: few simulations find the load, the port and a valid scenario. The result does not
// depend on the number of workers.
func TestWorld(t *testing.T) {
	var texts []string
	for _, workers := range []int{1, 3} {
		load, named, r := worlds[7].recovered(t, 5*units.Millisecond, Options{Runs: 6, Span: units.Millisecond, Workers: workers, CC: "none"})
		if math.Abs(load) > 0.1 || !named {
			t.Errorf("the load is off by %.1f %%, the congested port is named: %t", 100*load, named)
		}
		cfg, err := scenario.Parse("calibrated.yaml", r.Text)
		if err != nil || len(cfg.Workload) == 0 {
			t.Fatalf("%v\n%s", err, r.Text)
		}
		if r.Report.Runs != 7 || r.Report.Partial || len(r.Report.Ports) < 8 {
			t.Errorf("%+v", r.Report)
		}
		texts = append(texts, string(r.Text)+string(r.Matrix)+fmt.Sprint(r.Report.Ports[0].Simulated, r.Report.Fit))
	}
	if texts[0] != texts[1] {
		t.Errorf("one worker:\n%s\nthree workers:\n%s", texts[0], texts[1])
	}
}

// An interrupted search returns the best setting so far, an interrupted first simulation an error.
func TestInterrupted(t *testing.T) {
	made := leafSpine(t, true)
	set, _ := worlds[7].counters(t, made, 5*units.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{Runs: 40, Span: units.Millisecond, CC: "none", Matrix: "m.csv", Workers: 1, Progress: func(done, _ int) {
		if done == 3 {
			cancel()
		}
	}}
	r, err := Fit(ctx, made, set, o)
	if err != nil || !r.Report.Partial || r.Report.Runs != 3 {
		t.Fatalf("%v, %+v", err, r)
	}
	if _, err := Fit(ctx, made, set, o); err == nil {
		t.Error("no error without a simulation")
	}
}

// sampled returns counters that grow from 0 in one second.
func sampled(t *testing.T, rows ...string) *counters.Set {
	t.Helper()
	text := "time,switch,port,queue,counter,value\n"
	for _, row := range rows {
		cells := strings.Split(row, ",")
		cells[len(cells)-1] = "0"
		text += "0," + strings.Join(cells, ",") + "\n1," + row + "\n"
	}
	set, err := counters.Parse("c.csv", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Hosts 0 and 1 of leaf0 send 600 and 200, and the uplinks carry 500 of these 800: 300 stay in the
// rack. Host 0 of leaf0 receives 200, host 1 100, and host 0 of leaf1 500.
func TestMatrixByRacks(t *testing.T) {
	const in, out = "SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES", "SAI_QUEUE_STAT_BYTES"
	f, err := measure(leafSpine(t, true), sampled(t,
		"leaf0,Ethernet0,3,"+in+",600", "leaf0,Ethernet4,3,"+in+",200",
		"leaf0,Ethernet0,3,"+out+",200", "leaf0,Ethernet4,3,"+out+",100", "leaf1,Ethernet0,3,"+out+",500",
		"leaf0,Ethernet16,3,"+out+",300", "leaf0,Ethernet20,3,"+out+",200"))
	if err != nil {
		t.Fatal(err)
	}
	// Inside the rack the only pairs are 0 to 1 with 100 and 1 to 0 with 200, so host 0 sends
	// 500 out and host 1 nothing.
	for pair, want := range map[[2]int]float64{{0, 1}: 100, {1, 0}: 200, {0, 4}: 500, {1, 4}: 0} {
		if got := f.matrix[3][pair[0]][pair[1]]; math.Abs(got-want) > 10 {
			t.Errorf("host %d sends %.0f to host %d, want %.0f", pair[0], got, pair[1], want)
		}
	}
	// A frame of 1048 B has 1000 B of payload: 800 x 8 x 1000/1048 = 6107 bps, of which rates
	// below 1 kbps are left out (800 of them).
	if got := f.load().Offered; got < 5300 || got > 6110 {
		t.Errorf("load is %s", got)
	}
	if len(f.findings) > 0 {
		t.Errorf("findings: %v", f.findings)
	}
}

// Two hosts at each leaf send and receive 100. Of the 200 of a rack, 40 leave it: each host sends 80
// to its neighbour and 10 to either host of the other rack. Gravity alone gives 33.
func TestMatrixInsideRacks(t *testing.T) {
	var rows []string
	for _, leaf := range []string{"leaf0", "leaf1"} {
		for _, port := range []string{"Ethernet0", "Ethernet4"} {
			rows = append(rows, leaf+","+port+",3,SAI_QUEUE_STAT_BYTES,100", leaf+","+port+",3,SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES,100")
		}
		rows = append(rows, leaf+",Ethernet16,3,SAI_QUEUE_STAT_BYTES,40")
	}
	f, err := measure(leafSpine(t, true), sampled(t, rows...))
	if err != nil {
		t.Fatal(err)
	}
	for pair, want := range map[[2]int]float64{{0, 1}: 80, {1, 0}: 80, {0, 4}: 10, {5, 1}: 10, {5, 4}: 80} {
		if got := f.matrix[3][pair[0]][pair[1]]; math.Abs(got-want) > 1 {
			t.Errorf("host %d sends %.1f to host %d, want %.0f", pair[0], got, pair[1], want)
		}
	}
}

// Pauses of a spine, and of a leaf which the spine pauses, are charged to the port at the other leaf
// that causes them. A host that sends pauses is a suspect of its own.
func TestSuspects(t *testing.T) {
	const bytes, marks = "SAI_QUEUE_STAT_BYTES", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"
	rx, tx := "SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_PORT_STAT_PFC_3_TX_PKTS"
	chain := []string{
		"leaf0,Ethernet0,," + tx + ",40", "leaf0,Ethernet16,," + rx + ",40", "leaf0,Ethernet4,3," + bytes + ",9000",
		"spine0,Ethernet0,," + tx + ",40", "spine0,Ethernet4,," + rx + ",20", "leaf1,Ethernet16,," + tx + ",20",
		"leaf1,Ethernet8,3," + bytes + ",5000", "leaf1,Ethernet0,3," + bytes + ",5000",
	}
	for _, x := range []struct {
		more []string
		want string
	}{
		{[]string{"leaf1,Ethernet8,3," + marks + ",7"}, "[leaf1 Ethernet8 1 " + whyMarks + "]"},
		// The weights are 2 for pauses of a host and 1 for marks: 2/3 and 1/3.
		{[]string{"leaf1,Ethernet8,3," + marks + ",7", "leaf1,Ethernet0,," + rx + ",9"}, "[leaf1 Ethernet0 0.6667 " + whyHost + " leaf1 Ethernet8 0.3333 " + whyMarks + "]"},
		// Without marks and time series, ports share the blame by their bytes.
		{nil, "[leaf1 Ethernet0 0.5 " + whyTime + " leaf1 Ethernet8 0.5 " + whyTime + "]"},
	} {
		f, err := measure(leafSpine(t, true), sampled(t, append(slices.Clone(chain), x.more...)...))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range f.suspects() {
			got = append(got, fmt.Sprint(s.Switch, " ", s.Port, " ", s.Share, " ", s.Why))
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("suspects are %v, want %s", got, x.want)
		}
	}
}

// Time decides between two ports with the same bytes: one sends them when the switch pauses.
func TestSuspectsByTime(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,switch,port,queue,counter,value\n")
	pauses, steady, bursty := 0, 0, 0
	for at := range 9 {
		fmt.Fprintf(&text, "%d,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_TX_PKTS,%d\n%d,leaf0,Ethernet4,3,SAI_QUEUE_STAT_BYTES,%d\n%d,leaf0,Ethernet8,3,SAI_QUEUE_STAT_BYTES,%d\n",
			at, pauses, at, steady, at, bursty)
		steady += 1000 + at%2
		if at%4 == 0 {
			pauses, bursty = pauses+10, bursty+4000
		}
	}
	set, err := counters.Parse("c.csv", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	f, err := measure(leafSpine(t, true), set)
	if err != nil {
		t.Fatal(err)
	}
	if s := f.suspects(); len(s) == 0 || s[0].Port != "Ethernet8" || s[0].Share < 0.9 {
		t.Errorf("suspects are %+v", s)
	}
}

func TestBadCounters(t *testing.T) {
	made := leafSpine(t, true)
	for text, want := range map[string]string{
		"0,leaf7,Ethernet0,3,SAI_QUEUE_STAT_BYTES,1\n":                                                       `c.csv:2: unknown switch "leaf7"`,
		"0,leaf0,Ethernet1,3,SAI_QUEUE_STAT_BYTES,1\n":                                                       `c.csv:2: leaf0: unknown port "Ethernet1"`,
		"0,,Ethernet0,3,SAI_QUEUE_STAT_BYTES,1\n":                                                            "c.csv:2: the counters of Ethernet0 are of no switch",
		"0,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,1\n":                                                       "c.csv:2: leaf0 Ethernet0 SAI_QUEUE_STAT_BYTES of queue 3 has one sample",
		"0,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,1\n1,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,1\n":           "no bytes to hosts in the counters",
		"0,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,0\n1,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,99000000000\n": "c.csv:2: leaf0 Ethernet0 SAI_QUEUE_STAT_BYTES of queue 3 grows by 792Gbps, but the link has ",
	} {
		set, err := counters.Parse("c.csv", strings.NewReader("time,switch,port,queue,counter,value\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Fit(context.Background(), made, set, Options{Runs: 1}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error is %v, want %s", text, err, want)
		}
	}
}

// Each difference has a class.
func TestExplain(t *testing.T) {
	const rx, tx, bytes = "SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_PORT_STAT_PFC_3_TX_PKTS", "SAI_QUEUE_STAT_BYTES"
	f, err := measure(leafSpine(t, true), sampled(t,
		"leaf0,Ethernet0,3,"+bytes+",5000000", "leaf0,Ethernet4,,"+rx+",5000000", "leaf0,Ethernet8,,"+tx+",5", "leaf1,Ethernet8,,"+tx+",500000",
		"leaf1,Ethernet8,3,SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS,5000000", "leaf1,Ethernet12,3,SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS,7",
		"leaf0,Ethernet12,3,SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES,100000"))
	if err != nil {
		t.Fatal(err)
	}
	r := &result{span: units.Millisecond, Recorder: &counters.Recorder{}, ports: f.ports, nodes: make([]int, len(f.ports))}
	var got []string
	for _, row := range f.rows(r, nil) {
		for _, x := range row.Findings {
			if x.Reason != NoCounters {
				got = append(got, fmt.Sprint(row.Switch, " ", row.Port, " ", x.Reason))
			}
		}
	}
	for _, x := range f.findings {
		got = append(got, string(x.Reason))
	}
	want := []string{
		"leaf0 Ethernet0 bytes_differ", "leaf0 Ethernet4 host_pauses", "leaf0 Ethernet8 too_rare", "leaf1 Ethernet8 pauses_without_congestion", "leaf1 Ethernet8 marks_differ",
		"leaf1 Ethernet12 drops", "bytes_without_source",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings are %q", got)
	}
}
