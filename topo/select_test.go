package topo

import (
	"reflect"
	"strings"
	"testing"
)

func TestHostsLike(t *testing.T) {
	two := (&shape{name: "two-dc", params: twoDCDefaults()}).graph(t)
	small := LeafSpine(3, 2, 4, slow, fast) // host0 .. host11
	for _, c := range []struct {
		g        *Graph
		patterns string
		want     []int
	}{
		{small, "host1", []int{1}},
		{small, "host1*", []int{1, 10, 11}},
		{small, "host[2-4]", []int{2, 3, 4}},
		{small, "host?", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{small, "rack2", []int{8, 9, 10, 11}},
		{small, "leaf0", []int{0, 1, 2, 3}},
		{small, "leaf2 host0", []int{8, 9, 10, 11, 0}}, // in the order of the list
		{small, "host5 leaf1", []int{5, 4, 6, 7}},      // each once
		{small, "rack0 !host1 !host3", []int{0, 2}},
		{small, "rack0 !all", nil},
		{small, "rack0 !rack0 host3", []int{3}},
		{small, "leaf[01] !host[1-6]", []int{0, 7}},
		{two, "dc1 !dc1-pod[0-2]", []int{28, 29, 30, 31}},
		{two, "dc0-edge7", []int{14, 15}},
	} {
		got, _, err := c.g.HostsLike(strings.Fields(c.patterns))
		if err != nil || !reflect.DeepEqual(append([]int{}, got...), append([]int{}, c.want...)) {
			t.Errorf("%s: %v, %v", c.patterns, got, err)
		}
	}
	for _, c := range []struct{ patterns, want string }{
		{"host12", `no host matches "host12" (expected names and patterns of hosts (host0, host1, host2 ... host11), groups (all, rack0, rack1, rack2) and switches with hosts)`},
		{"host0 spine0", `no host matches "spine0"`},
		{"host[", `"host[" is not a pattern`},
		{"!x", `no host matches "x"`},
	} {
		list := strings.Fields(c.patterns)
		_, at, err := small.HostsLike(list)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || at != len(list)-1 {
			t.Errorf("%s: pattern %d, %v", c.patterns, at, err)
		}
	}
}

func TestLinksLike(t *testing.T) {
	pair := (&shape{name: "dumbbell", params: &DumbbellParams{Left: 1, Right: 1, HostLink: slow, Trunk: fast, Trunks: 3}}).graph(t)
	names := func(pattern string) string {
		links, err := pair.LinksLike(pattern)
		if err != nil {
			return err.Error()
		}
		var list []string
		for _, i := range links {
			list = append(list, pair.LinkName(i))
		}
		return strings.Join(list, " ")
	}
	for pattern, want := range map[string]string{
		"host0-switch0":     "host0-switch0",
		"switch0-host0":     "host0-switch0",
		"switch*-host*":     "host0-switch0 host1-switch1",
		"switch0-switch1":   "switch0-switch1#0 switch0-switch1#1 switch0-switch1#2",
		"switch1-switch0#2": "switch0-switch1#2",
		"switch*#[02]":      "switch0-switch1#0 switch0-switch1#2",
		"switch0-switch1#3": `no link matches "switch0-switch1#3" (expected two neighbours joined by a dash, such as switch0-switch1#2, with * for any text)`,
		"host0-host1":       `no link matches "host0-host1" (expected two neighbours joined by a dash, such as switch0-switch1#2, with * for any text)`,
		"[":                 `"[" is not a pattern (expected a name, with * for any text, ? for any letter, [0-3] for a range)`,
	} {
		if got := names(pattern); got != want {
			t.Errorf("%s: %s", pattern, got)
		}
	}
	for name, want := range map[string]string{
		"switch0-switch1":   `there are 3 links "switch0-switch1" (expected switch0-switch1#0 to switch0-switch1#2)`,
		"switch1-switch0":   `there are 3 links "switch1-switch0" (expected switch1-switch0#0 to switch1-switch0#2)`,
		"switch0-switch1#3": `there is no link "switch0-switch1#3" (expected two neighbours joined by a dash, such as switch0-switch1#2)`,
		"host0-switch1":     `there is no link "host0-switch1" (expected two neighbours joined by a dash, such as switch0-switch1#2)`,
		"":                  `there is no link "" (expected two neighbours joined by a dash, such as switch0-switch1#2)`,
	} {
		if i, err := pair.LinkNamed(name); err == nil || err.Error() != want || i != -1 {
			t.Errorf("%s: link %d, %v", name, i, err)
		}
	}
}

// Remaining links keep their names, and ports are renumbered without gaps.
func TestRemove(t *testing.T) {
	g := (&shape{name: "dumbbell", params: &DumbbellParams{Left: 1, Right: 1, HostLink: slow, Trunk: fast, Trunks: 3}}).graph(t)
	links, err := g.LinksLike("*#1")
	if err != nil {
		t.Fatal(err)
	}
	g.Remove(links)
	checkSound(t, g)
	if got := g.Ports(); !reflect.DeepEqual(got, []int{1, 1, 3, 3}) {
		t.Errorf("ports are %v", got)
	}
	if _, err := g.LinkNamed("switch0-switch1#1"); err == nil {
		t.Error("switch0-switch1#1 is still there")
	}
	i, err := g.LinkNamed("switch0-switch1#2")
	if err != nil || g.Links[i].PortA != 2 {
		t.Errorf("switch0-switch1#2: %+v, %v", g.Links[i], err)
	}
}
