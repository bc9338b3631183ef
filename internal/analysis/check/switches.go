package check

import (
	"context"
	"slices"

	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
	"github.com/xoff-net/xoff/scenario"
)

// SwitchReport is what a check of SONiC switches finds.
type SwitchReport struct {
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Notes    int             `json:"notes"`
	Switches []*rules.Report `json:"switches"`
	Fabric   *FabricReport   `json:"fabric,omitempty"` // of several switches
	Against  *rules.Change   `json:"against,omitempty"`
}

// FabricReport is what is found in switches together.
type FabricReport struct {
	Findings []Finding `json:"findings"` // loops of buffers
	Skipped  string    `json:"not_judged,omitempty"`
	New      int       `json:"new,omitempty"` // findings that the other configuration does not have
}

// Failed counts the errors, or with another configuration to compare with, the new ones.
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

// Switches judges configurations of switches and compares them with earlier ones, if
// before is not nil. It fails only when the context ends.
func Switches(ctx context.Context, now, before *sonic.Plant, workers int) (*SwitchReport, error) {
	r := &SwitchReport{Switches: judge(now)}
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
	}
	if before == nil {
		return r, nil
	}
	r.Against = rules.Compare(judge(before), r.Switches)
	if r.Fabric != nil {
		old, err := loops(ctx, before, workers)
		if err != nil {
			return nil, err
		}
		r.Fabric.New = r.Fabric.fresh(old)
	}
	return r, nil
}

func judge(p *sonic.Plant) []*rules.Report {
	var list []*rules.Report
	for _, s := range p.Switches {
		list = append(list, rules.Judge(s))
	}
	return list
}

// fresh counts findings that another fabric does not have.
func (r *FabricReport) fresh(old *FabricReport) int {
	n := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if old == nil || !slices.ContainsFunc(old.Findings, func(o Finding) bool { return o.Kind == f.Kind && o.What == f.What }) {
			n++
		}
	}
	return n
}

// loops looks for loops of buffers that can wait for each other, also when a link
// fails, in the scenario that the switches make. A single switch has no fabric.
func loops(ctx context.Context, p *sonic.Plant, workers int) (*FabricReport, error) {
	if len(p.Switches) < 2 {
		return nil, nil
	}
	r := &FabricReport{Findings: []Finding{}}
	survey, err := surveyPlant(p)
	if err != nil {
		r.Skipped = err.Error()
		return r, nil
	}
	found, err := Run(ctx, survey, Options{Failures: 1, Workers: workers})
	if err != nil {
		return nil, err
	}
	for _, f := range found.Findings {
		if f.Kind == OfCycles || f.Kind == OfFailures {
			r.Findings = append(r.Findings, f)
		}
	}
	return r, nil
}

// surveyPlant surveys the scenario that switches make.
func surveyPlant(p *sonic.Plant) (*Survey, error) {
	text, _, err := convert.Scenario(p.Name(), p.Switches, p.Wires)
	if err != nil {
		return nil, err
	}
	cfg, err := scenario.Parse("the scenario", text)
	if err != nil {
		return nil, err
	}
	survey, err := NewSurvey(cfg)
	if err == nil {
		err = survey.Fits()
	}
	return survey, err
}
