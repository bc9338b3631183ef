package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/check"
	"github.com/xoff-net/xoff/internal/explain"
	"github.com/xoff-net/xoff/internal/hugepage"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scenario/build"
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

// registerSchemes adds the flags that replace schemes of a scenario.
func registerSchemes(cmd *cobra.Command, cc, policy, flowControl *string) {
	cmd.Flags().StringVar(cc, "cc", "", "congestion control `NAME` to use instead (see xoff list cc)")
	cmd.Flags().StringVar(policy, "policy", "", "buffer policy `NAME` to use instead (see xoff list policy)")
	cmd.Flags().StringVar(flowControl, "flow-control", "", "flow control `NAME` to use instead (see xoff list flow_control)")
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

// options are those of a run by the flags.
func (f *runFlags) options() run.Options {
	return run.Options{
		Engine: run.Engine(f.engine), Invariants: run.Invariants(f.invariants), CSV: f.csv, FlowTrace: f.flowTrace, Report: f.report,
		Force: f.force, WindowDivisor: f.divisor,
	}
}

// stage is how a command runs a scenario: what drives it, and how that looks.
type stage struct {
	options run.Options
	folder  string // for the results, unless -o names one
	line    func(p run.Progress, passed time.Duration) string
	print   func(done *run.Result) error
}

// simulation is the stage of simulated runs.
func (a *app) simulation(cfg *scenario.Config, f *runFlags) *stage {
	return &stage{
		options: f.options(), folder: fmt.Sprintf("%s-seed%d", cfg.Name, cfg.Seed),
		line: func(p run.Progress, passed time.Duration) string {
			return progressLine(p.Now, p.Share(), p.Hops(), passed)
		},
		print: func(done *run.Result) error { return a.print(done, f.bySize) },
	}
}

// simulate runs a scenario, writes its results and prints them.
func (a *app) simulate(cmd *cobra.Command, cfg *scenario.Config, f *runFlags) (*run.Result, error) {
	if cmd.Flags().Changed("seed") {
		cfg.Seed = a.seed
	}
	plan, err := build.NewPlan(cfg)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	return a.perform(cmd, plan, f, a.simulation(cfg, f))
}

// perform runs a scenario on a stage, with all that watches it.
func (a *app) perform(cmd *cobra.Command, plan build.Plan, f *runFlags, s *stage) (*run.Result, error) {
	if err := a.startRuns(); err != nil {
		return nil, err
	}
	tracer, err := a.newTracer(&f.trace)
	if err != nil {
		return nil, err
	}
	defer tracer.close()
	pcap, err := a.newCapture(cmd, &f.pcap)
	if err != nil {
		return nil, err
	}
	o := &s.options
	if tracer.Tracer != nil {
		o.Watchers = append(o.Watchers, tracer)
	}
	if pcap != nil {
		o.Watchers = append(o.Watchers, pcap)
	}
	line, err := newTimeline(f.traced)
	if err != nil {
		return nil, err
	}
	defer line.close()
	if line != nil {
		o.Watchers = append(o.Watchers, line)
	}
	if f.explain {
		o.Watchers = append(o.Watchers, explaining{explain.New()})
	}
	built, err := plan.Build(o.BuildOptions())
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	a.warn(plan)
	done, err := a.execute(cmd, built, f, s)
	if done != nil {
		a.tellCapture(pcap)
	}
	return done, err
}

// warn prints what a check finds that a run would suffer from.
func (a *app) warn(plan build.Plan) {
	for _, f := range check.Warnings(plan) {
		at := ""
		if f.At != "" {
			at = f.At + ": "
		}
		fmt.Fprintf(a.err, "xoff: %s: %s%s; mend: %s\n", a.warning(), at, f.What, f.Fix)
	}
}

// execute runs what was built, writes its results and prints them.
func (a *app) execute(cmd *cobra.Command, built *build.Built, f *runFlags, s *stage) (*run.Result, error) {
	m, o := a.newMeter(), s.options
	o.Workers = a.workers
	o.Folder = a.folderFor(s.folder)
	counts, err := newCounting(f.counted, counters(built))
	if err != nil {
		return nil, err
	}
	o.Progress = func(p run.Progress) {
		counts.progress(built, p)
		m.show(func(passed time.Duration) string { return s.line(p, passed) })
	}
	r, err := run.Prepare(built, o)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	done, err := r.Start(cmd.Context())
	m.clear()
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	a.tellMoved(o.Folder, done.Folder)
	counts.end(done)
	a.tellCounting(counts)
	if done.NoReport != nil && done.Unwritten == nil {
		fmt.Fprintf(a.err, "xoff: there is no report: %v\n", done.NoReport)
	}
	if done.Unwritten == nil && !a.quiet {
		a.tellEmpty(built.Probes)
	}
	if err := s.print(done); err != nil {
		return nil, wrap(exitFailure, err)
	}
	if done.Unwritten != nil {
		return nil, wrap(exitFailure, done.Unwritten)
	}
	return done, verdict(done.Verdict)
}

// tellMoved says that results are not where they were to be, also to those who want
// no text: they would read those of another scenario.
func (a *app) tellMoved(wanted, got string) {
	if got != wanted {
		fmt.Fprintf(a.err, "xoff: %s holds results of another scenario: these are in %s (--force overwrites)\n", wanted, got)
	}
}

// verdict is the exit code of a run.
func verdict(v run.Verdict) error {
	if v.Code == exitOK {
		return nil
	}
	return &failure{v.Code, errors.New(v.Message)}
}

// tellEmpty names the probes that saw nothing, such as that of a flow control
// that no port runs: their tables are there, so that runs can be compared, but
// hardly what was wanted.
func (a *app) tellEmpty(probes []*metrics.Series) {
	for _, s := range probes {
		if s.Rows() == 0 {
			fmt.Fprintf(a.err, "xoff: %s has no rows: nothing happened that it watches\n", s.Name)
		}
	}
}

// startRuns is what every command does first that simulates.
func (a *app) startRuns() error {
	if err := a.checkWorkers(); err != nil {
		return err
	}
	hugepage.Prefer()
	return nil
}

func (a *app) checkWorkers() error {
	if a.workers < 1 {
		return failf(exitInput, "--workers is %d; allowed: 1 or more", a.workers)
	}
	return nil
}

// folderFor is where results go: what -o says, or a folder of that name.
func (a *app) folderFor(name string) string {
	if a.folder != "" {
		return a.folder
	}
	return filepath.Join("results", name)
}
