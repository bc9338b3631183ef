package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// startPages are the pages where readers begin, by kind of reader.
var startPages = []string{"docs/start-researcher.md", "docs/start-operator.md", "docs/start-ai-cluster.md"}

// TestDocsStart follows the start pages in a folder with links to docs and examples. It
// writes YAML and CSV blocks to the files they name. Go blocks must be part of the file they
// name, and commands must print what the page shows.
func TestDocsStart(t *testing.T) {
	if testing.Short() {
		t.Skip("runs simulations one by one: nothing for the race detector")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?ms)^```(go|yaml|csv) (\\S+)\n(.*?)^```$")
	for _, name := range startPages {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			page, work := filepath.Join(root, name), t.TempDir()
			for _, folder := range []string{"docs", "examples"} {
				if err := os.Symlink(filepath.Join(root, folder), filepath.Join(work, folder)); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range files.FindAllStringSubmatch(readText(t, page), -1) {
				if m[1] != "go" {
					if err := os.WriteFile(filepath.Join(work, m[2]), []byte(m[3]), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if !strings.Contains(readText(t, filepath.Join(root, m[2])), m[3]) {
					t.Errorf("%s does not contain the block that %s shows of it", m[2], name)
				}
			}
			consoles(t, page, func(command string) string { return shell(t, work, command) })
		})
	}
}

// TestDocsStartShort keeps the pages that newcomers read first short.
func TestDocsStartShort(t *testing.T) {
	for _, page := range append([]string{"README.md"}, startPages...) {
		if n := len(strings.Fields(readText(t, filepath.Join("..", page)))); n > 900 {
			t.Errorf("%s has %d words (expected at most 900)", page, n)
		}
	}
}

// TestDocsReadmeCommands checks that the first commands of README.md work in a clone
// on a machine that only has Go.
func TestDocsReadmeCommands(t *testing.T) {
	_, rest, _ := strings.Cut(readText(t, "../README.md"), "\n```")
	block, _, _ := strings.Cut(rest, "\n```")
	_, block, _ = strings.Cut(block, "\n")
	want := []string{"go run ./cmd/xoff demo", "go test ./..."}
	var got []string
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		got = append(got, strings.TrimSpace(command))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the first code block of README.md has the commands %q (expected %q)", got, want)
	}
}

// TestDocsReachable checks that links lead from docs/README.md to every page of docs.
func TestDocsReachable(t *testing.T) {
	const docs = "../docs"
	link := regexp.MustCompile(`\]\(([^)\s#:]+)[^)\s:]*\)`)
	seen := map[string]bool{}
	var visit func(page string)
	visit = func(page string) {
		if seen[page] {
			return
		}
		seen[page] = true
		for _, m := range link.FindAllStringSubmatch(readText(t, page), -1) {
			to := filepath.Join(filepath.Dir(page), m[1])
			if strings.HasPrefix(to, docs) && filepath.Ext(to) == ".md" {
				visit(to)
			}
		}
	}
	visit(filepath.Join(docs, "README.md"))
	err := filepath.WalkDir(docs, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && !seen[path] {
			t.Errorf("no links lead from docs/README.md to %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
