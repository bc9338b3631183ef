package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/record/openmetrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// sweepFlags are the flags of commands that run a scenario many times.
type sweepFlags struct {
	run     runFlags
	vary    []string
	seeds   string
	metrics string
	resume  bool
	shardFlags
	nats    natsFlags
	network *network
}

func (f *sweepFlags) register(cmd *cobra.Command) {
	f.run.register(cmd)
	registerSeeds(cmd, &f.seeds)
	registerMetrics(cmd, &f.metrics)
	cmd.Flags().BoolVar(&f.run.report, "report", true, "write report.html, too; --report=false saves its time")
	cmd.Flags().StringArrayVar(&f.vary, "vary", nil, "values of a key: `KEY=A,B,C`; a value may be {...}, [...] or a range such as 0.1..0.9/0.2 (repeatable: all combinations)")
}

func registerSeeds(cmd *cobra.Command, seeds *string) {
	cmd.Flags().StringVar(seeds, "seeds", "", "run with several `SEEDS`: how many (5: from --seed or the scenario's seed on), or which (1,2,5)")
}

func registerMetrics(cmd *cobra.Command, metrics *string) {
	cmd.Flags().StringVar(metrics, "metric", "", "`COLUMNS` of the table: names as printed, or paths in summary.json, joined by commas, such as fct.p99,pauses.pauses")
}

// columns are the metrics that the flag names.
func columns(flag string) []string {
	if flag == "" {
		return nil
	}
	var list []string
	for _, m := range strings.Split(flag, ",") {
		list = append(list, strings.TrimSpace(m))
	}
	return list
}

func (a *app) sweepCommand() *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE --vary KEY=a,b,c ...",
		Short: "Run a scenario over a grid of values and seeds",
		Long: `Runs a scenario with every combination of the values of --vary and every seed, on
all cores, and writes one table: sweep.csv, sweep.parquet and sweep.json. Every
point is a results folder of its own.

A sweep that was interrupted, or killed, goes on with --resume. Finished points
are used again when scenario, program and options are the same.

  xoff sweep mine.yaml --vary switch.policy.alpha=1/16,1/8,1/4 --seeds 5
  xoff sweep mine.yaml --vary 'hosts.cc={name: dcqcn},{name: none}' --vary workload[0].load.share=0.2..0.8/0.2

With --shard it computes one part of the points, as one of several tasks on as many
machines; xoff sweep plan writes what Slurm and Kubernetes need for it, xoff sweep
status says how far they are, xoff sweep merge makes one table of it. With --nats, xoff
worker on any number of machines computes the points (docs/cluster.md).`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.plan != "" {
				return f.checkPlanned(cmd, args)
			}
			return oneFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if f.network, err = f.nats.check(cmd); err != nil {
				return err
			}
			if f.plan != "" {
				return a.plannedTask(cmd, f)
			}
			if err := f.varies(); err != nil {
				return err
			}
			if f.shard != "" {
				return a.ownTask(cmd, args[0], f)
			}
			t, err := a.sweep(cmd, args[0], f, "sweep")
			if err != nil {
				return err
			}
			return a.finishSweep(t, func(w *sheet) {
				w.sheet(t.Cells(columns(f.metrics)))
			})
		},
	}
	f.register(cmd)
	registerResume(cmd, f)
	registerCounting(cmd, &f.run.counted)
	f.shardFlags.register(cmd)
	f.nats.register(cmd)
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-sweep)")
	a.simulationFlags(cmd)
	cmd.AddCommand(a.sweepPlanCommand(), a.sweepStatusCommand(), a.sweepMergeCommand())
	return cmd
}

func registerResume(cmd *cobra.Command, f *sweepFlags) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "go on with the sweep in the folder")
}

// varies refuses a sweep of one point.
func (f *sweepFlags) varies() error {
	if len(f.vary) == 0 && f.seeds == "" {
		return failf(exitInput, "nothing is varied; allowed: --vary KEY=a,b,c, --seeds N, or both")
	}
	return nil
}

// runSeeds is `xoff run --seeds`: a sweep over nothing but seeds, summed up by
// metric.
func (a *app) runSeeds(cmd *cobra.Command, file, seeds string, f *runFlags) error {
	t, err := a.sweep(cmd, file, &sweepFlags{run: *f, seeds: seeds, resume: true}, "seeds")
	if err != nil {
		return err
	}
	return a.finishSweep(t, func(w *sheet) { w.sheet(t.Statistics()) })
}

// swept is a table, the folder it was written to, and its page, if there is one.
type swept struct {
	*sweep.Table
	folder, page string
}

// maxReportPoints is up to how many points a sweep writes its page unasked: some
// seconds is what it may take longer.
const maxReportPoints = 1000

// prepared is a sweep whose points are ready to run.
type prepared struct {
	grid    *sweep.Grid
	points  []*sweep.Point
	runner  *sweep.Runner
	options run.Options
	meter   *meter
	counts  *counting // nil: nobody wants any
}

// prepareSweep makes the points of the grid ready that the flags describe.
func (a *app) prepareSweep(cmd *cobra.Command, file string, f *sweepFlags, kind string) (*prepared, error) {
	if err := f.run.check(); err != nil {
		return nil, err
	}
	if err := a.startRuns(); err != nil {
		return nil, err
	}
	g, base, err := a.grid(cmd, file, f)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	m := a.newMeter()
	p := &prepared{grid: g, meter: m, options: f.run.options(), runner: a.newRunner(a.folderFor(base.Name+"-"+kind), m)}
	counts, err := newCounting(f.run.counted, &openmetrics.Sweep{})
	if err != nil {
		return nil, err
	}
	if p.counts = counts; counts != nil {
		show := p.runner.Progress
		p.runner.Progress = func(at sweep.Progress) {
			counts.sweeps(at)
			show(at)
		}
	}
	p.runner.Simulate(p.options)
	if p.points, err = p.runner.Prepare(cmd.Context(), g, sweep.Shown(&p.options), columns(f.metrics)); err != nil {
		return nil, prepareError(cmd, err)
	}
	return p, nil
}

// openSweep makes the folder ready, or another one if it holds results of another scenario.
func (a *app) openSweep(p *prepared, o sweep.Opening) error {
	wanted := p.runner.Store.Folder
	if err := p.runner.Store.Open(p.grid, p.points, o); err != nil {
		if errors.Is(err, sweep.ErrExists) {
			return wrap(exitInput, err)
		}
		return wrap(exitFailure, err)
	}
	a.tellMoved(wanted, p.runner.Store.Folder)
	return nil
}

// sweep runs the grid that the flags describe.
func (a *app) sweep(cmd *cobra.Command, file string, f *sweepFlags, kind string) (*swept, error) {
	p, err := a.prepareSweep(cmd, file, f, kind)
	if err != nil {
		return nil, err
	}
	if err := a.openSweep(p, sweep.Opening{Resume: f.resume, Force: f.run.force}); err != nil {
		return nil, err
	}
	store := &p.runner.Store
	defer store.Close()
	rows, err := a.runPoints(cmd.Context(), p.runner, p.meter, p.points, p.points[0].Config.Name, f.network, &p.options)
	p.meter.clear()
	a.tellCounting(p.counts)
	if err != nil {
		return nil, sweepError(cmd.Context(), err, rows, store.Folder, "the same command with --resume goes on")
	}
	return a.saveSweep(store, p.grid, rows, f.run.report)
}

// saveSweep writes the table of a sweep and, if wanted, its page.
func (a *app) saveSweep(store *sweep.Store, g *sweep.Grid, rows []sweep.Row, page bool) (*swept, error) {
	over := a.meanwhile(fmt.Sprintf("makes the table of %d points", len(rows)))
	t, err := sweep.NewTable(g, rows, store)
	if err == nil {
		err = errors.Join(store.Save(t), store.Tidy())
	}
	over()
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	done := &swept{Table: t, folder: store.Folder}
	store.Close()
	switch {
	case !page:
	case len(t.Rows) > maxReportPoints:
		fmt.Fprintf(a.err, "xoff: the page of %d points takes its time; xoff report %s writes it\n", len(t.Rows), store.Folder)
	default:
		done.page = a.leaveReport([]string{store.Folder}, store.Folder)
	}
	return done, nil
}

func sweepError(ctx context.Context, err error, rows []sweep.Row, folder, again string) error {
	var f *failure
	if errors.As(err, &f) {
		return err // before anything ran
	}
	done := 0
	for _, r := range rows {
		if r.Results {
			done++
		}
	}
	kept := fmt.Sprintf("%d of %d points are finished and kept in %s; %s", done, len(rows), folder, again)
	if ctx.Err() != nil {
		return failf(exitInterrupted, "interrupted: %s", kept)
	}
	return failf(exitFailure, "%w; %s", err, kept)
}

// grid reads the scenario and what is varied.
func (a *app) grid(cmd *cobra.Command, file string, f *sweepFlags) (*sweep.Grid, *scenario.Config, error) {
	g, err := sweep.ReadGrid(file)
	if err != nil {
		return nil, nil, err
	}
	g.Set = f.run.settings()
	for _, v := range f.vary {
		axis, err := sweep.ParseAxis(v)
		if err != nil {
			return nil, nil, fmt.Errorf("--vary: %w", err)
		}
		g.Axes = append(g.Axes, axis)
	}
	base, err := g.Base()
	if err != nil {
		return nil, nil, err
	}
	first := base.Seed
	if cmd.Flags().Changed("seed") {
		first = a.seed
		g.Seeds = []uint64{first}
	}
	if f.seeds != "" {
		if g.Seeds, err = sweep.ParseSeeds(f.seeds, first); err != nil {
			return nil, nil, fmt.Errorf("--seeds: %w", err)
		}
	}
	return g, base, nil
}

// finishSweep prints a sweep and turns what its points found into an exit code.
func (a *app) finishSweep(t *swept, text func(*sheet)) error {
	var err error
	switch {
	case a.json:
		err = t.WriteJSON(a.out)
	case !a.quiet:
		w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
		w.line("%s, %d points", color.New(color.Bold).Sprint(t.Scenario), len(t.Rows))
		w.line("")
		text(w)
		w.line("")
		w.line("files")
		sep := string(os.PathSeparator)
		if t.page != "" {
			w.line("  %s\ttables and figures, for a browser", t.page)
		}
		w.line("  %s\tone row per point; .parquet and .json hold the same", t.folder+sep+"sweep.csv")
		w.line("  %s\tthe results of each point", t.folder+sep+"points"+sep)
		err = w.flush()
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	return a.sweepVerdict(t)
}

func (a *app) sweepVerdict(t *swept) error {
	bad := 0
	first := ""
	for _, r := range t.Rows {
		if r.Verdict.Code != 0 {
			if bad == 0 {
				first = r.Point.Label + ": " + r.Verdict.Message
			}
			bad++
		}
	}
	if bad == 0 {
		return nil
	}
	return failf(t.Code(), "%d of %d points failed; the first: %s", bad, len(t.Rows), first)
}
