package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

func (a *app) explainCommand() *cobra.Command {
	var ports, at, job string
	var flow, iteration int
	cmd := &cobra.Command{
		Use:   "explain RUN",
		Short: "Explain a run",
		Long: "Explain a run: which queues paused, which flows filled them, which ports they blocked, which frames were dropped,\n" +
			"where a flow spent its time, and what cost an iteration of a training job most. RUN is a results folder of `xoff run --explain`.",
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			o := explain.Options{Ports: ports, At: -1}
			if at != "" {
				var err error
				if o.At, err = units.ParseTime(at); err != nil {
					return failf(exitInput, "--at: %w", err)
				}
			}
			if cmd.Flags().Changed("flow") && (ports != "" || at != "") {
				return failf(exitInput, "--flow cannot be combined with --port or --at")
			}
			if job != "" && (ports != "" || at != "" || cmd.Flags().Changed("flow")) {
				return failf(exitInput, "--job cannot be combined with --flow, --port or --at")
			}
			if cmd.Flags().Changed("iteration") && (job == "" || iteration < 0) {
				return failf(exitInput, "--iteration needs --job and a number from 0")
			}
			return a.explainRun(args[0], func(r *explain.Run) (printable, error) {
				switch {
				case job != "":
					return r.Job(job, iteration)
				case cmd.Flags().Changed("flow"):
					return r.Flow(flow)
				}
				return r.Explain(o)
			})
		},
	}
	cmd.Flags().StringVar(&ports, "port", "", "`PATTERN` of ports to explain: NODE.to-NODE or NODE.portN, comma-separated, * for any text (default: all ports)")
	cmd.Flags().StringVar(&at, "at", "", "simulated `TIME` such as 1.2ms: explain only the pauses at that time (default: all)")
	cmd.Flags().IntVar(&flow, "flow", 0, "`ID` of a flow in flows.parquet: show where it spent its time")
	cmd.Flags().StringVar(&job, "job", "", "`NAME` of a training job: show what cost an iteration most, along its critical path")
	cmd.Flags().IntVar(&iteration, "iteration", -1, "number `N` of the iteration of --job, from 0; -1: the longest")
	a.printFlags(cmd)
	return cmd
}

// printable is an explanation that can be printed as text.
type printable interface{ Text(w io.Writer) error }

// explainRun opens a run and prints an explanation.
func (a *app) explainRun(folder string, explanation func(r *explain.Run) (printable, error)) error {
	// A recording is one large live heap, which the default setting would let garbage double.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	m := a.newMeter()
	defer m.clear()
	summary, err := metrics.ReadSummary(folder)
	var r *explain.Run
	if err == nil {
		hops, _ := explain.Frames(folder)
		r, err = explain.Load(folder, summary, func(share float64) {
			m.show(func(passed time.Duration) string { return explainLine(hops, share, passed) })
		})
	}
	switch {
	case errors.Is(err, explain.ErrNotRecorded):
		return failf(exitInput, "%s: %w; fix: `xoff run %s --explain -o FOLDER`", folder, err, filepath.Join(folder, run.ResolvedFile))
	case err != nil:
		return failf(exitInput, "no results of a run in %s: %w (expected a folder written by `xoff run --explain`)", folder, err)
	}
	what, err := explanation(r)
	m.clear()
	switch {
	case err != nil:
		return failf(exitInput, "%s: %w", folder, err)
	case a.json:
		return a.printJSON(what)
	case a.quiet:
		return nil
	}
	return what.Text(a.out)
}

// explainLine formats the progress of an explanation.
func explainLine(hops int64, share float64, passed time.Duration) string {
	return fmt.Sprintf("%s hops, %.0f %% explained", units.Thousands(uint64(hops)), share*100) + timeLeft(share, passed)
}
