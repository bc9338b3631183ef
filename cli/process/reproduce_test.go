package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xoff-net/xoff/internal/devtool/script"
)

// A reproduction that is killed continues with the same command and writes the same bytes as
// one that is not killed.
func TestKilledReproductionGoesOn(t *testing.T) {
	script.ShareHash(t)
	folder := t.TempDir()
	whole, killed := filepath.Join(folder, "whole"), filepath.Join(folder, "killed")
	reproduce := func(to string) *exec.Cmd {
		return program(nil, "reproduce", "toy", "--from", toyExperiments, "--quiet", "--workers", "2", "-o", to)
	}
	must(t, reproduce(whole))
	killAt(t, func() *exec.Cmd { return reproduce(killed) }, "*:*:3", "rename:points/*:4", "rename:points/*:5")
	marks := writtenAt(t, killed)
	if n := len(marks); n < 2+3 { // one of the two workers may have been moving its point
		t.Errorf("%d points were finished before the kills (expected at least 2 and 3)", n)
	}
	must(t, reproduce(killed))
	for name, at := range writtenAt(t, killed) {
		if was, there := marks[name]; there && was != at {
			t.Errorf("%s was finished and ran again", name)
		}
	}
	equal(t, whole, killed)
}

// An interrupted reproduction stores enough to continue without its points, as on another
// machine. The results are the same as without an interruption.
func TestInterruptedReproductionGoesOnElsewhere(t *testing.T) {
	script.ShareHash(t)
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	reproduce := func(points, data string) *exec.Cmd {
		return program(nil, "reproduce", "toy", "--from", toyExperiments, "--quiet", "--workers", "1", "--save", "--data", at(data), "-o", at(points))
	}
	must(t, reproduce("whole", "want"))
	cmd := reproduce("here", "data")
	script.At(cmd, "INT", "rename:points/*:3")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != interrupted {
		t.Fatalf("%v: %s", err, out)
	}
	total, done := finishedPoints(at("whole")), finishedPoints(at("here"))
	if done < 3 || done >= total {
		t.Errorf("%d of %d points are finished (expected 3 or a few more)", done, total)
	}
	for _, id := range []string{"1", "2"} {
		if n := len(storedPoints(t, at("data/toy-"+id+"-quick.part.json"))); n != done {
			t.Errorf("the stored part of toy/%s has %d points, want %d", id, n, done)
		}
	}
	must(t, reproduce("there", "data"))
	if n, want := finishedPoints(at("there")), total-done; n != want {
		t.Errorf("%d points ran after the interruption, want %d", n, want)
	}
	for _, id := range []string{"1", "2"} {
		file := "/toy-" + id + "-quick.json"
		if got, want := storedPoints(t, at("data"+file)), storedPoints(t, at("want"+file)); !slices.Equal(got, want) {
			t.Errorf("%s differs from a run without interruption:\n%s\n%s", file, got, want)
		}
	}
	if rest, _ := filepath.Glob(at("data/*.part.json")); len(rest) > 0 {
		t.Errorf("parts are not removed: %v", rest)
	}
}

// finishedPoints counts the finished points in a folder.
func finishedPoints(folder string) int {
	points, _ := filepath.Glob(filepath.Join(folder, "points", "[^.]*"))
	return len(points)
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
