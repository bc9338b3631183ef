package reproduce

import (
	"fmt"
	"reflect"
	"strings"
)

// This file decides whether the runs at a position are sufficient for a verdict.

// sameForAllSeeds reports whether all runs at a position have the same results, whatever their
// seed. They count as one run, without randomness.
func (r *Result) sameForAllSeeds(at Position) bool {
	var first *PointResult
	n := 0
	for i := range r.Points {
		p := &r.Points[i]
		if p.Position != at {
			continue
		}
		if n++; first == nil {
			first = p
		}
		same := p.Code == first.Code && reflect.DeepEqual(p.Values, first.Values)
		if !same || !reflect.DeepEqual(p.Distributions, first.Distributions) {
			return false
		}
	}
	return n > 1
}

// maxUnfinished is the maximum share of unfinished flows among the measured flows of a group.
const maxUnfinished = 0.01

// Values of Metric.Unfinished.
const (
	unfinishedOut = ""           // unfinished flows are excluded, and must be few
	unfinishedEnd = "end of run" // the end of the run is the lower bound of their completion
)

// needsFinished reports whether unfinished flows make a metric unreliable. Probes and deadlock
// detection observe queues, so it does not matter which flows finish.
func (m *Metric) needsFinished() bool {
	watched := strings.HasPrefix(m.Table, "probe-") || m.Table == "deadlocks" || strings.HasPrefix(m.Summary, "deadlock.")
	return m.Unfinished == unfinishedOut && !watched
}

// group returns the group of flows that a summary path or the rows of a table select, such
// as workloads.web. Empty means all flows.
func group(summary, table string, rows map[string]string) string {
	if table == "flows" && rows["workload"] != "" {
		return "workloads." + rows["workload"]
	}
	for _, list := range []string{"workloads.", "classes.", "sizes."} {
		if rest, ok := strings.CutPrefix(summary, list); ok {
			name, _, _ := strings.Cut(rest, ".")
			return list + name
		}
	}
	return ""
}

// unfinishedOf returns the counts of unfinished flows in the group of a metric, or all such counts
// if the group has none.
func (e *Experiment) unfinishedOf(m *Metric) []*Count {
	var own, all []*Count
	for i := range e.Counts {
		c := &e.Counts[i]
		if c.Of == "" {
			continue
		}
		all = append(all, c)
		if group(c.Summary, c.Table, c.Rows) == group(m.Summary, m.Table, m.Rows) {
			own = append(own, c)
		}
	}
	if own != nil {
		return own
	}
	return all
}

// unfinished returns a message for each count of unfinished flows that exceeds maxUnfinished at a
// position and makes a metric unreliable there.
func (e *Experiment) unfinished(r *Result, at Position, m *Metric) []string {
	if !m.needsFinished() {
		return nil
	}
	var list []string
	for _, c := range e.unfinishedOf(m) {
		most := 0.0
		for i := range r.Points {
			p := &r.Points[i]
			if left := p.Values[c.Name]; p.Position == at && left > 0 {
				most = max(most, left/(left+p.Values[c.Of]))
			}
		}
		if most > maxUnfinished {
			list = append(list, fmt.Sprintf("%s: %.1f %% of the flows of one run", c.Name, 100*most))
		}
	}
	return list
}

// failed returns a message if runs at a position failed: measurements of such runs say
// nothing about the paper.
func (r *Result) failed(at Position) []string {
	n := 0
	for i := range r.Points {
		if p := &r.Points[i]; p.Position == at && p.Code != 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d runs failed", n, r.runs(at))}
}

// flags returns a message for each count that is below its minimum at a position.
func (e *Experiment) flags(r *Result, at Position) []string {
	var list []string
	for _, c := range e.Counts {
		if c.Least == 0 || c.Scheme != "" && c.Scheme != at.Scheme || c.X != "" && c.X != at.X {
			continue
		}
		least := -1.0
		for i := range r.Points {
			if p := &r.Points[i]; p.Position == at && (least < 0 || p.Values[c.Name] < least) {
				least = p.Values[c.Name]
			}
		}
		if least < float64(c.Least) {
			list = append(list, fmt.Sprintf("%s: %.0f, expected at least %d", c.Name, max(0, least), c.Least))
		}
	}
	return list
}
