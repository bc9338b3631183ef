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
)

// checkSonic judges configurations of switches.
func (a *app) checkSonic(ctx context.Context, args []string, f *checkFlags) error {
	if err := a.checkWorkers(); err != nil {
		return err
	}
	r, err := a.judged(ctx, args, f)
	if err != nil {
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
	return nil
}

// judged reads configurations and says what is wrong with them.
func (a *app) judged(ctx context.Context, args []string, f *checkFlags) (*check.SwitchReport, error) {
	defer a.meanwhile("reads and judges configurations")()
	now, err := sonic.ReadPlant(args, &f.sonic.Extra)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	var before *sonic.Plant
	if f.against != "" {
		if before, err = sonic.ReadPlant([]string{f.against}, &f.sonic.Extra); err != nil {
			return nil, wrap(exitInput, err)
		}
	}
	r, err := check.Switches(ctx, now, before, a.workers)
	if err != nil {
		return nil, failf(exitInterrupted, "interrupted: %v", err)
	}
	return r, nil
}

func (a *app) printSonic(r *check.SwitchReport) error {
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	several := len(r.Switches) > 1
	if several {
		w.together(r)
	}
	for _, s := range r.Switches {
		if several {
			w.line("")
		}
		w.verdict(s)
		for j := range s.Findings {
			if several && s.Findings[j].Severity == rules.Note {
				continue // the same ones again and again; --json has them
			}
			w.line("")
			w.ruleFinding(&s.Findings[j], isTerminal(a.out))
		}
		if several {
			continue
		}
		if len(s.Skipped) > 0 {
			w.line("")
		}
		for _, skipped := range s.Skipped {
			w.line("not judged: rule %d: %s", skipped.Rule, skipped.Why)
		}
		if len(s.Unread) > 0 {
			w.line("")
			w.text("", "tables not looked at: "+strings.Join(s.Unread, ", "), isTerminal(a.out))
		}
	}
	if r.Fabric != nil {
		w.line("")
		w.fabric(r.Fabric, isTerminal(a.out))
	}
	w.line("")
	w.losslessGroups(r.Switches)
	if r.Against != nil {
		w.line("")
		w.change(r.Against, isTerminal(a.out))
		if r.Fabric != nil && r.Fabric.New > 0 {
			w.line("new: %s of buffers", plural(r.Fabric.New, "kind of loop"))
		}
	}
	return w.flush()
}

// together prints the line that answers the question for several switches.
func (w *sheet) together(r *check.SwitchReport) {
	var bad []string
	for _, s := range r.Switches {
		if s.Count(rules.Error) > 0 {
			bad = append(bad, s.Switch)
		}
	}
	verdict := color.GreenString("lossless")
	if len(bad) > 0 {
		verdict = color.RedString("NOT LOSSLESS") + ": " + strings.Join(bad, ", ")
	}
	w.line("%s: %s; %s, %s, %s (notes with --json)", fmt.Sprintf("%d switches", len(r.Switches)), verdict,
		plural(r.Errors, "error"), plural(r.Warnings, "warning"), plural(r.Notes, "note"))
}

// fabric prints what is found in switches together.
func (w *sheet) fabric(r *check.FabricReport, wrapped bool) {
	switch {
	case r.Skipped != "":
		w.text("", "loops of buffers are not judged: "+r.Skipped, wrapped)
	case len(r.Findings) == 0:
		w.line("%s, whatever single link fails", color.GreenString("no buffers wait for each other in a loop"))
	}
	for i := range r.Findings {
		w.finding("", &r.Findings[i], wrapped)
	}
}

// verdict prints the line that answers the question.
func (w *sheet) verdict(s *rules.Report) {
	verdict := color.GreenString("lossless")
	if n := s.Count(rules.Error); n > 0 {
		verdict = color.RedString("NOT LOSSLESS") + ", " + plural(n, "error")
	}
	w.line("%s (%s, %s buffers): %s, %s, %s", color.New(color.Bold).Sprint(s.Switch), s.Chip, s.Model, verdict,
		plural(s.Count(rules.Warning), "warning"), plural(s.Count(rules.Note), "note"))
}

// keysShown is how many keys of a finding are printed.
const keysShown = 3

// ruleFinding prints one finding.
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
		w.text("  ", "mend: "+f.Fix, wrapped)
		if f.Case != "" {
			w.text("  ", "seen: "+f.Case, wrapped)
		}
	}
}

// losslessGroups prints the table of priority groups; alike ones of a switch are
// one line. Cells have no spaces.
func (w *sheet) losslessGroups(list []*rules.Report) {
	w.line("switch\tport\tpg\talike\trate\tcable\tneed\tneed_small\texact\theadroom\tpfc_at\tdrop_at\tspare")
	for _, s := range list {
		var first []rules.Group
		var alike []int
		for _, g := range s.Groups {
			i := slices.IndexFunc(first, func(o rules.Group) bool {
				o.Port, o.Group = g.Port, g.Group
				return o == g
			})
			if i < 0 {
				i = len(first)
				first, alike = append(first, g), append(alike, 0)
			}
			alike[i]++
		}
		for i, g := range first {
			cable := g.Cable
			if cable == "" {
				cable = "-"
			}
			w.line("%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d", s.Switch, g.Port, g.Group, alike[i], g.Rate, cable,
				int64(g.Need), int64(g.Small), int64(g.Exact), int64(g.Have), int64(g.PFC), int64(g.Drop), int64(g.Spare))
		}
	}
}

// change prints what is different from another configuration.
func (w *sheet) change(c *rules.Change, wrapped bool) {
	w.line("against the other configuration: %s, %s, %d as before", plural(len(c.New), "new finding"), plural(len(c.Gone), "finding")+" gone", c.Kept)
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
