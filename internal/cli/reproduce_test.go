package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const toyExperiments = "testdata/experiments"

// A reproduction that is killed at random moments goes on with the same command and
// leaves the same bytes as one that ran through.
func TestKilledReproductionGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector, and is about processes rather than goroutines")
	}
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

// writtenAt tells when each point of a folder was finished.
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

// Points of another program are never used again, even if it only differs in a
// byte at its end.
func TestChangedProgramStartsAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("is about processes rather than goroutines")
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
		t.Errorf("hashes of the program: %q, %q, changed %q", hash, again, changed)
	}
	if len(first) != 12 {
		t.Errorf("%d points, want 2 schemes x 2 loads x 3 seeds", len(first))
	}
	for name, at := range first {
		if second[name] != at {
			t.Errorf("%s ran twice in the same program", name)
		}
		if third[name] == at || third[name].IsZero() {
			t.Errorf("%s of another program was used", name)
		}
	}
}
