package sweep

import (
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/metrics"
)

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		keys, values, want string
	}{
		{"hosts.cc.name|switch.policy.name", "dcqcn|dt", "cc=dcqcn policy=dt"},
		{"switch.policy.alpha", "1/8", "alpha=1/8"},
		{"switch.policy.alpha|hosts.cc.alpha", "1/8|2", "policy.alpha=1/8 cc.alpha=2"},
		{"workload[0].load.share|workload[1].load.share", "0.1|0.2", "workload[0].load.share=0.1 workload[1].load.share=0.2"},
		{"hosts.cc|seed", "{name: dcqcn}|3", "cc=dcqcn seed=3"},
		{"hosts.cc", "{name: dcqcn, g: 0.5, preset: paper}", "cc=dcqcn:g=0.5,preset=paper"},
		{"hosts.cc", "{g: 0.5, name: dcqcn}", "cc={g: 0.5, name: dcqcn}"},
		{"classes", "{name: {ids: [1]}, rdma: [1, 2]}", "classes={name: {ids: [1]}, rdma: [1, 2]}"},
		{"name", "x", "name=x"},
		{"hosts.cc|hosts.cc.name", "a|b", "hosts.cc=a hosts.cc=b"}, // cannot be distinguished
	} {
		if got := label(strings.Split(c.keys, "|"), strings.Split(c.values, "|")); got != c.want {
			t.Errorf("%s: got %s, want %s", c.keys, got, c.want)
		}
	}
}

// Runs are labelled by the keys in which they differ, if these are few. Labelled keys are
// not listed again, and parameters of another scheme are only counted.
func TestLabelsOfRuns(t *testing.T) {
	run := func(name string, pairs ...string) *Variant {
		v := variant(name, summary(1, 10, 5))
		v.keys = map[string]string{"same": "1"}
		for i := 0; i < len(pairs); i += 2 {
			v.keys[pairs[i]] = pairs[i+1]
		}
		return v
	}
	a, b := run("a", "cc.name", "x", "cc.g", "1", "payload", "1KB"), run("b", "cc.name", "y", "payload", "2KB", "extra", "1")
	c, err := Compare([]*Variant{a, b}, nil)
	if err != nil || a.Label != "cc=x payload=1KB" || b.Label != "cc=y payload=2KB" {
		t.Errorf("got %q and %q, %v", a.Label, b.Label, err)
	}
	list, parameters := c.Unlabelled()
	if len(list) != 1 || list[0].Key != "extra" || parameters != 1 {
		t.Errorf("got %v and %d parameters, want extra and 1", list, parameters)
	}
	a, b = run("a", "k1", "1", "k2", "1", "k3", "1", "k4", "1", "k5", "1"), run("b", "k1", "2", "k2", "2", "k3", "2", "k4", "2", "k5", "2")
	if c, err = Compare([]*Variant{a, b}, nil); err != nil || a.Label != "" {
		t.Errorf("five keys: got %q, %v", a.Label, err)
	}
	if list, _ := c.Unlabelled(); len(list) != 5 {
		t.Errorf("five keys: got %v", list)
	}
}

// Equal values are marked, and no group repeats another one: a workload with one size group
// has no lines for it, nor has a size group with one workload.
func TestSheetOfAComparison(t *testing.T) {
	part := func(name string, p99 float64, sizes ...metrics.Part) metrics.Part {
		return metrics.Part{Name: name, Slowdown: &metrics.Ratios{P99: p99}, Sizes: sizes}
	}
	of := func(pauses uint64, web float64) *metrics.Summary {
		s := summary(1, pauses, 9)
		s.Workloads = []metrics.Part{part("web", web, part("small", web)), part("rpc", 3, part("small", 4), part("large", 5))}
		s.Sizes = []metrics.Part{part("small", 6), part("large", 5)}
		return s
	}
	c, err := Compare([]*Variant{variant("a", of(7, 1)), variant("b", of(7, 2))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range c.Sheet([]string{"A", "B"}).Lines {
		got = append(got, strings.Join(line, "|"))
	}
	for _, want := range []string{"pauses.pauses|7|=", "slowdown.p99|9.00|=", "workloads.web", "  .slowdown.p99|1.00 ~|2.00", "workloads.rpc.sizes.large", "  .slowdown.p99|5.00|=", "sizes.small"} {
		if !slices.Contains(got, want) {
			t.Errorf("no line %q in %q", want, got)
		}
	}
	for _, duplicate := range []string{"workloads.web.sizes.small", "sizes.large"} {
		if slices.Contains(got, duplicate) {
			t.Errorf("%s repeats another group", duplicate)
		}
	}
}

func TestSame(t *testing.T) {
	s := func(seeds []uint64, values ...float64) seeded { return seeded{seeds, values} }
	one, two := []uint64{1, 2}, []uint64{3, 4}
	for i, c := range []struct {
		a, b seeded
		want bool
	}{
		{s(one, 1, 2), s(one, 1, 2), true},
		{s(one, 1, 2), s(one, 2, 1), false},
		{s(one, 1, 2), s(two, 1, 2), false}, // equal by chance: other seeds
		{s(one, 0, 0), s(two, 0, 0), true},
		{s(one, 0, 0), s(two[:1], 1), false},
		{s(nil), s(one, 0, 0), false},
		{s(nil), s(nil), true},
	} {
		if got := c.a.same(c.b); got != c.want {
			t.Errorf("%d: got %t", i, got)
		}
	}
}
