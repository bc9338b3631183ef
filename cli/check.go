package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/scenario"
)

// checkFlags are the flags of a check.
type checkFlags struct {
	runFlags
	failures int
	flows    bool
	dot      string
	against  string
	sonic    sonicFlags
}

func (a *app) checkCommand() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Look for mistakes in a fabric, or in the configuration of switches, without running it",
		Long: `Looks at the fabric of a scenario without running it:

  - headroom that cannot take what is in flight when a queue is paused,
  - buffers of which more is promised than there is,
  - lossless classes that are not lossless on their whole way,
  - congestion marks that nobody gives, or that come after PFC has paused,
  - pauses that a lost RESUME would never end,
  - faults after the end of the run, and all that xoff run would refuse,
  - loops of buffers that can wait for each other (deadlocks), also when links
    fail and routes go around them,
  - hosts that failures cut off, and how far the pauses of a stuck host spread.

Every host may send to every other, in every lossless class; --flows looks at the
flows of the scenario instead. Exit code 1 says that there are problems; with
--against, which prints what a change made better or worse, that some are new or
worse. See docs/check.md.

  xoff check examples/dsh-fig16.yaml
  xoff check examples/dsh-leaf-spine.yaml --failures 2
  xoff check new.yaml --against old.yaml

Of configurations of SONiC switches (config_db.json, several of them, or a folder)
it says whether they are lossless, by the rules of docs/sonic.md: which headroom is
too small, which maps disagree, where PFC and drops begin. Exit code 1 says that
there are errors; with --against, that there are errors which the other
configuration does not have.

  xoff check config_db.json
  xoff check fabric/ --chip 'leaf*=td3,spine*=th3' --lookup pg_profile_lookup.ini
  xoff check new.json --against old.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if ofSwitches(args) {
				return nil
			}
			return oneFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if ofSwitches(args) {
				if flag := f.ofScenario(cmd); flag != "" {
					return failf(exitInput, "--%s is for scenarios; allowed with configurations of switches: --lookup, --chip, --memory, --cables, --against", flag)
				}
				return a.checkSonic(cmd.Context(), args, f)
			}
			if flag := f.sonic.given(); flag != "" {
				return failf(exitInput, "%s is for configurations of switches; allowed: JSON files or folders", flag)
			}
			return a.check(cmd, args[0], f)
		},
	}
	f.sonic.register(cmd)
	f.registerChanges(cmd)
	cmd.Flags().IntVar(&f.failures, "failures", 1, "`N` links between switches may fail at the same time; 0: none")
	cmd.Flags().BoolVar(&f.flows, "flows", false, "only pairs of hosts, and their classes, of which the scenario has flows")
	cmd.Flags().StringVar(&f.against, "against", "", "`PATH` of the earlier scenario or switch configuration: print only what is better or worse now; --set and the like change FILE alone")
	cmd.Flags().StringVar(&f.dot, "dot", "", "write the buffer dependencies to `FILE` for Graphviz, cycles in red; - prints them instead of findings")
	a.simulationFlags(cmd)
	return cmd
}

// ofScenario names a flag that was given and means nothing for switches.
func (f *checkFlags) ofScenario(cmd *cobra.Command) string {
	names := []string{"set", "seed", "failures", "flows", "dot"}
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
		return failf(exitInput, "--failures is %d; allowed: 0 or more", f.failures)
	}
	if f.against != "" && f.dot != "" {
		return failf(exitInput, "--dot draws one fabric; allowed: --dot, or --against")
	}
	cfg, report, err := a.checked(cmd, file, f.settings(), f)
	if err != nil {
		return err
	}
	if f.against != "" {
		_, before, err := a.checked(cmd, f.against, nil, f)
		if err != nil {
			return err
		}
		return a.printAgainst(check.Compare(report, before), file, f.against)
	}
	switch f.dot {
	case "":
		err = a.printCheck(cfg, report)
	case "-":
		err = report.WriteDot(a.out)
	default:
		if err = writeDot(f.dot, report); err == nil {
			err = a.printCheck(cfg, report)
		}
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	if report.Problems > 0 {
		return failf(exitFailure, "%s in %s", plural(report.Problems, "problem"), file)
	}
	return nil
}

// checked reads a scenario and checks it.
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
	var links atomic.Bool // are what it looks at now
	waited := m.during(func(time.Duration) string { return "looks at flows, queues and routes" }, &links)
	report, err := check.Run(cmd.Context(), survey, check.Options{Failures: f.failures, Flows: f.flows, Workers: a.workers, Progress: func(done, all uint64) {
		links.Store(true)
		m.show(func(passed time.Duration) string {
			return fmt.Sprintf("%s of %s sets of failed links%s", count(done), count(all), timeLeft(float64(done)/float64(all), passed))
		})
	}})
	waited()
	m.clear()
	switch {
	case errors.Is(err, context.Canceled):
		return nil, nil, failf(exitInterrupted, "interrupted; nothing is said about the links that were not looked at")
	case err != nil:
		return nil, nil, wrap(exitInput, err)
	}
	return cfg, report, nil
}

// printAgainst prints what is better or worse than before.
func (a *app) printAgainst(c *check.Comparison, file, against string) error {
	var err error
	switch {
	case a.json:
		err = a.printJSON(c)
	case !a.quiet:
		w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
		w.line("%s against %s: %d worse, %d better", file, against, len(c.Worse), len(c.Better))
		w.changes("worse", c.Worse, isTerminal(a.out))
		w.changes("better", c.Better, isTerminal(a.out))
		err = w.flush()
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	if c.Problems > 0 {
		return failf(exitFailure, "%s that %s did not have, or not as bad", plural(c.Problems, "problem"), against)
	}
	return nil
}

// changes prints what has become better, or worse.
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
	w.looked(r)
	w.storm(r.Storm)
	return w.flush()
}

// finding prints one of them.
func (w *sheet) finding(prefix string, f *check.Finding, wrapped bool) {
	level := color.YellowString("note")
	if f.Level == check.Problem {
		level = color.RedString("PROBLEM")
	}
	head := fmt.Sprintf("%s%s (%s)", prefix, level, f.Kind)
	if f.At != "" {
		head += " at " + f.At
	}
	w.line("%s", head)
	w.text("  ", f.What, wrapped)
	w.cycles("  ", f.Cycles, f.More, detailed)
	for i, b := range f.Failures {
		if i == shown {
			w.line("  and others (--json lists up to 100)")
			break
		}
		w.line("  if %s", fails(b.Links))
		w.cycles("    ", b.Cycles[:1], len(b.Cycles) > 1, 1-min(i, 1))
	}
	for i, cut := range f.CutOffs {
		if i == shown {
			w.line("  and others (--json lists all)")
			break
		}
		w.line("  if %s: %s", fails(cut.Links), check.Brief(cut.Hosts))
	}
	if f.Fix != "" {
		w.text("  ", "mend: "+f.Fix, wrapped)
	}
}

// What is printed of many.
const (
	detailed = 3 // loops of which every hop is shown
	shown    = 5 // sets of failed links
)

func fails(links []string) string {
	if len(links) == 1 {
		return links[0] + " fails"
	}
	return strings.Join(links[:len(links)-1], ", ") + " and " + links[len(links)-1] + " fail"
}

// cycles prints their switches, and what waits at each of the first ones.
func (w *sheet) cycles(indent string, list []check.Cycle, more bool, hops int) {
	for i, c := range list {
		var names []string
		for _, h := range c.Hops {
			names = append(names, h.Switch)
		}
		w.line("%sloop %s -> %s", indent, strings.Join(names, " -> "), names[0])
		if i >= hops {
			continue
		}
		for _, h := range c.Hops {
			extra := ""
			switch {
			case h.Cause.Flow:
				extra += ", route of a flow"
			case h.Cause.Pinned:
				extra += ", pinned"
			}
			if h.Valley {
				extra += ", down and up again"
			}
			if h.Cause.Classes != nil {
				extra += ", " + check.ClassNames(h.Cause.Classes)
			}
			w.line("%s  %s: frames from %s wait for %s (%s to %s%s)", indent, h.In, h.From, h.To, h.Cause.From, h.Cause.To, extra)
		}
	}
	if more {
		w.line("%sand others", indent)
	}
}

// budgets prints what becomes of buffers. Cells have no spaces.
func (w *sheet) budgets(list []check.Budget) {
	w.line("buffer_of\tswitches\tports\tbytes\theadroom\tprivate\tshared\tshared_%%")
	for _, b := range list {
		w.line("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f", b.Switches[0], len(b.Switches), b.Ports, int64(b.Size), int64(b.Headroom), int64(b.Private), int64(b.Shared), 100*float64(b.Shared)/float64(b.Size))
	}
}

// looked says what was looked at.
func (w *sheet) looked(r *check.Report) {
	w.line("looked at what queues wait for what others: %s pairs", count(uint64(r.Dependencies)))
	switch f := r.Failures; {
	case r.Skipped != "":
		w.line("failures of links were not looked at: %s", r.Skipped)
	case f == nil || f.Links == 0:
	case f.AtMost == 1:
		w.line("and at the failure of each of %s: %d give cycles", plural(f.Links, "link"), f.Cyclic)
	default:
		w.line("and at %s sets of up to %d failed links of %d: %d give cycles that no smaller set gives", count(f.Sets), f.AtMost, f.Links, f.Cyclic)
	}
}

// storm says how far pauses of one host would spread.
func (w *sheet) storm(s *check.Storm) {
	if s == nil {
		return
	}
	flows := ""
	if s.OfFlows > 0 {
		flows = fmt.Sprintf(", %d of %d flows", s.Flows, s.OfFlows)
	}
	if len(s.Paused) == 0 {
		w.line("a host that gets stuck pauses no other")
		return
	}
	w.line("a host that gets stuck pauses at worst (%s) %d of %d other hosts, %d of %d ports between switches%s", s.Host, len(s.Paused), s.Hosts, len(s.Ports), s.OfPorts, flows)
}

// width of text on a terminal.
const width = 100

// text prints words: on a terminal in lines of readable length, elsewhere in one.
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
