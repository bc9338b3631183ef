package dialogue

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xoff-net/xoff/cli"
)

// TestEveryFlagHasAScript checks that a script, or a test that starts xoff, uses every command
// and every flag that help shows. A flag with the same name and usage in several commands counts once.
func TestEveryFlagHasAScript(t *testing.T) {
	root := cli.Command()
	commands, flags := make(map[*cobra.Command]bool), make(map[string]bool)
	for _, pattern := range []string{"testdata/*.txtar", "../process/testdata/*.txtar", "../process/*_test.go", "../sonic*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if filepath.Ext(name) == ".go" || runs.MatchString(line) {
					use(root, line, commands, flags)
				}
			}
		}
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Runnable() && !commands[cmd] {
			t.Errorf("no script runs %s", cmd.CommandPath())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !flags[key(f)] {
				t.Errorf("no script uses %s --%s", cmd.CommandPath(), f.Name)
			}
		})
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check(root)
}

// runs matches lines of scripts that run a program.
var runs = regexp.MustCompile(`^(! )?(exec|exits|interrupt) `)

var word = regexp.MustCompile(`[^\s"',()]+`)

// use records the commands and flags of a line of a script, or of a test that builds arguments.
func use(root *cobra.Command, line string, commands map[*cobra.Command]bool, flags map[string]bool) {
	cmd := root
	for _, w := range word.FindAllString(line, -1) {
		name, _, _ := strings.Cut(w, "=")
		switch {
		case w == "xoff":
			cmd = root
			commands[root] = true
		case strings.HasPrefix(w, "--"):
			if f := cmd.Flags().Lookup(name[2:]); f != nil {
				flags[key(f)] = true
			}
		case strings.HasPrefix(w, "-") && len(w) == 2:
			if f := cmd.Flags().ShorthandLookup(w[1:]); f != nil {
				flags[key(f)] = true
			}
		default:
			for _, below := range cmd.Commands() {
				if below.Name() == w {
					cmd = below
					commands[below] = true
				}
			}
		}
	}
}

func key(f *pflag.Flag) string { return f.Name + ": " + f.Usage }
