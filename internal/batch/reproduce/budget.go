package reproduce

import (
	"fmt"
	"strings"
	"time"
)

// Budgets of the paper scale, in CPU seconds. A figure that needs more is cut to its
// decisive points, or left out with the reason.
const (
	figureBudget = 30 * 60
	paperBudget  = 3 * 3600
)

// made is what the scenario of a place is made from: places that are made of the same
// share their runs.
func (e *Experiment) made(scale string, at Place) string {
	return strings.Join(append([]string{e.base, e.scenario}, e.settings(scale, at)...), "\x00")
}

// overBudget names figures and papers whose paper scale takes too long by what their
// points are known to take. Runs that figures share count in each figure, and once in
// the paper.
func overBudget(list []*Experiment) []string {
	var names []string
	papers := make(map[string]float64)
	known := make(map[string]bool)
	var order []string
	for _, e := range list {
		if !e.Simulated() {
			continue
		}
		if _, seconds := e.Cost(Full); seconds > figureBudget {
			names = append(names, fmt.Sprintf("%s: %s", e.ID, cpuTime(seconds)))
		}
		if _, ok := papers[e.Paper.Name]; !ok {
			order = append(order, e.Paper.Name)
		}
		papers[e.Paper.Name] += 0
		for _, at := range e.places(Full) {
			for seed := range e.Scales.Paper.Seeds {
				key := fmt.Sprintf("%s\x00%d", e.made(Full, at), seed)
				if !known[key] {
					known[key] = true
					papers[e.Paper.Name] += e.Scales.Paper.Seconds
				}
			}
		}
	}
	for _, name := range order {
		if papers[name] > paperBudget {
			names = append(names, fmt.Sprintf("%s: %s", name, cpuTime(papers[name])))
		}
	}
	return names
}

func cpuTime(seconds float64) time.Duration {
	return (time.Duration(seconds) * time.Second).Round(time.Second)
}

// notRun says that an experiment has no results, or none of the paper scale, and what that
// takes; empty when it has.
func (r *Results) notRun() string {
	e := r.Experiment
	if r.Paper != nil || !e.Simulated() || !e.Has(Full) {
		return ""
	}
	points, seconds := e.Cost(Full)
	text := fmt.Sprintf("The paper scale has not run: %d runs, about %s of one core", points, cpuTime(seconds))
	if r.Quick == nil && e.Has(Quick) {
		text = "Not run yet, at neither scale. That of the paper" + strings.TrimPrefix(text, "The paper scale has not run")
	}
	if seconds > figureBudget {
		text += fmt.Sprintf(", more than the %s that a figure may take", cpuTime(figureBudget))
	}
	return text + "."
}
