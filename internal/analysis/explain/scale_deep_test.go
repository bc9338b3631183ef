//go:build deep

package explain_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/run"
)

// busy records a fabric that pauses about once in 100 hops, for a simulated time in us.
func busy(t *testing.T, length int) (folder string, hops uint64, pauses int) {
	t.Helper()
	folder, done := play(t, example(t, "fanin.yaml"), run.Options{Watchers: []run.Watcher{watcher{explain.New()}}},
		fmt.Sprintf("run={arrivals: %dus, measure: {from: 0us, to: %dus}, stop: {when: time, at_most: %dus}}", length, length, length),
		"switch.buffer.size=7500KB", "switch.policy={name: dt, alpha: 1/64}", "hosts.cc.name=none")
	return folder, done.Summary.Network.Hops, int(done.Summary.Pauses.Pauses)
}

// program builds xoff.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "xoff")
	if out, err := exec.Command("go", "build", "-o", path, "../../../cmd/xoff").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// Doubling the events multiplies the instructions of an explanation by at most 2.3.
func TestDeepExplainGrowsWithEvents(t *testing.T) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("valgrind counts the instructions: ", err)
	}
	xoff := program(t)
	var count, events [2]float64
	for i, length := range []int{500, 1000} {
		folder, hops, _ := busy(t, length)
		cmd := exec.Command("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", xoff, "explain", folder, "--quiet")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off")
		out, err := cmd.CombinedOutput()
		m := regexp.MustCompile(`I +refs: +([0-9,]+)`).FindSubmatch(out)
		if err != nil || m == nil {
			t.Fatalf("%v: %s", err, out)
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		count[i], events[i] = n, float64(hops)
	}
	growth := 2 * (count[1] / count[0]) / (events[1] / events[0])
	t.Logf("%.0f instructions for %.0f hops, %.0f for %.0f: %.2f times for twice the events", count[0], events[0], count[1], events[1], growth)
	if growth > 2.3 {
		t.Errorf("instructions grow by %.2f (expected at most 2.3)", growth)
	}
}

// Explaining 10^7 hops with 10^5 pauses takes about 1 GiB of memory. How much of it is garbage
// depends on when the collector runs: 940 MiB on an idle machine, 1044 on a busy one.
func TestDeepExplainLarge(t *testing.T) {
	folder, hops, pauses := busy(t, 9100)
	if hops < 10e6 || pauses < 90e3 {
		t.Fatalf("%d hops, %d pauses", hops, pauses)
	}
	cmd := exec.Command(program(t), "explain", folder, "--quiet")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kib := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	t.Logf("%d hops, %d pauses: %d MiB, %s", hops, pauses, kib>>10, cmd.ProcessState.UserTime())
	if kib > 1280<<10 {
		t.Errorf("%d MiB (expected at most 1280)", kib>>10)
	}
}
