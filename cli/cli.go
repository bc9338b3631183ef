// Package cli is the whole command, for anybody's main: with the schemes that are
// registered before Main is called, wherever they live (docs/extend.md).
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// Exit codes.
const (
	exitOK          = run.Fine
	exitFailure     = run.Failure
	exitInput       = run.BadInput
	exitBroken      = run.Broken
	exitInterrupted = run.Interrupted
)

// failure is an error of a command with the exit code that it calls for. Other
// errors come from the parser of the command line.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("ended with %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func failf(code int, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

// app is one invocation: where it writes, and the flags that several commands have.
type app struct {
	out, err io.Writer

	folder  string
	json    bool
	quiet   bool
	seed    uint64
	workers int
}

// Main runs a command line and returns the exit code: the whole command, for
// anybody's main. Schemes that were registered before are part of it.
func Main(args []string) int { return Run(args, os.Stdout, os.Stderr) }

// Run is Main with other places to write to.
func Run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	color.NoColor = !colored(stdout, os.Getenv)
	a := &app{out: stdout, err: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if said, ok := err.(*failure); ok && said.err == nil {
		return said.code // whoever failed has said why
	}
	fmt.Fprintf(stderr, "xoff: %v\n", err)
	var in *scenario.InputError
	if errors.As(err, &in) {
		fmt.Fprint(stderr, in.Excerpt())
	}
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return exitInput
}

// Command is the tree of commands, for those who write about it: man pages,
// completions.
func Command() *cobra.Command { return (&app{out: os.Stdout, err: os.Stderr}).root() }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "xoff",
		Short:         "Simulate lossless Ethernet (PFC, RoCE) packet by packet",
		Long:          "xoff simulates lossless Ethernet fabrics packet by packet: shared buffers, PFC, congestion control.\nStart with `xoff demo`.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() > 0 {
				return failf(exitInput, "--json and --quiet are flags of commands; allowed: xoff COMMAND --json")
			}
			return cmd.Help()
		},
	}
	flagsBeforeCommand(root)
	root.AddCommand(
		a.runCommand(), a.demoCommand(), a.liveCommand(), a.sweepCommand(), a.compareCommand(), a.reportCommand(), a.explainCommand(), a.exportCommand(), a.reproduceCommand(), a.workerCommand(),
		a.checkCommand(), a.importCommand(), a.headroomCommand(), a.fidelityCommand(), a.benchCommand(),
		a.initCommand(), a.listCommand(), a.schemaCommand(), a.versionCommand(),
	)
	a.usage(root)
	return root
}

// printJSON prints the one document of a command.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// wrap gives an error an exit code; nil stays nil.
func wrap(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}
