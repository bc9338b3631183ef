package cli

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/run"
)

func (a *app) explainCommand() *cobra.Command {
	var ports, at string
	var flow int
	cmd := &cobra.Command{
		Use:   "explain RUN",
		Short: "Say why a run went as it did",
		Long: "Say why a run went as it did: what paused, who filled it, whom that held up, what was lost, and where the time\n" +
			"of a flow went. RUN is a folder of results that `xoff run --explain` wrote.",
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
				return failf(exitInput, "--flow is about one flow; allowed: --flow without --port and --at")
			}
			return a.tellWhy(args[0], o, flow, cmd.Flags().Changed("flow"))
		},
	}
	cmd.Flags().StringVar(&ports, "port", "", "only what concerns ports that match `PATTERN`: NODE.to-NODE or NODE.portN, several with commas, * for any text")
	cmd.Flags().StringVar(&at, "at", "", "only what was paused at a simulated `TIME`, such as 1.2ms")
	cmd.Flags().IntVar(&flow, "flow", 0, "show where the time of flow `ID` went; ids are in flows.parquet")
	a.printFlags(cmd)
	return cmd
}

// told is what can be printed.
type told interface{ Text(w io.Writer) error }

func (a *app) tellWhy(folder string, o explain.Options, flow int, one bool) error {
	r, err := explain.Open(folder)
	switch {
	case errors.Is(err, explain.ErrNotRecorded):
		return failf(exitInput, "%s: %w; allowed: `xoff run %s --explain -o FOLDER`, which records it", folder, err, filepath.Join(folder, run.ResolvedFile))
	case err != nil:
		return failf(exitInput, "%s holds no results of a run: %w; allowed: a folder that `xoff run --explain` wrote", folder, err)
	}
	var what told
	if one {
		what, err = r.Flow(flow)
	} else {
		what, err = r.Explain(o)
	}
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
