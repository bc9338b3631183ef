package counters

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// rows formats a set for comparison.
func rows(t *testing.T, s *Set) []string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(b.String()), "\n")[1:]
}

const sample = `time,switch,port,queue,counter,value
0,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,100
0.5,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,300
0,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_RX_PKTS,0
0.5,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_RX_PKTS,7
0.5,leaf0,Ethernet0,3,SAI_QUEUE_STAT_DROPPED_BYTES,5
0,leaf0,Ethernet0,,SAI_PORT_STAT_IF_IN_OCTETS,1
0.5,leaf0,Ethernet0,,SAI_PORT_STAT_IF_IN_OCTETS,1
`

// The rows of sample, in order of counters, without the one that is left out.
var sampleRows = []string{
	"0,leaf0,Ethernet0,,SAI_PORT_STAT_IF_IN_OCTETS,1", "0.5,leaf0,Ethernet0,,SAI_PORT_STAT_IF_IN_OCTETS,1",
	"0,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_RX_PKTS,0", "0.5,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_RX_PKTS,7",
	"0,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,100", "0.5,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,300",
}

func TestCSV(t *testing.T) {
	s, err := Parse("c.csv", strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	if got := rows(t, s); !slices.Equal(got, sampleRows) {
		t.Errorf("rows are\n%s", strings.Join(got, "\n"))
	}
	one := s.Get(Key{"leaf0", "Ethernet0", QueueBytes, 3})
	if one.Delta() != 200 || one.Seconds() != 0.5 {
		t.Errorf("%d in %g s, want 200 in 0.5 s", one.Delta(), one.Seconds())
	}
	// Semicolons, another order of columns and rows, dates.
	s, err = Parse("c.csv", strings.NewReader("value;counter;priority;port;switch;time\n"+
		"9;SAI_QUEUE_STAT_PACKETS;4;Ethernet8;l;2026-01-31T12:00:01Z\n4;SAI_QUEUE_STAT_PACKETS;4;Ethernet8;l;2026-01-31 12:00:00\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"2026-01-31T12:00:00Z,l,Ethernet8,4,SAI_QUEUE_STAT_PACKETS,4", "2026-01-31T12:00:01Z,l,Ethernet8,4,SAI_QUEUE_STAT_PACKETS,9"}
	if got := rows(t, s); !slices.Equal(got, want) {
		t.Errorf("rows are\n%s", strings.Join(got, "\n"))
	}
}

const shown = `# leaf0 10
  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0   1,200     N/A       0       0       0

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0       3       0       0       0       0
For namespace :
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes    EcnMarked/pkts    EcnMarked/bytes
---------  -----  --------------  ---------------  -----------  ------------  ----------------  -----------------
Ethernet0    UC3              10            10480            1          1048                 2               2096
Ethernet0    MC8              99            10480            1          1048                 2               2096

admin@leaf1:~$ date -Ins
2026-01-31T12:00:00,500000000+00:00
admin@leaf1:~$ show pfc counters
  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet4       0       0       0       8       0       0       0       0
`

func TestShow(t *testing.T) {
	s, err := Parse("c.txt", strings.NewReader(shown))
	if err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(rows(t, s), func(row string) bool { return strings.HasSuffix(row, ",0") })
	want := []string{
		"10,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_RX_PKTS,1200", "10,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_TX_PKTS,3",
		"10,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,10480", "10,leaf0,Ethernet0,3,SAI_QUEUE_STAT_PACKETS,10",
		"10,leaf0,Ethernet0,3,SAI_QUEUE_STAT_DROPPED_PACKETS,1", "10,leaf0,Ethernet0,3,SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS,2",
		"2026-01-31T12:00:00.5Z,leaf1,Ethernet4,,SAI_PORT_STAT_PFC_3_TX_PKTS,8",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are\n%s", strings.Join(got, "\n"))
	}
	if n := s.Get(Key{"leaf0", "Ethernet0", PFCReceived, 4}); n != nil {
		t.Errorf("N/A is a sample: %+v", n)
	}
}

func TestBadCounters(t *testing.T) {
	head := "time,switch,port,queue,counter,value\n"
	pfc := "# leaf0 10\n  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n"
	for _, x := range []struct{ text, want string }{
		{"", "f:1: no counters"},
		{"time,switch,port,counter\n", `f:1: there is no column "value" (expected the columns time, switch, port, queue, counter, value)`},
		{"time,time,switch,port,counter,value\n", `f:1: column "time" appears twice`},
		{head + "0,l,e,3,SAI_QUEUE_STAT_BYTES,1,2\n", "f:2: the row has 7 columns (expected 6, as the header)"},
		{head + "noon,l,e,3,SAI_QUEUE_STAT_BYTES,1\n", `f:2: time: "noon" is not a time`},
		{head + "0,l,e,3,SAI_QUEUE_STAT_BITES,1\n", `f:2: counter "SAI_QUEUE_STAT_BITES" is unknown`},
		{head + "0,l,e,8,SAI_QUEUE_STAT_BYTES,1\n", `f:2: queue of SAI_QUEUE_STAT_BYTES is "8" (expected 0 to 7)`},
		{head + "0,l,,3,SAI_QUEUE_STAT_BYTES,1\n", `f:2: port is ""`},
		{head + "0,l,e,3,SAI_QUEUE_STAT_BYTES,-1\n", `f:2: value of SAI_QUEUE_STAT_BYTES is "-1"`},
		{head + "2,l,e,3,SAI_QUEUE_STAT_BYTES,5\n1,l,e,3,SAI_QUEUE_STAT_BYTES,7\n",
			"f:2: l e SAI_QUEUE_STAT_BYTES of queue 3 goes backwards: 7 at 1, 5 at 2 (expected counters without a reset or wrap"},
		{head + "1,l,e,,SAI_PORT_STAT_IF_IN_OCTETS,5\n1,l,e,,SAI_PORT_STAT_IF_IN_OCTETS,7\n", "f:3: l e SAI_PORT_STAT_IF_IN_OCTETS is 7 at 1, but 5 at f:2"},
		{"# leaf0 noon\n", `f:1: "# leaf0 noon" is not the start of a capture`},
		{"hello\n", `f:1: "hello" is not part of show pfc counters or show queue counters`},
		{"# leaf0 1\nPort Foo\n", "f:2: a table of unknown columns"},
		{"# leaf0 1\nPort TxQ Size\n", `f:2: column "Size" is unknown`},
		{strings.Replace(pfc, "PFC7", "PFC9", 1), `f:2: column "PFC9" is unknown (expected PFC7)`},
		{pfc + "Ethernet0 1 2\n", "f:3: the row has 3 columns (expected 9, as the header)"},
		{pfc + "Ethernet0 1 2 3 x 5 6 7 8\n", `f:3: value of leaf0 Ethernet0 SAI_PORT_STAT_PFC_3_RX_PKTS is "x"`},
		{strings.TrimPrefix(pfc, "# leaf0 10\n") + "Ethernet0 1 2 3 4 5 6 7 8\n", "f:2: counters without a time"},
		{pfc + "Ethernet0 9 0 0 0 0 0 0 0\n# leaf0 11\n" + pfc[len("# leaf0 10\n"):] + "Ethernet0 8 0 0 0 0 0 0 0\n",
			"f:6: leaf0 Ethernet0 SAI_PORT_STAT_PFC_0_RX_PKTS goes backwards: 9 at 10, 8 at 11"},
	} {
		if _, err := Parse("f", strings.NewReader(x.text)); err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%q: error is %v, want %s", x.text, err, x.want)
		}
	}
}

// A recorder counts each event in its period, and PFC frames by priority.
func TestRecorder(t *testing.T) {
	r := &Recorder{Every: units.Millisecond, Hosts: 1}
	if r.Sink(0) != probe.Sink(nil) {
		t.Error("a host has a sink")
	}
	sink := r.Sink(1)
	data := packet.Packet{Size: 1048, Meta: packet.MakeMeta(packet.Data, 3)}
	var pause packet.Packet
	pause.SetPFC(1<<3|1<<4, 1<<3, 100)
	sink.Arrive(0, 0, &data)
	sink.Depart(units.Millisecond-1, 1, &data)
	sink.Marked(units.Millisecond, 1, &data)
	sink.Depart(units.Millisecond, 0, &pause)
	sink.Drop(2500*units.Microsecond, 0, &data, probe.Lossless)
	s := r.Set([]string{"host0", "leaf0"}, 1, [Classes]bool{3: true}, 2500*units.Microsecond)
	got := slices.DeleteFunc(rows(t, s), func(row string) bool { return strings.HasSuffix(row, ",0") })
	var want []string
	for _, x := range []struct {
		port, queue, name string
		values            [3]int // at 1, 2 and 2.5 ms
	}{
		{"port0", "", "SAI_PORT_STAT_IF_IN_OCTETS", [3]int{1048, 1048, 1048}},
		{"port0", "", "SAI_PORT_STAT_IF_OUT_OCTETS", [3]int{0, 64, 64}},
		{"port0", "", "SAI_PORT_STAT_PFC_3_TX_PKTS", [3]int{0, 1, 1}},
		{"port0", "3", "SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES", [3]int{1048, 1048, 1048}},
		{"port0", "3", "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS", [3]int{1, 1, 1}},
		{"port0", "3", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", [3]int{0, 0, 1}},
		{"port1", "", "SAI_PORT_STAT_IF_OUT_OCTETS", [3]int{1048, 1048, 1048}},
		{"port1", "3", "SAI_QUEUE_STAT_BYTES", [3]int{1048, 1048, 1048}},
		{"port1", "3", "SAI_QUEUE_STAT_PACKETS", [3]int{1, 1, 1}},
		{"port1", "3", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", [3]int{0, 1, 1}},
	} {
		for i, at := range []string{"0.001", "0.002", "0.0025"} {
			if x.values[i] > 0 {
				want = append(want, fmt.Sprintf("%s,leaf0,%s,%s,%s,%d", at, x.port, x.queue, x.name, x.values[i]))
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := r.Total(1, 1, QueueBytes, 3); n != 1048 {
		t.Errorf("total is %d, want 1048", n)
	}
}

// What is read is written in a form that gives the same counters.
func again(t *testing.T, text string) {
	s, err := Parse("f", strings.NewReader(text))
	if err != nil {
		return
	}
	var first, second bytes.Buffer
	if err := s.Write(&first); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again", bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, first.String())
	}
	if err := again.Write(&second); err != nil || first.String() != second.String() {
		t.Fatalf("%v\n%s\n%s", err, first.String(), second.String())
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("0,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,100\n0.5,leaf0,Ethernet0,3,SAI_QUEUE_STAT_BYTES,300")
	f.Add("2026-01-31T12:00:00Z,leaf0,Ethernet0,,SAI_PORT_STAT_PFC_3_RX_PKTS,1")
	f.Fuzz(func(t *testing.T, body string) { again(t, "time,switch,port,queue,counter,value\n"+body) })
}

func FuzzShow(f *testing.F) {
	f.Add(shown)
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.Contains(text, "counter") {
			again(t, text)
		}
	})
}
