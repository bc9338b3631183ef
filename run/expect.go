package run

import (
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
)

// Expected is an expectation of a scenario and its result.
type Expected struct {
	That  string   `json:"that"`
	Value *float64 `json:"value"` // null if nothing was measured, such as a percentile of no flows
	Holds bool     `json:"holds"`
	found string
	drops bool // it holds and is about lossless drops
}

// String returns the expectation and the value found.
func (e *Expected) String() string { return e.That + ", got " + e.found }

// Judge compares a summary with the expectations of its scenario.
func Judge(expect []fabric.Expectation, s *metrics.Summary) []Expected {
	var list []Expected
	for i := range expect {
		c := &expect[i].Condition
		e := Expected{That: expect[i].Text, found: "no value, because nothing was measured"}
		if v, ok := metrics.Find(s, c.Metric); ok {
			e.Value, e.Holds, e.found = &v, c.Holds(v), metrics.Format(c.Metric, v)
			if !e.Holds && e.found == metrics.Format(c.Metric, c.Value) {
				e.found = metrics.Exact(c.Metric, v)
			}
			e.drops = e.Holds && (c.Metric == "drops.lossless" || c.Metric == "drops.lossless_broken")
		}
		list = append(list, e)
	}
	return list
}

// WithExpectations returns the verdict after adding the expectations that do not hold. An
// expectation about lossless drops that holds allows them.
func (v Verdict) WithExpectations(list []Expected) Verdict {
	if v.Otherwise != nil && slices.ContainsFunc(list, func(e Expected) bool { return e.drops }) {
		aborted := v.Aborted
		v = *v.Otherwise
		v.Aborted = aborted
	}
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
		text += "; the run was aborted"
	}
	if v.Message != "" {
		text = v.Message + "; " + text
	}
	v.Code, v.Message = max(v.Code, Failure), text
	return v
}

// watchExpectations extends the stop rule: the run ends when an expectation with abort no
// longer holds. The engine checks the rule at fixed times, so the end does not depend on
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
