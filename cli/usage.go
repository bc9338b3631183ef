package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/batch/chart"
	"github.com/xoff-net/xoff/internal/batch/reproduce"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// usage adds what cobra lacks: errors with exit code 2 that name the expected values, and
// shell completion of values.
func (a *app) usage(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError)
	root.Version = a.version().line()
	root.SetVersionTemplate("{{.Version}}\n")
	root.InitDefaultCompletionCmd()
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return wrap(exitInput, registry.Unknown("command", strings.Join(args, " "), commandNames(root)))
			}
			return cmd.Help()
		},
	})
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return wrap(exitInput, registry.Unknown("shell", args[0], commandNames(cmd)))
				}
				return cmd.Help()
			}
			cmd.Args = cobra.ArbitraryArgs
		}
		complete(cmd)
		checkValuesFirst(cmd)
		for _, below := range cmd.Commands() {
			if cmd.Name() == "sweep" || cmd.Name() == "export" {
				complete(below)
			}
			checkValuesFirst(below)
		}
	}
}

// checkValuesFirst checks flag values before a command's arguments: a flag that took the
// next flag as its value leaves an extra argument.
func checkValuesFirst(cmd *cobra.Command) {
	args := cmd.Args
	if args == nil {
		args = cobra.ArbitraryArgs
	}
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if err := checkValues(cmd); err != nil {
			return err
		}
		return args(cmd, list)
	}
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// rejectCommand accepts no arguments: a word in their place is an unknown command.
func rejectCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return wrap(exitInput, registry.Unknown("command", args[0], commandNames(root)))
}

// oneFile accepts exactly one scenario file.
func oneFile(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return failf(exitInput, "no scenario file (expected %s FILE, - for standard input); xoff demo needs no file", cmd.CommandPath())
	case 1:
		return nil
	}
	return failf(exitInput, "too many files: found %d (expected %s FILE)", len(args), cmd.CommandPath())
}

// oneFolder accepts exactly one results folder.
func oneFolder(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return failf(exitInput, "found %d folders (expected one results folder)", len(args))
	}
	return nil
}

// minOneArg accepts one or more arguments.
func minOneArg(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return failf(exitInput, "no arguments (expected %s %s)", cmd.Parent().CommandPath(), cmd.Use)
	}
	return nil
}

// flagError rewords an error of the flag parser: it names the values that the flag takes.
func flagError(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return failf(exitInput, "%v%s (see %s --help)", err, registry.DidYouMean(unknown.GetSpecifiedName(), names), cmd.CommandPath())
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	expected, ok := map[string]string{"int": "a whole number", "uint64": "a whole number, 0 or more", "bool": "true or false", "duration": "a time such as 90s or 10m"}[invalid.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	if most := map[string]string{"int": "2^63 - 1", "uint64": "2^64 - 1"}[invalid.GetFlag().Value.Type()]; errors.Is(err, strconv.ErrRange) {
		return failf(exitInput, "--%s is too large: %.40s (expected at most %s)", invalid.GetFlag().Name, invalid.GetValue(), most)
	}
	return failf(exitInput, "--%s is %q (expected %s)", invalid.GetFlag().Name, invalid.GetValue(), expected)
}

// complete registers shell completion for a command's flags and arguments.
func complete(cmd *cobra.Command) {
	for _, s := range scenario.Shorthands {
		completeFlag(cmd, s.Flag, func() []string { return schemeNames(s.Kind()) })
	}
	completeWords(cmd, "metric", sweep.Candidates)
	completeWords(cmd, "y", sweep.Candidates)
	completeFlag(cmd, "kind", func() []string { return chart.Kinds })
	completeFlag(cmd, "log", func() []string { return chart.Logs })
	completeFlag(cmd, "format", func() []string { return plotFormats })
	completePaths(cmd, "set")
	completePaths(cmd, "vary")
	completeFlag(cmd, "invariants", run.InvariantModes)
	completeFlag(cmd, "engine", run.Engines)
	if cmd.Name() == "headroom" {
		completeFlag(cmd, "chip", chipNames)
	} else {
		completeChips(cmd)
	}
	completeFlag(cmd, "scale", func() []string { return []string{reproduce.Quick, reproduce.Full} })
	switch cmd.Name() {
	case "check":
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
		}
	case "import":
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"sonic"}, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		}
	case "run", "sweep", "plan":
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		}
	case "reproduce":
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return experimentNames(), cobra.ShellCompDirectiveNoFileComp
		}
	case "list":
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return schemeNames(""), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return schemeNames(args[0]), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// completePaths completes the path of a `path=value` flag from the scenario on the command
// line, or from the default scenario. It does not complete values: bash ends a word at `=`.
func completePaths(cmd *cobra.Command, flag string) {
	completeBy(cmd, flag, func(args []string, typed string) []string {
		cfg := scenario.Default()
		if len(args) > 0 && args[0] != "-" {
			if read, err := scenario.ReadFile(args[0]); err == nil {
				cfg = read
			}
		}
		return cfg.Completions(typed)
	})
}

// completeChips completes NAME, also as the last part of PATTERN=NAME,PATTERN=NAME.
func completeChips(cmd *cobra.Command) {
	completeBy(cmd, "chip", func(_ []string, typed string) []string {
		before := typed[:strings.LastIndexAny(typed, ",=")+1]
		var list []string
		for _, c := range chips.Modelled() {
			list = append(list, before+c.Name+"\t"+c.Note)
			if c.Short != "" {
				list = append(list, before+c.Short+"\t"+c.Name)
			}
		}
		return list
	})
}

func completeFlag(cmd *cobra.Command, flag string, values func() []string) {
	if cmd.Flags().Lookup(flag) == nil {
		return
	}
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(fmt.Sprintf("cli: %v", err)) // registered twice
	}
}

// completeWords completes the last word of a comma-separated list. The candidates depend on
// the command's arguments.
func completeWords(cmd *cobra.Command, flag string, words func(args []string) []string) {
	completeBy(cmd, flag, func(args []string, typed string) []string {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var list []string
		for _, w := range words(args) {
			list = append(list, before+w)
		}
		return list
	})
}

// completeBy completes a flag and lets the user type on: the shell adds no space.
func completeBy(cmd *cobra.Command, flag string, values func(args []string, typed string) []string) {
	if cmd.Flags().Lookup(flag) == nil {
		return
	}
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var list []string
		for _, v := range values(args, typed) {
			if strings.HasPrefix(v, typed) {
				list = append(list, v)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	if err != nil {
		panic(fmt.Sprintf("cli: %v", err)) // registered twice
	}
}

// experimentNames returns the papers and figures, each with its title.
func experimentNames() []string {
	all, err := reproduce.BuiltIn()
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range all {
		if paper := e.Paper.Name + "\t" + e.Paper.Title; !slices.Contains(names, paper) {
			names = append(names, paper)
		}
		names = append(names, e.ID+"\t"+e.Title)
	}
	return names
}

// schemeNames returns the schemes of a kind with their documentation, or the kinds if kind
// is empty.
func schemeNames(kind string) []string {
	var names []string
	if kind == "" {
		for _, k := range scenario.Kinds() {
			names = append(names, k.Name)
		}
	}
	for _, s := range scenario.SchemesOf(kind) {
		names = append(names, s.Name+"\t"+s.Doc)
	}
	return names
}
