// Package run runs a scenario for commands and other programs: it builds the fabric, drives an
// engine, writes a results folder and returns a verdict. For example:
//
//	cfg, err := scenario.ReadFile("mine.yaml")
//	...
//	done, err := run.Scenario(ctx, cfg, run.Options{Folder: "results/mine"})
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// Options configure a run. They select the files that are written, but change no result.
// The zero value runs on one core and writes nothing.
type Options struct {
	Folder     string     // results folder; empty: write nothing
	Force      bool       // overwrite results of another scenario instead of choosing another folder
	Engine     Engine     // default: Fast
	Workers    int        // number of simulating goroutines; 0 means 1
	Invariants Invariants // whether to check invariants during the run; default: Off
	CSV        bool       // also write every table as CSV
	FlowTrace  bool       // write the flows as a trace, and a scenario that replays it
	// Progress is called periodically, while the engine is idle. It may be nil.
	Progress func(Progress)
	// Watchers receive the events of all nodes, in addition to the scenario's probes.
	Watchers []Watcher
	// Extra writes additional files to the folder at the end. It may be nil.
	Extra func(*Folder) error
	// Report writes a report about the tables in the folder, before the summary. It may be
	// nil. If it fails, the results are kept without a report: see Result.NoReport.
	Report func(*Folder, *metrics.Summary) error
	// Drive returns a driver that replaces the engines of the simulator. It may be nil. The
	// driver must call progress periodically, while all nodes are at the same time.
	Drive func(b *fabric.Fabric, progress func(now units.Time)) (Driver, error)
	// Here marks the nodes that this process drives; see fabric.Options.
	Here []bool
	// WindowDivisor shortens the windows of the fast engine; see sim.Options.
	WindowDivisor int
}

// Engine is the name of an engine.
type Engine string

// Engines.
const (
	Fast   Engine = "fast"   // node windows, parallel
	Oracle Engine = "oracle" // one global heap: slow, identical results
)

// Engines returns the names of all engines.
func Engines() []string { return []string{string(Fast), string(Oracle)} }

// Invariants selects how the invariants of the model are checked.
type Invariants string

// Modes of checking invariants.
const (
	Off    Invariants = "off"
	Count  Invariants = "count"
	Strict Invariants = "strict" // end the run at the first broken invariant
)

// InvariantModes returns the names of all modes of checking invariants.
func InvariantModes() []string { return []string{string(Off), string(Count), string(Strict)} }

// Progress is the state of a run in progress. Its methods are expensive compared with the
// few microseconds of simulated time between calls, so use them rarely.
type Progress struct {
	Now units.Time
	run *Run
}

// Share estimates the completed share of the run, from 0 to 1.
func (p Progress) Share() float64 { return p.run.share(p.Now) }

// Hops returns the number of frames that have finished a link so far.
func (p Progress) Hops() uint64 { return p.run.engine.Totals().Hops }

// Counters returns the totals and the counters of all nodes so far.
func (p Progress) Counters() (sim.Totals, sim.Counters) {
	return p.run.engine.Totals(), p.run.engine.Counters()
}

// Watcher receives the events of every node of a run.
type Watcher interface {
	// Sink returns the sink for the events of a node.
	Sink(node int) probe.Sink
	// Bind is called once the fabric is built, before the run starts.
	Bind(b *fabric.Fabric) error
	// Flush is called periodically and at the end, while all nodes are at the same time.
	Flush() error
}

// Recording is a watcher that writes result files during the run.
type Recording interface {
	Watcher
	// Open is called before the run. create opens a file in the results folder; without a
	// folder its output is discarded.
	Open(create func(name, what string) (io.Writer, error)) error
	// Close is called at the end of the run, after the last Flush.
	Close(o *metrics.Outcome) error
}

// Driver runs a built scenario; the engines of the simulator implement it.
type Driver interface {
	// Run runs until the scenario ends or the context is done. It returns the time at which
	// it ended and the error of the context, if any.
	Run(ctx context.Context) (units.Time, error)
	Totals() sim.Totals
	Final() sim.Counters
	Counters() sim.Counters
}

// Judging is implemented by drivers that can change the verdict of a run.
type Judging interface {
	Judge(s *metrics.Summary, found Verdict) Verdict
}

// Run is a scenario that is ready to start.
type Run struct {
	Fabric *fabric.Fabric

	opts    Options
	engine  Driver
	record  recorder
	cancel  context.CancelCauseFunc
	aborted bool // an expectation with abort ended the run
}

// Result holds the results of a completed run.
type Result struct {
	Fabric   *fabric.Fabric
	Outcome  *metrics.Outcome // results by flow and by port
	Summary  *metrics.Summary
	Wall     time.Duration
	Verdict  Verdict
	Expected []Expected // results of the expectations, in order
	Folder   string     // folder of the files; it may differ from Options.Folder, see FreeFolder
	Files    []File     // written files
	// Unwritten is the error that prevented writing the results. It is nil if they were
	// written or no folder was requested.
	Unwritten error
	NoReport  error // error that prevented writing the requested report
	found     Verdict
}

// Found returns the verdict without the scenario's expectations, which are not part of the
// results.
func (r *Result) Found() Verdict { return r.found }

// Scenario runs a scenario. An error means that there are no results: the scenario is
// invalid (a *scenario.InputError), or the system failed. A run that is interrupted by its
// context returns partial results and no error.
func Scenario(ctx context.Context, cfg *scenario.Config, o Options) (*Result, error) {
	r, err := New(cfg, o)
	if err != nil {
		return nil, err
	}
	return r.Start(ctx)
}

// New builds a scenario and returns a run that is ready to start.
func New(cfg *scenario.Config, o Options) (*Run, error) {
	built, err := fabric.New(cfg, o.BuildOptions())
	if err != nil {
		return nil, cfg.Locate(err)
	}
	return Prepare(built, o)
}

// BuildOptions returns the options for building the fabric.
func (o *Options) BuildOptions() fabric.Options {
	b := fabric.Options{Invariants: o.Invariants != Off && o.Invariants != "", Here: o.Here}
	switch len(o.Watchers) {
	case 0:
	case 1:
		b.Sink = o.Watchers[0].Sink
	default:
		b.Sink = func(node int) probe.Sink {
			var all probe.Fan
			for _, w := range o.Watchers {
				all = append(all, w.Sink(node))
			}
			return all
		}
	}
	return b
}

// Prepare is New for a fabric that was already built with BuildOptions.
func Prepare(built *fabric.Fabric, o Options) (*Run, error) {
	r := &Run{Fabric: built, opts: o}
	cfg := built.Config
	r.opts.CSV = o.CSV || cfg.Output.CSV
	r.opts.FlowTrace = o.FlowTrace || cfg.Output.FlowTrace
	if r.opts.FlowTrace {
		if err := cfg.Traceable(); err != nil {
			return nil, cfg.Locate(err)
		}
	}
	for _, w := range o.Watchers {
		if err := w.Bind(built); err != nil {
			return nil, err
		}
	}
	r.watchExpectations()
	if err := r.drive(); err != nil {
		return nil, err
	}
	r.record.watchers = o.Watchers
	return r, nil
}

// drive sets the engine.
func (r *Run) drive() (err error) {
	built, o := r.Fabric, &r.opts
	switch {
	case o.Drive != nil && len(built.Jobs) > 0:
		err = fmt.Errorf("workload %s is a job (expected no jobs: they run in the simulator only)", built.Jobs[0].Name)
	case o.Drive != nil:
		r.engine, err = o.Drive(built, r.progress)
	case o.Engine == Oracle:
		r.engine, err = sim.NewOracle(built.Spec, sim.OracleOptions{Progress: r.progress})
	case o.Engine == Fast || o.Engine == "":
		r.engine, err = sim.NewFast(built.Spec, sim.Options{Workers: max(1, o.Workers), WindowDivisor: o.WindowDivisor, Progress: r.progress})
	default:
		err = fmt.Errorf("unknown engine %q (allowed: fast, oracle)", o.Engine)
	}
	return err
}

// progress flushes records and reports progress. It ends a strict run after an invariant
// broke.
func (r *Run) progress(now units.Time) {
	if r.opts.Invariants == Strict {
		for _, c := range r.Fabric.Checks {
			if c.Broken > 0 {
				r.cancel(errors.New(c.First))
			}
		}
	}
	if err := r.record.flush(); err != nil {
		r.cancel(err)
	}
	if r.opts.Progress != nil {
		r.opts.Progress(Progress{now, r})
	}
}

// share estimates the completed share of the run, based on its stop rule.
func (r *Run) share(now units.Time) float64 {
	stop, flows := &r.Fabric.Config.Run.Stop, r.Fabric.Flows
	if stop.When == "time" {
		return float64(now) / float64(stop.AtMost)
	}
	done := 0
	for i := range flows.Flow {
		if flows.Done(i) {
			done++
		}
	}
	return max(float64(now)/float64(stop.AtMost), float64(done)/float64(max(1, len(flows.Flow))))
}

// Start runs until the scenario ends or the context is done. In both cases it writes the
// results; in the second they are partial.
func (r *Run) Start(ctx context.Context) (*Result, error) {
	to, err := newFolder(r.opts.Folder, r.Fabric.Config, r.opts.Force) // fail before the run, not after it
	if err != nil {
		return nil, err
	}
	defer to.discard()
	outer := ctx
	ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	if err := errors.Join(r.record.begin(to, r.Fabric.Probes, r.opts.CSV), to.inputs(r.Fabric.Config)); err != nil {
		return nil, err
	}
	start := time.Now()
	end, err := r.engine.Run(ctx)
	wall := time.Since(start)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	outcome := r.Fabric.Outcome(end, r.engine.Totals(), r.engine.Final(), err != nil || r.aborted)
	done := &Result{Fabric: r.Fabric, Outcome: outcome, Summary: outcome.Summarize(), Wall: wall, Folder: to.name()}
	if err == nil {
		if err := r.alone(ctx, done.Summary); err != nil {
			return nil, err
		}
	}
	done.Unwritten = r.write(to, end, outcome, done)
	done.Files = to.listed()
	done.found = judge(outer, r.Fabric, done.Summary, r.opts.Invariants, done.Folder)
	if j, ok := r.engine.(Judging); ok {
		done.found = j.Judge(done.Summary, done.found)
	}
	done.found.Aborted = r.aborted
	done.Expected = Judge(r.Fabric.Expect, done.Summary)
	done.Verdict = done.found.WithExpectations(done.Expected)
	return done, nil
}

// write writes all files of a run.
func (r *Run) write(to *Folder, end units.Time, outcome *metrics.Outcome, done *Result) error {
	if err := r.record.end(end, outcome); err != nil || to.stage == nil {
		return err
	}
	if r.opts.FlowTrace {
		if err := to.flowTrace(r.Fabric); err != nil {
			return err
		}
	}
	if r.opts.Extra != nil {
		if err := r.opts.Extra(to); err != nil {
			return err
		}
	}
	if err := to.tables(outcome, r.Fabric.Config, r.opts.CSV); err != nil {
		return err
	}
	if r.opts.Report != nil {
		if done.NoReport = r.opts.Report(to, done.Summary); errors.As(done.NoReport, new(*WriteError)) {
			return done.NoReport
		}
	}
	// The summary is written last: a folder with a summary is complete.
	if err := to.File(SummaryFile, "all numbers of the run", done.Summary.Write); err != nil {
		return err
	}
	return to.stage.Commit()
}
