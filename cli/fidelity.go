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
		Short: "Compare results with the ns-3 simulator",
		Long: `Compare results with the public ns-3 simulator, flow by flow and by distribution.
Run the scenario of every reference folder with every algorithm that it has results
of, with the quirks of that simulator (--compat ns3). A folder has topology.txt and
flow.txt, and ALGORITHM/config.txt and ALGORITHM/fct.txt for each algorithm. The
default is the built-in references.

Exit code 1: a requirement is not met. See docs/fidelity.md.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.fidelity(cmd, args, f) },
	}
	cmd.Flags().StringVar(&f.engine, "engine", "", "simulation `ENGINE`: oracle or fast (default: both)")
	cmd.Flags().StringVar(&f.render, "render", "", "`FILE` for the comparison as a Markdown page")
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
		return failf(exitFailure, "requirements not met: %d", bad)
	}
	return nil
}

// onlyFolders drops files, so that `references/*` works although there is a README.
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
			fmt.Fprintf(a.err, "%s: %s is not a folder: ignored\n", a.warning(), name)
		}
	}
	if len(args) > 0 && len(folders) == 0 {
		return nil, failf(exitInput, "no folder: found %s (expected reference folders, or no arguments for the built-in references)", strings.Join(args, ", "))
	}
	return folders, nil
}

// plan returns the comparisons: every algorithm of every folder on every engine.
func (f *fidelityFlags) plan(folders []string) ([]publicsim.Comparison, error) {
	engines := []run.Engine{run.Oracle, run.Fast}
	if f.engine != "" {
		if !slices.Contains(run.Engines(), f.engine) {
			return nil, failf(exitInput, "--engine is %q (allowed: oracle, fast)", f.engine)
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
	w.line("(a range spans runs with other random numbers; the other side is a median over seeds)")
	return w.flush()
}

func (a *app) fidelitySONiCCommand() *cobra.Command {
	var render string
	cmd := &cobra.Command{
		Use:   "sonic [CSV]",
		Short: "Compare the switch model with measurements of real switches",
		Long: `Compare the switch model with measurements of real switches. Repeat the measurements
of a file on simulated switches: send frames of one class to a blocked port until the
switch pauses, drops and, after draining, resumes; fill queues in turn; fill the
headroom pool. The default is the built-in measurements.

Exit code 1: a requirement is not met. See docs/fidelity-sonic.md.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.fidelitySONiC(cmd, args, render) },
	}
	cmd.Flags().StringVar(&render, "render", "", "`FILE` for the comparison as a Markdown page")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// sonicFidelity is the document that --json prints.
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
	w.line("(predicted/measured, in brackets the difference in cells; ! is outside the tolerance)")
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
	_, err := fmt.Fprintf(a.out, "within tolerance: drop after PFC %s of rows, %s of groups; PFC %s of rows, %s of groups: %s\n",
		s.Shares.Drop, s.Shares.DropGroups, s.Shares.PFC, s.Shares.PFCGroups, verdict)
	return err
}
