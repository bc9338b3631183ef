package check

import (
	"context"
	"slices"

	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
	"github.com/xoff-net/xoff/scenario"
)

// SwitchReport is the result of checking SONiC switch configurations.
type SwitchReport struct {
	// Verdict is the worst verdict of the switches; a loop of buffers makes it NotLossless,
	// because only drops resolve a deadlock.
	Verdict  rules.Verdict   `json:"verdict"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Notes    int             `json:"notes"`
	Switches []*rules.Report `json:"switches"`
	Fabric   *FabricReport   `json:"fabric,omitempty"` // nil for a single switch
	Against  *rules.Change   `json:"against,omitempty"`
}

// FabricReport holds the findings about several switches together.
type FabricReport struct {
	Findings []Finding `json:"findings"`                // cyclic buffer dependencies
	Skipped  string    `json:"not_judged,omitempty"`    // why there are no findings
	Assumed  []string  `json:"assumed_hosts,omitempty"` // ports that are assumed to have hosts, by switch
	New      int       `json:"new,omitempty"`           // findings that the earlier configuration does not have
}

// Failed returns the number of errors; in a comparison, only the new ones.
func (r *SwitchReport) Failed() int {
	if r.Against == nil {
		return r.Errors
	}
	n := r.Against.Count(rules.Error)
	if r.Fabric != nil {
		n += r.Fabric.New
	}
	return n
}

// Switches checks configurations of switches and, if before is not nil, compares them with
// earlier ones. It fails only if the context ends.
func Switches(ctx context.Context, now, before *sonic.Plant, workers int) (*SwitchReport, error) {
	r := &SwitchReport{Switches: JudgeSwitches(now)}
	r.Verdict = Worst(r.Switches)
	for _, s := range r.Switches {
		r.Errors += s.Count(rules.Error)
		r.Warnings += s.Count(rules.Warning)
		r.Notes += s.Count(rules.Note)
	}
	var err error
	if r.Fabric, err = loops(ctx, now, workers); err != nil {
		return nil, err
	}
	if r.Fabric != nil {
		r.Errors += len(r.Fabric.Findings)
		if len(r.Fabric.Findings) > 0 {
			r.Verdict = rules.NotLossless
		}
	}
	if before == nil {
		return r, nil
	}
	r.Against = rules.Compare(JudgeSwitches(before), r.Switches)
	if r.Fabric != nil {
		old, err := loops(ctx, before, workers)
		if err != nil {
			return nil, err
		}
		r.Fabric.New = r.Fabric.countNew(old)
	}
	return r, nil
}

// Worst returns the worst verdict of switches.
func Worst(list []*rules.Report) rules.Verdict {
	worst := 0
	for _, s := range list {
		worst = max(worst, slices.Index(rules.Verdicts, s.Verdict))
	}
	return rules.Verdicts[worst]
}

// JudgeSwitches applies the rules to every switch by itself.
func JudgeSwitches(p *sonic.Plant) []*rules.Report {
	var list []*rules.Report
	for _, s := range p.Switches {
		list = append(list, rules.Judge(s))
	}
	return list
}

// countNew returns the number of findings that old does not have.
func (r *FabricReport) countNew(old *FabricReport) int {
	n := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if old == nil || !slices.ContainsFunc(old.Findings, func(o Finding) bool { return o.Kind == f.Kind && o.What == f.What }) {
			n++
		}
	}
	return n
}

// loops converts the switches to a scenario and reports its cyclic buffer dependencies, also
// after single link failures. It returns nil for a single switch.
func loops(ctx context.Context, p *sonic.Plant, workers int) (*FabricReport, error) {
	if len(p.Switches) < 2 {
		return nil, nil
	}
	r := &FabricReport{Findings: []Finding{}}
	made, survey, err := PlanOf(p)
	if made != nil {
		r.Assumed = made.Assumed
	}
	if err == nil {
		err = survey.Fits()
	}
	if err != nil {
		r.Skipped = err.Error()
		return r, nil
	}
	found, err := Run(ctx, survey, Options{Failures: 1, Workers: workers})
	if err != nil {
		return nil, err
	}
	for _, f := range found.Findings {
		if f.Kind == KindCycles || f.Kind == KindFailures {
			r.Findings = append(r.Findings, f)
		}
	}
	return r, nil
}

// PlanOf converts switches to a scenario and surveys its fabric.
func PlanOf(p *sonic.Plant) (*convert.Imported, *Survey, error) {
	made, err := convert.Scenario(p.Name(), p.Switches, p.Wires)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := scenario.Parse("the scenario", made.Text)
	if err != nil {
		return nil, nil, err
	}
	survey, err := NewSurvey(cfg)
	return made, survey, err
}
