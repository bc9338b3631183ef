package reproduce

import (
	"fmt"
	"reflect"
	"strings"
)

// This file decides whether the runs of a place can carry a verdict.

// once reports whether seeds change nothing at a place: all that is kept of its runs is
// the same, so that they are one run, whose numbers no chance is in.
func (r *Result) once(at Place) bool {
	var first *PointResult
	n := 0
	for i := range r.Points {
		p := &r.Points[i]
		if p.Place != at {
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

// mostUnfinished is the share of measured flows of a group that may be unfinished.
const mostUnfinished = 0.01

// Values of Metric.Unfinished.
const (
	unfinishedOut = ""           // they are left out, and must be few
	unfinishedEnd = "end of run" // the end of the run is the lower bound of theirs
)

// ofFlows reports whether unfinished flows make a metric doubtful. Probes and the search
// for deadlock watch queues while flows are on their way; it is all the same to them which
// of these end.
func (m *Metric) ofFlows() bool {
	watched := strings.HasPrefix(m.Table, "probe-") || m.Table == "deadlocks" || strings.HasPrefix(m.Summary, "deadlock.")
	return m.Unfinished == unfinishedOut && !watched
}

// group is the group of flows that a path of a summary or the rows of a table name:
// workloads.web. Empty: all flows.
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

// unfinishedOf are the counts of unfinished flows that matter for a metric: those of its
// group, or else all there are.
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

// unfinished says that a run of a place has too many unfinished flows for a metric.
func (e *Experiment) unfinished(r *Result, at Place, m *Metric) []string {
	if !m.ofFlows() {
		return nil
	}
	var list []string
	for _, c := range e.unfinishedOf(m) {
		most := 0.0
		for i := range r.Points {
			p := &r.Points[i]
			if left := p.Values[c.Name]; p.Place == at && left > 0 {
				most = max(most, left/(left+p.Values[c.Of]))
			}
		}
		if most > mostUnfinished {
			list = append(list, fmt.Sprintf("%s: %.1f %% of the flows of a run", c.Name, 100*most))
		}
	}
	return list
}

// failed says how many runs of a place failed, if any: what is measured in a run that
// broke a promise says nothing about the paper.
func (r *Result) failed(at Place) []string {
	n := 0
	for i := range r.Points {
		if p := &r.Points[i]; p.Place == at && p.Code != 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d runs failed", n, r.runs(at))}
}

// Flags are the counts of a place that are too low, in words.
func (e *Experiment) flags(r *Result, at Place) []string {
	var list []string
	for _, c := range e.Counts {
		if c.Least == 0 || c.Scheme != "" && c.Scheme != at.Scheme {
			continue
		}
		least := -1.0
		for i := range r.Points {
			if p := &r.Points[i]; p.Place == at && (least < 0 || p.Values[c.Name] < least) {
				least = p.Values[c.Name]
			}
		}
		if least < float64(c.Least) {
			list = append(list, fmt.Sprintf("%s: %.0f, %d are needed", c.Name, max(0, least), c.Least))
		}
	}
	return list
}
