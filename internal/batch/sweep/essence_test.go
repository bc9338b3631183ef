package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestShortNames(t *testing.T) {
	got := ShortNames([]*Variant{{Folder: "/home/me/results/before"}, {Folder: "results/after/"}, {Folder: "other/after"}})
	if want := []string{"before", "after", "after (2)"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got = ShortNames([]*Variant{{Folder: "mine-seed1-dcqcn"}, {Folder: "mine-seed1-hpcc"}, {Folder: "mine-seed10-hpcc"}})
	if want := []string{"seed1-dcqcn", "seed1-hpcc", "seed10-hpcc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	sweepOf := func(folder, v string) *Variant {
		return &Variant{Folder: folder, Keys: []string{"switch.policy.alpha"}, Values: []string{v}, Label: "alpha=" + v}
	}
	if got, want := ShortNames([]*Variant{sweepOf("s", "1/8"), sweepOf("s", "1/4")}), []string{"1/8", "1/4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := ShortNames([]*Variant{sweepOf("x/s", "1/8"), {Folder: "x/run"}}), []string{"s: alpha=1/8", "run"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	both := func(cc, policy string) *Variant {
		return &Variant{Folder: "s", Keys: []string{"hosts.cc.name", "switch.policy.name"}, Values: []string{cc, policy}, Label: "cc=" + cc + " policy=" + policy}
	}
	if got, want := ShortNames([]*Variant{both("dcqcn", "dt"), both("none", "dt")}), []string{"cc=dcqcn policy=dt", "cc=none policy=dt"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Failures come first; unknown samples are skipped.
func TestHeadline(t *testing.T) {
	at := func(mean float64) *Sample { return &Sample{N: 1, Mean: mean} }
	c := &Comparison{Metrics: []Compared{
		{Name: "slowdown.p99", Samples: []*Sample{at(8), nil, at(2)}},
		{Name: "flows.unfinished", Samples: []*Sample{at(0), at(3), at(0)}},
		{Name: "drops.lossless", Samples: []*Sample{at(0), at(0), at(0)}},
	}}
	names := []string{"a", "b", "c"}
	if got, want := strings.Join(c.Headline(names), " "), "flows.unfinished: 3 with b. slowdown.p99: lowest with c (2.00), highest with a (8.00)."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&Comparison{}).Headline(names); len(got) != 0 {
		t.Errorf("without metrics: got %v", got)
	}
}

// With several workloads the headline has a line for each, and none that mixes them.
func TestHeadlineByWorkload(t *testing.T) {
	two := func(name, group string, a, b float64) Compared {
		return Compared{Name: name, Group: group, Samples: []*Sample{{N: 1, Mean: a}, {N: 1, Mean: b}}, equal: []bool{false, a == b}}
	}
	c := &Comparison{Metrics: []Compared{
		two("slowdown.p99", "", 1, 9),
		two("workloads.rdma.slowdown.p99", "workloads.rdma", 2, 4),
		two("workloads.rdma.sizes.small.slowdown.p99", "workloads.rdma.sizes.small", 2, 7),
		two("workloads.tcp.slowdown.p99", "workloads.tcp", 6, 5),
	}}
	want := []string{"rdma: slowdown.p99: lowest with dt (2.00), highest with abm (4.00).", "tcp: slowdown.p99: lowest with abm (5.00), highest with dt (6.00)."}
	if got := c.Headline([]string{"dt", "abm"}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	c.Metrics = append(c.Metrics, two("drops.lossless", "", 0, 0), two("buffer.peak_bytes", "", 7, 7))
	for i := range 20 {
		c.Metrics = append(c.Metrics, two(fmt.Sprint("other.", i), "", 0, float64(i+1)))
	}
	most, rest := c.Essence(Rows)
	var names []string
	for _, m := range most.Metrics {
		names = append(names, m.Name)
	}
	text := strings.Join(names, " ")
	if len(most.Metrics) != Rows || len(most.Metrics)+len(rest.Metrics) != len(c.Metrics) {
		t.Errorf("%d and %d of %d metrics", len(most.Metrics), len(rest.Metrics), len(c.Metrics))
	}
	for name, matters := range map[string]bool{"workloads.rdma.slowdown.p99": true, "workloads.tcp.slowdown.p99": true, "drops.lossless": true,
		"buffer.peak_bytes": false, "slowdown.p99": false} {
		if slices.Contains(names, name) != matters {
			t.Errorf("%s: matters is not %t: %s", name, matters, text)
		}
	}
	c.chosen = true
	if most, rest = c.Essence(Rows); len(most.Metrics) != len(c.Metrics) || len(rest.Metrics) != 0 {
		t.Error("a chosen metric was omitted")
	}
}

// A smaller grid does not replace a larger one of the same scenario; a larger one extends it.
func TestKeep(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mine-compare")
	point := func(v string, seed uint64) ManifestPoint { return ManifestPoint{Values: []string{v}, Seed: seed} }
	s := Store{Folder: name}
	if err := os.MkdirAll(name, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.json(manifestFile, &Manifest{Schema: SchemaVersion, Base: "b", Points: []ManifestPoint{point("a", 1), point("a", 2)}}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		points  []ManifestPoint
		foreign bool
	}{
		{[]ManifestPoint{point("a", 1)}, true},
		{[]ManifestPoint{point("a", 2), point("a", 1)}, false},
		{[]ManifestPoint{point("a", 1), point("a", 2), point("a", 3), point("b", 1)}, false},
		{[]ManifestPoint{point("a", 1), point("b", 2)}, true},
	} {
		m := &Manifest{Base: "b", Points: c.points}
		if _, foreign := s.contents(m, true); foreign != c.foreign {
			t.Errorf("%d: foreign is %t", i, foreign)
		}
		if _, foreign := s.contents(m, false); foreign {
			t.Errorf("%d: the same scenario is foreign without keep", i)
		}
	}
}

// Columns are named by folders or values, if these tell the variants apart.
func TestHeads(t *testing.T) {
	both := func(cc, policy string) *Variant {
		v := newVariant("", "s")
		v.varied([]Axis{{Key: "hosts.cc.name"}, {Key: "switch.policy.name"}}, []string{cc, policy})
		return v
	}
	long := "a-scheme-with-a-name-of-many-characters"
	for want, list := range map[string][]*Variant{
		"before|after":     {{Folder: "before", Label: "cc=none"}, {Folder: "after", Label: "cc=dcqcn"}},
		"none dt|none abm": {both("none", "dt"), both("none", "abm")},
		"cc=" + long + " policy=dt|cc=" + long + " policy=abm": {both(long, "dt"), both(long, "abm")},
	} {
		if got := strings.Join(Heads(list), "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
