package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"

	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
	"github.com/xoff-net/xoff/internal/render/checkreport"
	"github.com/xoff-net/xoff/internal/render/report"
)

// checkSonic checks switch configurations.
func (a *app) checkSonic(ctx context.Context, args []string, f *checkFlags) error {
	if err := a.checkWorkers(); err != nil {
		return err
	}
	plant, r, err := a.judged(ctx, args, f)
	if err != nil {
		return err
	}
	if err := f.writePage(func() *report.Document { return checkreport.Switches(plant, r, boundsNote) }); err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(r)
	} else if !a.quiet {
		err = a.printSonic(r)
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	what := "error"
	if r.Against != nil {
		what = "new error"
	}
	if n := r.Failed(); n > 0 {
		return failf(exitFailure, "%s in %s", plural(n, what), strings.Join(args, ", "))
	}
	if f.requireLossless && r.Verdict != rules.Lossless {
		return failf(exitFailure, "the verdict on %s is %q (expected %q, because of --require-lossless)", strings.Join(args, ", "), r.Verdict, rules.Lossless)
	}
	return nil
}

// judged reads and checks switch configurations.
func (a *app) judged(ctx context.Context, args []string, f *checkFlags) (*sonic.Plant, *check.SwitchReport, error) {
	defer a.showWorking("checking configurations")()
	now, err := sonic.ReadPlant(args, &f.sonic.Extra)
	if err != nil {
		return nil, nil, wrap(exitInput, err)
	}
	var before *sonic.Plant
	if f.against != "" {
		if before, err = sonic.ReadPlant([]string{f.against}, &f.sonic.Extra); err != nil {
			return nil, nil, wrap(exitInput, err)
		}
	}
	r, err := check.Switches(ctx, now, before, a.workers)
	if err != nil {
		return nil, nil, failf(exitInterrupted, "interrupted: %v", err)
	}
	return now, r, nil
}

func (a *app) printSonic(r *check.SwitchReport) error {
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	several := len(r.Switches) > 1
	if several {
		w.fabricVerdict(r)
	}
	for _, s := range r.Switches {
		if several {
			w.line("")
		}
		w.verdict(s)
		for j := range s.Findings {
			if several && s.Findings[j].Severity == rules.Note {
				continue // they repeat from switch to switch; --json has them
			}
			w.line("")
			w.ruleFinding(&s.Findings[j], isTerminal(a.out))
		}
		if several {
			continue
		}
		if slices.ContainsFunc(s.Skipped, func(x rules.Skipped) bool { return !x.Decisive }) {
			w.line("")
		}
		for _, skipped := range s.Skipped {
			if !skipped.Decisive { // decisive ones are findings
				w.line("not checked: rule %d: %s", skipped.Rule, skipped.Why)
			}
		}
		if len(s.Unread) > 0 {
			w.line("")
			w.text("", "tables not read: "+strings.Join(s.Unread, ", "), isTerminal(a.out))
		}
	}
	if r.Fabric != nil {
		w.line("")
		w.fabric(r.Fabric, isTerminal(a.out))
	}
	if slices.ContainsFunc(r.Switches, func(s *rules.Report) bool { return len(s.Groups) > 0 }) {
		w.line("")
		w.losslessGroups(r.Switches)
		w.line("")
		w.text("", boundsNote, isTerminal(a.out))
	}
	if r.Against != nil {
		w.line("")
		w.change(r.Against, isTerminal(a.out))
		if r.Fabric != nil && r.Fabric.New > 0 {
			w.line("new: %s of buffers", plural(r.Fabric.New, "kind of loop"))
		}
	}
	return w.flush()
}

// fabricVerdict prints the verdict for several switches, and the switches with a verdict other
// than lossless. A loop of buffers is an error of the fabric: its headline is never lossless.
func (w *sheet) fabricVerdict(r *check.SwitchReport) {
	var parts []string
	for i := len(rules.Verdicts) - 1; i > 0; i-- {
		var names []string
		for _, s := range r.Switches {
			if s.Verdict == rules.Verdicts[i] {
				names = append(names, s.Switch)
			}
		}
		if rules.Verdicts[i] == rules.NotLossless && r.Fabric != nil && len(r.Fabric.Findings) > 0 {
			names = append(names, "loops of buffers")
		}
		if len(names) > 0 {
			parts = append(parts, coloured(rules.Verdicts[i])+": "+strings.Join(names, ", "))
		}
	}
	verdict := strings.Join(parts, "; ")
	if len(parts) == 0 {
		verdict = coloured(rules.Lossless)
	}
	w.line("%s: %s; %s, %s, %s (notes with --json)", fmt.Sprintf("%d switches", len(r.Switches)), verdict,
		plural(r.Errors, "error"), plural(r.Warnings, "warning"), plural(r.Notes, "note"))
}

// fabric prints the findings that concern several switches.
func (w *sheet) fabric(r *check.FabricReport, wrapped bool) {
	switch {
	case r.Skipped != "":
		w.text("", "loops of buffers not checked: "+r.Skipped, wrapped)
	case len(r.Findings) == 0:
		w.line("%s, also when any single link fails", color.GreenString("no loops of buffers"))
	}
	for i := range r.Findings {
		w.finding("", &r.Findings[i], wrapped)
	}
	if n := len(r.Assumed); n > 0 {
		some := strings.Join(r.Assumed[:min(keysShown, n)], "; ")
		if n > keysShown {
			some += fmt.Sprintf(" and %d more switches (--json lists all)", n-keysShown)
		}
		if len(r.Findings) > 0 {
			some += "; fix: if some of these switches have no hosts, name the hosts of the others in DEVICE_NEIGHBOR, or set type in DEVICE_METADATA (ToRRouter, LeafRouter, SpineRouter)"
		}
		w.text("", "assumed hosts on ports without a neighbour: "+some, wrapped)
	}
}

// coloured returns a verdict for a headline.
func coloured(v rules.Verdict) string {
	switch v {
	case rules.Lossless:
		return color.GreenString("%s", v)
	case rules.NotLossless:
		return color.RedString("%s", strings.ToUpper(string(v)))
	}
	return color.YellowString("%s", v)
}

// verdict prints the verdict for one switch.
func (w *sheet) verdict(s *rules.Report) {
	verdict := coloured(s.Verdict)
	if n := s.Count(rules.Error); n > 0 {
		verdict += ", " + plural(n, "error")
	}
	w.line("%s (%s, %s buffers): %s, %s, %s", color.New(color.Bold).Sprint(s.Switch), s.Chip, s.Model, verdict,
		plural(s.Count(rules.Warning), "warning"), plural(s.Count(rules.Note), "note"))
}

// keysShown is the number of keys printed per finding.
const keysShown = 3

// ruleFinding prints one finding of a rule.
func (w *sheet) ruleFinding(f *rules.Finding, wrapped bool) {
	level := color.YellowString("%s", f.Severity)
	if f.Severity == rules.Error {
		level = color.RedString("ERROR")
	}
	keys := strings.Join(f.Keys[:min(keysShown, len(f.Keys))], ", ")
	if more := len(f.Keys) - keysShown; more > 0 {
		keys += fmt.Sprintf(" and %d more", more)
	}
	if f.Field != "" {
		keys += ": " + f.Field
	}
	w.line("%s (rule %d, %s) %s %s", level, f.Rule, f.Name, f.Table, keys)
	w.text("  ", f.What, wrapped)
	if f.Severity != rules.Note {
		w.text("  ", "why: "+f.Why, wrapped)
		w.text("  ", "fix: "+f.Fix, wrapped)
		if f.Case != "" {
			w.text("  ", "seen: "+f.Case, wrapped)
		}
	}
}

// boundsNote explains the bounds in the table of priority groups.
var boundsNote = fmt.Sprintf("least decides: headroom below it is an error. It counts the cable and one frame, for a peer that reacts at once. Other bounds assume more: need the reaction time of 802.3, need_small also small packets that waste cells, exact all delays of a simulation and frames of %d B.", int64(rules.MinFrame))

// losslessGroups prints the table of priority groups. Identical groups of a switch share a
// line. Cells have no spaces.
func (w *sheet) losslessGroups(list []*rules.Report) {
	w.line("switch\tport\tpg\tidentical\trate\tcable\tleast\tneed\tneed_small\texact\theadroom\tpfc_at\tdrop_at\tspare")
	for _, s := range list {
		var first []rules.Group
		var identical []int
		for _, g := range s.Groups {
			i := slices.IndexFunc(first, func(o rules.Group) bool {
				o.Port, o.Group = g.Port, g.Group
				return o == g
			})
			if i < 0 {
				i = len(first)
				first, identical = append(first, g), append(identical, 0)
			}
			identical[i]++
		}
		for i, g := range first {
			cable := g.Cable
			if cable == "" {
				cable = "-"
			}
			w.line("%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d", s.Switch, g.Port, g.Group, identical[i], g.Rate, cable,
				int64(g.Least), int64(g.Need), int64(g.Small), int64(g.Exact), int64(g.Have), int64(g.PFC), int64(g.Drop), int64(g.Spare))
		}
	}
}

// change prints the differences from another configuration.
func (w *sheet) change(c *rules.Change, wrapped bool) {
	w.line("compared with the other configuration: %s, %s, %d unchanged", plural(len(c.New), "new finding"), plural(len(c.Gone), "finding")+" gone", c.Kept)
	for i := range c.New {
		w.line("")
		w.line("new")
		w.ruleFinding(&c.New[i], wrapped)
	}
	for i := range c.Gone {
		f := &c.Gone[i]
		w.line("gone: %s (rule %d, %s) %s %s", f.Severity, f.Rule, f.Name, f.Table, strings.Join(f.Keys[:min(keysShown, len(f.Keys))], ", "))
	}
	for _, g := range c.Groups {
		w.line("%s %s|%d: headroom %d -> %d, pfc_at %d -> %d, drop_at %d -> %d", g.Switch, g.Port, g.Group,
			int64(g.Before.Have), int64(g.After.Have), int64(g.Before.PFC), int64(g.After.PFC), int64(g.Before.Drop), int64(g.After.Drop))
	}
}
