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

// options returns the options of a run.
func (f *runFlags) options() run.Options {
	return run.Options{
		Engine: run.Engine(f.engine), Invariants: run.Invariants(f.invariants), CSV: f.csv, FlowTrace: f.flowTrace,
		Force: f.force, WindowDivisor: f.divisor,
	}
}

// execution describes how a command runs a scenario and shows it.
type execution struct {
	options run.Options
	folder  string // name of the default results folder
	line    func(p run.Progress, passed time.Duration) string
	print   func(done *run.Result) error
}

// simulation returns the execution of a simulated run.
func (a *app) simulation(cfg *scenario.Config, f *runFlags) *execution {
	o := f.options()
	if f.report {
		o.Report = writeReport
	}
	return &execution{
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

// perform builds and runs a scenario with the traces and recordings of its flags.
func (a *app) perform(cmd *cobra.Command, plan fabric.Plan, f *runFlags, s *execution) (*run.Result, error) {
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
	line, err := newTimeline(f.perfetto)
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
	sampled, err := f.counters.recorder()
	if err != nil {
		return nil, err
	}
	if sampled != nil {
		o.Watchers = append(o.Watchers, sampled)
	}
	built, err := plan.Build(o.BuildOptions())
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	a.warn(plan)
	done, err := a.execute(cmd, built, f, s)
	if done != nil {
		a.warnCapture(pcap)
	}
	return done, err
}

// warn prints the findings of a check that affect a run.
func (a *app) warn(plan fabric.Plan) {
	for _, f := range check.Warnings(plan) {
		at := ""
		if f.At != "" {
			at = f.At + ": "
		}
		fmt.Fprintf(a.err, "xoff: %s: %s%s; fix: %s\n", a.warning(), at, f.What, f.Fix)
	}
}

// execute runs a built fabric, writes its results and prints them.
func (a *app) execute(cmd *cobra.Command, built *fabric.Fabric, f *runFlags, s *execution) (*run.Result, error) {
	m, o := a.newMeter(), s.options
	o.Workers = a.workers
	o.Folder = a.folderFor(s.folder)
	counts, err := newCounting(f.metrics, openCounters(built))
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
	a.warnMoved(o.Folder, done.Folder)
	counts.end(done)
	a.warnCounting(counts)
	if done.NoReport != nil && done.Unwritten == nil {
		fmt.Fprintf(a.err, "xoff: cannot write the report: %v\n", done.NoReport)
	}
	if done.Unwritten == nil && !a.quiet {
		a.warnEmpty(built.Probes)
	}
	if err := s.print(done); err != nil {
		return nil, wrap(exitFailure, err)
	}
	if done.Unwritten != nil {
		return nil, wrap(exitFailure, done.Unwritten)
	}
	return done, verdict(done.Verdict)
}

// warnMoved warns that results are in another folder than wanted. It ignores --quiet:
// otherwise a script would read the results of another scenario.
func (a *app) warnMoved(wanted, got string) {
	if got != wanted {
		fmt.Fprintf(a.err, "xoff: %s has results of another scenario: wrote to %s (--force overwrites)\n", wanted, got)
	}
}

// verdict returns an error with the exit code of a run, or nil.
func verdict(v run.Verdict) error {
	if v.Code == exitOK {
		return nil
	}
	return &failure{v.Code, errors.New(v.Message)}
}

// warnEmpty warns about probes without rows, such as the probe of a flow control that no
// port runs. Their tables exist, so that runs can be compared.
func (a *app) warnEmpty(probes []*metrics.Series) {
	for _, s := range probes {
		if s.Rows() == 0 {
			fmt.Fprintf(a.err, "xoff: %s has no rows: no matching event or sample\n", s.Name)
		}
	}
}

// startRuns prepares the process for simulations. Every command that simulates calls it.
func (a *app) startRuns() error {
	if err := a.checkWorkers(); err != nil {
		return err
	}
	hugepage.Prefer()
	return nil
}

func (a *app) checkWorkers() error {
	if a.workers < 1 {
		return failf(exitInput, "--workers is %d (expected 1 or more)", a.workers)
	}
	return nil
}

// folderFor returns the output folder: the value of -o, or results/name.
func (a *app) folderFor(name string) string {
	if a.folder != "" {
		return a.folder
	}
	return filepath.Join("results", name)
}
