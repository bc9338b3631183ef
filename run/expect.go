package run

import (
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
)

// Expected is an expectation of a scenario and what came of it.
type Expected struct {
	That  string   `json:"that"`
	Value *float64 `json:"value"` // null: there is no such number, such as a percentile of no flows
	Holds bool     `json:"holds"`
	found string
}

// String says what was expected and what came.
func (e *Expected) String() string { return e.That + ": it is " + e.found }

// Judge holds a summary against what is expected of it.
func Judge(expect []fabric.Expectation, s *metrics.Summary) []Expected {
	var list []Expected
	for i := range expect {
		c := &expect[i].Condition
		e := Expected{That: expect[i].Text, found: "unknown, as there is nothing to measure"}
		if v, ok := metrics.Find(s, c.Metric); ok {
			e.Value, e.Holds, e.found = &v, c.Holds(v), metrics.Format(c.Metric, v)
			if !e.Holds && e.found == metrics.Format(c.Metric, c.Value) {
				e.found = metrics.Exact(c.Metric, v)
			}
		}
		list = append(list, e)
	}
	return list
}

// Expecting adds to what a run found what was expected of it.
func (v Verdict) Expecting(list []Expected) Verdict {
	var broken []string
	for i := range list {
		if !list[i].Holds && (list[i].Value != nil || !v.Aborted) {
			broken = append(broken, list[i].String())
		}
	}
	if len(broken) == 0 {
		return v
	}
	text := "expected " + strings.Join(broken, "; expected ")
	if v.Aborted {
		text += "; the run was ended for it"
	}
	if v.Message != "" {
		text = v.Message + "; " + text
	}
	v.Code, v.Message = max(v.Code, Failure), text
	return v
}

// watchExpectations lets the stop rule end the run when an expectation breaks that
// wants that. The engine asks it at fixed times, so that the end does not depend on
// workers.
func (r *Run) watchExpectations() {
	var watched []fabric.Expectation
	for _, e := range r.Fabric.Expect {
		if e.Abort {
			watched = append(watched, e)
		}
	}
	if len(watched) == 0 {
		return
	}
	spec := *r.Fabric.Spec
	rule := spec.Done
	spec.Done = func(now units.Time) bool {
		s := (&metrics.Outcome{Totals: r.engine.Totals()}).SummarizeCounters()
		for i := range watched {
			if v, ok := metrics.Find(s, watched[i].Metric); ok && !watched[i].Holds(v) {
				r.aborted = true
				return true
			}
		}
		return rule != nil && rule(now)
	}
	r.Fabric.Spec = &spec
}
