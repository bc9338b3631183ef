package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Change is something that is better or worse than before.
type Change struct {
	Better bool     `json:"better"`
	What   string   `json:"what,omitempty"`   // of numbers that are no findings
	Now    *Finding `json:"now,omitempty"`    // nil: it is gone
	Before *Finding `json:"before,omitempty"` // nil: it is new
}

// Comparison is what a change of a scenario does to the answers of a check.
type Comparison struct {
	Scenario string   `json:"scenario"`
	Against  string   `json:"against"`
	Problems int      `json:"worse_problems"` // among what is worse
	Worse    []Change `json:"worse"`
	Better   []Change `json:"better"`
}

// Compare holds a report against that of the scenario as it was before. What is the same
// is left out.
func Compare(now, before *Report) *Comparison {
	c := &Comparison{Scenario: now.Scenario, Against: before.Scenario, Worse: []Change{}, Better: []Change{}}
	left := slices.Clone(before.Findings)
	var fresh []Finding
	for _, f := range now.Findings {
		if !take(&left, f.same) {
			fresh = append(fresh, f)
		}
	}
	for _, f := range fresh {
		at := slices.IndexFunc(left, f.about)
		if at < 0 {
			c.add(Change{Now: &f})
			continue
		}
		old := left[at]
		left = slices.Delete(left, at, at+1)
		switch d := f.amount() - old.amount(); {
		case f.Level != old.Level:
			c.add(Change{Better: f.Level == Note, Now: &f, Before: &old})
		case d != 0:
			c.add(Change{Better: d < 0, Now: &f, Before: &old})
		default: // as bad, but not the same: one has come, one is gone
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

// take takes the first finding out of a list that is what is looked for.
func take(list *[]Finding, is func(Finding) bool) bool {
	at := slices.IndexFunc(*list, is)
	if at >= 0 {
		*list = slices.Delete(*list, at, at+1)
	}
	return at >= 0
}

// same tells whether two findings say the same, wherever it is written.
func (f *Finding) same(o Finding) bool {
	return f.about(o) && f.Level == o.Level && f.What == o.What
}

// about tells whether two findings are about the same.
func (f *Finding) about(o Finding) bool {
	return f.Kind == o.Kind && slices.Equal(f.Classes, o.Classes) && slices.Equal(f.Links, o.Links) && slices.Equal(f.subjects(), o.subjects())
}

// subjects are what a finding names; hosts that failures cut off are how much it is.
func (f *Finding) subjects() []string {
	if f.Kind == OfCutOff {
		return nil
	}
	return f.Where
}

// amount is how much there is of what a finding is about.
func (f *Finding) amount() int64 {
	const endless = 1 << 40
	switch {
	case f.Headroom != nil:
		return int64(f.Headroom.Short)
	case f.Buffer != nil:
		return -int64(f.Buffer.Shared)
	case f.Late != nil && f.Late.From == 0:
		return endless + int64(f.Late.Marks-f.Late.Reach)
	case f.Late != nil:
		return int64(f.Late.From)
	case f.CutOffs != nil: // fewer links are worse
		return int64(len(f.Where)) - endless*int64(len(f.CutOffs[0].Links))
	case f.Failures != nil:
		return int64(f.cyclic)
	case f.More:
		return endless
	}
	return int64(len(f.Cycles))
}

// budgets compares what switches have to share.
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
		c.add(Change{Better: p.is > p.was, What: fmt.Sprintf("%s: %d B of buffer to share, were %d B", brief(names[p]), p.is, p.was)})
	}
}

// storms compares how far a stuck host pauses.
func (c *Comparison) storms(now, before *Storm) {
	if now == nil || before == nil || !now.worse(before) && !before.worse(now) {
		return
	}
	say := func(s *Storm) string {
		parts := []string{fmt.Sprintf("%d hosts", len(s.Paused)), fmt.Sprintf("%d ports between switches", len(s.Ports))}
		if s.OfFlows > 0 {
			parts = append(parts, fmt.Sprintf("%d flows", s.Flows))
		}
		return strings.Join(parts, ", ")
	}
	c.add(Change{Better: before.worse(now), What: fmt.Sprintf("a host that gets stuck pauses at worst (%s) %s; were (%s) %s", now.Host, say(now), before.Host, say(before))})
}
