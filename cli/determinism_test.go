package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/xoff-net/xoff/metrics"
)

// The same scenario gives the same bytes for any number of workers and processors, and any
// window length.
func TestResultsIndependentOfSettings(t *testing.T) {
	sameResults(t, []setting{{1, 1, 1}, {2, 2, 2}, {5, 4, 3}})
}

// setting has the values of GOMAXPROCS, --workers and --window-divisor of a run.
type setting struct{ procs, workers, divisor int }

// sameResults checks that runs with different settings write identical files.
func sameResults(t *testing.T, settings []setting) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want map[string][]byte
	for _, c := range settings {
		runtime.GOMAXPROCS(c.procs)
		got := resultFiles(t, "--workers", fmt.Sprint(c.workers), "--window-divisor", fmt.Sprint(c.divisor), "--invariants", "strict")
		if want == nil {
			want = got
			checkCoverage(t, got["summary.json"])
		}
		for file := range want {
			if !bytes.Equal(got[file], want[file]) {
				t.Errorf("%d processors, %d workers, window divisor %d: %s differs", c.procs, c.workers, c.divisor, file)
			}
		}
	}
}

// resultFiles runs testdata/busy.yaml and returns its files.
func resultFiles(t *testing.T, flags ...string) map[string][]byte {
	t.Helper()
	folder := t.TempDir()
	var stderr bytes.Buffer
	args := append([]string{"run", "testdata/busy.yaml", "--quiet", "-o", folder}, flags...)
	if code := Run(args, &stderr, &stderr); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
	}
	files := make(map[string][]byte)
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name()] = data
	}
	if len(files) != 20 { // summary, report, scenario, four tables, twelve probes, list of files
		t.Fatalf("%d files, want 20", len(files))
	}
	return files
}

// checkCoverage checks that the run has pauses, marks, drops and retransmissions, but no lossless
// drops and no unfinished flows.
func checkCoverage(t *testing.T, summary []byte) {
	t.Helper()
	var s metrics.Summary
	if err := json.Unmarshal(summary, &s); err != nil {
		t.Fatal(err)
	}
	if s.Pauses.Pauses == 0 || s.Network.Marks == 0 || s.Drops.Link == 0 || s.Drops.Overflow == 0 || s.Drops.NoRoute == 0 ||
		s.Transport.Retransmissions == 0 || s.Transport.Timeouts == 0 || s.Transport.CNPs == 0 || s.Buffer.PeakHeadroom == 0 {
		t.Errorf("the run lacks pauses, marks, drops or retransmissions: %s", summary)
	}
	if s.Drops.Lossless != 0 || s.Flows.Unfinished != 0 {
		t.Errorf("lossless drops or unfinished flows: %s", summary)
	}
}
