package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/interop/publicsim"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// runFlags are the flags of commands that run a scenario.
type runFlags struct {
	invariants string
	engine     string
	divisor    int
	csv        bool
	flowTrace  bool
	force      bool
	set        []string
	schemes    []string // values of the flags of scenario.Shorthands

	bySize   bool
	report   bool
	trace    traceFlags
	pcap     pcapFlags
	perfetto string // file for the timeline
	explain  bool   // record the data for `xoff explain`
	metrics  string // file for the counters
	counters countersFlags
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.engine, "engine", string(run.Fast), "simulation `ENGINE`: fast, or oracle (one global heap; slow, same results)")
	flags.IntVar(&f.divisor, "window-divisor", 1, "shorten the windows of the fast engine to 1/`N`; results do not depend on it")
	_ = flags.MarkHidden("window-divisor")
	f.registerAny(cmd)
}

// registerAny adds the flags of commands that run a scenario, simulated or live.
func (f *runFlags) registerAny(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.invariants, "invariants", string(run.Off), "`MODE` of the invariant checks: off, count, or strict (stop at the first violation)")
	flags.BoolVar(&f.csv, "csv", false, "also write every table as CSV, like the key output.csv")
	flags.BoolVar(&f.flowTrace, "flow-trace", false, "write flows.trace.csv, and scenario.replay.yaml, which runs the same flows again")
	flags.BoolVar(&f.force, "force", false, "overwrite results of another scenario (default: write to a new folder NAME-2, NAME-3 ...)")
	f.registerChanges(cmd)
}

// registerChanges adds the flags that change a scenario.
func (f *runFlags) registerChanges(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` that overrides a key of the scenario, such as switch.policy.alpha=1/8 or workload.NAME.load.share=0.5 (repeatable)")
	f.schemes = make([]string, len(scenario.Shorthands))
	for i, s := range scenario.Shorthands {
		flags.StringVar(&f.schemes[i], s.Flag, "", fmt.Sprintf("%s: `NAME` or NAME:PARAMETER=VALUE,... (see xoff list %s; default: the scenario's)", s.Doc, s.Kind()))
	}
}

// registerShow adds the flags of commands that print one run.
func (f *runFlags) registerShow(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.bySize, "by-size", false, "print every group of flows also by size")
	registerReport(cmd, &f.report)
	f.trace.register(cmd)
	f.pcap.register(cmd)
	cmd.Flags().BoolVar(&f.explain, "explain", false, "record why every frame waited, for xoff explain RUN")
	registerCounting(cmd, &f.metrics)
	cmd.Flags().StringVar(&f.perfetto, "perfetto", "", "`FILE` for a timeline of the run, for ui.perfetto.dev")
}

// registerReport adds --report.
func registerReport(cmd *cobra.Command, report *bool) {
	cmd.Flags().BoolVar(report, "report", true, "write report.html; --report=false saves its time")
}

// check rejects invalid values.
func (f *runFlags) check() error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{{"invariants", f.invariants, run.InvariantModes()}, {"engine", f.engine, run.Engines()}} {
		if !slices.Contains(c.allowed, c.value) {
			return failf(exitInput, "--%s is %q (allowed: %s)", c.flag, c.value, strings.Join(c.allowed, ", "))
		}
	}
	if f.divisor < 1 {
		return failf(exitInput, "--window-divisor is %d (expected 1 or more)", f.divisor)
	}
	return nil
}

// settings returns the changes to the scenario. Schemes come first, so that --set can
// change their parameters.
func (f *runFlags) settings() []string {
	var list []string
	for i := range f.schemes {
		if f.schemes[i] != "" {
			list = append(list, scenario.Shorthands[i].Setting(f.schemes[i]))
		}
	}
	return append(list, f.set...)
}

func (a *app) runCommand() *cobra.Command {
	f, h := &runFlags{}, &hpccFlags{}
	var seeds string
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario file; - is standard input",
		Long: `Simulate a scenario, print a summary and write the results to a folder. FILE - is
standard input. With --seeds, run the scenario once per seed and print statistics.
With --hpcc, run a configuration of the HPCC simulator instead.

  xoff run mine.yaml
  xoff run mine.yaml --set switch.policy.alpha=1/8 --seeds 5
  xoff run mine.yaml --explain`,
		Args: func(cmd *cobra.Command, args []string) error {
			if h.config != "" && len(args) == 0 {
				return nil
			}
			return oneFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := h.check(f, args); err != nil {
				return err
			}
			if h.config != "" {
				if seeds != "" {
					return failf(exitInput, "--hpcc cannot be combined with --seeds (expected --seed)")
				}
				return a.runHPCC(cmd, f, h)
			}
			if seeds != "" {
				if f.trace.what != "" {
					return failf(exitInput, "--trace cannot be combined with --seeds (expected --seed)")
				}
				if f.pcap.what != "" || f.perfetto != "" || f.explain {
					return failf(exitInput, "--pcap, --perfetto and --explain cannot be combined with --seeds (expected --seed)")
				}
				if f.counters.file != "" {
					return failf(exitInput, "--counters cannot be combined with --seeds (expected --seed)")
				}
				return a.runSeeds(cmd, args[0], seeds, f)
			}
			cfg, err := scenario.ReadFile(args[0], f.settings()...)
			if err != nil {
				return wrap(exitInput, err)
			}
			_, err = a.simulate(cmd, cfg, f)
			return err
		},
	}
	f.register(cmd)
	f.registerShow(cmd)
	f.counters.register(cmd)
	h.register(cmd)
	registerSeeds(cmd, &seeds)
	a.outputFlag(cmd, resultsUsage)
	a.simulationFlags(cmd)
	return cmd
}

// hpccFlags are the flags for configurations of the HPCC simulator.
type hpccFlags struct {
	config string
	compat string
}

func (h *hpccFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.config, "hpcc", "", "configuration `FILE` of the HPCC simulator, with its topology and flow files, to run instead of a scenario; needs --cc")
	cmd.Flags().StringVar(&h.compat, "compat", "", "with --hpcc: `SIMULATOR` whose quirks to reproduce; only ns3 (docs/fidelity.md)")
}

// check rejects invalid combinations.
func (h *hpccFlags) check(f *runFlags, args []string) error {
	switch {
	case h.config == "" && h.compat != "":
		return failf(exitInput, "--compat needs --hpcc; in a scenario, use the key compat")
	case h.config == "":
		return nil
	case len(args) > 0:
		return failf(exitInput, "--hpcc cannot be combined with a scenario file: found %s", args[0])
	case h.compat != "" && h.compat != "ns3":
		return failf(exitInput, "--compat is %q (allowed: ns3)", h.compat)
	case len(f.set) > 0 || f.trace.what != "" || f.pcap.what != "" || f.perfetto != "" || f.explain || f.flowTrace || f.counters.file != "":
		return failf(exitInput, "--set, --trace, --pcap, --perfetto, --explain, --flow-trace and --counters are for scenarios (allowed with --hpcc: --cc, --engine, --seed, -o)")
	}
	return nil
}

// runHPCC runs a configuration of the HPCC simulator and also writes results in its formats.
func (a *app) runHPCC(cmd *cobra.Command, f *runFlags, h *hpccFlags) error {
	name := ""
	for i, s := range scenario.Shorthands {
		switch {
		case f.schemes[i] == "":
		case s.Flag == "cc":
			name = f.schemes[i]
		default:
			return failf(exitInput, "--%s cannot be combined with --hpcc (allowed: --cc)", s.Flag)
		}
	}
	if strings.Contains(name, ":") {
		return failf(exitInput, "--cc is %q (expected a name without parameters: with --hpcc they come from the configuration)", name)
	}
	if name == "" {
		return failf(exitInput, "--hpcc needs --cc (expected dcqcn, hpcc, powertcp or another name of `xoff list cc`)")
	}
	if err := a.startRuns(); err != nil {
		return err
	}
	in, err := publicsim.Read(h.config)
	if err != nil {
		return wrap(exitInput, err)
	}
	if len(in.Settings.Ignored) > 0 && !a.quiet {
		fmt.Fprintf(a.err, "%s: %s: ignored keys, which do not affect results: %s\n", a.warning(), h.config, strings.Join(in.Settings.Ignored, ", "))
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
	public, err := in.Build(cfg, o)
	if err != nil {
		return wrap(exitInput, cfg.Locate(err))
	}
	o.Extra = func(to *run.Folder) error {
		if err := to.File(in.Settings.FCT, "flow completion times in the format of the HPCC simulator", func(w io.Writer) error { return publicsim.WriteFCT(w, public.Done()) }); err != nil {
			return err
		}
		return to.File(in.Settings.PFC, "pauses in the format of the HPCC simulator", func(w io.Writer) error { return publicsim.WritePFC(w, public.Pauses()) })
	}
	_, err = a.execute(cmd, public.Fabric, f, s)
	return err
}
