package conformance

import (
	"context"
	"encoding/csv"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// This file has the suites of what scenarios are made of: topologies, generators of
// flows, probes. They run whole scenarios, so the entry must be registered.

// small is a scenario of a few hosts with some traffic.
func small() *scenario.Config {
	c := scenario.Default()
	c.Workload = []scenario.Workload{{
		Name: "w", Generator: "poisson", Params: &workload.Poisson{Sizes: "10KB", AtOnce: 1}, Load: scenario.Load{Share: 0.2, Of: "host_links"},
	}}
	c.Run.Arrivals = 20 * units.Microsecond
	c.Run.Stop = scenario.Stop{When: "all_flows_done", AtMost: 100 * units.Millisecond}
	return c
}

// outcome is what a run of a scenario left behind.
type outcome struct {
	built  *fabric.Fabric
	totals sim.Totals
	broken string // the first invariant that did not hold
}

func play(c *scenario.Config, workers int) (*outcome, error) {
	b, err := fabric.New(c, fabric.Options{Invariants: true})
	if err != nil {
		return nil, err
	}
	f, err := sim.NewFast(b.Spec, sim.Options{Workers: workers})
	if err != nil {
		return nil, err
	}
	if _, err := f.Run(context.Background()); err != nil {
		return nil, err
	}
	o := &outcome{built: b, totals: f.Totals()}
	for _, k := range b.Checks {
		if k.Broken > 0 && o.broken == "" {
			o.broken = k.First
		}
	}
	return o, nil
}

// done returns when each flow was complete.
func (o *outcome) done() []units.Time {
	var times []units.Time
	for _, s := range o.built.Flows.Send {
		times = append(times, s.Acked)
	}
	return times
}

// Topology checks a generator of topologies, with its default parameters and with
// others that the caller adds: what it makes is sound (topo.Graph.Check) and the same
// every time, every host is reached from every other, and traffic on it arrives.
func Topology(t testing.TB, e registry.Entry[topo.New], also ...any) {
	t.Helper()
	for _, params := range append([]any{paramsOf(e)}, also...) {
		topology(t, e, params)
	}
}

func topology(t testing.TB, e registry.Entry[topo.New], params any) {
	t.Helper()
	g, err := e.New(params)
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	if err := g.Check(); err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	if again, err := e.New(params); err != nil || !reflect.DeepEqual(again, g) {
		t.Errorf("%s: it is another one the second time", e.Name)
		return
	}
	for node, table := range topo.Routes(g, nil) {
		if node < g.Hosts {
			continue
		}
		for dst := range g.Hosts {
			if len(table.Set(uint16(dst))) == 0 {
				t.Errorf("%s: %s cannot be reached from %s", e.Name, g.Names[dst], g.Names[node])
				return
			}
		}
	}
	c := small()
	c.Topology = scenario.Fabric(e.Name, params)
	// Long links need much headroom and patience: one lossless class, a large buffer.
	c.Hosts.Reliability.Timeout, c.Hosts.Reliability.MaxTimeout = units.Second, units.Second
	c.Run.Stop.AtMost = 10 * units.Second
	c.Switch.Buffer.Size, c.Classes["rdma"] = units.GiB, scenario.Class{IDs: []int{1}, Kind: "lossless"}
	finished(t, e.Name, c)
}

// finished runs a scenario that must deliver everything.
func finished(t testing.TB, name string, c *scenario.Config) {
	t.Helper()
	o, err := play(c, 1)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if o.broken != "" {
		t.Errorf("%s: %s", name, o.broken)
	}
	for i := range o.built.Flows.Flow {
		if o.built.Flows.Offered(i) && !o.built.Flows.Done(i) {
			t.Errorf("%s: flow %d of %d did not end", name, i, len(o.built.Flows.Flow))
			return
		}
	}
	if two, err := play(c, 2); err != nil || !slices.Equal(two.done(), o.done()) {
		t.Errorf("%s: another number of workers gives another run: %v", name, err)
	}
}

// Generator checks a generator of flows with parameters that make some: a scenario
// with it builds, its flows are those of hosts, sizes and times that it was given, the
// same seed makes the same flows, and they end. Change sets what a workload needs
// besides the parameters; nil: nothing.
func Generator(t testing.TB, e registry.Entry[workload.New], params any, change func(*scenario.Workload)) {
	t.Helper()
	config := func(seed uint64) *scenario.Config {
		c := small()
		c.Seed = seed
		w := scenario.Workload{Name: "w", Generator: e.Name, Params: params}
		if e.New(params).Uses().Load {
			w.Load = scenario.Load{Share: 0.2, Of: "host_links"}
		}
		if change != nil {
			change(&w)
		}
		c.Workload = []scenario.Workload{w}
		return c
	}
	flows := func(seed uint64) ([]dataplane.Flow, []dataplane.Wait) {
		b, err := fabric.New(config(seed), fabric.Options{})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			return nil, nil
		}
		return b.Flows.Flow, b.Waits
	}
	first, waits := flows(1)
	if first == nil {
		return
	}
	again, waitsAgain := flows(1)
	if !slices.Equal(first, again) || !reflect.DeepEqual(waits, waitsAgain) {
		t.Errorf("%s: the same seed makes other flows", e.Name)
	}
	stop := config(1).Run.Arrivals
	for i, f := range first {
		if f.Src == f.Dst || f.Size < 1 || f.Start < 0 || f.Start >= stop {
			t.Errorf("%s: flow %d is %+v; allowed: two hosts, at least a byte, within %s", e.Name, i, f, stop)
			return
		}
	}
	finished(t, e.Name, config(1))
}

// Probe checks a kind of probe: its columns say what they are, its rows fit them, it
// sees the same whatever the number of workers, and it changes nothing.
func Probe(t testing.TB, e registry.Entry[probe.New], params any) {
	t.Helper()
	kind, err := e.New(params)
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	for _, c := range kind.Columns {
		if c.Name == "" || c.Doc == "" {
			t.Errorf("%s: column %q says nothing about itself", e.Name, c.Name)
		}
	}
	c := small()
	c.Switch.Buffer.Size, c.Hosts.CC = 2*units.MiB, scenario.Choice{Name: "none"}
	c.Workload = append(c.Workload, scenario.Workload{Name: "burst", Generator: "incast",
		Params: &workload.Incast{Senders: 8, Size: 200 * units.KB}, To: scenario.Selection{"host0"}})
	bare, err := play(c, 1)
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	watched := *c
	watched.Probes = []scenario.Probe{{Choice: scenario.Choice{Name: e.Name, Params: params}}}
	var tables [2]string
	for i := range tables {
		o, text, err := playTable(&watched, i+1)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			return
		}
		if !slices.Equal(o.done(), bare.done()) {
			t.Errorf("%s: the run with it is another one", e.Name)
			return
		}
		tables[i] = text
	}
	if tables[0] != tables[1] {
		t.Errorf("%s: it sees something else with two workers", e.Name)
	}
}

// playTable runs a scenario with one probe and returns what that saw, as text.
func playTable(c *scenario.Config, workers int) (*outcome, string, error) {
	b, err := fabric.New(c, fabric.Options{Invariants: true})
	if err != nil {
		return nil, "", err
	}
	var table, text writer
	s := b.Probes[0]
	if err := s.Open(&table, &text); err != nil {
		return nil, "", err
	}
	var flushed error
	f, err := sim.NewFast(b.Spec, sim.Options{Workers: workers, Progress: func(units.Time) {
		if flushed == nil {
			flushed = s.Flush()
		}
	}})
	if err != nil {
		return nil, "", err
	}
	end, err := f.Run(context.Background())
	if err == nil {
		err = flushed
	}
	if err == nil {
		err = s.Close(end)
	}
	if err != nil {
		return nil, "", fmt.Errorf("its rows do not fit: %w", err)
	}
	return &outcome{built: b, totals: f.Totals()}, string(text), nil
}

// gauges checks that what a scheme shows of itself is what its entry says. Entries that
// are not registered, such as mistakes of tests, are left out.
func gauges[N any](t testing.TB, table *registry.Table[N], e registry.Entry[N], choose func(*scenario.Config, scenario.Choice)) {
	t.Helper()
	if _, err := table.Get(e.Name); err != nil || e.Gauges == nil && e.Events == nil {
		return
	}
	c := small()
	choose(c, scenario.Choice{Name: e.Name, Params: paramsOf(e)})
	c.Workload = append(c.Workload, scenario.Workload{Name: "burst", Generator: "incast",
		Params: &workload.Incast{Senders: 8, Size: 200 * units.KB}, To: scenario.Selection{"host0"}})
	for name, list := range map[string][]registry.Shown{"gauges": e.Gauges, "events": e.Events} {
		kind, err := probe.Kinds.Get(name)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			return
		}
		c.Probes = []scenario.Probe{{Choice: scenario.Choice{Name: name, Params: paramsOf(kind)}}}
		_, text, err := playTable(c, 1)
		if err != nil {
			t.Errorf("%s: %s: %v", e.Name, name, err)
			return
		}
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Errorf("%s: %s: %v", e.Name, name, err)
			return
		}
		column := slices.Index(rows[0], strings.TrimSuffix(name, "s"))
		for _, row := range rows[1:] {
			if row[slices.Index(rows[0], "scheme")] == table.Kind && !slices.Contains(registry.NamesOf(list), row[column]) {
				t.Errorf("%s: it shows %q, which its entry does not list among %s", e.Name, row[column], name)
				return
			}
		}
	}
	for _, s := range slices.Concat(e.Gauges, e.Events) {
		if s.Doc == "" {
			t.Errorf("%s: %s says nothing about itself", e.Name, s.Name)
		}
	}
}

// writer keeps what is written.
type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
