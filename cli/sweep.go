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
	all     bool // compare: print all metrics
	shardFlags
	nats    natsFlags
	network *network
}

func (f *sweepFlags) register(cmd *cobra.Command) {
	f.run.register(cmd)
	registerSeeds(cmd, &f.seeds)
	registerMetrics(cmd, &f.metrics)
	registerReport(cmd, &f.run.report)
	cmd.Flags().StringArrayVar(&f.vary, "vary", nil, "`KEY=A,B,C`: values of a key; a value may be {...}, [...] or a range such as 0.1..0.9/0.2 (repeatable: all combinations)")
}

func registerSeeds(cmd *cobra.Command, seeds *string) {
	cmd.Flags().StringVar(seeds, "seeds", "", "`SEEDS` to run: a number such as 5 (consecutive seeds from --seed or the scenario's seed), or a list such as 1,2,5")
}

func registerMetrics(cmd *cobra.Command, metrics *string) {
	cmd.Flags().StringVar(metrics, "metric", "", "`COLUMNS` of the table, comma-separated: printed names or paths in summary.json, such as fct.p99,pauses.pauses")
}

// columns splits the value of --metric.
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
		Long: `Run a scenario with every combination of the --vary values and every seed, on all
cores. Write one table (sweep.csv, sweep.parquet, sweep.json) and a results folder for
every point.

--resume continues an interrupted sweep. It reuses finished points if scenario, program
and options are the same.

  xoff sweep mine.yaml --vary switch.policy.alpha=1/16,1/8,1/4 --seeds 5
  xoff sweep mine.yaml --vary 'hosts.cc={name: dcqcn},{name: none}' --vary workload[0].load.share=0.2..0.8/0.2

--shard computes one part of the points, as one of several tasks on different machines.
xoff sweep plan writes the files for Slurm or Kubernetes, xoff sweep status prints the
progress, xoff sweep merge writes the table. With --nats, xoff worker computes the
points on other machines (docs/cluster.md).`,
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
				return a.shardTask(cmd, args[0], f)
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
	registerCounting(cmd, &f.run.metrics)
	f.shardFlags.register(cmd)
	f.nats.register(cmd)
	pointLimitFlag(cmd)
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-sweep)")
	a.simulationFlags(cmd)
	cmd.AddCommand(a.sweepPlanCommand(), a.sweepStatusCommand(), a.sweepMergeCommand())
	return cmd
}

func registerResume(cmd *cobra.Command, f *sweepFlags) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "continue the sweep in the output folder")
}

// varies rejects a sweep of one point.
func (f *sweepFlags) varies() error {
	if len(f.vary) == 0 && f.seeds == "" {
		return failf(exitInput, "nothing to vary (expected --vary KEY=a,b,c, --seeds N, or both)")
	}
	return nil
}

// runSeeds implements `xoff run --seeds`: a sweep over seeds only, with statistics per metric.
func (a *app) runSeeds(cmd *cobra.Command, file, seeds string, f *runFlags) error {
	t, err := a.sweep(cmd, file, &sweepFlags{run: *f, seeds: seeds, resume: true}, "seeds")
	if err != nil {
		return err
	}
	return a.finishSweep(t, func(w *sheet) { w.sheet(t.Statistics()) })
}

// swept is the table of a sweep, its folder, and the path of its page, if there is one.
type swept struct {
	*sweep.Table
	folder, page string
}

// maxReportPoints is the largest number of points for which a sweep writes its page. It
// keeps the time for the page to a few seconds.
const maxReportPoints = 1000

// prepared is a sweep whose points are ready to run.
type prepared struct {
	grid    *sweep.Grid
	points  []*sweep.Point
	runner  *sweep.Runner
	options run.Options
	meter   *meter
	counts  *counting // nil: no --metrics
}

// prepareSweep prepares the points of the grid that the flags describe.
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
	if p.runner.Limit, err = pointLimit(cmd); err != nil {
		return nil, err
	}
	counts, err := newCounting(f.run.metrics, &openmetrics.Sweep{})
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
	if p.points, err = p.runner.Prepare(cmd.Context(), g, sweep.OptionsKey(&p.options), columns(f.metrics)); err != nil {
		return nil, prepareError(cmd, err)
	}
	return p, nil
}

// openSweep opens the folder, or another one if it has results of another scenario.
func (a *app) openSweep(p *prepared, o sweep.Opening) error {
	wanted := p.runner.Store.Folder
	if err := p.runner.Store.Open(p.grid, p.points, o); err != nil {
		if errors.Is(err, sweep.ErrExists) {
			return wrap(exitInput, err)
		}
		return wrap(exitFailure, err)
	}
	if got := p.runner.Store.Folder; got != wanted && o.Keep {
		fmt.Fprintf(a.err, "xoff: %s has results of another scenario, or values and seeds that this command does not have: wrote to %s (--force overwrites)\n", wanted, got)
	} else {
		a.warnMoved(wanted, got)
	}
	return nil
}

// sweep runs the grid that the flags describe.
func (a *app) sweep(cmd *cobra.Command, file string, f *sweepFlags, kind string) (*swept, error) {
	p, err := a.prepareSweep(cmd, file, f, kind)
	if err != nil {
		return nil, err
	}
	if err := a.openSweep(p, sweep.Opening{Resume: f.resume, Force: f.run.force, Keep: kind != "sweep"}); err != nil {
		return nil, err
	}
	store := &p.runner.Store
	defer store.Close()
	rows, err := a.runPoints(cmd.Context(), p.runner, p.meter, p.points, p.points[0].Config.Name, f.network, &p.options)
	p.meter.clear()
	a.warnCounting(p.counts)
	if err != nil {
		return nil, sweepError(cmd.Context(), err, rows, store.Folder, "the same command with --resume continues")
	}
	return a.saveSweep(store, p.grid, rows, f.run.report, columns(f.metrics))
}

// saveSweep writes the table of a sweep and, if page is true, its page of the chosen metrics.
func (a *app) saveSweep(store *sweep.Store, g *sweep.Grid, rows []sweep.Row, page bool, metrics []string) (*swept, error) {
	stopMeter := a.showWorking(fmt.Sprintf("writing the table of %d points", len(rows)))
	t, err := sweep.NewTable(g, rows, store)
	if err == nil {
		err = errors.Join(store.Save(t), store.Tidy())
	}
	stopMeter()
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	done := &swept{Table: t, folder: store.Folder}
	store.Close()
	switch {
	case !page:
	case len(t.Rows) > maxReportPoints:
		fmt.Fprintf(a.err, "xoff: no report of %d points, which takes long; xoff report %s writes it\n", len(t.Rows), store.Folder)
	default:
		done.page = a.writeComparison([]string{store.Folder}, store.Folder, metrics)
	}
	return done, nil
}

// sweepError describes an error or interruption of a sweep: how many points are finished,
// and how to continue.
func sweepError(ctx context.Context, err error, rows []sweep.Row, folder, again string) error {
	var f *failure
	if errors.As(err, &f) {
		return err // no point was started
	}
	done := 0
	for _, r := range rows {
		if r.Results {
			done++
		}
	}
	kept := fmt.Sprintf("%d of %d points are finished, in %s; %s", done, len(rows), folder, again)
	if ctx.Err() != nil {
		return failf(exitInterrupted, "interrupted: %s", kept)
	}
	return failf(exitFailure, "%w; %s", err, kept)
}

// grid reads the scenario, and the values and seeds to vary.
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

// finishSweep prints a sweep and returns an error if points failed.
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
		w.line("  %s\tone row per point; also as .parquet and .json", t.folder+sep+"sweep.csv")
		w.line("  %s\tresults of each point", t.folder+sep+"points"+sep)
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
	return failf(t.Code(), "%d of %d points failed; first: %s", bad, len(t.Rows), first)
}
