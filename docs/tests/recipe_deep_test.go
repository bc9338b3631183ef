//go:build deep

package tests

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDeepRecipe follows CONTRIBUTING.md in a copy of the repository. Of `go test ./...`, which
// tests everything, it runs the packages that look at schemes.
func TestDeepRecipe(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	work := t.TempDir()
	copyTree(t, root, work)
	files, commands := recipe(t, work)
	for name, text := range files {
		writeText(t, filepath.Join(work, name), text)
	}
	const all = "go test ./..."
	if !strings.Contains(commands, all) {
		t.Errorf("the recipe does not run the tests:\n%s", commands)
	}
	commands = strings.Replace(commands, all, "go test -v ./scheme/buffer && go test ./scenario ./conformance ./internal/devtool/archtest", 1)
	printed := shell(t, work, strings.ReplaceAll(commands, "go run ", "go run -pgo=off "))
	for _, want := range []string{"--- PASS: TestPartsByHand", "buffer policy parts"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	if docs := readText(t, filepath.Join(work, "docs/reference/policy.md")); !strings.Contains(docs, "\n## parts\n") {
		t.Error("the recipe did not add the scheme to docs/reference/policy.md")
	}
}

// recipe reads the example of CONTRIBUTING.md: the files it adds or changes, by their path
// in the repository, and the commands that follow.
func recipe(t *testing.T, root string) (files map[string]string, commands string) {
	t.Helper()
	read := func(name string) string { return readText(t, filepath.Join(root, name)) }
	blocks := regexp.MustCompile("(?ms)^```(go|sh)(?: (\\S+))?\n(.*?)^```$").FindAllStringSubmatch(read("CONTRIBUTING.md"), -1)
	if len(blocks) != 4 {
		t.Fatalf("the recipe has %d blocks, want 4", len(blocks))
	}
	files = make(map[string]string)
	for _, b := range blocks {
		switch language, name, text := b[1], b[2], b[3]; {
		case language == "sh":
			commands = text
		case name == "entry":
			const file = "scheme/buffer/policy.go"
			before, after, found := strings.Cut(read(file), "var Policies")
			entries, rest, closed := strings.Cut(after, "\n)\n")
			if !found || !closed {
				t.Fatalf("%s has no table", file)
			}
			files[file] = before + "var Policies" + entries + "\n" + text + ")\n" + rest
		default:
			files[name] = text
		}
	}
	return files, commands
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
