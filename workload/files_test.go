package workload

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

func TestParseCDF(t *testing.T) {
	want := []Point{{1000, 0}, {2000, 0.5}, {10000, 1}}
	for _, text := range []string{
		"1000 0\n2000 50\n10000 100\n", "# per cent\n\n1000\t0\r\n2000\t50.0\r\n10000\t100\r\n", "1000,0\n2000,0.5\n10000,1", "1000.0; 0\n2e3; .5\n10000; 1",
		"1000;0\n2000;0,5\n10000,0;1", "\ufeff1000 0\n2000 50\n10000 100",
	} {
		c, err := ParseCDF("f", strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(c.Points, want) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	for text, message := range map[string]string{
		"":                "sizes f: 0 points (expected at least 2)",
		"1 0\n2":          "f:2: there are 1 columns (expected two",
		"1 0\nx 1":        `f:2: "x" is not a size`,
		"1 0\n-5 1":       `f:2: "-5" is not a size`,
		"1 0\n5 101":      `f:2: "101" is not a share`,
		"1 0\n5 NaN":      `f:2: "NaN" is not a share`,
		"1 0\n5 .5\n4 1":  "sizes f: point 3 is smaller",
		"1 0\n9e15 1":     "f:2: 9e15 is too large (expected up to 1e15 bytes)",
		"1 0\n1e999 1":    "f:2: 1e999 is too large (expected up to 1e15 bytes)",
		"\xff\xfe1\x00":   "f: this is text in UTF-16; fix: save it as UTF-8",
		"1\x00 \x000\x00": "f: this is text in UTF-16; fix: save it as UTF-8",
		"1 0\n5 90":       "sizes f: the last point is at 90 % (expected 100 %)",
		"0 0\n0 1":        "sizes f: all flows are empty",
	} {
		if _, err := ParseCDF("f", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%q: got %v; want %s", text, err, message)
		}
	}
}

// traceWorld returns an environment of four hosts for reading traces.
func traceWorld(t testing.TB) *Env { return world(t, fabric(2, 2), AnyPair, units.Second) }

func TestTraceCSV(t *testing.T) {
	e := traceWorld(t)
	p, err := ReadTrace(e, &Trace{Path: "f", Format: "auto"}, strings.NewReader(
		"src, dst, start, size, class, workload, after\nhost0,host1,1us,2KB,5,a,\nhost1,host2,0s,1KB,,b,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f := p.Flows; len(f) != 2 || f[0].Start != units.Microsecond || f[0].Size != 2000 || f[0].Class != 5 || f[0].Group != -1 || f[1].Origin != 1 || f[1].Class == 0 || f[0].Hash == f[1].Hash {
		t.Errorf("%+v", f)
	}
	if !reflect.DeepEqual(p.Names, []string{"a", "b"}) || !reflect.DeepEqual(p.Waits, []Wait{{Flow: 1, On: []int32{0}}}) {
		t.Errorf("%v, %+v", p.Names, p.Waits)
	}
	const head = "src,dst,start_ps,size_bytes,workload,after,delay_ps,id,hash\n"
	for text, message := range map[string]string{
		"":                                                      "f:1: the file is empty",
		"src,dst\n":                                             "f:1: columns are missing",
		"src,dst,start,start_ps,size\n":                         "f:1: columns are missing",
		"src,dst,start_ps,size_bytes,what\n":                    `f:1: column "what" is unknown`,
		"src,src,start_ps,size_bytes\n":                         `f:1: column "src" is unknown or repeated`,
		head + "host0\n":                                        "f:2: wrong number of fields",
		head + "host0,host9,0,1,,,,,\n":                         `f:2: there is no host "host9" (allowed: host0 to host3)`,
		head + "host0,host0,0,1,,,,,\n":                         "f:2: host0 sends to itself",
		head + "host0,host1,-1,1,,,,,\n":                        `f:2: start_ps is "-1" (expected 0 to`,
		head + "host0,host1,,1,,,,,\n":                          `f:2: start_ps is "" (expected 0 to`,
		head + "host0,host1,0,0,,,,,\n":                         `f:2: size_bytes is "0" (expected 1 to`,
		head + "host0,host1,0,900000000000000,,,,,\n":           "f:2: a flow has 900000000000000 bytes",
		head + "host0,host1,1000000000000,1,,,,,\n":             "f:2: a flow starts at 1s",
		head + "host0,host1,0,1,,,,,4294967296\n":               `f:2: hash is "4294967296"`,
		head + "host0,host1,0,1,,,,7,\n":                        "f:2: id is 7 (expected rows in order: this one is 0)",
		head + "host0,host1,0,1,,x,,,\n":                        `f:2: after has "x"`,
		head + "host0,host1,0,1,,,5,,\n":                        "f:2: delay_ps or until_ps without after",
		head + "host0,host1,0,1,,1,,,\n":                        "f: flow 0 waits for flow 1",
		head + "host0,host1,0,1,,,,,\nhost2,host3,0,1,,0,,,\n":  "f: flow 1 waits for flow 0, which neither starts nor ends at its source",
		head + "host0,host1,0,1,,1,,,\nhost1,host0,0,1,,0,,,\n": "f: flows wait for each other",
		head + "host0,host1,0,1,,,,,\nhost0,host1,0,1,w,,,,\n":  "f:3: earlier rows have no workload name",
		head + "host0,host1,0,1,w,,,,\nhost0,host1,0,1,,,,,\n":  "f:3: the workload name is empty",
		"src,dst,start,size,class\nhost0,host1,0s,1KB,0\n":      `f:2: class is "0": no such class`,
		"src,dst,start,size,class\nhost0,host1,0,1KB,1\n":       "f:2: ",
		"src,dst,start,size\n\"host0,host1,0,1KB\n":             "f:",
	} {
		if _, err := ReadTrace(e, &Trace{Path: "f", Format: "auto"}, strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%q: got %v; want %s", text, err, message)
		}
	}
	if _, err := ReadTrace(e, &Trace{Path: "f", Format: "csv", Workloads: []string{"a"}}, strings.NewReader(head+"host0,host1,0,1,b,,,,\n")); err == nil || !strings.Contains(err.Error(), "is not in the list") {
		t.Errorf("got %v", err)
	}
}

// The header determines the separator: commas, semicolons or tabs. Lists of flows to wait
// for always use spaces.
func TestTraceSeparators(t *testing.T) {
	const text = "src,dst,start,size,workload,after\nhost0,host1,1us,2KB,a,\nhost1,host2,0s,1KB,b,0\nhost1,host2,0s,1KB,b,0 1\n"
	want, err := ReadTrace(traceWorld(t), &Trace{Path: "f", Format: "auto"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{";", "\t"} {
		for _, mark := range []string{"", "\ufeff"} {
			got, err := ReadTrace(traceWorld(t), &Trace{Path: "f", Format: "auto"}, strings.NewReader(mark+strings.ReplaceAll(text, ",", by)))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q: got %+v, %v\nwant %+v", by, got, err, want)
			}
		}
	}
	for text, message := range map[string]string{
		"src;dst;start;size\nhost0;host1;0s\n": "f:2: wrong number of fields (expected CSV with as many columns as the header)",
		"\xfe\xff\x00s\x00r":                   "f:1: this is text in UTF-16; fix: save it as UTF-8",
		"src;dst,start;size\n":                 `f:1: column "src;dst" is unknown or repeated`,
	} {
		if _, err := ReadTrace(traceWorld(t), &Trace{Path: "f", Format: "auto"}, strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%q: got %v; want %s", text, err, message)
		}
	}
}

func TestTraceHPCC(t *testing.T) {
	e := traceWorld(t)
	p, err := ReadTrace(e, &Trace{Path: "f", Format: "auto"}, strings.NewReader("2\n0 3 3 100 2395 0.000105553\n\n1 2 1 101 22624 0.000156211\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f := p.Flows; len(f) != 2 || f[0].Src != 0 || f[0].Dst != 3 || f[0].Class != 3 || f[0].Size != 2395 || f[0].Start != 105_553_000 || f[1].Start != 156_211_000 || p.Names != nil {
		t.Errorf("%+v", f)
	}
	for text, message := range map[string]string{
		"x\n":                      "f:1: this is not a number of flows",
		"1\n":                      "f:1: the file ends after 0 flows",
		"1\n0 1 3 100 5\n":         "f:2: there are 5 columns",
		"1\n0 4 3 100 5 0.1\n":     `f:2: there is no host "4" (expected 0 to 3)`,
		"1\n0 1 0 100 5 0.1\n":     `f:2: priority is "0"`,
		"1\n0 1 3 100 x 0.1\n":     `f:2: "x" is not a number of bytes`,
		"1\n0 1 3 100 5 x\n":       `f:2: "x" is not a time`,
		"1\n0 1 3 100 5 2\n":       "f:2: a flow starts at 2s",
		"0\n0 1 3 100 5 0.1\n":     "f:2: there are more flows than the 0",
		"1\n0 1 3 100 5 0.1\n1 \n": "f:3: there are more flows than the 1",
	} {
		if _, err := ReadTrace(e, &Trace{Path: "f", Format: "hpcc"}, strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%q: got %v; want %s", text, err, message)
		}
	}
}

// writePlan writes a plan as a trace.
func writePlan(e *Env, p *Plan) ([]byte, error) {
	var out bytes.Buffer
	w, err := NewTraceWriter(&out)
	if err != nil {
		return nil, err
	}
	waits := map[int32]*Wait{}
	for i := range p.Waits {
		waits[p.Waits[i].Flow] = &p.Waits[i]
	}
	for i := range p.Flows {
		f := &p.Flows[i]
		name := "w"
		if len(p.Names) > 0 {
			name = p.Names[f.Origin]
		}
		if err := w.Write(f, e.Fabric.Names[f.Src], e.Fabric.Names[f.Dst], name, waits[int32(i)]); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// A written trace reads back unchanged.
func TestTraceRoundTrip(t *testing.T) {
	e := traceWorld(t)
	p := generate(t, e, &RingAllReduce{Size: 1002, Order: "hosts", Repeat: 3, Gap: 5})
	p.Names = []string{"w"}
	p.Waits[7].Until = 99
	text, err := writePlan(e, p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadTrace(e, &Trace{Path: "f", Format: "auto"}, bytes.NewReader(text))
	if err != nil || !reflect.DeepEqual(p, back) {
		t.Errorf("%v: got %+v\nwant %+v", err, back, p)
	}
}

func FuzzCDF(f *testing.F) {
	text, err := os.ReadFile("testdata/two_columns.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{string(text), "0 0\n10000 15\n30000000 100\n", "1 0\n1 1e2", "1e15 0\n1e15 1", "0 0\n.4 1", "\x00", "#", "1000;0\n2000;0,5\n3000,0;1", "\ufeff1 0\n2 1", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCDF("f", strings.NewReader(text))
		if err != nil {
			return
		}
		r := Stream(1, "f")
		low, high := max(1, c.Points[0].Size), c.Points[len(c.Points)-1].Size
		for range 100 {
			if s := c.Draw(r); s < low || s > max(1, high) {
				t.Fatalf("%d is not in %v", s, c.Points)
			}
		}
		if m := c.Mean(); !(m > 0 && m <= float64(high)) {
			t.Fatalf("the mean of %v is %v", c.Points, m)
		}
	})
}

func FuzzTrace(f *testing.F) {
	for _, s := range []string{
		"src;dst;start;size\nhost0;host1;0s;1KB\n", "src\tdst\tstart\tsize\nhost0\thost1\t0s\t1KB\n", "\ufeffsrc;dst;start,size\n",
		"src,dst,start,size\nhost0,host1,1us,1KB\n", "id,start_ps,src,dst,size_bytes,class,hash,group,workload,after,delay_ps,until_ps\n0,0,host0,host1,5,1,7,-1,a,,,\n1,0,host1,host3,5,1,7,3,a,0,5,9\n",
		"2\n0 3 3 100 2395 0.000105553\n1 2 1 101 22624 0.000156211\n", "1\n", "src", "\"", "\xef\xbb\xbfsrc,dst,start,size\n",
	} {
		f.Add(s)
	}
	e := traceWorld(f)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadTrace(e, &Trace{Path: "f", Format: "auto"}, strings.NewReader(text))
		if err != nil {
			return
		}
		for _, w := range p.Flows {
			if w.Src == w.Dst || w.Size < 1 || w.Start < 0 || w.Start >= e.Stop || p.Names != nil && int(w.Origin) >= len(p.Names) {
				t.Fatalf("%+v is accepted", w)
			}
		}
		if p.Names == nil {
			p.Names = []string{"w"}
		}
		out, err := writePlan(e, p)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadTrace(e, &Trace{Path: "f", Format: "csv"}, io.LimitReader(bytes.NewReader(out), 1<<30))
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if len(p.Flows) > 0 && !reflect.DeepEqual(p, back) {
			t.Fatalf("got %+v\nwant %+v", back, p)
		}
	})
}
