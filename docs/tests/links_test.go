package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// startPages are the pages where readers begin, by kind of reader.
var startPages = []string{"docs/start-researcher.md", "docs/start-operator.md", "docs/start-ai-cluster.md"}

// TestStartShort keeps the pages that newcomers read first short.
func TestStartShort(t *testing.T) {
	for _, page := range append([]string{"README.md"}, startPages...) {
		if n := len(strings.Fields(readText(t, filepath.Join(root, page)))); n > 900 {
			t.Errorf("%s has %d words (expected at most 900)", page, n)
		}
	}
}

// TestReadmeCommands checks that the first commands of README.md work in a clone
// on a machine that only has Go.
func TestReadmeCommands(t *testing.T) {
	_, rest, _ := strings.Cut(readText(t, filepath.Join(root, "README.md")), "\n```")
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

// TestReachable checks that links lead from docs/README.md to every page of docs.
func TestReachable(t *testing.T) {
	docs := filepath.Join(root, "docs")
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

// TestLinks follows every relative link of every page.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	pages, links := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		pages++
		for _, m := range link.FindAllStringSubmatch(readText(t, path), -1) {
			target, anchor, _ := strings.Cut(m[1]+m[2], "#")
			if strings.Contains(target, ":") {
				continue
			}
			links++
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: no %s", path, target)
			} else if anchor != "" && !hasHeading(t, to, anchor) {
				t.Errorf("%s: %s has no heading #%s", path, to, anchor)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 20 || links < 100 {
		t.Errorf("found only %d links on %d pages", links, pages)
	}
}

// hasHeading reports whether a page has the heading of an anchor. An anchor is the heading
// in lower case, with dashes for spaces and without punctuation.
func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	dropped := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for line := range strings.Lines(readText(t, page)) {
		name, isHeading := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !isHeading || line[0] != '#' {
			continue
		}
		name = dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(name)), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}
