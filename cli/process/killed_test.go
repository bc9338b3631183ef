package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/script"
)

const (
	busy           = "../testdata/busy.yaml"
	toyExperiments = "../testdata/experiments"
)

// short shortens the runs of a sweep of busy.
var short = []string{"--set", "run.arrivals=60us", "--set", "run.measure={from: 0us, to: 60us}", "--set", "probes=[{name: pause}]"}

// program returns a process of xoff with some arguments and more.
func program(more []string, args ...string) *exec.Cmd {
	cmd := exec.Command("xoff", slices.Concat(args, more)...)
	cmd.Env = append(os.Environ(), "GOGC=400")
	return cmd
}

// must runs a process that must succeed.
func must(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
}

// killAt starts a command once for each point, at which the process kills itself.
func killAt(t *testing.T, start func() *exec.Cmd, points ...string) {
	t.Helper()
	for _, p := range points {
		cmd := start()
		script.At(cmd, "KILL", p)
		out, err := cmd.CombinedOutput()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Errorf("at %s the process was not killed: %v: %s", p, err, out)
		}
	}
}

// equal checks that two folders have the same files.
func equal(t *testing.T, a, b string) {
	t.Helper()
	if diff := script.Differences(t, a, b); diff != "" {
		t.Errorf("these files differ: %s", diff)
	}
}

// A sweep that is killed and resumed writes the same bytes as one that is not killed.
func TestKilledSweepResumesToTheSameBytes(t *testing.T) {
	script.ShareHash(t)
	folder := t.TempDir()
	whole, killed := filepath.Join(folder, "whole"), filepath.Join(folder, "killed")
	sweep := func(to string) *exec.Cmd {
		return program(short, "sweep", busy, "--vary", "switch.policy.alpha=1/16,1/4", "--vary", "hosts.cc.name=dcqcn,none",
			"--seeds", "2", "--csv", "--workers", "2", "--quiet", "--resume", "-o", to)
	}
	must(t, sweep(whole))
	killAt(t, func() *exec.Cmd { return sweep(killed) },
		"*:*:1",                  // before it has written anything
		"create:flows.parquet:2", // within the second point
		"rename:points/*:2",      // before a point is moved into place
		"*:*:25",
		"create:sweep.csv:1", // all points are finished
		"rename:report.html:1",
	)
	must(t, sweep(killed))
	equal(t, whole, killed)
}

// A search that is killed and resumed ends with the same bytes.
func TestKilledTuneResumesToTheSameBytes(t *testing.T) {
	script.ShareHash(t)
	folder := t.TempDir()
	whole, killed := filepath.Join(folder, "whole"), filepath.Join(folder, "killed")
	tune := func(to string) *exec.Cmd {
		return program(short, "tune", busy, "--vary", "switch.policy.alpha=1/64..1", "--minimize", "fct.p99", "--runs", "14", "--seeds", "2",
			"--confirm", "2", "--workers", "2", "--quiet", "--resume", "-o", to)
	}
	must(t, tune(whole))
	killAt(t, func() *exec.Cmd { return tune(killed) }, "create:flows.parquet:1", "rename:points/*:3", "rename:points/*:5", "create:tune.json:1")
	must(t, tune(killed))
	equal(t, whole, killed)
}

// Concurrent tasks that share a folder, some of them killed, write the same bytes as a sweep
// on one machine.
func TestKilledTasksMergeToTheSameBytes(t *testing.T) {
	script.ShareHash(t)
	folder := t.TempDir()
	whole, shared := filepath.Join(folder, "whole"), filepath.Join(folder, "shared")
	sweep := func(to string, more ...string) *exec.Cmd {
		return program(append(more, short...), "sweep", busy, "--vary", "switch.policy.alpha=1/16,1/8,1/4", "--seeds", "2", "--workers", "1", "--quiet", "-o", to)
	}
	must(t, sweep(whole))
	killAt(t, func() *exec.Cmd { return sweep(shared, "--shard", "0/2") }, "*:*:2", "rename:points/*:1", "rename:points/*:2")
	var tasks []*exec.Cmd
	for _, shard := range []string{"0/2", "1/2", "1/2"} { // the second one twice
		cmd := sweep(shared, "--shard", shard)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, cmd)
	}
	for _, cmd := range tasks {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", cmd.Args, err)
		}
	}
	must(t, program(nil, "sweep", "merge", shared, "--quiet"))
	equal(t, whole, shared)
}

// A closed pipe ends a command without a message, after it has written its results.
func TestBrokenPipe(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{{"list"}, {"run", busy, "-o", folder}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		var stderr bytes.Buffer
		cmd := program(args)
		cmd.Stdout, cmd.Stderr = w, &stderr
		_ = cmd.Run() // killed by SIGPIPE
		_ = w.Close()
		for line := range strings.Lines(stderr.String()) {
			if !strings.Contains(line, " simulated, ") { // progress on a slow machine
				t.Errorf("%v: %s", args, line)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "summary.json")); err != nil {
		t.Error(err)
	}
}
