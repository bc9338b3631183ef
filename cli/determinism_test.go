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

// The same scenario gives the same bytes whatever the number of workers, of
// processors, and the length of windows.
func TestResultsDoNotDependOnHow(t *testing.T) {
	sameResults(t, []setting{{1, 1, 1}, {2, 2, 2}, {5, 4, 3}})
}

// setting is a way to run a scenario.
type setting struct{ procs, workers, divisor int }

// sameResults compares the files of runs with different settings.
func sameResults(t *testing.T, settings []setting) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want map[string][]byte
	for _, c := range settings {
		runtime.GOMAXPROCS(c.procs)
		got := resultFiles(t, "--workers", fmt.Sprint(c.workers), "--window-divisor", fmt.Sprint(c.divisor), "--invariants", "strict")
		if want == nil {
			want = got
			coverage(t, got["summary.json"])
		}
		for file := range want {
			if !bytes.Equal(got[file], want[file]) {
				t.Errorf("%d processors, %d workers, windows / %d: %s differs", c.procs, c.workers, c.divisor, file)
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
	if len(files) != 20 { // summary, report, scenario, four tables, twelve probes, and the list of them
		t.Fatalf("%d files", len(files))
	}
	return files
}

// coverage makes sure that the scenario has something in it to go wrong.
func coverage(t *testing.T, summary []byte) {
	t.Helper()
	var s metrics.Summary
	if err := json.Unmarshal(summary, &s); err != nil {
		t.Fatal(err)
	}
	if s.Pauses.Pauses == 0 || s.Network.Marks == 0 || s.Drops.Link == 0 || s.Drops.Overflow == 0 || s.Drops.NoRoute == 0 ||
		s.Transport.Retransmissions == 0 || s.Transport.Timeouts == 0 || s.Transport.CNPs == 0 || s.Buffer.PeakHeadroom == 0 {
		t.Errorf("the scenario is too quiet: %s", summary)
	}
	if s.Drops.Lossless != 0 || s.Flows.Unfinished != 0 {
		t.Errorf("the scenario is not healthy: %s", summary)
	}
}
