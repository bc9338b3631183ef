package rules

// Change is what is different between two configurations of the same switches.
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
	Before Group  `json:"before"` // all zero: it was not there
	After  Group  `json:"after"`
}

// Count is how many new findings have a severity.
func (c *Change) Count(s Severity) int {
	n := 0
	for i := range c.New {
		if c.New[i].Severity == s {
			n++
		}
	}
	return n
}

// Compare holds reports against older ones. A finding is new if its rule did not
// report the same severity at one of its keys before; the rest of its keys is not
// repeated.
func Compare(before, after []*Report) *Change {
	c := &Change{New: []Finding{}, Gone: []Finding{}, Groups: []GroupChange{}}
	old, now := places(before), places(after)
	for _, r := range after {
		for _, f := range r.Findings {
			if fresh := without(f, old); len(fresh.Keys) > 0 {
				c.New = append(c.New, fresh)
			} else {
				c.Kept++
			}
		}
	}
	for _, r := range before {
		for _, f := range r.Findings {
			if gone := without(f, now); len(gone.Keys) > 0 {
				c.Gone = append(c.Gone, gone)
			}
		}
	}
	c.groups(before, after)
	return c
}

type place struct {
	rule                      int
	severity                  Severity
	machine, table, key, name string
}

// places are all places of findings.
func places(list []*Report) map[place]bool {
	all := map[place]bool{}
	for _, r := range list {
		for _, f := range r.Findings {
			for _, k := range f.Keys {
				all[place{f.Rule, f.Severity, f.Switch, f.Table, k, f.Field}] = true
			}
		}
	}
	return all
}

// without leaves the keys of a finding that are not among places.
func without(f Finding, known map[place]bool) Finding {
	var keys []string
	for _, k := range f.Keys {
		if !known[place{f.Rule, f.Severity, f.Switch, f.Table, k, f.Field}] {
			keys = append(keys, k)
		}
	}
	f.Keys = keys
	return f
}

// groups lists priority groups that came, went or changed.
func (c *Change) groups(before, after []*Report) {
	type id struct {
		machine, port string
		group         int
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
