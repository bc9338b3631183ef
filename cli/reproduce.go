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
	run    runFlags // with its defaults: experiments say what is run
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

// Where stored results and the documents rendered from them are.
const reproductionFolder = "docs/reproduction"

func (a *app) reproduceCommand() *cobra.Command {
	f := &reproduceFlags{run: runFlags{invariants: string(run.Off), engine: string(run.Fast), divisor: 1}}
	cmd := &cobra.Command{
		Use:   "reproduce [ID...]",
		Short: "Run figures of papers and judge their claims",
		Long: `Runs experiments that are part of xoff, on all cores, and holds the outcome against
what the paper says. IDs are figures (dsh/5) or papers (dsh); none means all.

  xoff reproduce --list
  xoff reproduce dsh/5 dsh/6 --scale quick
  xoff reproduce dsh --scale paper --save     stores results for the documents
  xoff reproduce dsh --render                 docs/reproduction/dsh.md from stored results,
                                              and README.md, the scoreboard of all papers

Points that are finished are never computed twice: the same command goes on where it
was interrupted or killed. A rebuilt xoff starts anew. With --save an interrupted run
leaves what the documents need of its points in the folder of --data, as *.part.json:
with them the same program goes on anywhere.

With --shard it computes one part of the points, as one of several tasks on as many
machines; the same command without it judges what they computed. With --nats, xoff
worker on any number of machines computes the points (docs/cluster.md).`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if f.scale != reproduce.Quick && f.scale != reproduce.Full {
				return wrap(exitInput, registry.Unknown("scale", f.scale, []string{reproduce.Quick, reproduce.Full}))
			}
			if err := f.figures.check(); err != nil {
				return err
			}
			if f.shard != "" && (f.list || f.render || cmd.Flags().Changed("verify")) {
				return failf(exitInput, "--shard is a part of the points that run; allowed: without --list, --render and --verify")
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
	flags.StringVar(&f.from, "from", "", "`FOLDER` with experiments of your own, PAPER/FIGURE.yaml, instead of the built-in ones")
	flags.BoolVar(&f.list, "list", false, "list experiments with the time that they take")
	flags.StringVar(&f.scale, "scale", reproduce.Quick, "`SCALE`: quick (fewer hosts, shorter), or paper (as published)")
	flags.BoolVar(&f.save, "save", false, "store the results in the folder of --data")
	flags.BoolVar(&f.render, "render", false, "write the documents from stored results; nothing is run")
	flags.StringVar(&f.data, "data", filepath.Join(reproductionFolder, "data"), "`FOLDER` of stored results")
	flags.IntVar(&f.verify, "verify", 0, "run `N` points of the stored results again and compare their bytes")
	f.figures.register(cmd)
	registerShard(cmd, &f.shard)
	f.nats.register(cmd)
	flags.StringVar(&f.pick, "pick", "", "`TEXT` that chooses the points of --verify, such as the hash of a commit")
	a.outputFlag(cmd, "`FOLDER` for results (default results/reproduce), or for the documents of --render (default docs/reproduction)")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// experiments reads those of xoff, or of a folder.
func (f *reproduceFlags) experiments() ([]*reproduce.Experiment, error) {
	if f.from == "" {
		return reproduce.Built()
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
		w.line("%s\t%s\t%s\t%s\t%d\t%s", l.ID, l.Figure, howLong(&l, reproduce.Quick, a.workers), howLong(&l, reproduce.Full, a.workers), len(l.Claims), l.Title)
	}
	w.line("")
	w.line("times are estimates for %d idle cores; points that experiments share run once", a.workers)
	return w.flush()
}

// howLong is what the list says of a scale.
func howLong(l *reproduce.Listed, scale string, workers int) string {
	h, ok := l.Scales[scale]
	switch {
	case !ok:
		return "-"
	case h.Points == 0:
		return "computed"
	}
	return fmt.Sprintf("%d runs, %s", h.Points, (time.Duration(h.Seconds/float64(workers)) * time.Second).Round(time.Second))
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

// reproduceTask computes one part of the points of experiments.
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
	plan.Deal(shard)
	m := a.newMeter()
	r := a.newRunner(a.folderFor("reproduce"), m)
	r.Timed = f.save
	o := f.run.options()
	r.Simulate(o)
	if err := plan.Prepare(cmd.Context(), r, sweep.Shown(&o)); err != nil {
		return prepareError(cmd, err)
	}
	return a.runTask(cmd, r, m, nil, shard, plan.Points, false)
}

// runPlan runs the points of a plan that are neither in the folder nor, if that is
// named, in the folder of parts, which takes what is finished when it is interrupted.
func (a *app) runPlan(cmd *cobra.Command, plan *reproduce.Plan, f *reproduceFlags, folder, parts string) ([]*reproduce.Result, error) {
	m := a.newMeter()
	r := a.newRunner(folder, m)
	r.Timed = f.save
	if err := r.Store.Lock(); err != nil {
		return nil, wrap(exitFailure, err)
	}
	defer r.Store.Close()
	o := f.run.options()
	r.Simulate(o)
	if err := plan.Prepare(cmd.Context(), r, sweep.Shown(&o)); err != nil {
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
		again := "the same command goes on"
		if parts != "" {
			if err := plan.Keep(&r.Store, rows, parts); err != nil {
				return nil, wrap(exitFailure, err)
			}
			again += ", on another machine, too, with the same program and " + filepath.Join(parts, "*.part.json")
		}
		return nil, sweepError(cmd.Context(), err, rows, folder, again)
	}
	results, err := plan.Collect(&r.Store, rows)
	if err == nil {
		err = r.Store.Tidy()
	}
	return results, wrap(exitFailure, err)
}

// judgedDocument is what --json prints about an experiment.
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
		w.line("claim\tkind\tpaper\there\tgrade\t")
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

// judgedError is the exit code: that of failed runs, or 1 for a verdict that is not
// the one that the experiment asserts.
func judgedError(list []*reproduce.Experiment, results []*reproduce.Result) error {
	all := reproduce.JudgeAll(list, results)
	if all.Code != 0 {
		return failf(all.Code, "%d points failed; the first: %s", len(all.Troubles), all.Troubles[0])
	}
	if n := len(all.Surprises); n > 0 {
		return failf(exitFailure, "%d claims did not come out as the experiments say (deviations): %s", n, strings.Join(all.Surprises, "; "))
	}
	return nil
}

// renderExperiments writes the documents of the papers of some experiments. A
// document is of its whole paper, whichever figures were named, and the scoreboard of
// all papers. Unless they are named, papers without results have no document.
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

// writeMarkdown writes a document with its figures into a folder and prints its path.
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

// verifyExperiments runs some stored points again.
func (a *app) verifyExperiments(cmd *cobra.Command, list []*reproduce.Experiment, f *reproduceFlags) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	if f.verify < 1 {
		return failf(exitInput, "--verify is %d; allowed: 1 or more", f.verify)
	}
	checks, err := reproduce.Pick(list, f.scale, f.data, f.verify, f.pick)
	if err != nil {
		return wrap(exitInput, err)
	}
	// Points that are there already prove nothing.
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
			fmt.Fprintf(a.out, "%s: the same bytes\n", c)
		}
	}
	return nil
}
