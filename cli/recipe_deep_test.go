//go:build deep

package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

// TestDeepRecipe follows CONTRIBUTING.md in a copy of the repository: after `make docs` all
// tests pass, and the documentation has the new scheme.
func TestDeepRecipe(t *testing.T) {
	deep.Turn(t)
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	work := t.TempDir()
	copyTree(t, "..", work)
	files, commands := recipe(t, work)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "-ec", commands)
	cmd.Dir = work
	// Compiling with the profile takes a minute; with -trimpath all copies share the build
	// cache.
	cmd.Env = append(os.Environ(), inRecipe+"=1", "GOFLAGS=-pgo=off -trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	docs, err := os.ReadFile(filepath.Join(work, "docs/reference/policy.md"))
	if err != nil || !strings.Contains(string(docs), "\n## parts\n") {
		t.Errorf("make docs did not add the scheme to docs/reference/policy.md: %v", err)
	}
}

// copyTree copies the sources, without history and results.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch target := filepath.Join(to, name); {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "results"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular():
			return nil
		default:
			info, err := d.Info()
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, data, info.Mode())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
