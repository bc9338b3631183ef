//go:build deep

package fabric_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/xoff-net/xoff/internal/interop/goal"
	"github.com/xoff-net/xoff/job"
)

// peak returns the peak resident memory of the process in bytes, or 0 if it is unknown.
func peak(t *testing.T) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc")
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// A GOAL file of 10^7 operations is loaded and runs its first millisecond in less than 2 GB. An
// operation takes at most 64 B. The test runs in a process of its own, whose peak of memory counts
// nothing else.
func TestDeepTenMillionOperations(t *testing.T) {
	const alone = "XOFF_TEST_ALONE"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDeepTenMillionOperations$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	before := peak(t)
	ring := goal.Ring{Size: 64000, Compute: 100_000, NumRanks: 1024, Rounds: 3256}
	path := filepath.Join(t.TempDir(), "ring.bin")
	w, err := os.Create(path)
	if err == nil {
		err = goal.WriteBinary(w, ring)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	f := simulate(t, jobScenario(t, `
name: large
topology: {name: leaf-spine, leaves: 32, spines: 32, hosts_per_leaf: 32, host_link: {rate: 400Gbps, delay: 500ns}, fabric_link: {rate: 400Gbps, delay: 500ns}}
workload: [{name: a, generator: goal, path: `+path+`}]
switch: {buffer: {size: 64MiB}}
run: {arrivals: 1ms, stop: {when: all_flows_done, at_most: 1ms}}
`), 1, 1)
	took := peak(t)
	j := f.Jobs[0]
	done := len(j.Ops) - j.Left()
	perOp := int(unsafe.Sizeof(job.Op{})) + 4*len(j.Edges)/len(j.Ops)
	t.Logf("%d operations, %d of them done: peak %d MB (%d before), %d B per operation", len(j.Ops), done, took>>20, before>>20, perOp)
	if len(j.Ops) < 10_000_000 || done < 1024*3*5 || took > 2e9 || perOp > 64 {
		t.Errorf("expected 10^7 operations, five rounds, at most 2 GB and 64 B per operation")
	}
}
