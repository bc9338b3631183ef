package examples_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/hashes.txt")

const hashFile = "testdata/hashes.txt"

// cut returns the time at which TestHashes ends an example. The last flow of websearch starts
// at 600 us.
func cut(name string) units.Time {
	if name == "websearch" {
		return 700 * units.Microsecond
	}
	return 200 * units.Microsecond
}

// TestHashes runs the first 200 us of every example (see cut). It compares hashes of the
// canonical scenario, the flow table and the summary with testdata/hashes.txt. A change that
// is not meant to change results must not change any hash. TestDeepHashes has the large ones.
func TestHashes(t *testing.T) { compareHashes(t, false) }

// large are the examples that take seconds to set up.
var large = map[string]bool{"rail-1024": true}

// compareHashes compares the hashes of large examples or of the others. With -rewrite it
// records all.
func compareHashes(t *testing.T, onlyLarge bool) {
	t.Helper()
	want, err := os.ReadFile(hashFile)
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Split(string(want), "\n")
	var got strings.Builder
	fmt.Fprintln(&got, "# example, scenario, flows.csv and summary.json of its first 200 us (go test ./examples -run Hashes -rewrite)")
	for i, e := range examples.All() {
		if *rewrite || large[e.Name] == onlyLarge {
			fmt.Fprintln(&got, e.Name, strings.Join(hashes(t, e), " "))
		} else if i+1 < len(recorded) {
			fmt.Fprintln(&got, recorded[i+1])
		}
	}
	if *rewrite {
		if err := os.WriteFile(hashFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(recorded) || line != recorded[i] {
			t.Errorf("line %d of %s: got %s", i+1, hashFile, line)
		}
	}
}

// hashes returns the hashes of an example's scenario, flow table and summary.
func hashes(t *testing.T, e examples.Example) []string {
	t.Helper()
	cfg, err := scenario.Parse(e.Name, []byte(e.Text))
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := cfg.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Expect = nil
	r := &cfg.Run
	r.Arrivals = min(r.Arrivals, cut(e.Name))
	r.Measure.From, r.Measure.To = 0, 0
	r.Stop.When, r.Stop.AtMost = "time", min(r.Stop.AtMost, cut(e.Name))
	done, err := run.Scenario(context.Background(), cfg, run.Options{})
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	var flows, summary bytes.Buffer
	if err := done.Outcome.Tables()[0].Write(io.Discard, &flows); err != nil {
		t.Fatal(err)
	}
	if err := done.Summary.Write(&summary); err != nil {
		t.Fatal(err)
	}
	return []string{short(canonical), short(flows.Bytes()), short(summary.Bytes())}
}

// short returns the first 12 hexadecimal digits of a hash.
func short(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data))[:12] }
