package fabric

import (
	"errors"
	"os"
	"testing"

	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// FuzzParse checks that the parser never panics, that every error is an InputError, and
// that an accepted scenario builds and is the same after writing and reading it.
func FuzzParse(f *testing.F) {
	for _, cases := range readBroken(f) {
		for _, c := range cases {
			f.Add([]byte(c.text))
		}
	}
	for _, name := range exampleFiles(f) {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	d, err := scenario.Default().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(d)
	for _, text := range []string{
		"? a", "<<: 1", "{a: {b", "a: |\n  x", "!!binary x", "%YAML 1.2\n---\na", "*a", "- - -", "name: 'x", "name: \"\\xff\"", "\xff\xfe",
		"seed: 0x10", "topology: {leaves: 1e2}", "name: &a b\nseed: *a", "hosts: {cc: {name: fixed, window: 1KB}}",
		"switch: {scheduler: {quanta: {1: 2KB, 2: 3KB}}}", "name: >\n  folded\n  text\n", "name: 12", "classes: {b: {ids: [6], kind: lossy}}",
		"switch: {overrides: [{match: '*.port0', pfc: {quanta: 3, hold: indefinite}}, {match: leaf*, ports: 9, scheduler: {rr: [rdma], strict: [control], quanta: {}}}]}",
		"hosts: {overrides: [{match: 'host[12]', payload: 1e2B, ack: {every: 007}, cc: {name: fixed, rate: \"1Gbps\"}}]}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("f", text)
		if err != nil {
			var in *scenario.InputError
			if !errors.As(err, &in) {
				t.Fatalf("%v is not a scenario.InputError", err)
			}
			in.Excerpt()
			return
		}
		written, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("written", written)
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		if !sameConfig(back, c) {
			t.Fatalf("got %+v\nwant %+v from\n%s", back, c, written)
		}
		if !small(c) {
			return
		}
		built, err := New(c, Options{Invariants: true})
		if errors.Is(err, errIdle) || errors.Is(err, layout.ErrTimeout) {
			return // found only once flows and paths are known
		}
		if err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		if _, err := sim.NewFast(built.Spec, sim.Options{}); err != nil {
			t.Fatalf("built, but: %v", err)
		}
	})
}

// small reports whether a scenario builds quickly.
func small(c *scenario.Config) bool {
	l, err := lay(c)
	if err != nil {
		return false
	}
	flows := 0.0
	for i := range c.Workload {
		g, env, err := l.Generator(i)
		if err != nil {
			return false
		}
		n, err := g.Check(env)
		if err != nil {
			return false
		}
		flows += n
	}
	flaps := 0
	for _, f := range c.Faults {
		flaps += 1 + f.Times
	}
	return l.Graph.Hosts <= 64 && len(l.Graph.Links) <= 256 && flows <= 2000 && flaps <= 8
}

// FuzzSet does the same for --set and its shorthands.
func FuzzSet(f *testing.F) {
	for _, set := range []string{"seed=2", "workload[0].class={random: rdma}", "classes.x={ids: [1]}", "a[", "a]=1", ".=1", "topology.leaves=[", "workload[-1]=2", "switch.policy={name: static}",
		"--cc dcqcn:preset=paper,rai=1Mbps", "--topology ring:switches=3", "--cc", "workload.answers.load.share=0.1", `switch.overrides=[{match: "leaf*", ports: 30}]`} {
		f.Add(set)
	}
	base, err := os.ReadFile("../examples/incast.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, set string) {
		if _, err := Parse("f", base, set); err != nil {
			var in *scenario.InputError
			if !errors.As(err, &in) {
				t.Fatalf("%v is not a scenario.InputError", err)
			}
		}
	})
}
