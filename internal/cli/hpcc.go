package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/hpcc"
	"github.com/xoff-net/xoff/scenario"
)

// hpccFlags are the flags of runs of files of the public simulators.
type hpccFlags struct {
	config string
	compat string
}

func (h *hpccFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.config, "hpcc", "", "run a configuration file of the HPCC simulator, with the topology and flows that it names, instead of a scenario; needs --cc")
	cmd.Flags().StringVar(&h.compat, "compat", "", "with --hpcc: ns3 repeats the quirks of that simulator, too (docs/fidelity.md)")
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
	case len(f.set) > 0 || f.trace.what != "" || f.flowTrace:
		return failf(exitInput, "--set, --trace and --flow-trace are for scenarios; allowed with --hpcc: --cc, --engine, --seed, -o")
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
	if name == "" {
		return failf(exitInput, "--hpcc needs --cc; allowed: dcqcn, hpcc, powertcp, and others of `xoff list cc`")
	}
	in, err := hpcc.Read(h.config)
	if err != nil {
		return wrap(exitInput, err)
	}
	if len(in.Settings.Ignored) > 0 && !a.quiet {
		fmt.Fprintf(a.err, "warning: %s: without effect on results, ignored: %s\n", h.config, strings.Join(in.Settings.Ignored, ", "))
	}
	cfg, err := in.Scenario(name, h.compat != "")
	if err != nil {
		return wrap(exitInput, err)
	}
	if cmd.Flags().Changed("seed") {
		cfg.Seed = a.seed
	}
	run, err := in.Build(cfg, h.compat != "", scenario.BuildOptions{Invariants: f.invariants != invariantsOff})
	if err != nil {
		return wrap(exitInput, cfg.Locate(err))
	}
	_, err = a.execute(cmd, run.Built, &tracing{}, f, func(to *results) error {
		if err := to.file(in.Settings.FCT, "completion times as the public simulator writes them", func(w io.Writer) error { return hpcc.WriteFCT(w, run.Done()) }); err != nil {
			return err
		}
		return to.file(in.Settings.PFC, "its trace of pauses", func(w io.Writer) error { return hpcc.WritePFC(w, run.Pauses()) })
	})
	return err
}

func (a *app) fidelityCommand() *cobra.Command {
	engine := ""
	cmd := &cobra.Command{
		Use:   "fidelity DIR...",
		Short: "Hold results against those of the public ns-3 simulator",
		Long: `Runs the files of reference folders with every algorithm that they have results
of, with the quirks of the public simulator (--compat ns3), and compares flow by
flow and by distribution. A folder has topology.txt, flow.txt, and for each
algorithm ALGORITHM/config.txt and ALGORITHM/fct.txt.

Exit code 1 says that a demand is not met; see docs/fidelity.md.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.fidelity(cmd, args, engine) },
	}
	cmd.Flags().StringVar(&engine, "engine", "", "oracle or fast; default: both")
	return cmd
}

func (a *app) fidelity(cmd *cobra.Command, folders []string, only string) error {
	engines := []hpcc.Engine{hpcc.Oracle, hpcc.Fast}
	if only != "" {
		if only != string(hpcc.Oracle) && only != string(hpcc.Fast) {
			return failf(exitInput, "--engine is %q; allowed: oracle, fast", only)
		}
		engines = []hpcc.Engine{hpcc.Engine(only)}
	}
	tolerances, err := hpcc.Tolerances()
	if err != nil {
		return wrap(exitFailure, err)
	}
	m := a.newMeter()
	var rows []*hpcc.Fidelity
	bad := 0
	for _, folder := range folders {
		algorithms, err := hpcc.Algorithms(folder)
		if err != nil {
			return wrap(exitInput, err)
		}
		for _, algorithm := range algorithms {
			for _, e := range engines {
				tol, known := tolerances[algorithm][e]
				if !known {
					continue
				}
				m.show(func(time.Duration) string {
					return fmt.Sprintf("%s %s on the %s engine", filepath.Base(folder), algorithm, e)
				})
				row, err := hpcc.Compare(cmd.Context(), folder, algorithm, e, tol)
				if err != nil {
					m.clear()
					return wrap(exitInput, err)
				}
				rows = append(rows, row)
				bad += len(row.Problems)
			}
		}
	}
	m.clear()
	if err := a.printFidelity(rows); err != nil {
		return wrap(exitFailure, err)
	}
	if bad > 0 {
		return failf(exitFailure, "%d demands are not met", bad)
	}
	return nil
}

func (a *app) printFidelity(rows []*hpcc.Fidelity) error {
	if a.json {
		return a.printJSON(rows)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("folder\tcc\tengine\tflows\texact\twithin 1 %%\tmedian diff\tp99 diff\tslowdown p50 ours/ref\tp95\tp99\tmean\tpauses ours/ref\tverdict")
	for _, r := range rows {
		verdict := color.GreenString("ok")
		if len(r.Problems) > 0 {
			verdict = color.RedString("%s", strings.Join(r.Problems, "; "))
		}
		pair := func(ours, ref, low, high float64) string {
			if r.Seeds > 0 {
				return fmt.Sprintf("%.4g/%.4g..%.4g", ours, low, high)
			}
			return fmt.Sprintf("%.4g/%.4g", ours, ref)
		}
		w.line("%s\t%s\t%s\t%d\t%d\t%d\t%.3g %%\t%.3g %%\t%s\t%s\t%s\t%s\t%d/%d\t%s", r.Folder, r.Algorithm, r.Engine, r.Flows, r.Exact, r.Within, 100*r.Median, 100*r.P99,
			pair(r.Ours.P50, r.Reference.P50, r.Low.P50, r.High.P50), pair(r.Ours.P95, r.Reference.P95, r.Low.P95, r.High.P95),
			pair(r.Ours.P99, r.Reference.P99, r.Low.P99, r.High.P99), pair(r.Ours.Mean, r.Reference.Mean, r.Low.Mean, r.High.Mean),
			r.Pauses, r.RefPauses, verdict)
	}
	w.line("(where results depend on random numbers: medians over seeds of ours / range of the reference's runs)")
	return w.flush()
}
