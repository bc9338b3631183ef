package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/hugepage"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scenario/build"
	"github.com/xoff-net/xoff/sim"
)

// engine is what runs a built scenario.
type engine interface {
	Run(ctx context.Context) (units.Time, error)
	Totals() sim.Totals
	Fabric() sim.Fabric
}

// runFlags are the flags of commands that run a scenario.
type runFlags struct {
	invariants string
	engine     string
	divisor    int
	csv        bool
	flowTrace  bool
	set        []string
	schemes    []string // of each scenario.Shorthands

	bySize bool
	report bool
	trace  traceFlags
}

// Values of --invariants.
const (
	invariantsOff    = "off"
	invariantsCount  = "count"
	invariantsStrict = "strict"
)

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.invariants, "invariants", invariantsOff, "check the simulation while it runs: off, count, or strict (stop at the first that breaks)")
	flags.StringVar(&f.engine, "engine", "fast", "fast, or oracle (one global heap; slow, same results)")
	flags.BoolVar(&f.csv, "csv", false, "write every table as text, too; as output.csv")
	flags.BoolVar(&f.flowTrace, "flow-trace", false, "write flows.trace.csv, and scenario.replay.yaml, which runs the same flows again")
	flags.IntVar(&f.divisor, "window-divisor", 1, "shorten the windows of the fast engine; results never depend on it")
	_ = flags.MarkHidden("window-divisor")
	f.registerChanges(cmd)
}

// registerChanges adds the flags that change a scenario.
func (f *runFlags) registerChanges(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "override a key of the scenario: path=value, such as switch.policy.alpha=1/8 or workload.NAME.load.share=0.5 (repeatable)")
	f.schemes = make([]string, len(scenario.Shorthands))
	for i, s := range scenario.Shorthands {
		flags.StringVar(&f.schemes[i], s.Flag, "", fmt.Sprintf("%s to use instead: NAME or NAME:PARAMETER=VALUE,... (see xoff list %s)", s.Doc, s.Kind()))
	}
}

// registerShow adds the flags of commands that print one run.
func (f *runFlags) registerShow(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.bySize, "by-size", false, "show every group of flows by size, too")
	cmd.Flags().BoolVar(&f.report, "report", true, "write report.html, too; --report=false saves its time")
	f.trace.register(cmd)
}

// registerSchemes adds the flags that replace schemes of a scenario.
func registerSchemes(cmd *cobra.Command, cc, policy, flowControl *string) {
	cmd.Flags().StringVar(cc, "cc", "", "congestion control to use instead (see xoff list cc)")
	cmd.Flags().StringVar(policy, "policy", "", "buffer policy to use instead (see xoff list policy)")
	cmd.Flags().StringVar(flowControl, "flow-control", "", "flow control to use instead (see xoff list flow_control)")
}

// check rejects values that are not allowed.
func (f *runFlags) check() error {
	for _, c := range []struct {
		flag, value string
		allowed     [3]string
	}{
		{"invariants", f.invariants, [3]string{invariantsOff, invariantsCount, invariantsStrict}},
		{"engine", f.engine, [3]string{"fast", "oracle"}},
	} {
		ok := false
		list := ""
		for _, a := range c.allowed {
			if a != "" {
				ok = ok || a == c.value
				list += ", " + a
			}
		}
		if !ok {
			return failf(exitInput, "--%s is %q; allowed: %s", c.flag, c.value, list[2:])
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
		Short: "Run a scenario file",
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
				return a.runSeeds(cmd, args[0], seeds, f)
			}
			cfg, err := build.ReadFile(args[0], f.settings()...)
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
	return cmd
}

// finished is a run that ended.
type finished struct {
	summary   *metrics.Summary
	wall      time.Duration
	unwritten error // why the results are not in their folder
}

// simulate runs a scenario, writes its results and prints them.
func (a *app) simulate(cmd *cobra.Command, cfg *scenario.Config, f *runFlags) (*finished, error) {
	if err := a.startRuns(); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("seed") {
		cfg.Seed = a.seed
	}
	tracer, err := a.newTracer(&f.trace)
	if err != nil {
		return nil, err
	}
	defer tracer.close()
	built, err := f.build(cfg, tracer.sink())
	if err != nil {
		return nil, wrap(exitInput, cfg.Locate(err))
	}
	if err := tracer.bind(built); err != nil {
		return nil, err
	}
	return a.execute(cmd, built, tracer, f, nil)
}

// execute runs what was built, writes its results and what else there is to write,
// and prints them.
func (a *app) execute(cmd *cobra.Command, built *build.Built, tracer *tracing, f *runFlags, also func(*results) error) (*finished, error) {
	cfg := built.Config
	m := a.newMeter()
	x, err := f.prepare(built, a.workers, func(now units.Time, e engine) {
		m.show(func(passed time.Duration) string {
			return progressLine(now, shareOf(built, now), e.Totals().Hops, passed)
		})
	})
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	x.record.tracer, x.also = tracer.Tracer, also
	folder := a.folderFor(fmt.Sprintf("%s-seed%d", cfg.Name, cfg.Seed))
	results, err := newResults(folder) // now, rather than after an hour of work
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	defer results.stage.Discard()
	results.withReport = f.report
	done, err := x.run(cmd.Context(), results, f.csv)
	m.clear()
	if err != nil {
		return nil, err
	}
	if results.noReport != nil {
		fmt.Fprintf(a.err, "xoff: there is no report: %v\n", results.noReport)
	}
	if done.unwritten != nil {
		results = nil // the numbers that could not be saved are shown at least
	} else if !a.quiet {
		a.tellEmpty(built.Probes)
	}
	if err := a.print(built, done.summary, results, done.wall, f.bySize); err != nil {
		return nil, wrap(exitFailure, err)
	}
	if done.unwritten != nil {
		return nil, wrap(exitFailure, done.unwritten)
	}
	return done, verdict(cmd.Context(), built, done.summary, f.invariants, folder)
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

// build makes a scenario ready to run.
func (f *runFlags) build(cfg *scenario.Config, sink func(node int) probe.Sink) (*build.Built, error) {
	return build.New(cfg, build.Options{Invariants: f.invariants != invariantsOff, Sink: sink})
}

// execution is a run that is ready to start.
type execution struct {
	built  *build.Built
	engine engine
	strict bool
	trace  bool                 // write the flows
	also   func(*results) error // writes more; may be nil
	record recorder
	cancel context.CancelCauseFunc
	hook   func(units.Time, engine)
}

// prepare wires a run. The hook is called from time to time while the engine
// stands still.
func (f *runFlags) prepare(built *build.Built, workers int, hook func(units.Time, engine)) (*execution, error) {
	x := &execution{built: built, strict: f.invariants == invariantsStrict, trace: f.flowTrace || built.Config.Output.FlowTrace, hook: hook}
	if x.trace {
		if err := built.Config.Traceable(); err != nil {
			return nil, wrap(exitInput, err)
		}
	}
	var err error
	x.engine, err = newEngine(built.Spec, f, workers, x.progress)
	return x, err
}

// progress also ends a strict run at the next check after an invariant broke.
func (x *execution) progress(now units.Time) {
	if x.strict {
		for _, c := range x.built.Checks {
			if c.Broken > 0 {
				x.cancel(errors.New(c.First))
			}
		}
	}
	if err := x.record.flush(); err != nil {
		x.cancel(err)
	}
	x.hook(now, x.engine)
}

// run runs to the end, or to that of the context: then the results are partial.
// It writes them either way.
func (x *execution) run(ctx context.Context, to *results, csv bool) (*finished, error) {
	ctx, x.cancel = context.WithCancelCause(ctx)
	defer x.cancel(nil)
	csv = csv || x.built.Config.Output.CSV
	if err := errors.Join(x.record.begin(to, x.built.Probes, csv), to.inputs(x.built.Config)); err != nil {
		return nil, wrap(exitFailure, err)
	}
	start := time.Now()
	end, err := x.engine.Run(ctx)
	wall := time.Since(start)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, wrap(exitFailure, err)
	}
	outcome := x.built.Outcome(end, x.engine.Totals(), x.engine.Fabric(), err != nil)
	done := &finished{summary: outcome.Summarize(), wall: wall}
	if done.unwritten = x.record.end(end); done.unwritten != nil {
		return done, nil
	}
	if x.trace {
		done.unwritten = to.trace(x.built)
	}
	if done.unwritten == nil && x.also != nil {
		done.unwritten = x.also(to)
	}
	if done.unwritten == nil {
		done.unwritten = to.write(outcome, done.summary, x.built.Config, csv)
	}
	if done.unwritten == nil {
		done.unwritten = to.commit()
	}
	return done, nil
}

// newEngine builds the chosen engine.
func newEngine(spec *sim.Spec, f *runFlags, workers int, progress func(units.Time)) (engine, error) {
	if f.engine == "oracle" {
		return sim.NewOracle(spec, sim.OracleOptions{Progress: progress})
	}
	return sim.NewFast(spec, sim.Options{Workers: workers, WindowDivisor: f.divisor, Progress: progress})
}

// verdict turns what the run found into an exit code.
func verdict(ctx context.Context, built *build.Built, s *metrics.Summary, invariants, folder string) error {
	if ctx.Err() != nil {
		return failf(exitInterrupted, "interrupted at %s of simulated time; partial results are in %s", human(s.End), folder)
	}
	if invariants == invariantsStrict && s.Invariants.Broken > 0 {
		return failf(exitBroken, "broken invariant: %s", s.Invariants.First)
	}
	if broken := s.Drops.Broken; broken > 0 {
		return failf(exitBroken, "%d frames of lossless classes were dropped, but flow control %s promises that none is; `xoff check` tells whether headroom is too small", broken, strings.Join(built.FlowControls(), ", "))
	}
	return nil
}
