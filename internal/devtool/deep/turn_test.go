package deep

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The turn is the number of commits modulo ten, and 0 without a repository. A shallow clone
// is an error.
func TestTurnByCommits(t *testing.T) {
	script, err := filepath.Abs("../../../.ci/turn")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"bash", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	run := func(dir, name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	git := func(dir string, args ...string) {
		t.Helper()
		if out, err := run(dir, "git", args...); err != nil {
			t.Fatal(out, err)
		}
	}
	t.Setenv("XOFF_TURN", "") // restores the variable after the test
	if err := os.Unsetenv("XOFF_TURN"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	whole, parent, none := t.TempDir(), t.TempDir(), t.TempDir()
	git(whole, "init", "-q")
	for range 13 {
		git(whole, "commit", "-q", "--allow-empty", "-m", "x")
	}
	git(parent, "clone", "-q", "--depth", "2", "file://"+whole, "shallow")
	for dir, want := range map[string]string{whole: "3", none: "0"} {
		if got, err := run(dir, script); err != nil || got != want {
			t.Errorf("turn %q, %v; want %s", got, err, want)
		}
	}
	shallow := filepath.Join(parent, "shallow")
	if got, err := run(shallow, script); err == nil || !strings.Contains(got, "shallow") {
		t.Errorf("in a shallow clone: %q, %v", got, err)
	}
	t.Setenv("XOFF_TURN", "7")
	if got, err := run(shallow, script); err != nil || got != "7" {
		t.Errorf("turn %q, %v; want 7", got, err)
	}
}
