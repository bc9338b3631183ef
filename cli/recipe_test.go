package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inRecipe is set while the tests of a copy run, so that they do not follow the recipe
// again.
const inRecipe = "XOFF_IN_RECIPE"

// TestRecipe follows CONTRIBUTING.md to the letter in a copy of the repository: after
// `make docs` the tests that look at tables and pages pass, and the command knows the
// scheme. TestDeepRecipe runs all tests.
func TestRecipe(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a copy of everything")
	}
	t.Parallel()
	followRecipe(t, func(command string) string {
		const few = "go test ./scheme/buffer ./scenario ./internal/archtest && go test ./conformance -run TestPolicy"
		return strings.Replace(command, "go test ./...", few, 1)
	})
}

func followRecipe(t *testing.T, change func(command string) string) {
	t.Helper()
	if os.Getenv(inRecipe) != "" {
		t.Skip("in the copy of another such test")
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	work := t.TempDir()
	copyTree(t, "..", work)
	page, err := os.ReadFile(filepath.Join(work, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	blocks := regexp.MustCompile("(?ms)^```(go|sh)(?: (\\S+))?\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Fatalf("the recipe has %d blocks", len(blocks))
	}
	for _, b := range blocks {
		switch language, name, text := b[1], b[2], b[3]; {
		case language == "sh":
			cmd := exec.Command("bash", "-ec", change(text))
			cmd.Dir = work
			// The profile of the command takes a minute to compile with; without paths the
			// build cache serves every copy.
			cmd.Env = append(os.Environ(), inRecipe+"=1", "GOFLAGS=-pgo=off -trimpath")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", text, err, out)
			}
		case name == "entry":
			const file = "scheme/buffer/policy.go"
			table, err := os.ReadFile(filepath.Join(work, file))
			if err != nil {
				t.Fatal(err)
			}
			before, after, found := strings.Cut(string(table), "var Policies")
			entries, rest, closed := strings.Cut(after, "\n)\n")
			if !found || !closed {
				t.Fatalf("%s has no table", file)
			}
			write(file, before+"var Policies"+entries+"\n"+text+")\n"+rest)
		default:
			write(name, text)
		}
	}
	docs, err := os.ReadFile(filepath.Join(work, "docs/scenario.md"))
	if err != nil || !strings.Contains(string(docs), "one of so many parts") {
		t.Errorf("make docs did not bring the scheme to docs/scenario.md: %v", err)
	}
}

// copyTree copies the sources: no history, no results.
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
