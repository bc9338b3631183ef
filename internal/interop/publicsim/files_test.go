package publicsim

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/run"
)

func lines(t *testing.T, s string) *text {
	t.Helper()
	x, err := split("f.txt", []byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Headers of three, four and six numbers describe the same fabric.
func TestFabricHeaders(t *testing.T) {
	for _, header := range []string{"3 1 2", "3 1 1 2", "3 1 1 2 100 4", "3 1 1 2 1e11 2.5"} {
		f, err := parseFabric(lines(t, header+"\n2\n0 2 100000000000 1us 0\n1 2 25Gbps 0.000002 0.01\n"))
		if err != nil {
			t.Fatalf("%s: %v", header, err)
		}
		want := &Fabric{Nodes: 3, Switch: []bool{false, false, true}, Links: []Link{
			{0, 2, 100 * units.Gbps, units.Microsecond, 0}, {1, 2, 25 * units.Gbps, 2 * units.Microsecond, 0.01},
		}}
		if !reflect.DeepEqual(f, want) {
			t.Errorf("%s: %+v", header, f)
		}
	}
}

func TestFlows(t *testing.T) {
	f := star(2)
	flows, err := parseFlows(lines(t, "3\n0 1 3 100 2395 0.000105553\n0 1 3 101 10 0.5\n1 0 3 100 7 1.25\n"), f)
	if err != nil {
		t.Fatal(err)
	}
	want := []Flow{
		{0, 1, 3, 100, 10000, 2395, 105_553 * units.Nanosecond}, {0, 1, 3, 101, 10001, 10, units.Second / 2}, {1, 0, 3, 100, 10000, 7, 5 * units.Second / 4},
	}
	if !reflect.DeepEqual(flows, want) {
		t.Errorf("%+v", flows)
	}
}

// Every error has its location and the expected value.
func TestMistakes(t *testing.T) {
	fabric := func(x *text) error { _, err := parseFabric(x); return err }
	flows := func(x *text) error { _, err := parseFlows(x, star(2)); return err }
	settings := func(x *text) error { _, err := parseSettings(x); return err }
	const files = "TOPOLOGY_FILE t\nFLOW_FILE f\n"
	for _, c := range []struct {
		parse func(*text) error
		text  string
		want  string
	}{
		{fabric, "", "f.txt:1:1: the file ends early (expected a header"},
		{fabric, "3 1\n", "f.txt:1:1: the header has 2 numbers (expected 3"},
		{fabric, "3 x 2\n", `f.txt:1:3: header is "x" (expected a whole number`},
		{fabric, "3 1 1\n7\n", `f.txt:2:1: switch is "7" (expected a whole number from 0 to 2)`},
		{fabric, "3 1 1\n2\n0 2 1Gbps 1us\n", "f.txt:3:1: a link has 4 fields (expected 5"},
		{fabric, "3 1 1\n2\n0 0 1Gbps 1us 0\n", "f.txt:3:3: node 0 is linked to itself"},
		{fabric, "3 1 1\n2\n0 2 fast 1us 0\n", `f.txt:3:5: rate is "fast" (expected bits per second`},
		{fabric, "3 1 1\n2\n0 2 1Gbps 0us 0\n", "f.txt:3:11: delay is 0 (expected more than 0s)"},
		{fabric, "3 1 2\n2\n0 2 1Gbps 1us 0\n", "f.txt:4:1: the file ends early (expected 2 links"},
		{fabric, "3 1 1\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", "f.txt:4:1: more links than the 1 in the header"},
		{fabric, "4 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", "f.txt:1:1: there are 4 nodes, but host 3 has no link"},
		{fabric, "147456 1 1\n2\n0 2 1Gbps 1us 0\n", `f.txt:1:1: number of nodes is "147456" (expected a whole number from 1 to 147455)`},
		{fabric, "3 1 1 2 1 -4\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", `f.txt:1:11: header is "-4" (expected a number of at least 0)`},
		{flows, "1 1\n0 1 3 100 10 0\n", "f.txt:1:3: the first line has 2 fields (expected 1"},
		{flows, "1\n0 1 3 100 10 .\n", `f.txt:2:14: start is "." (expected seconds`},
		{flows, "1\n0 2 3 100 10 0\n", "f.txt:2:3: node 2 is a switch"},
		{flows, "1\n0 0 3 100 10 0\n", "f.txt:2:3: source and destination are both node 0"},
		{flows, "1\n0 1 8 100 10 0\n", `f.txt:2:5: priority is "8" (expected a whole number from 1 to 7)`},
		{flows, "1\n0 1 3 100 0 0\n", `f.txt:2:11: bytes is "0" (expected a whole number from 1`},
		{flows, "1\n0 1 3 100 10 soon\n", `f.txt:2:14: start is "soon" (expected seconds`},
		{flows, "2\n0 1 3 100 10 2\n0 1 3 101 10 1\n", "f.txt:3:14: the flow starts before the flow on the previous line"},
		{settings, files + "RATE_AL 5\n", `f.txt:3:1: unknown key "RATE_AL" (allowed: ACK_HIGH_PRIO`},
		{settings, files + "MULTI_RATE 1\n", `f.txt:3:12: MULTI_RATE is "1" (expected 0: `},
		{settings, files + "U_TARGET 2\n", `f.txt:3:10: U_TARGET is "2" (expected a number from 0 to 1)`},
		{settings, files + "RP_TIMER 0\n", `f.txt:3:10: RP_TIMER is "0" (expected microseconds`},
		{settings, files + "KMAX_MAP 2 1Gbps 3\n", "f.txt:3:10: KMAX_MAP has 2 values after its length (expected 2 pairs"},
		{settings, files + "KMIN_MAP 1 1Gbps 9\nKMAX_MAP 1 1Gbps 3\n", "f.txt:3:1: KMIN_MAP has KMIN 9KB above KMAX 3KB"},
		{settings, files + "ENABLE_QCN 1 0\n", "f.txt:3:14: ENABLE_QCN has 2 values (expected one)"},
		{settings, files + "KMAX_MAP 2 1Gbps 3 1000000000 4\n", "f.txt:3:20: KMAX_MAP has links of 1Gbps twice"},
		{settings, files + "FCT_OUTPUT_FILE x/..\n", `f.txt:3:17: FCT_OUTPUT_FILE is "x/.." (expected a file name)`},
		{settings, files + "FCT_OUTPUT_FILE mix/summary.json\n", `f.txt:3:17: FCT_OUTPUT_FILE is "mix/summary.json", which could overwrite another result`},
		{settings, files + "PFC_OUTPUT_FILE fct.txt\n", "f.txt:3:1: PFC_OUTPUT_FILE is fct.txt, which is also FCT_OUTPUT_FILE"},
		{settings, files + "FLOW_FILE f\n", "f.txt:3:1: FLOW_FILE is repeated: it is already set on line 2"},
		{settings, "FLOW_FILE f\n", "f.txt:2:1: the file ends early (expected TOPOLOGY_FILE)"},
	} {
		err := c.parse(lines(t, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %s", c.text, err, c.want)
		}
	}
}

// Keys without effect are listed; other keys change their setting.
func TestSettings(t *testing.T) {
	s, err := parseSettings(lines(t, "# comment\nTOPOLOGY_FILE ../t.txt\nFLOW_FILE f\nQLEN_MON_FILE x\nRP_TIMER 300\nRATE_AI 50Mb/s\nKMIN_MAP 1 100000000000 400\nKMAX_MAP 1 100000000000 1600\nLINK_DOWN 0 0 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Marking{{100 * units.Gbps, 400_000, 1_600_000, 0}}
	if s.Topology != "../t.txt" || s.RiseEvery != 300*units.Microsecond || s.AI != 50*units.Mbps || !reflect.DeepEqual(s.ECN, want) || len(s.Downs) != 0 {
		t.Errorf("%+v", s)
	}
	if !reflect.DeepEqual(s.Ignored, []string{"QLEN_MON_FILE"}) {
		t.Errorf("ignored %v", s.Ignored)
	}
}

// The documentation lists every key.
func TestKeysAreDocumented(t *testing.T) {
	for _, key := range knownKeys() {
		if !strings.Contains(documentText, "`"+key+"`") {
			t.Errorf("fidelity.md.tmpl does not mention %s", key)
		}
	}
}

// Results survive writing and reading.
func TestResultsRoundTrip(t *testing.T) {
	flows := []Done{{60, 300, 10000, 100, 2395, 105_553_000, 8_501_000, 8_523_000}}
	var buf bytes.Buffer
	if err := WriteFCT(&buf, flows); err != nil {
		t.Fatal(err)
	}
	// Host 300 = 1 x 256 + 44: 0x0b000001 + 0x10000 + 0x2c00.
	if want := "0b003c01 0b012c01 10000 100 2395 105553 8501 8523\n"; buf.String() != want {
		t.Errorf("%q, want %q", buf.String(), want)
	}
	back, err := parseFCT(lines(t, buf.String()))
	if err != nil || !reflect.DeepEqual(back, flows) {
		t.Errorf("%+v, %v", back, err)
	}
	pauses := []Pause{{104_741_000, 17, false, 11, PauseSent}, {105_000_000, 3, true, 1, PauseReceived}}
	buf.Reset()
	if err := WritePFC(&buf, pauses); err != nil {
		t.Fatal(err)
	}
	if want := "104741 17 1 11 2\n105000 3 0 1 1\n"; buf.String() != want {
		t.Errorf("%q, want %q", buf.String(), want)
	}
	if back, err := parsePFC(lines(t, buf.String())); err != nil || !reflect.DeepEqual(back, pauses) {
		t.Errorf("%+v, %v", back, err)
	}
}

// murmur3 matches published test values of 32-bit MurmurHash3.
func TestMurmur3(t *testing.T) {
	for _, c := range []struct {
		data string
		seed uint32
		want uint32
	}{{"", 0, 0}, {"", 1, 0x514e28b7}, {"test", 0, 0xba6bd213}, {"test", 0x9747b28c, 0x704b81dc}} {
		if got := murmur3([]byte(c.data), c.seed); got != c.want {
			t.Errorf("%q, seed %x: %x, want %x", c.data, c.seed, got, c.want)
		}
	}
}

func FuzzFiles(f *testing.F) {
	f.Add([]byte("3 1 2\n2\n0 2 100000000000 1us 0\n1 2 25Gbps 0.000002 0.01\n"))
	f.Add([]byte("2\n0 1 3 100 2395 0.000105553\n0 1 3 101 10 0.5\n"))
	f.Add([]byte("TOPOLOGY_FILE t\nFLOW_FILE f\nKMAX_MAP 1 1Gbps 3\n"))
	f.Add([]byte("0b003c01 0b002901 10000 100 2395 105553 8501 8523\n"))
	f.Add([]byte("104741 17 1 11 2\n64 0 0 1\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		x, err := split("f", data)
		if err != nil {
			return
		}
		_, _ = parseFabric(x)
		_, _ = parseFlows(x, star(2))
		_, _ = parseSettings(x)
		_, _ = parseFCT(x)
		_, _ = parsePFC(x)
		_, _ = parseRoutes(x, star(2))
	})
}

// Files either give a run, or an error with a location.
func FuzzInput(f *testing.F) {
	f.Add("RATE_AI 50Mb/s\nKMIN_MAP 1 100Gbps 100\nKMAX_MAP 1 100Gbps 400\nPMAX_MAP 1 100Gbps 0.2\nLINK_DOWN 5 0 2\n", "3 1 2\n2\n0 2 100000000000 1us 0\n1 2 100Gbps 0.000002 0.01\n", "2\n0 1 3 100 2395 0.000105553\n0 1 3 101 10 0.5\n")
	f.Add("ERROR_RATE_PER_LINK 0.1\nMIN_RATE 1Gbps\nBUFFER_SIZE 1\n", "6 2 1 6 1 1\n4 5\n0 4 25Gbps 1us 0\n1 4 10Gbps 1us 0\n2 5 25Gbps 1us 0\n3 5 25Gbps 1us 0\n4 5 100Gbps 3us 0\n4 5 40Gbps 2us 0\n", "1\n0 3 1 100 1000 0\n")
	f.Fuzz(func(t *testing.T, config, topology, flows string) {
		var texts [3]*text
		for i, data := range []string{"TOPOLOGY_FILE t\nFLOW_FILE f\n" + config, topology, flows} {
			var err error
			if texts[i], err = split("f", []byte(data)); err != nil {
				return
			}
		}
		var err error
		in := &Input{}
		if in.Settings, err = parseSettings(texts[0]); err != nil {
			return
		}
		if in.Fabric, err = parseFabric(texts[1]); err != nil || in.Fabric.Nodes > 100 || len(in.Fabric.Links) > 200 {
			return
		}
		if in.Flows, err = parseFlows(texts[2], in.Fabric); err != nil || len(in.Flows) > 100 {
			return
		}
		in.linkLines, in.flowLines = texts[1].lastLines(len(in.Fabric.Links)), texts[2].lastLines(len(in.Flows))
		for _, algorithm := range []string{"dcqcn", "hpcc", "powertcp", "theta-powertcp", "timely", "none"} {
			for _, compat := range []bool{false, true} {
				c, err := in.Scenario(algorithm, compat)
				if err == nil {
					_, err = in.Build(c, &run.Options{})
				}
				var m *yaml.InputError
				if err != nil && !errors.As(err, &m) {
					t.Errorf("%s, %t: %v", algorithm, compat, err)
				}
			}
		}
	})
}
