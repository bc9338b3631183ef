package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/publicsim"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// hpccFlags are the flags of runs of files of the public simulators.
type hpccFlags struct {
	config string
	compat string
}

func (h *hpccFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.config, "hpcc", "", "run configuration `FILE` of the HPCC simulator, with the topology and flows that it names, instead of a scenario; needs --cc")
	cmd.Flags().StringVar(&h.compat, "compat", "", "with --hpcc: repeat the quirks of `SIMULATOR`, too; only ns3 (docs/fidelity.md)")
}

// check rejects what does not go together.
func (h *hpccFlags) check(f *runFlags, args []string) error {
	switch {
	case h.config == "" && h.compat != "":
		return failf(exitInput, "--compat needs --hpcc; a scenario has the key compat instead")
	case h.config == "":
		return nil
	case len(args) > 0:
		return failf(exitInput, "--hpcc names the file to run; allowed: no other file")
	case h.compat != "" && h.compat != "ns3":
		return failf(exitInput, "--compat is %q; allowed: ns3", h.compat)
	case len(f.set) > 0 || f.trace.what != "" || f.pcap.what != "" || f.traced != "" || f.explain || f.flowTrace:
		return failf(exitInput, "--set, --trace, --pcap, --perfetto, --explain and --flow-trace are for scenarios; allowed with --hpcc: --cc, --engine, --seed, -o")
	}
	return nil
}

// runHPCC runs files of the public simulator and writes results in its formats
// beside the others.
func (a *app) runHPCC(cmd *cobra.Command, f *runFlags, h *hpccFlags) error {
	name := ""
	for i, s := range scenario.Shorthands {
		switch {
		case f.schemes[i] == "":
		case s.Flag == "cc":
			name = f.schemes[i]
		default:
			return failf(exitInput, "--%s has no meaning with --hpcc; allowed: --cc", s.Flag)
		}
	}
	if strings.Contains(name, ":") {
		return failf(exitInput, "--cc is %q; allowed with --hpcc: a name, whose parameters come from the configuration", name)
	}
	if name == "" {
		return failf(exitInput, "--hpcc needs --cc; allowed: dcqcn, hpcc, powertcp, and others of `xoff list cc`")
	}
	if err := a.startRuns(); err != nil {
		return err
	}
	in, err := publicsim.Read(h.config)
	if err != nil {
		return wrap(exitInput, err)
	}
	if len(in.Settings.Ignored) > 0 && !a.quiet {
		fmt.Fprintf(a.err, "%s: %s: without effect on results, ignored: %s\n", a.warning(), h.config, strings.Join(in.Settings.Ignored, ", "))
	}
	cfg, err := in.Scenario(name, h.compat != "")
	if err != nil {
		return wrap(exitInput, err)
	}
	if cmd.Flags().Changed("seed") {
		cfg.Seed = a.seed
	}
	s := a.simulation(cfg, f)
	o := &s.options
	public, err := in.Build(cfg, o.BuildOptions())
	if err != nil {
		return wrap(exitInput, cfg.Locate(err))
	}
	o.Extra = func(to *run.Folder) error {
		if err := to.File(in.Settings.FCT, "completion times as the public simulator writes them", func(w io.Writer) error { return publicsim.WriteFCT(w, public.Done()) }); err != nil {
			return err
		}
		return to.File(in.Settings.PFC, "its trace of pauses", func(w io.Writer) error { return publicsim.WritePFC(w, public.Pauses()) })
	}
	_, err = a.execute(cmd, public.Built, f, s)
	return err
}

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

// comparison is one row to make.
type comparison struct {
	of     *publicsim.Case
	engine publicsim.Engine
	tol    publicsim.Tolerance
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
	rows, err := a.compareAll(cmd.Context(), plan)
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
func (f *fidelityFlags) plan(folders []string) ([]comparison, error) {
	engines := []publicsim.Engine{publicsim.Oracle, publicsim.Fast}
	if f.engine != "" {
		if f.engine != string(publicsim.Oracle) && f.engine != string(publicsim.Fast) {
			return nil, failf(exitInput, "--engine is %q; allowed: oracle, fast", f.engine)
		}
		engines = []publicsim.Engine{publicsim.Engine(f.engine)}
	}
	tolerances, err := publicsim.Tolerances()
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	var cases []*publicsim.Case
	if len(folders) == 0 {
		if cases, err = publicsim.Builtin(); err != nil {
			return nil, wrap(exitFailure, err)
		}
	}
	for _, folder := range folders {
		list, err := publicsim.OpenFolder(folder)
		if err != nil {
			return nil, wrap(exitInput, err)
		}
		cases = append(cases, list...)
	}
	var plan []comparison
	for _, c := range cases {
		for _, e := range engines {
			plan = append(plan, comparison{c, e, tolerances[c.Algorithm][e]})
		}
	}
	return plan, nil
}

// compareAll makes the rows, several at once.
func (a *app) compareAll(ctx context.Context, plan []comparison) ([]*publicsim.Fidelity, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := a.newMeter()
	defer m.clear()
	rows, errs := make([]*publicsim.Fidelity, len(plan)), make([]error, len(plan))
	next, done := make(chan int), make(chan int)
	for range min(len(plan), a.workers) {
		go func() {
			for i := range next {
				if rows[i], errs[i] = plan[i].of.Compare(ctx, plan[i].engine, plan[i].tol); errs[i] != nil {
					cancel() // the others need not finish
				}
				done <- i
			}
		}()
	}
	go func() {
		for i := range plan {
			next <- i
		}
		close(next)
	}()
	for n := range plan {
		m.show(func(time.Duration) string { return fmt.Sprintf("%d of %d comparisons", n, len(plan)) })
		<-done
	}
	// A mistake, not the cancellation that it led to.
	var first error
	for i, err := range errs {
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = fmt.Errorf("%s/%s: %w", plan[i].of.Folder, plan[i].of.Algorithm, err)
		}
	}
	return rows, first
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
