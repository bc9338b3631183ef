package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/batch/tune"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/scenario"
)

// tuneFlags are the flags of xoff tune.
type tuneFlags struct {
	run     runFlags
	ask     tune.Question
	runs    int
	seeds   string
	confirm int
	batch   int
	resume  bool
	shard   string
	chip    string
	nats    natsFlags
	network *network
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	f.run.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.ask.Vary, "vary", nil, "`KEY=RANGE` of a key: LOW..HIGH or A,B,C; numbers, ratios, sizes, times, rates or words (repeatable)")
	flags.StringArrayVar(&f.ask.Minimise, "minimize", nil, "`METRIC` to minimise: a printed name or a path in summary.json; a second goal gives a trade-off curve")
	flags.StringArrayVar(&f.ask.Maximise, "maximize", nil, "`METRIC` to maximise")
	flags.StringArrayVar(&f.ask.SubjectTo, "subject-to", nil, "`CONDITION` for every seed, such as drops.lossless=0 or 'fct.p99<=200us' (repeatable)")
	flags.IntVar(&f.runs, "runs", 80, "maximum number `N` of runs; a run is one setting with one seed")
	flags.StringVar(&f.seeds, "seeds", "3", "`SEEDS` of every setting: a number such as 3, or a list such as 1,2,5")
	flags.IntVar(&f.confirm, "confirm", -1, "number `N` of fresh seeds that compare the best setting with today's; 0: none (default: an eighth of --runs, from 3 to 10)")
	flags.IntVar(&f.batch, "batch", 4, "number `N` of settings that the local search tries at a time; results depend on it")
	flags.BoolVar(&f.resume, "resume", false, "continue the search in the output folder")
	registerShard(cmd, &f.shard)
	flags.StringVar(&f.chip, "chip", "", "`NAME` of the switches' chip, to write patches of config_db.json (see docs/sonic.md)")
	f.nats.register(cmd)
}

// check rejects invalid values.
func (f *tuneFlags) check(cmd *cobra.Command) error {
	switch {
	case f.batch < 1 || f.batch > 1000:
		return failf(exitInput, "--batch is %d (expected 1 to 1000)", f.batch)
	case cmd.Flags().Changed("confirm") && (f.confirm < 0 || f.confirm == 1 || f.confirm > 1000):
		return failf(exitInput, "--confirm is %d (expected 0, or 2 to 1000)", f.confirm)
	case f.runs > maxTuneRuns:
		return failf(exitInput, "--runs is %d (expected at most %d)", f.runs, maxTuneRuns)
	case !cmd.Flags().Changed("confirm"):
		f.confirm = min(max(f.runs/8, 3), 10)
	}
	return f.run.check()
}

// maxTuneRuns keeps a typing error from filling the disk.
const maxTuneRuns = 20_000

func (a *app) tuneCommand() *cobra.Command {
	f := &tuneFlags{}
	cmd := &cobra.Command{
		Use:   "tune FILE --vary KEY=LOW..HIGH ... --minimize METRIC",
		Short: "Find settings that improve a metric",
		Long: `Find values of keys that improve one or two metrics and satisfy constraints. The search
tries Sobol points, then settings near the best one. All settings run with the same
seeds; settings that are clearly worse end early. Fresh seeds then compare the best
setting with today's. Print the best setting, the 95 % interval of its gain and the
effect of each key; write a patch, tables and figures. See docs/tune.md.

  xoff tune mine.yaml --vary switch.policy.alpha=1/64..1 --vary switch.ecn.kmin=20KB..400KB \
    --minimize workloads.rdma.slowdown.p99 --subject-to drops.lossless=0 --runs 80 --seeds 3

The exit code is 1 if no setting satisfies the constraints. --resume continues an
interrupted search with the same result. --shard computes a part of the first points,
for several machines; the same command with --resume instead of --shard then searches.
With --nats, xoff worker computes the points.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			var err error
			if f.network, err = f.nats.check(cmd); err != nil {
				return err
			}
			return a.tune(cmd, args[0], f)
		},
	}
	f.register(cmd)
	pointLimitFlag(cmd)
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-tune)")
	a.simulationFlags(cmd)
	return cmd
}

// tune searches for settings and prints the answer.
func (a *app) tune(cmd *cobra.Command, file string, f *tuneFlags) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	g, base, err := a.grid(cmd, file, &sweepFlags{run: f.run, seeds: f.seeds})
	if err != nil {
		return wrap(exitInput, err)
	}
	s, err := tune.NewStudy(g, &f.ask)
	if err != nil {
		return wrap(exitInput, err)
	}
	s.Seeds, s.Fresh = g.Seeds, freshSeeds(g.Seeds, f.confirm)
	s.Runs, s.Batch, s.Resets = f.runs, f.batch, true
	s.Options.Seeds, s.Confirm = len(s.Seeds), len(s.Fresh)
	if least := s.MinRuns(len(s.Ranges)); f.runs < least {
		return failf(exitInput, "--runs is %d (expected at least %d for --seeds %d, --confirm %d and varied keys: %d)", f.runs, least, len(s.Seeds), f.confirm, len(s.Ranges))
	}
	chips, err := (&sonic.Extra{Chip: f.chip}).Choices()
	if err != nil {
		return wrap(exitInput, err)
	}
	m, o := a.newMeter(), f.run.options()
	r := a.newRunner(a.folderFor(base.Name+"-tune"), m)
	if r.Limit, err = pointLimit(cmd); err != nil {
		return err
	}
	r.Simulate(o)
	show := r.Progress
	r.Progress = func(p sweep.Progress) {
		if done, most := s.Ran(); !p.Preparing {
			p.Share = (float64(done) + p.Share*float64(p.Total)) / float64(most)
			p.Done, p.Total = p.Done+done, most
			show(p)
		}
	}
	points, err := s.Prepare(cmd.Context(), r, sweep.OptionsKey(&o), &f.ask)
	if err == nil && f.chip != "" {
		err = s.CheckSwitches(chips.Need)
	}
	if err != nil {
		return prepareError(cmd, err)
	}
	if !a.quiet {
		for _, n := range s.Notes {
			fmt.Fprintf(a.err, "xoff: %s: %s\n", a.warning(), n)
		}
	}
	p := &prepared{grid: g, points: points, runner: r, meter: m, options: o}
	if f.shard != "" {
		return a.tuneTask(cmd, p, s, f)
	}
	if err := a.openSweep(p, sweep.Opening{Resume: f.resume, Force: f.run.force}); err != nil {
		return err
	}
	defer r.Store.Close()
	answer, err := a.searchTune(cmd.Context(), p, s, f.network)
	m.clear()
	if err != nil {
		done, _ := s.Ran()
		return tuneError(cmd.Context(), err, done, r.Store.Folder)
	}
	files, err := answer.Save()
	if err != nil {
		return wrap(exitFailure, err)
	}
	switch {
	case f.chip != "":
		list, err := answer.SwitchPatches(chips.Need)
		if err != nil {
			fmt.Fprintf(a.err, "xoff: %s: no patch of config_db.json: %v\n", a.warning(), err)
		}
		for _, x := range list {
			path := filepath.Join(r.Store.Folder, "config_db", x.Switch+".json")
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), disk.WriteFile(path, func(w io.Writer) error {
				_, err := w.Write(x.Text)
				return err
			})); err != nil {
				return wrap(exitFailure, err)
			}
			files = append(files, tune.File{Path: path, About: "for config apply-patch"})
		}
	case len(answer.Set) > 0 && base.Switch.FlowControl.Name == "sonic" && !a.quiet:
		fmt.Fprintln(a.err, "xoff: no patch of config_db.json without --chip NAME")
	}
	return a.finishTune(answer, files)
}

// freshSeeds returns n seeds after the seeds of a search.
func freshSeeds(seeds []uint64, n int) []uint64 {
	var list []uint64
	for next := slices.Max(seeds) + 1; len(list) < n; next++ {
		if !slices.Contains(seeds, next) { // it may overflow
			list = append(list, next)
		}
	}
	return list
}

// searchTune searches on this machine, or on workers.
func (a *app) searchTune(ctx context.Context, p *prepared, s *tune.Study, n *network) (*tune.Answer, error) {
	ctx, stop, err := a.offer(ctx, p.runner, p.meter, p.points[0].Config.Name, n, &p.options)
	if err != nil {
		return nil, err
	}
	defer stop()
	return s.Search(ctx)
}

// tuneError describes an error or interruption of a search.
func tuneError(ctx context.Context, err error, done int, folder string) error {
	var f *failure
	var in *scenario.InputError
	switch {
	case errors.As(err, &f):
		return err
	case errors.As(err, &in):
		return wrap(exitInput, fmt.Errorf("no setting can run: %w", err))
	case ctx.Err() != nil:
		return failf(exitInterrupted, "interrupted: at least %d runs are finished, in %s; the same command with --resume continues", done, folder)
	}
	return failf(exitFailure, "%w; the runs are in %s; the same command with --resume continues", err, folder)
}

// tuneTask computes a part of the points that a search runs in any case.
func (a *app) tuneTask(cmd *cobra.Command, p *prepared, s *tune.Study, f *tuneFlags) error {
	shard, err := sweep.ParseShard(f.shard, 0, os.Getenv)
	if err != nil {
		return failf(exitInput, "--shard: %w", err)
	}
	if p.points, err = s.First(cmd.Context()); err != nil {
		return prepareError(cmd, err)
	}
	plan, err := sweep.NewPlan(p.grid, p.points, shard.Of, &p.options)
	if err != nil {
		return wrap(exitInput, err)
	}
	err = a.runTask(cmd, p.runner, p.meter, plan, shard, plan.Own(p.points, shard), f.run.force)
	var bad *failure
	if errors.As(err, &bad) && cmd.Context().Err() == nil && !strings.Contains(bad.Error(), "--force") {
		return nil // settings that fail are a part of the search
	}
	return err
}

// finishTune prints an answer. It returns an error if no setting satisfies the constraints.
func (a *app) finishTune(t *tune.Answer, files []tune.File) error {
	var err error
	switch {
	case a.json:
		err = t.WriteJSON(a.out)
	case !a.quiet:
		err = a.printTune(t, files)
	}
	switch {
	case err != nil:
		return wrap(exitFailure, err)
	case t.Verdict == tune.Infeasible:
		return failf(exitFailure, "%s", t.Message)
	}
	return nil
}

func (a *app) printTune(t *tune.Answer, files []tune.File) error {
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	ended := ""
	if t.Exhausted {
		ended = "; every combination was tried"
	}
	w.line("%s, %d runs of %d settings, %d seeds%s", color.New(color.Bold).Sprint(t.Scenario), t.Runs, len(t.Settings), len(t.Seeds), ended)
	if t.Invalid > 0 {
		w.line("%d settings cannot run, such as thresholds in the wrong order", t.Invalid)
	}
	w.line("")
	table := func(x *tune.Table, keys int) {
		w.fitted(x.Head, keys, x.Lines)
		w.line("")
	}
	if t.Verdict != tune.Infeasible {
		table(t.KeyTable(), 1)
	}
	if len(t.Gains) > 0 {
		table(t.GainTable(), 1)
	}
	if len(t.Front) > 0 {
		w.line("trade-off: no other setting is better in both goals")
		table(t.SettingTable(t.Front), 1+len(t.Keys))
	}
	w.line("%s", t.Message)
	if len(t.Set) > 0 && t.Verdict != tune.Worse {
		flags := ""
		for _, set := range t.Set {
			if strings.ContainsAny(set, " {}[]*?\"") {
				set = "'" + set + "'"
			}
			flags += " --set " + set
		}
		w.line("to use it:%s", flags)
	}
	w.line("")
	w.line("files")
	for _, f := range files {
		w.line("  %s\t%s", f.Path, f.About)
	}
	return w.flush()
}
