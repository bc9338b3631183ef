package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Change is a difference between two reports.
type Change struct {
	Better bool     `json:"better"`
	What   string   `json:"what,omitempty"`   // a changed number that is not a finding
	Now    *Finding `json:"now,omitempty"`    // nil: the finding is gone
	Before *Finding `json:"before,omitempty"` // nil: the finding is new
}

// Comparison lists the differences between the reports of two versions of a scenario.
type Comparison struct {
	Scenario string   `json:"scenario"`
	Against  string   `json:"against"`
	Problems int      `json:"worse_problems"` // new or worse problems
	Worse    []Change `json:"worse"`
	Better   []Change `json:"better"`
}

// Compare compares a report with the report of an earlier version of the scenario. It leaves
// out what has not changed.
func Compare(now, before *Report) *Comparison {
	c := &Comparison{Scenario: now.Scenario, Against: before.Scenario, Worse: []Change{}, Better: []Change{}}
	left := slices.Clone(before.Findings)
	var changed []Finding
	for _, f := range now.Findings {
		if !remove(&left, f.same) {
			changed = append(changed, f)
		}
	}
	for _, f := range changed {
		at := slices.IndexFunc(left, f.sameSubject)
		if at < 0 {
			c.add(Change{Now: &f})
			continue
		}
		old := left[at]
		left = slices.Delete(left, at, at+1)
		switch d := f.amount() - old.amount(); {
		case f.Level != old.Level:
			c.add(Change{Better: rank(f.Level) > rank(old.Level), Now: &f, Before: &old})
		case d != 0:
			c.add(Change{Better: d < 0, Now: &f, Before: &old})
		default: // equally bad, but different: one is new, one is gone
			c.add(Change{Now: &f})
			c.add(Change{Better: true, Before: &old})
		}
	}
	for _, f := range left {
		c.add(Change{Better: true, Before: &f})
	}
	c.budgets(now, before)
	c.storms(now.Storm, before.Storm)
	return c
}

func (c *Comparison) add(x Change) {
	if x.Better {
		c.Better = append(c.Better, x)
		return
	}
	c.Worse = append(c.Worse, x)
	if x.Now != nil && x.Now.Level == Problem {
		c.Problems++
	}
}

// remove removes the first matching finding from a list and reports whether there was one.
func remove(list *[]Finding, match func(Finding) bool) bool {
	at := slices.IndexFunc(*list, match)
	if at >= 0 {
		*list = slices.Delete(*list, at, at+1)
	}
	return at >= 0
}

// same reports whether two findings are equal, apart from their location.
func (f *Finding) same(o Finding) bool {
	return f.sameSubject(o) && f.Level == o.Level && f.What == o.What
}

// sameSubject reports whether two findings are about the same thing.
func (f *Finding) sameSubject(o Finding) bool {
	return f.Kind == o.Kind && slices.Equal(f.Classes, o.Classes) && slices.Equal(f.Links, o.Links) && slices.Equal(f.subjects(), o.subjects())
}

// subjects returns the objects that a finding is about. For partitions there are none: their
// hosts are part of the amount.
func (f *Finding) subjects() []string {
	if f.Kind == KindPartition {
		return nil
	}
	return f.Where
}

// amount returns how bad a finding is, on a scale of its kind; larger is worse.
func (f *Finding) amount() int64 {
	const huge = 1 << 40
	switch {
	case f.Headroom != nil:
		return int64(f.Headroom.Short)
	case f.Buffer != nil:
		return -int64(f.Buffer.Shared)
	case f.Late != nil && f.Late.From == 0:
		return huge + int64(f.Late.Marks-f.Late.Reach)
	case f.Late != nil:
		return int64(f.Late.From)
	case f.CutOffs != nil: // fewer links are worse
		return int64(len(f.Where)) - huge*int64(len(f.CutOffs[0].Links))
	case f.Failures != nil:
		return int64(f.cyclic)
	case f.More:
		return huge
	}
	return int64(len(f.Cycles))
}

// budgets compares the shared buffers of switches.
func (c *Comparison) budgets(now, before *Report) {
	type pair struct{ was, is units.Bytes }
	had := make(map[string]units.Bytes)
	for _, b := range before.Budgets {
		for _, s := range b.Switches {
			had[s] = b.Shared
		}
	}
	var order []pair
	names := make(map[pair][]string)
	for _, b := range now.Budgets {
		for _, s := range b.Switches {
			was, ok := had[s]
			p := pair{was, b.Shared}
			if !ok || was == b.Shared {
				continue
			}
			if names[p] == nil {
				order = append(order, p)
			}
			names[p] = append(names[p], s)
		}
	}
	for _, p := range order {
		c.add(Change{Better: p.is > p.was, What: fmt.Sprintf("%s: shared buffer is %d B, was %d B", brief(names[p]), p.is, p.was)})
	}
}

// storms compares how far the pauses of a stuck host spread.
func (c *Comparison) storms(now, before *Storm) {
	if now == nil || before == nil || !now.worse(before) && !before.worse(now) {
		return
	}
	describe := func(s *Storm) string {
		parts := []string{fmt.Sprintf("%d hosts", len(s.Paused)), fmt.Sprintf("%d ports between switches", len(s.Ports))}
		if s.OfFlows > 0 {
			parts = append(parts, fmt.Sprintf("%d flows", s.Flows))
		}
		return strings.Join(parts, ", ")
	}
	c.add(Change{Better: before.worse(now), What: fmt.Sprintf("a stuck host now pauses in the worst case (%s) %s; before (%s) %s",
		now.Host, describe(now), before.Host, describe(before))})
}
