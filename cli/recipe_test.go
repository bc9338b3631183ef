package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inRecipe is the environment variable that TestDeepRecipe sets for the tests of its copy,
// which already has the scheme.
const inRecipe = "XOFF_IN_RECIPE"

// TestRecipe adds the scheme of CONTRIBUTING.md to its package with an overlay and runs the
// tests of the package. TestDeepRecipe follows the whole recipe in a copy of the repository,
// which compiles everything again.
func TestRecipe(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package: nothing for the race detector")
	}
	if os.Getenv(inRecipe) != "" {
		t.Skip("the copy of TestDeepRecipe already has the scheme")
	}
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := recipe(t, root)
	work := t.TempDir()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	for name, text := range files {
		replacement := filepath.Join(work, filepath.Base(name))
		if err := os.WriteFile(replacement, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, name)] = replacement
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(list, data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-v", "-overlay", list, "./scheme/buffer")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestPartsByHand") {
		t.Errorf("the test of the recipe did not run:\n%s", out)
	}
}

// recipe reads the example of CONTRIBUTING.md: the files it adds or changes, by their path
// in the repository, and the commands that follow.
func recipe(t *testing.T, root string) (files map[string]string, commands string) {
	t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
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
