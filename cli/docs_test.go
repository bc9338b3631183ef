package cli

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the output of commands to the documentation")

// TestDocsOutputs runs the commands that pages show and compares their output, or writes it
// to the page with -rewrite.
func TestDocsOutputs(t *testing.T) {
	t.Chdir("..")
	t.Setenv("NO_COLOR", "1")
	for _, page := range []string{"docs/check.md", "docs/dsh.md", "docs/headroom.md", "docs/interdc.md", "docs/scenario.md", "docs/sonic.md"} {
		consoles(t, page, func(command string) string {
			args, isOurs := strings.CutPrefix(command, "xoff ")
			if !isOurs {
				t.Fatalf("%s: not an xoff command: %s", page, command)
			}
			var printed bytes.Buffer
			Run(strings.Fields(args), &printed, &printed)
			return printed.String()
		})
	}
}

// TestDocsSee does the same for docs/see.md, whose commands use the results of one run.
func TestDocsSee(t *testing.T) {
	page, err := filepath.Abs("../docs/see.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("NO_COLOR", "1")
	print := func(args ...string) []byte {
		var printed, errs bytes.Buffer
		if code := Run(args, &printed, &errs); code != exitOK {
			t.Fatalf("%v: %d: %s", args, code, errs.String())
		}
		return printed.Bytes()
	}
	if err := os.WriteFile("mine.yaml", print("init", "incast"), 0o644); err != nil {
		t.Fatal(err)
	}
	print("run", "mine.yaml", "--cc", "none", "-o", "storm", "--explain", "--report=false")
	consoles(t, page, func(command string) string { return string(print(strings.Fields(command)[1:]...)) })
}

// consoles compares the ```console blocks of a page with the output of their commands. A
// line that begins with `$ ` is a command; a backslash at its end continues it on the next
// line.
func consoles(t *testing.T, page string, run func(command string) string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^\$ ((?:.*\\\n)*.*)\n`)
	blocks := 0
	text := regexp.MustCompile("(?ms)^```console\n(.*?)^```$").ReplaceAllStringFunc(string(data), func(block string) string {
		blocks++
		var out strings.Builder
		out.WriteString("```console\n")
		for _, m := range command.FindAllStringSubmatch(block, -1) {
			out.WriteString("$ " + m[1] + "\n" + run(m[1]))
		}
		return out.String() + "```"
	})
	if blocks == 0 {
		t.Errorf("%s shows no command", page)
	}
	switch {
	case text == string(data):
	case *rewrite:
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from the output of its commands; run make docs", page)
	}
}

// shell runs a command of a page with bash and returns its output. A pipe has the exit code
// of its last command, as in a terminal, so it must also print something.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", "set -e\n"+command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=readonly", "NO_COLOR=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || strings.Contains(command, " | ") && len(out) == 0 {
		t.Fatalf("%s: %v\n%s%s", command, err, out, errs.String())
	}
	return string(out)
}

// TestDocsTutorial compares the files that docs/extend.md shows with examples/own-scheme,
// which TestOwnScheme builds. TestDeepDocsTutorial runs the commands.
func TestDocsTutorial(t *testing.T) { tutorial(t, false) }

// tutorial follows docs/extend.md in an empty folder, block by block. Files must equal the
// example's. With execute, commands must work and print what the page shows.
func tutorial(t *testing.T, execute bool) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, example, above := filepath.Join(root, "docs/extend.md"), filepath.Join(root, "examples/own-scheme"), t.TempDir()
	work := filepath.Join(above, "own-scheme")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		path := filepath.Join(work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	files, commands := 0, 0
	for _, block := range regexp.MustCompile("(?ms)^```(go|yaml|sh) ?(\\S*)\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
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
	consoles(t, page, func(command string) string { return shell(t, work, command) })
}

// TestDocsLinks follows every relative link of every page.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	pages, links := 0, 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		pages++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
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
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dropped := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for line := range strings.Lines(string(data)) {
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
