package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/internal/render/checkreport"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/scenario"
)

// checkFlags are the flags of a check.
type checkFlags struct {
	runFlags
	failures int
	flows    bool
	dot      string
	against  string
	html     string
	advise   string
	sonic    sonicFlags

	requireLossless bool
}

func (a *app) checkCommand() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find configuration problems without a simulation",
		Long: `Check a scenario, configurations of SONiC switches, or a trace, without a simulation.

In a scenario, find:

  - headroom that is too small for the bytes in flight after a pause,
  - buffers with more reserved bytes than they have,
  - classes that are not lossless on the whole path,
  - congestion control without congestion marks, or marks that come after PFC,
  - thresholds, alphas and watchdog times that break a published rule,
  - links for which the workloads offer more than their rate,
  - pauses that never end if a RESUME is lost,
  - faults after the end of the run, and everything that xoff run rejects,
  - loops of buffers that can wait for each other (deadlocks), also on the routes
    around failed links,
  - hosts cut off by failures, and how far the pauses of a stuck host spread.

By default every host sends to every other host in every lossless class; --flows
checks the scenario's flows instead. With --against, print only changes for the
better or worse. Exit code 1: there are problems; with --against, new or worse
problems. See docs/check.md.

  xoff check examples/dsh-fig16.yaml
  xoff check examples/dsh-leaf-spine.yaml --failures 2
  xoff check new.yaml --against old.yaml
  xoff check mine.yaml --html check.html
  xoff check mine.yaml --advise patch.yaml

For SONiC switches (config_db.json files or a folder), decide whether they are
lossless by the rules of docs/sonic.md: too little headroom, conflicting maps, the
PFC and drop thresholds. Exit code 1: there are errors; with --against, errors that
the other configuration does not have. A switch on which nothing is lossless, or whose
input is incomplete, is a warning; with --require-lossless, the exit code is 1.

  xoff check config_db.json
  xoff check fabric/ --chip 'leaf*=td3,spine*=th3' --lookup pg_profile_lookup.ini
  xoff check new.json --against old.json

For a trace (GOAL: .goal, .gol, .bin; htsim: .cm, .tm, .topo), print what is in it,
what is wrong with it, and what a run would cost. Exit code 1: a run would refuse
it, or sizes differ; 2: the file cannot be read.

  xoff check llama.goal`,
		Args: func(cmd *cobra.Command, args []string) error {
			if areSwitchConfigs(args) {
				return nil
			}
			return oneFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if areSwitchConfigs(args) {
				if flag := f.scenarioFlag(cmd); flag != "" {
					return failf(exitInput, "--%s is for scenarios (allowed with switch configurations: --lookup, --chip, --memory, --cables, --against, --html, --require-lossless)", flag)
				}
				return a.checkSonic(cmd.Context(), args, f)
			}
			if flag := f.sonic.given(); flag != "" {
				return failf(exitInput, "%s is for switch configurations (expected JSON files or folders)", flag)
			}
			if f.html+f.advise != "" && areTraces(args) {
				return failf(exitInput, "--html and --advise are not for traces (expected a scenario; with --html also JSON files or folders)")
			}
			if areTraces(args) {
				return a.checkTrace(cmd, args[0])
			}
			if f.requireLossless {
				return failf(exitInput, "--require-lossless is for switch configurations (expected JSON files or folders)")
			}
			return a.check(cmd, args[0], f)
		},
	}
	f.sonic.register(cmd)
	f.registerChanges(cmd)
	cmd.Flags().IntVar(&f.failures, "failures", 1, "largest number `N` of links between switches that fail at the same time; 0: no failures")
	cmd.Flags().BoolVar(&f.flows, "flows", false, "check only the host pairs and classes of the scenario's flows")
	cmd.Flags().StringVar(&f.against, "against", "", "`PATH` of the earlier scenario or switch configuration: print only changes; --set and scheme flags change FILE only")
	cmd.Flags().StringVar(&f.dot, "dot", "", "`FILE` for the buffer dependencies as a Graphviz graph, cycles in red; - prints them instead of findings")
	cmd.Flags().StringVar(&f.advise, "advise", "", "`FILE` for the values that findings recommend, as keys of a scenario with rules and sources")
	cmd.Flags().StringVar(&f.html, "html", "", "`FILE` for the result as a page: verdict, findings with evidence and fix, the fabric, assumptions")
	cmd.Flags().BoolVar(&f.requireLossless, "require-lossless", false, "fail unless every switch configuration is judged lossless")
	a.simulationFlags(cmd)
	return cmd
}

// scenarioFlag returns the first given flag that applies to scenarios only, or "".
func (f *checkFlags) scenarioFlag(cmd *cobra.Command) string {
	names := []string{"set", "seed", "failures", "flows", "dot", "advise"}
	for _, s := range scenario.Shorthands {
		names = append(names, s.Flag)
	}
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

func (a *app) check(cmd *cobra.Command, file string, f *checkFlags) error {
	if err := a.checkWorkers(); err != nil {
		return err
	}
	if f.failures < 0 {
		return failf(exitInput, "--failures is %d (expected 0 or more)", f.failures)
	}
	if f.against != "" && f.dot != "" {
		return failf(exitInput, "--dot cannot be combined with --against")
	}
	cfg, found, err := a.checked(cmd, file, f.settings(), f)
	if err != nil {
		return err
	}
	if f.against != "" {
		_, before, err := a.checked(cmd, f.against, nil, f)
		if err != nil {
			return err
		}
		changes := check.Compare(found, before)
		if err := f.writePage(func() *report.Document {
			return checkreport.Scenario(file, cfg, found, f.options(a), changes, f.against)
		}); err != nil {
			return err
		}
		return a.printAgainst(changes, file, f.against)
	}
	if err := f.writePage(func() *report.Document { return checkreport.Scenario(file, cfg, found, f.options(a), nil, "") }); err != nil {
		return err
	}
	advice := found.Advice()
	if f.advise != "" {
		if err := writeTo("--advise", f.advise, func(w io.Writer) error { return check.WriteAdvice(w, file, advice) }); err != nil {
			return err
		}
	}
	switch f.dot {
	case "":
		err = a.printCheck(cfg, found)
	case "-":
		err = found.WriteDot(a.out)
	default:
		if err = writeDot(f.dot, found); err == nil {
			err = a.printCheck(cfg, found)
		}
	}
	if err == nil && f.advise != "" && !a.quiet && !a.json && f.dot != "-" {
		_, err = fmt.Fprintf(a.out, "advice: %s, written to %s\n", plural(len(advice), "value"), f.advise)
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	if found.Problems > 0 {
		return failf(exitFailure, "%s in %s", plural(found.Problems, "problem"), file)
	}
	return nil
}

// checked reads and checks a scenario.
func (a *app) checked(cmd *cobra.Command, file string, settings []string, f *checkFlags) (*scenario.Config, *check.Report, error) {
	cfg, err := scenario.ReadFile(file, settings...)
	if err != nil {
		return nil, nil, wrap(exitInput, err)
	}
	if cmd.Flags().Changed("seed") {
		cfg.Seed = a.seed
	}
	survey, err := check.NewSurvey(cfg)
	if err != nil {
		return nil, nil, wrap(exitInput, err)
	}
	m := a.newMeter()
	var failures atomic.Bool // the check of link failures reports its own progress
	stop := m.showUntil(&failures, func(time.Duration) string { return "checking flows, queues and routes" })
	o := f.options(a)
	o.Progress = func(done, all uint64) {
		failures.Store(true)
		m.show(func(passed time.Duration) string {
			return fmt.Sprintf("%s of %s sets of failed links%s", count(done), count(all), timeLeft(float64(done)/float64(all), passed))
		})
	}
	report, err := check.Run(cmd.Context(), survey, o)
	stop()
	m.clear()
	switch {
	case errors.Is(err, context.Canceled):
		return nil, nil, failf(exitInterrupted, "interrupted: the check of link failures is incomplete")
	case err != nil:
		return nil, nil, wrap(exitInput, err)
	}
	return cfg, report, nil
}

func (f *checkFlags) options(a *app) check.Options {
	return check.Options{Failures: f.failures, Flows: f.flows, Workers: a.workers}
}

// writePage writes the page of --html, if it was given.
func (f *checkFlags) writePage(page func() *report.Document) error {
	if f.html == "" {
		return nil
	}
	return writeTo("--html", f.html, page().HTML)
}

// writeTo writes the file that a flag names.
func writeTo(flag, path string, write func(io.Writer) error) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return failf(exitFailure, "%s %s: there is no folder %s (expected a file in an existing folder)", flag, path, filepath.Dir(path))
	}
	return wrap(exitFailure, disk.WriteFile(path, write))
}

// printAgainst prints the changes between two checks.
func (a *app) printAgainst(c *check.Comparison, file, against string) error {
	var err error
	switch {
	case a.json:
		err = a.printJSON(c)
	case !a.quiet:
		w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
		w.line("%s compared with %s: %d worse, %d better", file, against, len(c.Worse), len(c.Better))
		w.changes("worse", c.Worse, isTerminal(a.out))
		w.changes("better", c.Better, isTerminal(a.out))
		err = w.flush()
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	if c.Problems > 0 {
		return failf(exitFailure, "%s new or worse than in %s", plural(c.Problems, "problem"), against)
	}
	return nil
}

// changes prints the changes for the better or worse.
func (w *sheet) changes(word string, list []check.Change, wrapped bool) {
	for _, c := range list {
		w.line("")
		switch {
		case c.Now == nil && c.Before == nil:
			w.line("%s", word)
			w.text("  ", c.What, wrapped)
		case c.Now == nil:
			w.line("%s: gone: %s (%s)", word, c.Before.Level, c.Before.Kind)
			w.text("  ", c.Before.What, wrapped)
		case c.Before == nil:
			w.finding(word+": new: ", c.Now, wrapped)
		default:
			w.finding(word+": ", c.Now, wrapped)
			w.text("  ", "was: "+c.Before.What, wrapped)
		}
	}
}

func writeDot(name string, r *check.Report) error {
	var b strings.Builder
	if err := r.WriteDot(&b); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func (a *app) printCheck(cfg *scenario.Config, r *check.Report) error {
	if a.json {
		return a.printJSON(r)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	verdict := color.GreenString("no problems")
	if r.Problems > 0 {
		verdict = color.RedString("%s", plural(r.Problems, "problem"))
	}
	w.line("%s: %s", color.New(color.Bold).Sprint(cfg.Name), verdict)
	for i := range r.Findings {
		w.line("")
		w.finding("", &r.Findings[i], isTerminal(a.out))
	}
	w.line("")
	w.budgets(r.Budgets)
	w.line("")
	for _, line := range r.Coverage() {
		w.line("%s", line)
	}
	return w.flush()
}

// finding prints one finding.
func (w *sheet) finding(prefix string, f *check.Finding, wrapped bool) {
	level := color.YellowString("%s", f.Level)
	if f.Level == check.Problem {
		level = color.RedString("PROBLEM")
	}
	head := fmt.Sprintf("%s%s (%s)", prefix, level, f.Kind)
	if f.At != "" {
		head += " at " + f.At
	}
	w.line("%s", head)
	w.text("  ", f.What, wrapped)
	for _, line := range f.Evidence() {
		w.line("  %s", line)
	}
	if f.Fix != "" {
		w.text("  ", "fix: "+f.Fix, wrapped)
	}
}

// budgets prints how buffers are divided. Cells have no spaces.
func (w *sheet) budgets(list []check.Budget) {
	w.line("buffer_of\tswitches\tports\tbytes\theadroom\tprivate\tshared\tshared_%%")
	for _, b := range list {
		w.line("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f", b.Switches[0], len(b.Switches), b.Ports, int64(b.Size), int64(b.Headroom), int64(b.Private), int64(b.Shared), 100*float64(b.Shared)/float64(b.Size))
	}
}

// width is the text width on a terminal.
const width = 100

// text prints words, broken at width if wrapped and on one line otherwise.
func (w *sheet) text(indent, words string, wrapped bool) {
	line := indent
	for _, word := range strings.Fields(words) {
		if wrapped && len(line)+1+len(word) > width && line != indent {
			w.line("%s", line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	w.line("%s", line)
}
