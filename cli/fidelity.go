package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/interop/hardware"
	"github.com/xoff-net/xoff/internal/interop/publicsim"
	"github.com/xoff-net/xoff/run"
)

func (a *app) fidelityCommand() *cobra.Command {
	f := &fidelityFlags{}
	cmd := &cobra.Command{
		Use:   "fidelity [DIR...]",
		Short: "Hold results against those of the public ns-3 simulator",
		Long: `Runs the files of reference folders with every algorithm that they have results
of, with the quirks of the public simulator (--compat ns3), and compares flow by
flow and by distribution. A folder has topology.txt, flow.txt, and for each
algorithm ALGORITHM/config.txt and ALGORITHM/fct.txt. Without a folder it runs
the compact references that are built in.

Exit code 1 says that a demand is not met; see docs/fidelity.md.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.fidelity(cmd, args, f) },
	}
	cmd.Flags().StringVar(&f.engine, "engine", "", "`ENGINE`: oracle or fast (default: both)")
	cmd.Flags().StringVar(&f.render, "render", "", "write the page about the agreement to `FILE`")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	cmd.AddCommand(a.fidelitySONiCCommand())
	return cmd
}

type fidelityFlags struct {
	engine string
	render string
}

func (a *app) fidelity(cmd *cobra.Command, folders []string, f *fidelityFlags) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	folders, err := a.onlyFolders(folders)
	if err != nil {
		return err
	}
	plan, err := f.plan(folders)
	if err != nil {
		return err
	}
	m := a.newMeter()
	rows, err := publicsim.CompareAll(cmd.Context(), plan, a.workers, func(done int) {
		m.show(func(time.Duration) string { return fmt.Sprintf("%d of %d comparisons", done, len(plan)) })
	})
	m.clear()
	if err != nil {
		return wrap(exitInput, err)
	}
	if err := a.printFidelity(rows); err != nil {
		return wrap(exitFailure, err)
	}
	if f.render != "" {
		var page bytes.Buffer
		if err := publicsim.Render(&page, rows); err != nil {
			return wrap(exitFailure, err)
		}
		if err := os.WriteFile(f.render, page.Bytes(), 0o644); err != nil {
			return wrap(exitFailure, err)
		}
	}
	bad := 0
	for _, r := range rows {
		bad += len(r.Problems)
	}
	if bad > 0 {
		return failf(exitFailure, "%d demands are not met", bad)
	}
	return nil
}

// onlyFolders leaves out files, so that a folder of references can be named by a
// pattern although there is a README in it.
func (a *app) onlyFolders(args []string) ([]string, error) {
	var folders []string
	for _, name := range args {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, wrap(exitInput, err)
		case info.IsDir():
			folders = append(folders, name)
		case !a.quiet:
			fmt.Fprintf(a.err, "%s: %s is not a folder: left out\n", a.warning(), name)
		}
	}
	if len(args) > 0 && len(folders) == 0 {
		return nil, failf(exitInput, "none of %s is a folder; allowed: folders with references, or nothing for those that are built in", strings.Join(args, ", "))
	}
	return folders, nil
}

// plan lists what is compared: every algorithm of every folder on every engine.
func (f *fidelityFlags) plan(folders []string) ([]publicsim.Comparison, error) {
	engines := []run.Engine{run.Oracle, run.Fast}
	if f.engine != "" {
		if !slices.Contains(run.Engines(), f.engine) {
			return nil, failf(exitInput, "--engine is %q; allowed: oracle, fast", f.engine)
		}
		engines = []run.Engine{run.Engine(f.engine)}
	}
	cases, err := publicsim.OpenFolders(folders)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	if len(folders) == 0 {
		if cases, err = publicsim.Builtin(); err != nil {
			return nil, wrap(exitFailure, err)
		}
	}
	plan, err := publicsim.Comparisons(cases, engines)
	return plan, wrap(exitFailure, err)
}

func (a *app) printFidelity(rows []*publicsim.Fidelity) error {
	if a.json {
		return a.printJSON(rows)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("%s\tverdict", strings.Join(publicsim.Columns, "\t"))
	for _, r := range rows {
		verdict := color.GreenString("%s", r.Verdict())
		if len(r.Problems) > 0 {
			verdict = color.RedString("%s", r.Verdict())
		}
		w.line("%s\t%s", strings.Join(r.Row(), "\t"), verdict)
	}
	w.line("(a range is that of random runs, next to medians over seeds of the other side)")
	return w.flush()
}

func (a *app) fidelitySONiCCommand() *cobra.Command {
	var render string
	cmd := &cobra.Command{
		Use:   "sonic [CSV]",
		Short: "Hold the switch model against measurements of real switches",
		Long: `Repeats the measurements of a file on simulated switches: frames of one class to a
port that does not send, until the switch pauses, until it drops; then until it
resumes; queues that fill in turn; the pool of headroom. Without a file it takes
the measurements that are built in.

Exit code 1 says that a demand is not met; see docs/fidelity-sonic.md.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.fidelitySONiC(cmd, args, render) },
	}
	cmd.Flags().StringVar(&render, "render", "", "write the page about the agreement to `FILE`")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// sonicFidelity is what --json prints.
type sonicFidelity struct {
	Shares   hardware.Shares      `json:"shares"`
	Chips    []hardware.ChipShare `json:"chips"`
	Rows     []hardware.Result    `json:"rows"`
	Problems []string             `json:"problems"`
}

func (a *app) fidelitySONiC(cmd *cobra.Command, args []string, render string) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	rows, err := hardware.Builtin()
	if len(args) > 0 {
		rows, err = hardware.ReadFile(args[0])
	}
	if err != nil {
		return wrap(exitInput, err)
	}
	m := a.newMeter()
	results, err := hardware.Compare(cmd.Context(), rows, a.workers, func(done, all int) {
		m.show(func(time.Duration) string { return fmt.Sprintf("%d of %d switches measured", done, all) })
	})
	m.clear()
	if err != nil {
		return wrap(exitInput, err)
	}
	s := sonicFidelity{hardware.SharesOf(results), hardware.ByChip(results), results, []string{}}
	s.Problems = append(s.Problems, s.Shares.Problems()...)
	if err := a.printSONiC(&s); err != nil {
		return wrap(exitFailure, err)
	}
	if render != "" {
		var page bytes.Buffer
		if err := hardware.Render(&page, results); err != nil {
			return wrap(exitFailure, err)
		}
		if err := os.WriteFile(render, page.Bytes(), 0o644); err != nil {
			return wrap(exitFailure, err)
		}
	}
	if len(s.Problems) > 0 {
		return failf(exitFailure, "%s", strings.Join(s.Problems, "; "))
	}
	return nil
}

func (a *app) printSONiC(s *sonicFidelity) error {
	if a.json {
		return a.printJSON(s)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("%s", strings.Join(hardware.Columns, "\t"))
	for i := range s.Rows {
		r := &s.Rows[i]
		w.line("%s", strings.Join(r.Cells(), "\t"))
	}
	w.line("(predicted/measured, in brackets the difference in cells; ! is not within)")
	if err := w.flush(); err != nil {
		return err
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		for _, why := range r.Why {
			fmt.Fprintf(a.out, "%s (%s): %s\n", r.ID, r.Chip, why)
		}
	}
	verdict := color.GreenString("ok")
	if len(s.Problems) > 0 {
		verdict = color.RedString("not met")
	}
	_, err := fmt.Fprintf(a.out, "drop after PFC within: %s of rows, %s of groups; PFC: %s of rows, %s of groups: %s\n",
		s.Shares.Drop, s.Shares.DropGroups, s.Shares.PFC, s.Shares.PFCGroups, verdict)
	return err
}
