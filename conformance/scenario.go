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

// This file has the suites for the parts of scenarios: topologies, flow generators and probes.
// They run whole scenarios, so the entry must be registered.

// smallScenario returns a scenario with a few hosts and some traffic.
func smallScenario() *scenario.Config {
	c := scenario.Default()
	c.Workload = []scenario.Workload{{
		Name: "w", Generator: "poisson", Params: &workload.Poisson{Sizes: "10KB", AtOnce: 1}, Load: scenario.Load{Share: 0.2, Of: "host_links"},
	}}
	c.Run.Arrivals = 20 * units.Microsecond
	c.Run.Stop = scenario.Stop{When: "all_flows_done", AtMost: 100 * units.Millisecond}
	return c
}

// outcome is the result of running a scenario.
type outcome struct {
	built  *fabric.Fabric
	totals sim.Totals
	broken string // first violated invariant
}

func runConfig(c *scenario.Config, workers int) (*outcome, error) {
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

// done returns the completion time of each flow.
func (o *outcome) done() []units.Time {
	var times []units.Time
	for _, s := range o.built.Flows.Send {
		times = append(times, s.Acked)
	}
	return times
}

// Topology checks a topology, with its default parameters and with the parameters in also. The
// graph must be valid (topo.Graph.Check) and the same every time. Every host must be reachable
// from every switch, and traffic must arrive.
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
	if second, err := e.New(params); err != nil || !reflect.DeepEqual(second, g) {
		t.Errorf("%s: the second graph differs from the first", e.Name)
		return
	}
	for node, table := range topo.Routes(g, nil) {
		if node < g.Hosts {
			continue
		}
		for dst := range g.Hosts {
			if len(table.Set(uint32(dst))) == 0 {
				t.Errorf("%s: %s cannot be reached from %s", e.Name, g.Names[dst], g.Names[node])
				return
			}
		}
	}
	c := smallScenario()
	c.Topology = scenario.Fabric(e.Name, params)
	// Long links need a lot of headroom and long timeouts: one lossless class, a large buffer.
	c.Hosts.Reliability.Timeout, c.Hosts.Reliability.MaxTimeout = units.Second, units.Second
	c.Run.Stop.AtMost = 10 * units.Second
	c.Switch.Buffer.Size, c.Classes["rdma"] = units.GiB, scenario.Class{IDs: []int{1}, Kind: "lossless"}
	mustFinish(t, e.Name, c)
}

// mustFinish runs a scenario in which all flows must finish.
func mustFinish(t testing.TB, name string, c *scenario.Config) {
	t.Helper()
	o, err := runConfig(c, 1)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if o.broken != "" {
		t.Errorf("%s: %s", name, o.broken)
	}
	for i := range o.built.Flows.Flow {
		if o.built.Flows.Offered(i) && !o.built.Flows.Done(i) {
			t.Errorf("%s: flow %d of %d did not finish", name, i, len(o.built.Flows.Flow))
			return
		}
	}
	if two, err := runConfig(c, 2); err != nil || !slices.Equal(two.done(), o.done()) {
		t.Errorf("%s: results with two workers differ from one worker (error: %v)", name, err)
	}
}

// Generator checks a flow generator. The parameters must lead to some flows. A scenario with it
// must build, flows must have valid hosts, sizes and times, the same seed must give the same
// flows, and all must finish. change may set other keys of the workload; it may be nil.
func Generator(t testing.TB, e registry.Entry[workload.New], params any, change func(*scenario.Workload)) {
	t.Helper()
	config := func(seed uint64) *scenario.Config {
		c := smallScenario()
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
		return b.Flows.Flow, slices.Collect(b.Flows.Dependencies())
	}
	first, waits := flows(1)
	if first == nil {
		return
	}
	second, secondWaits := flows(1)
	if !slices.Equal(first, second) || !reflect.DeepEqual(waits, secondWaits) {
		t.Errorf("%s: the same seed gives different flows", e.Name)
	}
	stop := config(1).Run.Arrivals
	for i, f := range first {
		if f.Src == f.Dst || f.Size < 1 || f.Start < 0 || f.Start >= stop {
			t.Errorf("%s: flow %d is %+v (expected two different hosts, at least 1 B, start before %s)", e.Name, i, f, stop)
			return
		}
	}
	mustFinish(t, e.Name, config(1))
}

// Probe checks a probe: its columns are documented, its rows match them, its table does not depend
// on the number of workers, and it does not change the run.
func Probe(t testing.TB, e registry.Entry[probe.New], params any) {
	t.Helper()
	kind, err := e.New(params)
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	for _, c := range kind.Columns {
		if c.Name == "" || c.Doc == "" {
			t.Errorf("%s: column %q has no documentation", e.Name, c.Name)
		}
	}
	c := smallScenario()
	c.Switch.Buffer.Size, c.Hosts.CC = 2*units.MiB, scenario.Choice{Name: "none"}
	c.Workload = append(c.Workload, scenario.Workload{Name: "burst", Generator: "incast",
		Params: &workload.Incast{Senders: 8, Size: 200 * units.KB}, To: scenario.Selection{"host0"}})
	bare, err := runConfig(c, 1)
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	watched := *c
	watched.Probes = []scenario.Probe{{Choice: scenario.Choice{Name: e.Name, Params: params}}}
	var tables [2]string
	for i := range tables {
		o, text, err := runWithProbe(&watched, i+1)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			return
		}
		if !slices.Equal(o.done(), bare.done()) {
			t.Errorf("%s: the probe changes the run", e.Name)
			return
		}
		tables[i] = text
	}
	if tables[0] != tables[1] {
		t.Errorf("%s: the table with two workers differs from one worker", e.Name)
	}
}

// runWithProbe runs a scenario with one probe and returns its table as text.
func runWithProbe(c *scenario.Config, workers int) (*outcome, string, error) {
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
		return nil, "", fmt.Errorf("rows do not match the columns: %w", err)
	}
	return &outcome{built: b, totals: f.Totals()}, string(text), nil
}

// checkGauges checks that a scheme exports only gauges and events that its entry lists. It skips
// entries that are not registered, such as the mutants of tests.
func checkGauges[N any](t testing.TB, table *registry.Table[N], e registry.Entry[N], choose func(*scenario.Config, scenario.Choice)) {
	t.Helper()
	if _, err := table.Get(e.Name); err != nil || e.Gauges == nil && e.Events == nil {
		return
	}
	c := smallScenario()
	choose(c, scenario.Choice{Name: e.Name, Params: paramsOf(e)})
	c.Workload = append(c.Workload, scenario.Workload{Name: "burst", Generator: "incast",
		Params: &workload.Incast{Senders: 8, Size: 200 * units.KB}, To: scenario.Selection{"host0"}})
	for name, list := range map[string][]registry.Export{"gauges": e.Gauges, "events": e.Events} {
		kind, err := probe.Kinds.Get(name)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			return
		}
		c.Probes = []scenario.Probe{{Choice: scenario.Choice{Name: name, Params: paramsOf(kind)}}}
		_, text, err := runWithProbe(c, 1)
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
				t.Errorf("%s: exports %q, which its entry does not list in %s", e.Name, row[column], name)
				return
			}
		}
	}
	for _, s := range slices.Concat(e.Gauges, e.Events) {
		if s.Doc == "" {
			t.Errorf("%s: %s has no documentation", e.Name, s.Name)
		}
	}
}

// writer is an in-memory io.Writer.
type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
