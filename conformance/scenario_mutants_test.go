package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Topologies with one mistake each.
func TestTopologyRejects(t *testing.T) {
	ring, err := topo.Topologies.Get("ring")
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, c := range []struct {
		name, want string
		mutate     func(*topo.Graph)
	}{
		{"port taken twice", "ends at a port that is in use", func(g *topo.Graph) { g.Links[1].PortB = g.Links[0].PortB; g.Links[1].B = g.Links[0].B }},
		{"no delay", "without delay", func(g *topo.Graph) { g.Links[2].Delay = 0 }},
		{"duplicate name", "not unique", func(g *topo.Graph) { g.Names[1] = g.Names[0] }},
		{"racks across switches", "a rack for each switch", func(g *topo.Graph) { g.Rack[1] = g.Rack[0] }},
		{"disconnected", "cannot be reached", func(g *topo.Graph) { g.Remove([]int{4, 6}) }},
		{"different every time", "second graph differs", func(g *topo.Graph) { times++; g.Links[0].Rate -= units.Rate(times) * units.Gbps }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := registry.Entry[topo.New]{Name: "mutant", Params: ring.Params, New: func(params any) (*topo.Graph, error) {
				g, err := ring.New(params)
				if err == nil {
					c.mutate(g)
				}
				return g, err
			}}
			mustReject(t, c.want, func(tb testing.TB) { conformance.Topology(tb, e) })
		})
	}
}

// badGenerator generates one flow with a mistake.
type badGenerator struct{ how string }

var drawn uint32

func (badGenerator) Uses() workload.Uses                  { return workload.Uses{From: true} }
func (badGenerator) Check(*workload.Env) (float64, error) { return 1, nil }
func (b *badGenerator) Generate(e *workload.Env) (*workload.Plan, error) {
	f := workload.Flow{Src: 0, Dst: 1, Size: 1000, Class: 1, Group: -1}
	switch b.how {
	case "to itself":
		f.Dst = 0
	case "too late":
		f.Start = e.Stop
	case "its own dice":
		drawn++
		f.Hash = drawn
	}
	return &workload.Plan{Flows: []workload.Flow{f}}, nil
}

func init() {
	workload.Generators.Register(registry.Entry[workload.New]{
		Name: "test-bad", Doc: "for tests", Params: func() any { return &badGenerator{} }, New: func(p any) workload.Generator { return p.(workload.Generator) },
	})
	probe.Kinds.Register(registry.Entry[probe.New]{Name: "test-bad", Doc: "for tests", New: badProbe})
}

func TestGeneratorRejects(t *testing.T) {
	e, err := workload.Generators.Get("test-bad")
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]string{"to itself": "two different hosts", "too late": "start before", "its own dice": "same seed"} {
		t.Run(how, func(t *testing.T) {
			mustReject(t, want, func(tb testing.TB) { conformance.Generator(tb, e, &badGenerator{how}, nil) })
		})
	}
}

// badProbe returns a probe with an undocumented column and a counter shared by all nodes.
func badProbe(any) (*probe.Kind, error) {
	seen := int64(0)
	return &probe.Kind{
		Columns: []probe.Column{{Name: "n"}}, Events: true, At: probe.Switches,
		Watch: func(p *probe.Target) probe.Watcher { return &counting{Target: p, seen: &seen} },
	}, nil
}

type counting struct {
	probe.Ignore
	*probe.Target
	seen *int64
}

func (c *counting) Arrive(now units.Time, _ int, _ *packet.Packet) {
	*c.seen++
	c.Out.Add(now, *c.seen)
}

func TestProbeRejects(t *testing.T) {
	e, err := probe.Kinds.Get("test-bad")
	if err != nil {
		t.Fatal(err)
	}
	mustReject(t, "has no documentation", func(tb testing.TB) { conformance.Probe(tb, e, nil) })
}
