// Package cli implements the xoff command, for package main and for programs that add their own
// schemes: they register them and call Main (docs/extend.md).
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

// failure is an error of a command with its exit code. Errors of other types come from the
// command line parser.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func failf(code int, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

// app is one invocation: its outputs and the flags that several commands share.
type app struct {
	out, err io.Writer

	folder  string
	json    bool
	quiet   bool
	seed    uint64
	workers int
}

// Main runs a command line on the standard outputs and returns the exit code. Commands know
// all schemes that were registered before the call.
func Main(args []string) int { return Run(args, os.Stdout, os.Stderr) }

// Run is like Main but writes to the given outputs.
func Run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	color.NoColor = !colored(stdout, os.Getenv)
	a := &app{out: stdout, err: stderr}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if silent, ok := err.(*failure); ok && silent.err == nil {
		return silent.code // the reason is already printed
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

// Command returns the command tree, for generators of man pages and completions.
func Command() *cobra.Command { return (&app{out: os.Stdout, err: os.Stderr}).root() }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "xoff",
		Short:         "Simulate lossless Ethernet (PFC, RoCE) packet by packet",
		Long:          "Simulate lossless Ethernet fabrics packet by packet: shared buffers, PFC, congestion control.\nStart with `xoff demo`.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          rejectCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() > 0 {
				return failf(exitInput, "--json and --quiet need a command (expected xoff COMMAND --json)")
			}
			return cmd.Help()
		},
	}
	root.SetOut(a.out) // before usage adds the command completion, which keeps the writer
	root.SetErr(a.err)
	flagsBeforeCommand(root)
	root.AddCommand(
		a.runCommand(), a.demoCommand(), a.liveCommand(), a.sweepCommand(), a.compareCommand(), a.tuneCommand(), a.plotCommand(), a.reportCommand(), a.explainCommand(), a.exportCommand(), a.reproduceCommand(), a.workerCommand(),
		a.checkCommand(), a.importCommand(), a.calibrateCommand(), a.headroomCommand(), a.collectiveCommand(), a.fidelityCommand(), a.benchCommand(),
		a.initCommand(), a.listCommand(), a.schemaCommand(), a.versionCommand(),
	)
	a.usage(root)
	return root
}

// printJSON prints v as indented JSON. A command prints one document.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// wrap attaches an exit code to err. It returns nil if err is nil.
func wrap(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}
