package rules

// Change has the differences between two reports of the same switches.
type Change struct {
	New    []Finding     `json:"new"`
	Gone   []Finding     `json:"gone"`
	Kept   int           `json:"kept"`
	Groups []GroupChange `json:"priority_groups"`
}

// GroupChange is a priority group whose numbers changed.
type GroupChange struct {
	Switch string `json:"switch"`
	Port   string `json:"port"`
	Group  int    `json:"priority_group"`
	Before Group  `json:"before"` // zero: it did not exist
	After  Group  `json:"after"`
}

// Count returns the number of new findings with a severity.
func (c *Change) Count(s Severity) int {
	n := 0
	for i := range c.New {
		if c.New[i].Severity == s {
			n++
		}
	}
	return n
}

// Compare compares reports with earlier ones. A finding is new if its rule did not report
// the same severity at one of its keys before; only such keys are listed.
func Compare(before, after []*Report) *Change {
	c := &Change{New: []Finding{}, Gone: []Finding{}, Groups: []GroupChange{}}
	old, now := findingKeys(before), findingKeys(after)
	for _, r := range after {
		for _, f := range r.Findings {
			if fresh := excluding(f, old); len(fresh.Keys) > 0 {
				c.New = append(c.New, fresh)
			} else {
				c.Kept++
			}
		}
	}
	for _, r := range before {
		for _, f := range r.Findings {
			if gone := excluding(f, now); len(gone.Keys) > 0 {
				c.Gone = append(c.Gone, gone)
			}
		}
	}
	c.groups(before, after)
	return c
}

type findingKey struct {
	rule                     int
	severity                 Severity
	device, table, key, name string
}

// findingKeys returns the keys of all findings.
func findingKeys(list []*Report) map[findingKey]bool {
	all := map[findingKey]bool{}
	for _, r := range list {
		for _, f := range r.Findings {
			for _, k := range f.Keys {
				all[findingKey{f.Rule, f.Severity, f.Switch, f.Table, k, f.Field}] = true
			}
		}
	}
	return all
}

// excluding returns a finding without its known keys.
func excluding(f Finding, known map[findingKey]bool) Finding {
	var keys []string
	for _, k := range f.Keys {
		if !known[findingKey{f.Rule, f.Severity, f.Switch, f.Table, k, f.Field}] {
			keys = append(keys, k)
		}
	}
	f.Keys = keys
	return f
}

// groups lists priority groups that were added, removed or changed.
func (c *Change) groups(before, after []*Report) {
	type id struct {
		device, port string
		group        int
	}
	old := map[id]Group{}
	for _, r := range before {
		for _, g := range r.Groups {
			old[id{r.Switch, g.Port, g.Group}] = g
		}
	}
	for _, r := range after {
		for _, g := range r.Groups {
			at := id{r.Switch, g.Port, g.Group}
			if old[at] != g {
				c.Groups = append(c.Groups, GroupChange{r.Switch, g.Port, g.Group, old[at], g})
			}
			delete(old, at)
		}
	}
	for _, r := range before {
		for _, g := range r.Groups {
			if _, left := old[id{r.Switch, g.Port, g.Group}]; left {
				c.Groups = append(c.Groups, GroupChange{r.Switch, g.Port, g.Group, g, Group{}})
			}
		}
	}
}
