package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/batch/reproduce"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/run"
)

// reproduceFlags are the flags of `xoff reproduce`.
type reproduceFlags struct {
	run    runFlags // defaults only: experiments define their runs
	from   string
	list   bool
	scale  string
	save   bool
	render bool
	data   string
	verify int
	pick   string
	shard  string
	nats   natsFlags

	network *network

	figures figureFiles
}

// reproductionFolder is the default folder of the documents. Its subfolder data is the default
// folder of stored results.
const reproductionFolder = "docs/reproduction"

func (a *app) reproduceCommand() *cobra.Command {
	f := &reproduceFlags{run: runFlags{invariants: string(run.Off), engine: string(run.Fast), divisor: 1}}
	cmd := &cobra.Command{
		Use:   "reproduce [ID...]",
		Short: "Reproduce figures of papers and judge their claims",
		Long: `Run built-in experiments on all cores and compare the results with the claims of the
papers. IDs are figures (dsh/5) or papers (dsh); the default is all.

  xoff reproduce --list
  xoff reproduce dsh/5 dsh/6 --scale quick

--save stores the results. --render writes the documents from stored results: the page
of the paper and the scoreboard README.md.

  xoff reproduce dsh --scale paper --save
  xoff reproduce dsh --render

After an interruption, the same command continues: finished points are reused, unless
xoff was rebuilt. With --save, an interrupted command also writes *.part.json to the
folder of --data. With these files the same program continues on any machine.

--shard computes one part of the points, as one of several tasks on different machines;
the same command without --shard then judges the results. With --nats, xoff worker
computes the points on other machines (docs/cluster.md).`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if f.scale != reproduce.Quick && f.scale != reproduce.Full {
				return wrap(exitInput, registry.Unknown("scale", f.scale, []string{reproduce.Quick, reproduce.Full}))
			}
			if err := f.figures.check(); err != nil {
				return err
			}
			if f.shard != "" && (f.list || f.render || cmd.Flags().Changed("verify")) {
				return failf(exitInput, "--shard cannot be combined with --list, --render or --verify")
			}
			var err error
			if f.network, err = f.nats.check(cmd); err != nil {
				return err
			}
			all, err := f.experiments()
			if err != nil {
				return wrap(exitInput, err)
			}
			chosen, err := reproduce.Choose(all, ids)
			if err != nil {
				return wrap(exitInput, err)
			}
			switch {
			case f.list:
				return wrap(exitFailure, a.listExperiments(chosen))
			case f.render:
				return a.renderExperiments(all, chosen, len(ids) > 0, f)
			case cmd.Flags().Changed("verify"):
				return a.verifyExperiments(cmd, chosen, f)
			}
			if chosen, err = reproduce.At(chosen, ids, f.scale); err != nil {
				return wrap(exitInput, err)
			}
			if f.shard != "" {
				return a.reproduceTask(cmd, chosen, f)
			}
			return a.reproduce(cmd, chosen, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "`FOLDER` with your own experiments, PAPER/FIGURE.yaml (default: the built-in experiments)")
	flags.BoolVar(&f.list, "list", false, "list the experiments with their estimated times")
	flags.StringVar(&f.scale, "scale", reproduce.Quick, "`SCALE`: quick (fewer hosts, shorter) or paper (as published)")
	flags.BoolVar(&f.save, "save", false, "store the results in the folder of --data")
	flags.BoolVar(&f.render, "render", false, "write the documents from stored results, without running anything")
	flags.StringVar(&f.data, "data", filepath.Join(reproductionFolder, "data"), "`FOLDER` of stored results")
	flags.IntVar(&f.verify, "verify", 0, "number `N` of stored points to run again and compare byte by byte")
	f.figures.register(cmd)
	registerShard(cmd, &f.shard)
	f.nats.register(cmd)
	pointLimitFlag(cmd)
	flags.StringVar(&f.pick, "pick", "", "`TEXT` that selects the points of --verify, such as a commit hash")
	a.outputFlag(cmd, "`FOLDER` for results (default results/reproduce) or for the documents of --render (default docs/reproduction)")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// experiments reads the experiments in the folder of --from, or the built-in ones.
func (f *reproduceFlags) experiments() ([]*reproduce.Experiment, error) {
	if f.from == "" {
		return reproduce.BuiltIn()
	}
	return reproduce.ReadFolder(f.from)
}

func (a *app) listExperiments(list []*reproduce.Experiment) error {
	out := reproduce.List(list)
	if a.json {
		return a.printJSON(out)
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("experiment\tfigure\tquick\tpaper\tclaims\ttitle")
	for _, l := range out {
		w.line("%s\t%s\t%s\t%s\t%d\t%s", l.ID, l.Figure, estimate(&l, reproduce.Quick, a.workers), estimate(&l, reproduce.Full, a.workers), len(l.Claims), l.Title)
	}
	w.line("")
	w.line("times are estimates for %d idle cores; experiments share identical points", a.workers)
	return w.flush()
}

// estimate formats the number of points and the estimated time of an experiment at a scale.
func estimate(l *reproduce.Listed, scale string, workers int) string {
	s, ok := l.Scales[scale]
	switch {
	case !ok:
		return "-"
	case s.Points == 0:
		return "computed"
	}
	return fmt.Sprintf("%d runs, %s", s.Points, (time.Duration(s.Seconds/float64(workers)) * time.Second).Round(time.Second))
}

// reproduce runs experiments, judges them and writes their reports.
func (a *app) reproduce(cmd *cobra.Command, list []*reproduce.Experiment, f *reproduceFlags) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	plan, err := reproduce.NewPlan(list, f.scale)
	if err != nil {
		return wrap(exitInput, err)
	}
	folder := a.folderFor("reproduce")
	parts := ""
	if f.save {
		parts = f.data
	}
	results, err := a.runPlan(cmd, plan, f, folder, parts)
	if err != nil {
		return err
	}
	for i, e := range list {
		if err := e.SaveReport(results[i], folder, f.figures.formats); err != nil {
			return wrap(exitFailure, err)
		}
		if f.save && e.Simulated() {
			if err := results[i].Finish(f.data); err != nil {
				return wrap(exitFailure, err)
			}
		}
	}
	if err := a.printJudged(list, results, folder); err != nil {
		return wrap(exitFailure, err)
	}
	return judgedError(list, results)
}

// reproduceTask computes one shard of the points of experiments.
func (a *app) reproduceTask(cmd *cobra.Command, list []*reproduce.Experiment, f *reproduceFlags) error {
	shard, err := sweep.ParseShard(f.shard, 0, os.Getenv)
	if err != nil {
		return failf(exitInput, "--shard: %w", err)
	}
	if err := a.startRuns(); err != nil {
		return err
	}
	plan, err := reproduce.NewPlan(list, f.scale)
	if err != nil {
		return wrap(exitInput, err)
	}
	plan.KeepShard(shard)
	m := a.newMeter()
	r := a.newRunner(a.folderFor("reproduce"), m)
	if r.Limit, err = pointLimit(cmd); err != nil {
		return err
	}
	r.Timed = f.save
	o := f.run.options()
	r.Simulate(o)
	if err := plan.Prepare(cmd.Context(), r, sweep.OptionsKey(&o)); err != nil {
		return prepareError(cmd, err)
	}
	return a.runTask(cmd, r, m, nil, shard, plan.Points, false)
}

// runPlan runs the points of a plan that are not yet stored in folder. If parts is not empty,
// it also reuses the points stored there, and stores finished points there when interrupted.
func (a *app) runPlan(cmd *cobra.Command, plan *reproduce.Plan, f *reproduceFlags, folder, parts string) ([]*reproduce.Result, error) {
	m := a.newMeter()
	r := a.newRunner(folder, m)
	var err error
	if r.Limit, err = pointLimit(cmd); err != nil {
		return nil, err
	}
	r.Timed = f.save
	if err := r.Store.Lock(); err != nil {
		return nil, wrap(exitFailure, err)
	}
	defer r.Store.Close()
	o := f.run.options()
	r.Simulate(o)
	if err := plan.Prepare(cmd.Context(), r, sweep.OptionsKey(&o)); err != nil {
		return nil, prepareError(cmd, err)
	}
	if parts != "" {
		if err := plan.Continue(parts); err != nil {
			return nil, wrap(exitInput, err)
		}
	}
	rows, err := a.runPoints(cmd.Context(), r, m, plan.Points, "reproduce", f.network, &o)
	m.clear()
	if err != nil {
		hint := "the same command continues"
		if parts != "" {
			if err := plan.Keep(&r.Store, rows, parts); err != nil {
				return nil, wrap(exitFailure, err)
			}
			hint += ", also on another machine with the same program and " + filepath.Join(parts, "*.part.json")
		}
		return nil, sweepError(cmd.Context(), err, rows, folder, hint)
	}
	results, err := plan.Collect(&r.Store, rows)
	if err == nil {
		err = r.Store.Tidy()
	}
	return results, wrap(exitFailure, err)
}

// judgedDocument is the JSON document of an experiment, printed by --json.
type judgedDocument struct {
	*reproduce.Result
	Claims []*reproduce.Judged `json:"claims"`
	Report string              `json:"report"`
}

func (a *app) printJudged(list []*reproduce.Experiment, results []*reproduce.Result, folder string) error {
	if a.json {
		docs := []judgedDocument{}
		for i, e := range list {
			docs = append(docs, judgedDocument{results[i], e.Judge(results[i]), results[i].ReportFile(folder)})
		}
		return a.printJSON(docs)
	}
	if a.quiet {
		return nil
	}
	for i, e := range list {
		w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
		w.line("%s, %s: %s (scale %s)", color.New(color.Bold).Sprint(e.ID), e.Figure, e.Title, results[i].Scale)
		w.line("")
		w.table(e.Cells(results[i]))
		w.line("")
		w.line("claim\tkind\tpaper\txoff\tverdict\t")
		for _, j := range e.Judge(results[i]) {
			w.line("%s\t%s\t%s\t%s\t%s\t%s", j.ID, j.Kind, e.PaperNumber(j.Claim), j.Number(), verdictText(j), j.Claim.Text)
		}
		w.line("")
		w.line("report  %s", results[i].ReportFile(folder))
		w.line("")
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}

// verdictText returns the coloured verdict of a claim, with a note if it is unexpected or known.
func verdictText(j *reproduce.Judged) string {
	text := string(j.Verdict)
	if text == "" {
		return "not run"
	}
	switch j.Verdict {
	case reproduce.Close:
		text = color.GreenString(text)
	case reproduce.NotReproduced:
		text = color.RedString(text)
	default:
		text = color.YellowString(text)
	}
	switch {
	case j.Surprise():
		text += fmt.Sprintf(" (expected: %s)", j.Expected)
	case j.Deviation != nil:
		text += " (known)"
	}
	return text
}

// judgedError returns an error if points failed, with their exit code, or if verdicts differ
// from the expected verdicts.
func judgedError(list []*reproduce.Experiment, results []*reproduce.Result) error {
	all := reproduce.JudgeAll(list, results)
	if all.Code != 0 {
		return failf(all.Code, "%d points failed; first: %s", len(all.Failures), all.Failures[0])
	}
	if len(all.Surprises) > 0 {
		return failf(exitFailure, "unexpected verdicts: %s", strings.Join(all.Surprises, "; "))
	}
	return nil
}

// renderExperiments writes the pages of the papers of the chosen experiments, and the
// scoreboard of all papers. A page covers all experiments of its paper. Papers without
// results get a page only if the user named them.
func (a *app) renderExperiments(all, chosen []*reproduce.Experiment, named bool, f *reproduceFlags) error {
	folder := reproductionFolder
	if a.folder != "" {
		folder = a.folder
	}
	papers, err := reproduce.PapersOf(all, chosen, named, f.data)
	if err != nil {
		return wrap(exitInput, err)
	}
	for _, name := range papers {
		d, err := reproduce.Stored(all, name, f.data)
		if err != nil {
			return wrap(exitInput, err)
		}
		if err := a.writeMarkdown(d, folder, name+".md"); err != nil {
			return err
		}
	}
	d, err := reproduce.StoredOverview(all, f.data)
	if err != nil {
		return wrap(exitInput, err)
	}
	return a.writeMarkdown(d, folder, "README.md")
}

// writeMarkdown writes a document and its figures to a folder and prints its path.
func (a *app) writeMarkdown(d *report.Document, folder, name string) error {
	path, err := d.WriteMarkdown(folder, name)
	if err != nil {
		return wrap(exitFailure, err)
	}
	if !a.quiet {
		fmt.Fprintln(a.out, path)
	}
	return nil
}

// verifyExperiments runs some stored points again and compares their results.
func (a *app) verifyExperiments(cmd *cobra.Command, list []*reproduce.Experiment, f *reproduceFlags) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	if f.verify < 1 {
		return failf(exitInput, "--verify is %d (expected 1 or more)", f.verify)
	}
	checks, err := reproduce.Pick(list, f.scale, f.data, f.verify, f.pick)
	if err != nil {
		return wrap(exitInput, err)
	}
	// Points of an earlier command must not be reused.
	folder := filepath.Join(a.folderFor("reproduce"), "verify")
	if err := os.RemoveAll(folder); err != nil {
		return wrap(exitFailure, err)
	}
	for _, c := range checks {
		results, err := a.runPlan(cmd, c.Plan, f, folder, "")
		if err != nil {
			return err
		}
		if err := c.Compare(results[0]); err != nil {
			return wrap(exitFailure, err)
		}
		if !a.quiet {
			fmt.Fprintf(a.out, "%s: identical\n", c)
		}
	}
	return nil
}
