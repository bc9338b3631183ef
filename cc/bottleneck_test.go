package cc_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/cc"
	"github.com/xoff-net/xoff/probe"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/units"
)

// bottleneck is a run in which flows from hosts of their own share the link to the
// last host of a star.
type bottleneck struct {
	t     *testing.T
	flows int
	*scenario.Built
	engine   *sim.Fast
	node     probe.Node   // the switch
	controls []cc.Control // by flow
}

// peek is a sink that shows its node.
type peek struct {
	probe.Ignore
	show func(probe.Node)
}

func (p *peek) Attach(n probe.Node) { p.show(n) }

// setup of a bottleneck.
type setup struct {
	keys  string // lines of a scenario: hosts, switch, faults
	class string // of the flows
	flows int
	apart units.Time // from start to start
	size  units.Bytes
}

func (s setup) build(t *testing.T) *bottleneck {
	t.Helper()
	text := fmt.Sprintf(`name: bottleneck
topology:
  name: one-switch
  hosts: %d
  host_link: {rate: 25Gbps, delay: 1us}
  overrides: [{match: "host%d-switch0", rate: 10Gbps}]
classes:
  control: {ids: [0], kind: control}
  rdma: {ids: [3], kind: lossless}
  tcp: {ids: [5], kind: lossy}
run: {arrivals: 10s, stop: {when: time, at_most: 10s}}
%s
workload:
  - name: flows
    generator: flows
    class: %s
    flows:
`, s.flows+1, s.flows, s.keys, s.class)
	for i := range s.flows {
		text += fmt.Sprintf("      - {from: host%d, to: host%d, size: %dB, start: %s}\n", i, s.flows, int64(s.size), units.Time(i)*s.apart)
	}
	cfg, err := scenario.Parse("bottleneck.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b := &bottleneck{t: t, flows: s.flows, controls: make([]cc.Control, s.flows)}
	b.Built, err = scenario.Build(cfg, scenario.BuildOptions{Invariants: true, Sink: func(node int) probe.Sink {
		if node != s.flows+1 {
			return nil
		}
		return &peek{show: func(n probe.Node) { b.node = n }}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.flows {
		host := b.Spec.Hosts[i]
		host.Transports = slices.Clone(host.Transports) // hosts that are alike share them
		fresh := host.Transports[0].Control
		host.Transports[0].Control = func() cc.Control {
			b.controls[i] = fresh()
			return b.controls[i]
		}
	}
	if b.engine, err = sim.NewFast(b.Spec, sim.Options{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// until runs to a time.
func (b *bottleneck) until(at units.Time) {
	b.t.Helper()
	if _, err := b.engine.RunUntil(context.Background(), at); err != nil {
		b.t.Fatal(err)
	}
}

// queue is what waits for the bottleneck.
func (b *bottleneck) queue() units.Bytes { return b.node.View().EgressPort(b.flows) }

// delivered returns the packets that arrived, by flow.
func (b *bottleneck) delivered() []float64 {
	v := make([]float64, b.flows)
	for i := range v {
		v[i] = float64(b.Flows.Recv[i].Next)
	}
	return v
}

// share runs from one time to another and returns Jain's index of what was
// delivered meanwhile, and the share of the link's time that it took.
func (b *bottleneck) share(from, to units.Time, frame units.Bytes, rate units.Rate) (jain, used float64) {
	b.t.Helper()
	b.until(from)
	before := b.delivered()
	b.until(to)
	sum, squares := 0.0, 0.0
	for i, x := range b.delivered() {
		x -= before[i]
		sum, squares = sum+x, squares+x*x
	}
	return sum * sum / (float64(b.flows) * squares), sum * float64(frame) / float64(rate.In(to-from))
}

// sound checks that no invariant broke.
func (b *bottleneck) sound() {
	b.t.Helper()
	for _, c := range b.Checks {
		if c.Broken > 0 {
			b.t.Error(c.First)
		}
	}
}
