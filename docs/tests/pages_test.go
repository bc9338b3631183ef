// Package tests keeps the documentation true. The quick tier runs some commands of each page
// that shows output, and parses all others; the deep tier runs them all.
package tests

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/script"
)

func TestMain(m *testing.M) { script.Main(m, nil) }

var rewrite = flag.Bool("rewrite", false, "write the output of commands to the documentation")

// page is a page of docs that shows commands with their output.
type page struct {
	name  string
	quick string // pattern of the commands that the quick tier runs, too
	setup string // commands before the page's own
	fails bool   // commands may fail; what they print as errors is part of their output
}

var pages = []page{
	{name: "check.md", quick: ".", fails: true},
	{name: "dsh.md", quick: ".", fails: true},
	{name: "headroom.md", quick: ".", fails: true},
	{name: "interdc.md", quick: ".", fails: true},
	{name: "plot.md", quick: "data/bifrost-13"},
	{name: "scenario.md", quick: ".", fails: true},
	{name: "see.md", quick: "explain storm$", setup: "xoff init incast > mine.yaml && xoff run mine.yaml --cc none -o storm --explain --report=false --quiet"},
	{name: "sonic.md", quick: ".", fails: true},
	{name: "start-ai-cluster.md", quick: "^xoff (run train.yaml --explain|explain results/train-seed1) \\|"},
	{name: "start-operator.md", quick: "^xoff (check|import)"},
	{name: "start-researcher.md", quick: "^xoff (run|explain)"},
	{name: "tune.md", quick: "^$"}, // takes minutes
}

func TestPages(t *testing.T) {
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.follow(t, regexp.MustCompile(p.quick))
		})
	}
}

// root is the folder of the module.
var root = func() string {
	path, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return path
}()

// follow runs the commands of a page that match, in a folder with links to docs and examples. It
// writes YAML and CSV blocks to the files they name. Go blocks must be part of the file they
// name, and commands must print what the page shows. It returns the folder.
func (p *page) follow(t *testing.T, chosen *regexp.Regexp) (work string) {
	t.Helper()
	path, work := filepath.Join(root, "docs", p.name), t.TempDir()
	for _, folder := range []string{"docs", "examples"} {
		if err := os.Symlink(filepath.Join(root, folder), filepath.Join(work, folder)); err != nil {
			t.Fatal(err)
		}
	}
	files := regexp.MustCompile("(?ms)^```(go|yaml|csv) (\\S+)\n(.*?)^```$")
	for _, m := range files.FindAllStringSubmatch(readText(t, path), -1) {
		if m[1] != "go" {
			writeText(t, filepath.Join(work, m[2]), m[3])
		} else if !strings.Contains(readText(t, filepath.Join(root, m[2])), m[3]) {
			t.Errorf("%s does not contain the block that %s shows of it", m[2], p.name)
		}
	}
	if p.setup != "" {
		shell(t, work, p.setup)
	}
	consoles(t, path, chosen, func(command string) string {
		if p.fails {
			command += " 2>&1 || true"
		}
		return shell(t, work, command)
	})
	return work
}

// consoles compares the ```console blocks of a page with the output of the chosen commands. A
// line that begins with `$ ` is a command; a backslash at its end continues it on the next
// line. The output of other commands stays as it is.
func consoles(t *testing.T, page string, chosen *regexp.Regexp, run func(command string) string) {
	t.Helper()
	data := readText(t, page)
	command := regexp.MustCompile(`(?m)^\$ ((?:.*\\\n)*.*)\n`)
	blocks := 0
	text := regexp.MustCompile("(?ms)^```console\n(.*?)^```$").ReplaceAllStringFunc(data, func(block string) string {
		blocks++
		var out strings.Builder
		out.WriteString("```console\n")
		ends := append(command.FindAllStringIndex(block, -1)[1:], []int{len(block) - len("```")})
		for i, m := range command.FindAllStringSubmatchIndex(block, -1) {
			text, shown := block[m[2]:m[3]], block[m[1]:ends[i][0]]
			if chosen.MatchString(text) {
				shown = run(text)
			}
			out.WriteString("$ " + text + "\n" + shown)
		}
		return out.String() + "```"
	})
	if blocks == 0 {
		t.Errorf("%s shows no command", page)
	}
	switch {
	case text == data:
	case *rewrite:
		writeText(t, page, text)
	default:
		t.Errorf("%s differs from the output of its commands; run make docs-outputs", page)
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

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
