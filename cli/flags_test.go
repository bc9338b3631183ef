package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands calls f for every command, with its name without "xoff".
func commands(cmd *cobra.Command, f func(name string, cmd *cobra.Command)) {
	f(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "xoff"), " "), cmd)
	for _, below := range cmd.Commands() {
		commands(below, f)
	}
}

// TestFlagUsage checks that every flag has a usage text that names its value in one word.
func TestFlagUsage(t *testing.T) {
	word := regexp.MustCompile(`^[A-Z]+([=:/,][A-Z]+)*$`)
	seen := 0
	commands(Command(), func(name string, cmd *cobra.Command) {
		check := func(f *pflag.Flag) {
			seen++
			kind, usage := pflag.UnquoteUsage(f)
			if strings.TrimSpace(usage) == "" {
				t.Errorf("xoff %s --%s has no usage", name, f.Name)
			}
			if f.Value.Type() == "bool" {
				if kind != "" {
					t.Errorf("xoff %s --%s takes no value, but its usage names %q", name, f.Name, kind)
				}
			} else if !word.MatchString(kind) {
				t.Errorf("xoff %s --%s: type %q; put a word such as FILE in back quotes in its usage", name, f.Name, kind)
			}
		}
		cmd.Flags().VisitAll(check)
		cmd.PersistentFlags().VisitAll(check)
	})
	if seen < 100 {
		t.Errorf("found only %d flags", seen)
	}
}

// TestHelpIsImperative checks that the help of every command begins with a verb in the
// imperative.
func TestHelpIsImperative(t *testing.T) {
	commands(Command(), func(name string, cmd *cobra.Command) {
		for _, text := range []string{cmd.Short, cmd.Long} {
			first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
			if text != "" && (strings.HasSuffix(first, "s") || first[0] < 'A' || first[0] > 'Z') && !strings.HasPrefix(name, "completion") {
				t.Errorf("the help of xoff %s begins with %q (expected an imperative)", name, first)
			}
		}
	})
}

// TestSharedFlags checks that every command has exactly the shared flags that it uses.
func TestSharedFlags(t *testing.T) {
	shared := []string{"output", "json", "quiet", "seed", "workers"}
	want := map[string]string{
		"":                      "",
		"bench":                 "json quiet seed workers",
		"calibrate":             "output json quiet workers",
		"check":                 "json quiet seed workers",
		"collective":            "json quiet seed workers",
		"compare":               "output json quiet seed workers",
		"completion":            "",
		"completion bash":       "",
		"completion fish":       "",
		"completion powershell": "",
		"completion zsh":        "",
		"demo":                  "output json quiet seed workers",
		"explain":               "json quiet",
		"export":                "",
		"export perfetto":       "json quiet workers",
		"export sonic":          "output quiet",
		"fidelity":              "json quiet workers",
		"fidelity sonic":        "json quiet workers",
		"headroom":              "json quiet",
		"help":                  "",
		"import":                "output quiet",
		"init":                  "json",
		"list":                  "json",
		"live":                  "output json quiet seed workers",
		"plot":                  "output json quiet",
		"report":                "output json quiet",
		"reproduce":             "output json quiet workers",
		"run":                   "output json quiet seed workers",
		"schema":                "",
		"sweep":                 "output json quiet seed workers",
		"sweep merge":           "output json quiet workers",
		"sweep plan":            "output json quiet seed workers",
		"sweep status":          "json",
		"tune":                  "output json quiet seed workers",
		"version":               "json",
		"worker":                "output quiet workers",
	}
	commands(Command(), func(name string, cmd *cobra.Command) {
		var has []string
		for _, flag := range shared {
			if f := cmd.Flags().Lookup(flag); f != nil && !f.Hidden {
				has = append(has, flag)
			}
		}
		expected, known := want[name]
		if !known {
			t.Errorf("xoff %s is not in the table", name)
		}
		if got := strings.Join(has, " "); got != expected {
			t.Errorf("xoff %s has %q, want %q", name, got, expected)
		}
		if cmd.HasPersistentFlags() {
			t.Errorf("xoff %s has persistent flags, which subcommands may not use", name)
		}
	})
}
