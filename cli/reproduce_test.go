package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const toyExperiments = "testdata/experiments"

// A reproduction that is killed at random times continues with the same command and writes
// the same bytes as one that is not killed.
func TestKilledReproductionGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector, and tests processes rather than goroutines")
	}
	shareHash(t)
	folder := t.TempDir()
	reproduce := func(name string) *exec.Cmd {
		return exec.Command("xoff", "reproduce", "toy", "--from", toyExperiments, "--quiet", "--workers", "2", "-o", filepath.Join(folder, name))
	}
	if out, err := reproduce("whole").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kills := killOften(t, filepath.Join(folder, "killed"), []int{0, 1, 4, 8}, func() *exec.Cmd { return reproduce("killed") })
	before := finishedPoints(filepath.Join(folder, "killed"))
	marks := writtenAt(t, filepath.Join(folder, "killed"))
	if out, err := reproduce("killed").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, at := range writtenAt(t, filepath.Join(folder, "killed")) {
		if was, there := marks[name]; there && was != at {
			t.Errorf("%s was finished and ran again", name)
		}
	}
	if diff := differences(tree(t, filepath.Join(folder, "whole")), tree(t, filepath.Join(folder, "killed"))); diff != "" {
		t.Errorf("after %d kills and with %d points these files differ: %s", kills, before, diff)
	}
}

// An interrupted reproduction stores enough to continue without its points, as on another
// machine. The results are the same as without an interruption.
func TestInterruptedReproductionGoesOnElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("tests processes rather than goroutines")
	}
	shareHash(t)
	folder := t.TempDir()
	reproduce := func(points, data string) *exec.Cmd {
		return exec.Command("xoff", "reproduce", "toy", "--from", toyExperiments, "--quiet", "--workers", "1", "--save", "--data", filepath.Join(folder, data), "-o", filepath.Join(folder, points))
	}
	if out, err := reproduce("whole", "want").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	done := 0
	for try := 0; done == 0; try++ {
		if try == 20 {
			t.Fatal("never interrupted between the first and the last point")
		}
		points := filepath.Join(folder, "here")
		if err := errors.Join(os.RemoveAll(points), os.RemoveAll(filepath.Join(folder, "data"))); err != nil {
			t.Fatal(err)
		}
		cmd := reproduce("here", "data")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		for finishedPoints(points) < 3 && len(exited) == 0 {
			time.Sleep(time.Millisecond)
		}
		_ = cmd.Process.Signal(os.Interrupt)
		if <-exited != nil {
			done = finishedPoints(points)
		}
	}
	for _, id := range []string{"1", "2"} {
		if n := len(storedPoints(t, filepath.Join(folder, "data", "toy-"+id+"-quick.part.json"))); n != done {
			t.Errorf("the stored part of toy/%s has %d points, want %d", id, n, done)
		}
	}
	if out, err := reproduce("there", "data").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n, want := finishedPoints(filepath.Join(folder, "there")), finishedPoints(filepath.Join(folder, "whole"))-done; n != want {
		t.Errorf("%d points ran after the interruption, want %d", n, want)
	}
	for _, id := range []string{"1", "2"} {
		file := "toy-" + id + "-quick.json"
		if got, want := storedPoints(t, filepath.Join(folder, "data", file)), storedPoints(t, filepath.Join(folder, "want", file)); !slices.Equal(got, want) {
			t.Errorf("%s differs from a run without interruption:\n%s\n%s", file, got, want)
		}
	}
	if rest, _ := filepath.Glob(filepath.Join(folder, "data", "*.part.json")); len(rest) > 0 {
		t.Errorf("parts are not removed: %v", rest)
	}
}

// storedPoints returns the lines of the points in a stored result.
func storedPoints(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[1 : len(lines)-1]
}

// writtenAt returns the time at which each point of a folder was finished.
func writtenAt(t *testing.T, folder string) map[string]time.Time {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "points", "[^.]*", "point.json"))
	if err != nil {
		t.Fatal(err)
	}
	times := make(map[string]time.Time)
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		times[f] = info.ModTime()
	}
	return times
}

// Points of another program are never reused, even if it differs only in its last byte.
func TestChangedProgramStartsAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("tests processes rather than goroutines")
	}
	path, err := exec.LookPath("xoff")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	other := filepath.Join(folder, "bin", "xoff")
	if err := os.Mkdir(filepath.Dir(other), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, append(data, 'x'), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(program string) (string, map[string]time.Time) {
		out := filepath.Join(folder, "out")
		if text, err := exec.Command(program, "reproduce", "toy/2", "--from", toyExperiments, "--quiet", "-o", out).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		var result struct {
			Executable string `json:"executable_sha256"`
		}
		data, err := os.ReadFile(filepath.Join(out, "toy-2-quick.json"))
		if err == nil {
			err = json.Unmarshal(data, &result)
		}
		if err != nil {
			t.Fatal(err)
		}
		return result.Executable, writtenAt(t, out)
	}
	hash, first := run(path)
	again, second := run(path)
	changed, third := run(other)
	if hash != again || hash == changed || hash == "" {
		t.Errorf("hashes: program %q, again %q, changed program %q", hash, again, changed)
	}
	if len(first) != 12 {
		t.Errorf("%d points, want 2 schemes x 2 loads x 3 seeds", len(first))
	}
	for name, at := range first {
		if second[name] != at {
			t.Errorf("%s ran again with the same program", name)
		}
		if third[name] == at || third[name].IsZero() {
			t.Errorf("%s of another program was reused", name)
		}
	}
}
