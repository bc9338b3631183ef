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
	var ports, at string
	var flow int
	cmd := &cobra.Command{
		Use:   "explain RUN",
		Short: "Explain a run",
		Long: "Explain a run: which queues paused, which flows filled them, which ports they blocked, which frames were dropped,\n" +
			"and where a flow spent its time. RUN is a results folder of `xoff run --explain`.",
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
			return a.explainRun(args[0], o, flow, cmd.Flags().Changed("flow"))
		},
	}
	cmd.Flags().StringVar(&ports, "port", "", "`PATTERN` of ports to explain: NODE.to-NODE or NODE.portN, comma-separated, * for any text (default: all ports)")
	cmd.Flags().StringVar(&at, "at", "", "simulated `TIME` such as 1.2ms: explain only the pauses at that time (default: all)")
	cmd.Flags().IntVar(&flow, "flow", 0, "`ID` of a flow in flows.parquet: show where it spent its time")
	a.printFlags(cmd)
	return cmd
}

// printable is an explanation that can be printed as text.
type printable interface{ Text(w io.Writer) error }

// explainRun explains a run, or one flow of it.
func (a *app) explainRun(folder string, o explain.Options, flow int, one bool) error {
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
	var what printable
	if one {
		what, err = r.Flow(flow)
	} else {
		what, err = r.Explain(o)
	}
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
