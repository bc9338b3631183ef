// Package run is the one way to run a scenario: it builds the fabric, drives an
// engine, writes a folder of results and says what is to be thought of them. Every
// command runs scenarios by it, and so can programs of others:
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

// Options are choices of a run. But for the files that are written none of them
// changes a result. The zero value runs on one core and writes nothing.
type Options struct {
	Folder     string     // takes the results; empty: nothing is written
	Force      bool       // overwrite results of another scenario; otherwise these get another folder
	Engine     Engine     // Fast unless said otherwise
	Workers    int        // goroutines that simulate; 0: one
	Invariants Invariants // checked while it runs
	CSV        bool       // every table as text, too
	FlowTrace  bool       // the flows as a trace, and a scenario that replays it
	// Progress is called from time to time, while the engine stands still; it may be
	// nil.
	Progress func(Progress)
	// Watchers see what happens at nodes, besides the probes of the scenario.
	Watchers []Watcher
	// Extra writes more files into the folder, at the end; it may be nil.
	Extra func(*Folder) error
	// Report writes a report of the tables in the folder, before the summary; it may be
	// nil. Results are kept without it if it fails: see Result.NoReport.
	Report func(*Folder, *metrics.Summary) error
	// Drive makes what drives the scenario in place of an engine of the simulator; it may be
	// nil. Progress is to be called from time to time, while all nodes stand at the same
	// time.
	Drive func(b *fabric.Fabric, progress func(now units.Time)) (Driver, error)
	// Here says which nodes it drives; see fabric.Options.
	Here []bool
	// WindowDivisor shortens the windows of the fast engine; tests show that no
	// result depends on it.
	WindowDivisor int
}

// Engine names an engine.
type Engine string

// Engines.
const (
	Fast   Engine = "fast"   // node windows, parallel
	Oracle Engine = "oracle" // one global heap; slow, same results
)

// Engines lists the engines.
func Engines() []string { return []string{string(Fast), string(Oracle)} }

// Invariants says what is done about the invariants of the model.
type Invariants string

// What is done about invariants.
const (
	Off    Invariants = "off"
	Count  Invariants = "count"
	Strict Invariants = "strict" // the run ends at the first that breaks
)

// Checking lists the ways to treat invariants.
func Checking() []string { return []string{string(Off), string(Count), string(Strict)} }

// Progress is how far a run is. Looking costs time: it is called every few
// microseconds of simulated time, and needed far less often.
type Progress struct {
	Now units.Time
	run *Run
}

// Share is how much of the work is done, as far as anyone can tell.
func (p Progress) Share() float64 { return p.run.share(p.Now) }

// Hops are the frames that finished a link so far.
func (p Progress) Hops() uint64 { return p.run.engine.Totals().Hops }

// Counters are what the run counted so far.
func (p Progress) Counters() (sim.Totals, sim.Counters) {
	return p.run.engine.Totals(), p.run.engine.Counters()
}

// Watcher sees what happens at every node of a run.
type Watcher interface {
	// Sink returns what watches a node.
	Sink(node int) probe.Sink
	// Bind comes before the run starts, when everything is built.
	Bind(b *fabric.Fabric) error
	// Flush comes from time to time and at the end, while all nodes stand at the same
	// time.
	Flush() error
}

// Recording is a watcher that writes files of results while the run goes.
type Recording interface {
	Watcher
	// Open comes before the run, with what begins a file of the folder; without a folder
	// what is written is dropped.
	Open(create func(name, what string) (io.Writer, error)) error
	// Close comes at the end of the run, after the last Flush.
	Close(o *metrics.Outcome) error
}

// Driver is what drives a built scenario, such as an engine of the simulator.
type Driver interface {
	// Run runs to the end, or to that of the context, whose error it returns then, and
	// returns the time at which it ended.
	Run(ctx context.Context) (units.Time, error)
	Totals() sim.Totals
	Final() sim.Counters
	Counters() sim.Counters
}

// Judging is a driver that has a say in the verdict: it may have decided results itself.
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
	aborted bool // an expectation broke that ends the run
}

// Result is a run that ended.
type Result struct {
	Fabric   *fabric.Fabric
	Outcome  *metrics.Outcome // flow by flow and port by port
	Summary  *metrics.Summary
	Wall     time.Duration
	Verdict  Verdict
	Expected []Expected // what was expected, in order
	Folder   string     // that the files are in: that of the options, or NAME-2 and so on if another scenario's results are there
	Files    []File     // that were written
	// Unwritten is why the results are not in their folder; nil: they are, or none was
	// named.
	Unwritten error
	NoReport  error // why there is no report, though one was wanted
	found     Verdict
}

// Found is the verdict without what the scenario expects, which is no part of the
// results.
func (r *Result) Found() Verdict { return r.found }

// Scenario runs a scenario. An error means that there are no results: the scenario
// has a mistake (an *scenario.InputError), or the machine failed. A run that is
// interrupted by its context has results that say so.
func Scenario(ctx context.Context, cfg *scenario.Config, o Options) (*Result, error) {
	r, err := New(cfg, o)
	if err != nil {
		return nil, err
	}
	return r.Start(ctx)
}

// New makes a scenario ready to start.
func New(cfg *scenario.Config, o Options) (*Run, error) {
	built, err := fabric.New(cfg, o.BuildOptions())
	if err != nil {
		return nil, cfg.Locate(err)
	}
	return Prepare(built, o)
}

// BuildOptions are what the options mean for building.
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

// Prepare is New for what was built already, with BuildOptions.
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
	var err error
	switch {
	case o.Drive != nil:
		r.engine, err = o.Drive(built, r.progress)
	case o.Engine == Oracle:
		r.engine, err = sim.NewOracle(built.Spec, sim.OracleOptions{Progress: r.progress})
	case o.Engine == Fast || o.Engine == "":
		r.engine, err = sim.NewFast(built.Spec, sim.Options{Workers: max(1, o.Workers), WindowDivisor: o.WindowDivisor, Progress: r.progress})
	default:
		err = fmt.Errorf("engine %q is unknown; allowed: fast, oracle", o.Engine)
	}
	if err != nil {
		return nil, err
	}
	r.record.watchers = o.Watchers
	return r, nil
}

// progress also ends a strict run at the next check after an invariant broke.
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

// share estimates how much of the run is done, from what ends it.
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

// Start runs to the end, or to that of the context: then the results are partial. It
// writes them either way.
func (r *Run) Start(ctx context.Context) (*Result, error) {
	to, err := newFolder(r.opts.Folder, r.Fabric.Config, r.opts.Force) // now, rather than after an hour of work
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
	done.Unwritten = r.write(to, end, outcome, done)
	done.Files = to.listed()
	done.found = judge(outer, r.Fabric, done.Summary, r.opts.Invariants, done.Folder)
	if j, ok := r.engine.(Judging); ok {
		done.found = j.Judge(done.Summary, done.found)
	}
	done.found.Aborted = r.aborted
	done.Expected = Judge(r.Fabric.Expect, done.Summary)
	done.Verdict = done.found.Expecting(done.Expected)
	return done, nil
}

// write writes every file of a run.
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
	// The summary comes last: a folder that has one is complete.
	if err := to.File(SummaryFile, "the numbers above, and more", done.Summary.Write); err != nil {
		return err
	}
	return to.stage.Commit()
}
