package cli

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fataler is the common interface of tests and scripts.
type fataler interface {
	Fatalf(format string, args ...any)
}

// tree reads all files of a folder, also hidden ones.
func tree(t fataler, folder string) map[string]string {
	files := make(map[string]string)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil || d.IsDir() {
			files[name+"/"] = ""
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return files
}

// differences returns the names of the files that differ.
func differences(a, b map[string]string) string {
	var names []string
	for name, data := range a {
		if other, ok := b[name]; !ok || other != data {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// A sweep that is killed at random times and resumed writes the same bytes as one that is
// not killed.
func TestKilledSweepResumesToTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector, and tests processes rather than goroutines")
	}
	shareHash(t)
	folder := t.TempDir()
	sweep := func(name string) *exec.Cmd {
		return exec.Command("xoff", "sweep", "testdata/busy.yaml", "--vary", "switch.policy.alpha=1/16,1/8,1/4", "--vary", "hosts.cc.name=dcqcn,none",
			"--set", "run.arrivals=60us", "--set", "run.measure={from: 0us, to: 60us}", "--seeds", "2", "--csv", "--workers", "2", "--quiet", "--resume", "-o", filepath.Join(folder, name))
	}
	if out, err := sweep("whole").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kills := killOften(t, filepath.Join(folder, "killed"), []int{0, 1, 3, 6, 9}, func() *exec.Cmd { return sweep("killed") })
	if out, err := sweep("killed").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := differences(tree(t, filepath.Join(folder, "whole")), tree(t, filepath.Join(folder, "killed"))); diff != "" {
		t.Errorf("after %d kills these files differ: %s", kills, diff)
	}
}

// A search that is killed at random times and resumed ends with the same bytes.
func TestKilledTuneResumesToTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector, and tests processes rather than goroutines")
	}
	shareHash(t)
	folder := t.TempDir()
	tune := func(name string) *exec.Cmd {
		return exec.Command("xoff", "tune", "testdata/busy.yaml", "--vary", "switch.policy.alpha=1/64..1", "--vary", "switch.ecn.kmin=10KB..160KB",
			"--set", "run.arrivals=60us", "--set", "run.measure={from: 0us, to: 60us}", "--minimize", "fct.p99", "--runs", "21", "--seeds", "2",
			"--workers", "2", "--quiet", "--resume", "-o", filepath.Join(folder, name))
	}
	if out, err := tune("whole").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kills := killOften(t, filepath.Join(folder, "killed"), []int{0, 3, 7, 11, 15}, func() *exec.Cmd { return tune("killed") })
	if out, err := tune("killed").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := differences(tree(t, filepath.Join(folder, "whole")), tree(t, filepath.Join(folder, "killed"))); diff != "" {
		t.Errorf("after %d kills these files differ: %s", kills, diff)
	}
}

// Concurrent tasks that share a folder, some killed at random times, write the same bytes as
// a sweep on one machine.
func TestKilledTasksMergeToTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector, and tests processes rather than goroutines")
	}
	shareHash(t)
	folder := t.TempDir()
	shared := filepath.Join(folder, "shared")
	sweep := func(name string, more ...string) *exec.Cmd {
		args := []string{"sweep", "testdata/busy.yaml", "--vary", "switch.policy.alpha=1/16,1/8,1/4", "--set", "run.arrivals=60us",
			"--set", "run.measure={from: 0us, to: 60us}", "--seeds", "4", "--workers", "1", "--quiet", "-o", filepath.Join(folder, name)}
		return exec.Command("xoff", append(args, more...)...)
	}
	if out, err := sweep("whole").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kills := killOften(t, shared, []int{0, 1, 3, 5, 5}, func() *exec.Cmd { return sweep("shared", "--shard", "0/2") })
	var tasks []*exec.Cmd
	for _, shard := range []string{"0/2", "1/2", "1/2"} { // the second one twice
		cmd := sweep("shared", "--shard", shard)
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
	if out, err := exec.Command("xoff", "sweep", "merge", shared, "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := differences(tree(t, filepath.Join(folder, "whole")), tree(t, shared)); diff != "" {
		t.Errorf("after %d kills these files differ: %s", kills, diff)
	}
}

// killOften starts a command repeatedly and kills it shortly after its folder has n points,
// for each n of after. It does not depend on the speed of the machine. It returns the number
// of commands that were killed before they ended.
func killOften(t *testing.T, folder string, after []int, start func() *exec.Cmd) int {
	t.Helper()
	kills := 0
	for _, n := range after {
		cmd := start()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		for finishedPoints(folder) < n && len(exited) == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(rand.N(5 * time.Millisecond))
		_ = cmd.Process.Kill()
		if <-exited != nil {
			kills++
		}
	}
	if kills < 3 {
		t.Errorf("%d kills, want at least 3", kills)
	}
	return kills
}

// finishedPoints counts the finished points in a folder.
func finishedPoints(folder string) int {
	points, _ := filepath.Glob(filepath.Join(folder, "points", "[^.]*"))
	return len(points)
}

// A closed pipe ends a command without a message, after it has written its results.
func TestBrokenPipe(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{{"list"}, {"run", "testdata/busy.yaml", "-o", folder}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		var stderr bytes.Buffer
		cmd := exec.Command("xoff", args...)
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

func TestMeter(t *testing.T) {
	now := time.Unix(0, 0)
	for _, c := range []struct {
		mode int
		want string
	}{
		{meterOff, ""},
		{meterLine, "\r2s\x1b[K\r12s\x1b[K\r43s\x1b[K\r\x1b[K"}, // 12.1 s is within lineEvery of 12 s
		{meterPlain, "12s\n43s\n"},
	} {
		var out bytes.Buffer
		m := startMeter(&out, c.mode, func() time.Time { return now })
		for _, at := range []time.Duration{1000, 2000, 12000, 12100, 43000} {
			now = m.start.Add(at * time.Millisecond)
			m.show(func(passed time.Duration) string { return passed.String() })
		}
		m.clear()
		if out.String() != c.want {
			t.Errorf("mode %d: %q, want %q", c.mode, out.String(), c.want)
		}
	}
}

func TestColored(t *testing.T) {
	for _, c := range []struct {
		no, force, term string
		want            bool
	}{
		{"", "", "xterm", false}, // the output is not a terminal
		{"", "1", "xterm", true},
		{"", "0", "xterm", false},
		{"1", "1", "xterm", false},
		{"", "1", "dumb", true},
	} {
		env := map[string]string{"NO_COLOR": c.no, "FORCE_COLOR": c.force, "TERM": c.term}
		if got := colored(io.Discard, func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
