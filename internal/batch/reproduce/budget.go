package reproduce

import (
	"fmt"
	"strings"
	"time"
)

// Budgets of the paper scale, in CPU seconds. A figure that needs more is reduced to its
// decisive points, or omitted with the reason.
const (
	figureBudget = 30 * 60
	paperBudget  = 3 * 3600
)

// source returns what the scenario of a position is built from. Positions with an equal
// source share their runs.
func (e *Experiment) source(scale string, at Position) string {
	return strings.Join(append([]string{e.base, e.scenario}, e.settings(scale, at)...), "\x00")
}

// overBudget returns the figures and papers whose paper scale exceeds its budget by the
// estimated time of their points. Shared runs count in each figure, but once in the paper.
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
		for _, at := range e.positions(Full) {
			for seed := range e.Scales.Paper.Seeds {
				key := fmt.Sprintf("%s\x00%d", e.source(Full, at), seed)
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

// notRun returns a note that the paper scale, or the experiment, was not run, with its cost.
// It returns "" if the paper scale was run.
func (r *Results) notRun() string {
	e := r.Experiment
	if r.Paper != nil || !e.Simulated() || !e.Has(Full) {
		return ""
	}
	points, seconds := e.Cost(Full)
	cost := fmt.Sprintf("%d runs, about %s on one core", points, cpuTime(seconds))
	if seconds > figureBudget {
		cost += fmt.Sprintf(", more than the limit of %s per figure", cpuTime(figureBudget))
	}
	if r.Quick == nil && e.Has(Quick) {
		return "Neither scale was run yet. The paper scale needs " + cost + "."
	}
	return "The paper scale was not run: " + cost + "."
}
