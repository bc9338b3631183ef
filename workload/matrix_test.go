package workload

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// matrixFile writes a traffic matrix.
func matrixFile(t testing.TB, rows ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "matrix.csv")
	if err := os.WriteFile(name, []byte(strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// In 1 s, 8 Gbps are 1 GB, which are 100,000 flows of 10 KB in 25,000 bursts of 4: the standard
// deviation of the bytes is 1/sqrt(25000) = 0.6 %. Three pairs with shares 1/2, 1/3 and 1/6.
func TestMatrix(t *testing.T) {
	e := world(t, fabric(2, 4), AnyPair, units.Second)
	g := &Matrix{Size: 10 * units.KB, Senders: 4, Scale: 2, Path: matrixFile(t, "src,dst,rate",
		"host0,host7,2Gbps", "host1,host7,1.333333333Gbps", "host5,host7,666666667bps", "host5,host0,1Gbps")}
	bytes, bursts := map[int32]float64{}, map[int32]map[int32]int{}
	for _, f := range generate(t, e, g).Flows {
		if f.Dst == 0 {
			bytes[-1] += float64(f.Size)
			continue
		}
		bytes[f.Src] += float64(f.Size)
		if bursts[f.Group] == nil {
			bursts[f.Group] = map[int32]int{}
		}
		bursts[f.Group][f.Src]++
	}
	for src, want := range map[int32]float64{0: 500e6, 1: 333e6, 5: 167e6, -1: 250e6} {
		if math.Abs(bytes[src]/want-1) > 0.03 {
			t.Errorf("host%d sends %.3g B, want %.3g", src, bytes[src], want)
		}
	}
	// Four flows of a burst: two of host0, one or two of host1, none or one of host5.
	for _, b := range bursts {
		if b[0] != 2 || b[0]+b[1]+b[5] != 4 || b[5] > 1 {
			t.Fatalf("a burst has %v flows by source", b)
		}
	}
}

// Rows have their own classes, and pairs that the workload does not select are left out.
func TestMatrixSelection(t *testing.T) {
	e := world(t, fabric(2, 4), AnyPair, 10*units.Millisecond)
	e.pair(t, AnyPair, []int32{0, 1}, []int32{2, 3})
	g := &Matrix{Size: units.KB, Senders: 1, Scale: 1, Path: matrixFile(t, "rate,class,dst,src", "1Gbps,4,host2,host0", "1Gbps,,host3,host1", "1Gbps,4,host7,host0", "1Gbps,3,host3,host5")}
	seen := map[string]bool{}
	for _, f := range generate(t, e, g).Flows {
		seen[fmt.Sprintf("%d-%d class %d", f.Src, f.Dst, f.Class)] = true
	}
	// The second row has the classes of the workload: 1, 2 and 3.
	if len(seen) != 4 || !seen["0-2 class 4"] || !seen["1-3 class 1"] || !seen["1-3 class 3"] {
		t.Errorf("flows are %v", seen)
	}
}

func TestBadMatrix(t *testing.T) {
	e := world(t, fabric(2, 4), AnyPair, units.Millisecond)
	for want, rows := range map[string][]string{
		`:1: column "size" is unknown (allowed: src, dst, class, rate)`:          {"src,dst,size"},
		`:1: there is no column "rate" (expected src, dst and rate)`:             {"src,dst"},
		`:1: column "src" appears twice`:                                         {"src,src,dst,rate"},
		`:2: src: there is no host "x"`:                                          {"src,dst,rate", "x,host1,1Gbps"},
		`:2: dst: host1 sends to itself`:                                         {"src,dst,rate", "host1,host1,1Gbps"},
		`:2: rate: `:                                                             {"src,dst,rate", "host0,host1,fast"},
		`:3: host0 to host1 appears twice`:                                       {"src,dst,rate", "host0,host1,1Gbps", "host0,host1,2Gbps"},
		"record on line 2: wrong number of fields":                               {"src,dst,rate", "host0,host1"},
		"no rates from hosts of `from` to hosts of `to` (expected at least one)": {"src,dst,rate", "host0,host1,0bps"},
		"path: ": {"src,dst,rate"},
	} {
		g := &Matrix{Size: units.KB, Senders: 1, Scale: 1, Path: matrixFile(t, rows...)}
		if _, err := g.Check(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %s", rows, err, want)
		}
	}
	good := matrixFile(t, "src,dst,rate", "host0,host1,1Gbps")
	for want, g := range map[string]*Matrix{
		"scale: 0 is out of range":   {Size: units.KB, Senders: 1, Path: good},
		"scale: NaN is out of range": {Size: units.KB, Senders: 1, Scale: math.NaN(), Path: good},
		"senders: 0 is too small":    {Size: units.KB, Scale: 1, Path: good},
		"size: 0B is too small":      {Senders: 1, Scale: 1, Path: good},
		"path: no file is given":     {Size: units.KB, Senders: 1, Scale: 1},
		"path: open ":                {Size: units.KB, Senders: 1, Scale: 1, Path: good + "x"},
	} {
		if _, err := g.Check(e); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add("src,dst,rate\nhost0,host1,1Gbps\n")
	f.Add("src,dst,class,rate\nhost0,host1,3,1Mbps\n")
	f.Fuzz(func(t *testing.T, text string) {
		e := world(t, fabric(2, 4), AnyPair, units.Millisecond)
		sinks, err := readMatrix(e, strings.NewReader(text), "f")
		if err != nil {
			return
		}
		for _, s := range sinks {
			if s.total <= 0 || len(s.from) != len(s.rates) || len(s.from) == 0 {
				t.Fatalf("%q: %+v", text, s)
			}
		}
	})
}
