package tests

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTutorial compares the files that docs/extend.md shows with examples/own-scheme, which
// TestDeepOwnScheme builds. TestDeepTutorial runs the commands.
func TestTutorial(t *testing.T) { tutorial(t, false) }

// tutorial follows docs/extend.md in an empty folder, block by block. Files must equal the
// example's. With execute, commands must work and print what the page shows.
func tutorial(t *testing.T, execute bool) {
	t.Helper()
	page, example, above := filepath.Join(root, "docs/extend.md"), filepath.Join(root, "examples/own-scheme"), t.TempDir()
	work := filepath.Join(above, "own-scheme")
	write := func(name, text string) { writeText(t, filepath.Join(work, name), text) }
	read := func(name string) string { return readText(t, filepath.Join(example, name)) }
	files, commands := 0, 0
	for _, block := range regexp.MustCompile("(?ms)^```(go|yaml|sh) ?(\\S*)\n(.*?)^```$").FindAllStringSubmatch(readText(t, page), -1) {
		name, text := block[2], block[3]
		switch {
		case block[1] != "sh":
			files++
			if text != read(name) {
				t.Errorf("%s differs between the page and examples/own-scheme", name)
			}
			write(name, text)
		case !execute:
			commands += strings.Count(text, "\n")
		case strings.Contains(text, "mkdir own-scheme"):
			commands += strings.Count(text, "\n")
			shell(t, above, text)
		default:
			commands += strings.Count(text, "\n")
			if rest, ok := strings.CutPrefix(text, "go mod tidy\n"); ok { // needs a network: write its result instead
				// The build cache has the packages of this clone.
				write("go.mod", strings.Replace(read("go.mod"), "=> ../..", "=> "+root, 1))
				write("go.sum", read("go.sum"))
				text = rest
			}
			shell(t, work, text)
		}
	}
	if files != 6 || commands != 9 {
		t.Errorf("the page has %d files and %d commands, want 6 and 9", files, commands)
	}
	if !execute {
		return
	}
	consoles(t, page, regexp.MustCompile("."), func(command string) string { return shell(t, work, command) })
}
