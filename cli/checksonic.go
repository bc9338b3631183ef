package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"

	"github.com/xoff-net/xoff/internal/check"
	"github.com/xoff-net/xoff/internal/sonic/convert"
	"github.com/xoff-net/xoff/internal/sonic/rules"
	"github.com/xoff-net/xoff/scenario"
)

// sonicReport is what a check of switches prints.
type sonicReport struct {
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Notes    int             `json:"notes"`
	Switches []*rules.Report `json:"switches"`
	Fabric   *fabricReport   `json:"fabric,omitempty"` // of several switches
	Against  *rules.Change   `json:"against,omitempty"`
}

// fabricReport is what is found in switches together.
type fabricReport struct {
	Findings []check.Finding `json:"findings"` // loops of buffers
	Skipped  string          `json:"not_judged,omitempty"`
	New      int             `json:"new,omitempty"` // findings that the other configuration does not have
}

// fresh counts findings that another fabric does not have.
func (r *fabricReport) fresh(old *fabricReport) int {
	n := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if old == nil || !slices.ContainsFunc(old.Findings, func(o check.Finding) bool { return o.Kind == f.Kind && o.What == f.What }) {
			n++
		}
	}
	return n
}

// loops looks for loops of buffers that can wait for each other, also when a link
// fails, in the scenario that the switches make.
func loops(ctx context.Context, p *plant, workers int) (*fabricReport, error) {
	r := &fabricReport{Findings: []check.Finding{}}
	if len(p.switches) < 2 {
		return nil, nil
	}
	text, _, err := convert.Scenario("fabric", p.switches, p.wires)
	if err != nil {
		r.Skipped = err.Error()
		return r, nil
	}
	cfg, err := scenario.Parse("the scenario", text)
	if err != nil {
		r.Skipped = err.Error()
		return r, nil
	}
	survey, err := check.NewSurvey(cfg)
	if err == nil {
		err = survey.Fits()
	}
	if err != nil {
		r.Skipped = err.Error()
		return r, nil
	}
	found, err := check.Run(ctx, survey, check.Options{Failures: 1, Workers: workers})
	if err != nil {
		return nil, err
	}
	for _, f := range found.Findings {
		if f.Kind == check.OfCycles || f.Kind == check.OfFailures {
			r.Findings = append(r.Findings, f)
		}
	}
	return r, nil
}

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
	failed, what := r.Errors, "error"
	if r.Against != nil {
		failed, what = r.Against.Count(rules.Error), "new error"
		if r.Fabric != nil {
			failed += r.Fabric.New
		}
	}
	if failed > 0 {
		return failf(exitFailure, "%s in %s", plural(failed, what), strings.Join(args, ", "))
	}
	return nil
}

// judged reads configurations and says what is wrong with them.
func (a *app) judged(ctx context.Context, args []string, f *checkFlags) (*sonicReport, error) {
	defer a.meanwhile("reads and judges configurations")()
	p, err := f.sonic.read(args)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	r := &sonicReport{Switches: judge(p)}
	for _, s := range r.Switches {
		r.Errors += s.Count(rules.Error)
		r.Warnings += s.Count(rules.Warning)
		r.Notes += s.Count(rules.Note)
	}
	if r.Fabric, err = loops(ctx, p, a.workers); err != nil {
		return nil, failf(exitInterrupted, "interrupted: %v", err)
	}
	if r.Fabric != nil {
		r.Errors += len(r.Fabric.Findings)
	}
	if f.against != "" {
		old, err := f.sonic.read([]string{f.against})
		if err != nil {
			return nil, wrap(exitInput, err)
		}
		r.Against = rules.Compare(judge(old), r.Switches)
		if r.Fabric != nil {
			before, err := loops(ctx, old, a.workers)
			if err != nil {
				return nil, failf(exitInterrupted, "interrupted: %v", err)
			}
			r.Fabric.New = r.Fabric.fresh(before)
		}
	}
	return r, nil
}

func judge(p *plant) []*rules.Report {
	var list []*rules.Report
	for _, s := range p.switches {
		list = append(list, rules.Judge(s))
	}
	return list
}

func (a *app) printSonic(r *sonicReport) error {
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
func (w *sheet) together(r *sonicReport) {
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
func (w *sheet) fabric(r *fabricReport, wrapped bool) {
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
