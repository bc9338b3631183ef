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
	schemes    []string // of each scenario.Shorthands

	bySize  bool
	report  bool
	trace   traceFlags
	pcap    pcapFlags
	traced  string // file of the timeline
	explain bool   // record what `xoff explain` needs
	counted string // file of counters
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.engine, "engine", string(run.Fast), "simulation `ENGINE`: fast, or oracle (one global heap; slow, same results)")
	flags.IntVar(&f.divisor, "window-divisor", 1, "shorten the windows of the fast engine to 1/`N`; results never depend on it")
	_ = flags.MarkHidden("window-divisor")
	f.registerAny(cmd)
}

// registerAny adds the flags of commands that run a scenario, whatever drives it.
func (f *runFlags) registerAny(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.invariants, "invariants", string(run.Off), "check the simulation while it runs: `MODE` is off, count, or strict (stop at the first that breaks)")
	flags.BoolVar(&f.csv, "csv", false, "write every table as text, too; as output.csv")
	flags.BoolVar(&f.flowTrace, "flow-trace", false, "write flows.trace.csv, and scenario.replay.yaml, which runs the same flows again")
	flags.BoolVar(&f.force, "force", false, "overwrite results of another scenario (default: a new folder, NAME-2 and so on)")
	f.registerChanges(cmd)
}

// registerChanges adds the flags that change a scenario.
func (f *runFlags) registerChanges(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "override a key of the scenario: `KEY=VALUE`, such as switch.policy.alpha=1/8 or workload.NAME.load.share=0.5 (repeatable)")
	f.schemes = make([]string, len(scenario.Shorthands))
	for i, s := range scenario.Shorthands {
		flags.StringVar(&f.schemes[i], s.Flag, "", fmt.Sprintf("%s to use instead: `NAME` or NAME:PARAMETER=VALUE,... (see xoff list %s)", s.Doc, s.Kind()))
	}
}

// registerShow adds the flags of commands that print one run.
func (f *runFlags) registerShow(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.bySize, "by-size", false, "show every group of flows by size, too")
	cmd.Flags().BoolVar(&f.report, "report", true, "write report.html, too; --report=false saves its time")
	f.trace.register(cmd)
	f.pcap.register(cmd)
	cmd.Flags().BoolVar(&f.explain, "explain", false, "record what xoff explain RUN needs: what every frame waited for")
	registerCounting(cmd, &f.counted)
	cmd.Flags().StringVar(&f.traced, "perfetto", "", "write a timeline of the run, for ui.perfetto.dev, to `FILE`")
}

// check rejects values that are not allowed.
func (f *runFlags) check() error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{{"invariants", f.invariants, run.Checking()}, {"engine", f.engine, run.Engines()}} {
		if !slices.Contains(c.allowed, c.value) {
			return failf(exitInput, "--%s is %q; allowed: %s", c.flag, c.value, strings.Join(c.allowed, ", "))
		}
	}
	if f.divisor < 1 {
		return failf(exitInput, "--window-divisor is %d; allowed: 1 or more", f.divisor)
	}
	return nil
}

// settings are the changes to a scenario that the flags make. Schemes come first,
// so that --set can change their parameters.
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
					return failf(exitInput, "--hpcc is one run; allowed: --seed, not --seeds")
				}
				return a.runHPCC(cmd, f, h)
			}
			if seeds != "" {
				if f.trace.what != "" {
					return failf(exitInput, "--trace follows one run; allowed: --seed, not --seeds")
				}
				if f.pcap.what != "" || f.traced != "" || f.explain {
					return failf(exitInput, "--pcap, --perfetto and --explain show one run; allowed: --seed, not --seeds")
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
	h.register(cmd)
	registerSeeds(cmd, &seeds)
	a.outputFlag(cmd, resultsUsage)
	a.simulationFlags(cmd)
	return cmd
}

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
	public, err := in.Build(cfg, o)
	if err != nil {
		return wrap(exitInput, cfg.Locate(err))
	}
	o.Extra = func(to *run.Folder) error {
		if err := to.File(in.Settings.FCT, "completion times as the public simulator writes them", func(w io.Writer) error { return publicsim.WriteFCT(w, public.Done()) }); err != nil {
			return err
		}
		return to.File(in.Settings.PFC, "its trace of pauses", func(w io.Writer) error { return publicsim.WritePFC(w, public.Pauses()) })
	}
	_, err = a.execute(cmd, public.Fabric, f, s)
	return err
}
