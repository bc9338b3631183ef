package tests

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/cli"
)

// spell makes bash print the arguments of xoff instead of running it, one per line and an empty
// line after the last. Other programs are not found.
const spell = `xoff() { for a in "$@"; do printf '%s\n' "${a//$'\n'/ }" >&3; done; echo >&3; }` + "\n"

// TestCommandsParse checks that every command line of xoff on every page has a known command and
// known flags with valid values. It runs none of them.
func TestCommandsParse(t *testing.T) {
	blocks := regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```$")
	output := regexp.MustCompile(`(?m)^(?:[^$].*)?\n|^\$ `) // in a console: what is not a command, prompts
	parsed := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		var script strings.Builder
		for _, b := range blocks.FindAllStringSubmatch(readText(t, path), -1) {
			text := b[2]
			if b[1] == "console" {
				text = output.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), "")
				text = strings.ReplaceAll(text, "$ ", "")
			}
			script.WriteString(text + "\n")
		}
		text := strings.NewReplacer(" &\n", "\n", "./xoff ", "xoff ", "go run ./cmd/xoff ", "xoff ").Replace(script.String())
		if !strings.Contains(text, "xoff ") {
			return nil
		}
		cmd := exec.Command("bash", "-c", "exec 3>&1 >/dev/null 2>&1 </dev/null; PATH=\n"+spell+text)
		cmd.Dir = t.TempDir()
		out, _ := cmd.Output()
		for _, line := range strings.Split(string(out), "\n\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			parsed++
			args := strings.Split(line, "\n")
			command, rest, err := cli.Command().Find(args)
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err != nil || !command.HasParent() {
				t.Errorf("%s: xoff %s: %v", path, strings.Join(args, " "), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if parsed < 100 {
		t.Errorf("only %d commands were found", parsed)
	}
	t.Logf("%d commands", parsed)
}
