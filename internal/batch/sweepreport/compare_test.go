package sweepreport

import (
	"slices"
	"testing"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// With two keys, the one with more numbers is the axis and the other distinguishes lines.
func TestNumberAxis(t *testing.T) {
	keys := []string{"hosts.cc.name", "switch.policy.alpha"}
	var list []*sweep.Variant
	for _, cc := range []string{"dcqcn", "none"} {
		for _, alpha := range []string{"1/16", "1/8", "1/4"} {
			list = append(list, &sweep.Variant{Keys: keys, Values: []string{cc, alpha}})
		}
	}
	key, xs, lines := numberAxis(list)
	if key != "alpha" || !slices.Equal(xs, []float64{0.0625, 0.125, 0.25, 0.0625, 0.125, 0.25}) {
		t.Errorf("axis %q with %v", key, xs)
	}
	if len(lines) != 2 || lines[0].name != "dcqcn" || !slices.Equal(lines[1].at, []int{3, 4, 5}) {
		t.Errorf("lines %v", lines)
	}
	if key, _, _ := numberAxis([]*sweep.Variant{{Folder: "a"}, {Folder: "b"}}); key != "" {
		t.Errorf("runs without keys have axis %q", key)
	}
	if key, _, _ := numberAxis(list[:2]); key != "" {
		t.Errorf("two values give axis %q", key)
	}
}

func TestShortNames(t *testing.T) {
	got := shortNames([]*sweep.Variant{{Folder: "/home/me/results/before"}, {Folder: "results/after/"}, {Folder: "other/after"}})
	if want := []string{"before", "after", "after (2)"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got = shortNames([]*sweep.Variant{{Folder: "mine-seed1-dcqcn"}, {Folder: "mine-seed1-hpcc"}, {Folder: "mine-seed10-hpcc"}})
	if want := []string{"seed1-dcqcn", "seed1-hpcc", "seed10-hpcc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	sweepOf := func(folder, v string) *sweep.Variant {
		return &sweep.Variant{Folder: folder, Keys: []string{"switch.policy.alpha"}, Values: []string{v}, Label: "alpha=" + v}
	}
	if got, want := shortNames([]*sweep.Variant{sweepOf("s", "1/8"), sweepOf("s", "1/4")}), []string{"1/8", "1/4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := shortNames([]*sweep.Variant{sweepOf("x/s", "1/8"), {Folder: "x/run"}}), []string{"s: alpha=1/8", "run"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	both := func(cc, policy string) *sweep.Variant {
		return &sweep.Variant{Folder: "s", Keys: []string{"hosts.cc.name", "switch.policy.name"}, Values: []string{cc, policy}, Label: "cc=" + cc + " policy=" + policy}
	}
	if got, want := shortNames([]*sweep.Variant{both("dcqcn", "dt"), both("none", "dt")}), []string{"cc=dcqcn policy=dt", "cc=none policy=dt"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{"0.5": 0.5, "1/8": 0.125, "3": 3, "1e3": 1000} {
		if got, ok := number(text); !ok || got != want {
			t.Errorf("%s: got %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "dt", "1/0", "1/x", "10us", "{name: dt}", "NaN", "Inf"} {
		if _, ok := number(text); ok {
			t.Errorf("%q is accepted as a number", text)
		}
	}
}

// Failures come first; unknown samples are skipped.
func TestLead(t *testing.T) {
	at := func(mean float64) *sweep.Sample { return &sweep.Sample{N: 1, Mean: mean} }
	c := &sweep.Comparison{Metrics: []sweep.Compared{
		{Name: "slowdown.p99", Samples: []*sweep.Sample{at(8), nil, at(2)}},
		{Name: "flows.unfinished", Samples: []*sweep.Sample{at(0), at(3), at(0)}},
		{Name: "drops.lossless", Samples: []*sweep.Sample{at(0), at(0), at(0)}},
	}}
	names := []string{"a", "b", "c"}
	if got, want := lead(c, names), "flows.unfinished: 3 with b. slowdown.p99: lowest with c (2.00), highest with a (8.00)."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := lead(&sweep.Comparison{}, names); got != "" {
		t.Errorf("without metrics: got %q", got)
	}
}
