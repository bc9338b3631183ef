package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/sys/hugepage"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// options are those of a run by the flags.
func (f *runFlags) options() run.Options {
	return run.Options{
		Engine: run.Engine(f.engine), Invariants: run.Invariants(f.invariants), CSV: f.csv, FlowTrace: f.flowTrace,
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
	o := f.options()
	if f.report {
		o.Report = writeReport
	}
	return &stage{
		options: o, folder: fmt.Sprintf("%s-seed%d", cfg.Name, cfg.Seed),
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
	plan, err := fabric.NewPlan(cfg)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	return a.perform(cmd, plan, f, a.simulation(cfg, f))
}

// perform runs a scenario on a stage, with all that watches it.
func (a *app) perform(cmd *cobra.Command, plan fabric.Plan, f *runFlags, s *stage) (*run.Result, error) {
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
func (a *app) warn(plan fabric.Plan) {
	for _, f := range check.Warnings(plan) {
		at := ""
		if f.At != "" {
			at = f.At + ": "
		}
		fmt.Fprintf(a.err, "xoff: %s: %s%s; mend: %s\n", a.warning(), at, f.What, f.Fix)
	}
}

// execute runs what was built, writes its results and prints them.
func (a *app) execute(cmd *cobra.Command, built *fabric.Fabric, f *runFlags, s *stage) (*run.Result, error) {
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
