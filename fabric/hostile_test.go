package fabric

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// hostile lists values that are invalid for nearly every key.
var hostile = []string{
	"0", "-1", "1", "2", "7", "8", "65535", "65536", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e9", "1e400", "0.5", "1e-300", "-0.5", ".nan", ".inf",
	"0B", "1B", "-1B", "2147483647B", "8EB", "9000000000GB", "1KiB", "0s", "1ps", "-1us", "1ms", "1s", "2251s", "9000000s", "0bps", "1bps", "1Mbps", "10Tbps", "9000000Tbps",
	"1/1048576", "1048576", "1/3", "exact", "eq1", "none", "static", "step", "fixed", "paper", "rr", "spray", "one-switch", "incast", "poisson", "flows", "time", "chip", "indefinite", "ack", "lossy", "control",
	"rdma", "tcp", "host0", "leaf0", "spine1", "leaf0-spine0", "websearch", "x", "''", "~", "true", "false", "[]", "{}", "[0]", "[rdma]", "{random: tcp}", "{shares: {1: 1}}", "matched", "uplinks", "rack1", "ring_allreduce", "messages", "trace", "./none", "{0: 1KB}", "[{}]", "[[1]]", "{name: none}", "{a: b}",
}

// few selects one in 80 cases.
func few(n int) []int { return trials.First(n / 80) }

// begin builds a scenario and runs the first microseconds.
func begin(c *scenario.Config) error {
	built, err := New(c, Options{Invariants: true})
	if err != nil {
		return err
	}
	built.Spec.Until = min(built.Spec.Until, 30*units.Microsecond)
	engine, err := sim.NewFast(built.Spec, sim.Options{})
	if err != nil {
		return err
	}
	_, err = engine.Run(context.Background())
	return err
}

// Hostile values at every key, one and two at a time, are rejected with a message, or the
// scenario builds and runs. TestDeepHostileValues tries every value at every key.
func TestHostileValues(t *testing.T) { hostileValues(t, few) }

func hostileValues(t *testing.T, choose func(n int) []int) {
	t.Helper()
	base, err := ReadFile("../examples/websearch.yaml", "run.arrivals=20us", "run.measure={from: 0, to: 0}", "workload[2].flows[0].start=1us", "workload[2].flows[1].start=1us",
		"topology.overrides=[{match: leaf1-spine1, rate: 40Gbps, delay: 1us}]", "routing.pinned=[{from: host0, to: host15, via: [leaf0, spine1, leaf1]}]", "hosts.receive={rate: 50Gbps, buffer: 4MB, hosts: [host3]}",
		"faults=[{at: 1us, link: leaf0-spine0, down_for: 2us, times: 2, every: 5us}, {at: 0, link: host1-leaf0, corrupt: 0.1, for: 5us}, {at: 0, host: host2, stuck: true, for: 1us}]")
	if err != nil {
		t.Fatal(err)
	}
	assault(t, base, "", choose)
}

// The same for every generator.
func TestHostileWorkloads(t *testing.T) { hostileWorkloads(t, few) }

func hostileWorkloads(t *testing.T, choose func(n int) []int) {
	t.Helper()
	assault(t, parse(t, everyGenerator), "workload", choose)
}

// assault sets hostile values for all keys of a scenario with the given prefix. choose
// selects which of n cases to run.
func assault(t *testing.T, base *scenario.Config, prefix string, choose func(n int) []int) {
	t.Helper()
	text, err := base.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	parse(t, string(text)) // the output must be valid
	var paths []string
	body, err := yaml.Parse(yaml.NewSource("a.yaml", text), text, "scenario")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pathsOf(body, "") {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	sort.Strings(paths)
	tried, accepted := 0, 0
	try := func(set ...string) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("%q: panic: %v", set, r)
			}
		}()
		tried++
		c, err := Parse("a.yaml", text, set...)
		var in *scenario.InputError
		switch {
		case err != nil:
			if !errors.As(err, &in) {
				t.Errorf("%q: %v is not a scenario.InputError", set, err)
			}
		case small(c):
			accepted++
			if err := begin(c); err != nil && !errors.Is(err, errIdle) && !errors.Is(err, layout.ErrTimeout) {
				t.Errorf("%q: accepted, but: %v", set, err)
			}
		}
	}
	n := len(paths) * len(hostile)
	for _, i := range choose(n) {
		i = i * 7919 % n // a prime, so that neighbouring cases use distant keys
		try(paths[i/len(hostile)] + "=" + hostile[i%len(hostile)])
	}
	for _, i := range choose(2000) {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		pick := func() string { return paths[r.IntN(len(paths))] + "=" + hostile[r.IntN(len(hostile))] }
		try(pick(), pick())
	}
	t.Logf("%d of %d scenarios were accepted", accepted, tried)
	if accepted < tried/40 {
		t.Errorf("only %d of %d scenarios were accepted, want at least one in 40", accepted, tried)
	}
}

// pathsOf lists every key and item of a document.
func pathsOf(n *yaml.Node, path string) []string {
	var list []string
	for _, e := range n.Keys {
		at := yaml.Join(path, e.Key)
		list = append(append(list, at), pathsOf(e.Value, at)...)
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		list = append(append(list, at), pathsOf(item, at)...)
	}
	return list
}
