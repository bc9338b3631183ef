package cc_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/sim"
)

// bottleneck is a run on one switch in which flows from different hosts share the link to
// the last host.
type bottleneck struct {
	t *testing.T
	setup
	*fabric.Fabric
	engine   *sim.Fast
	node     probe.Node   // the switch
	controls []cc.Control // by flow
}

// peek is a sink that calls show with its node.
type peek struct {
	probe.Ignore
	show func(probe.Node)
}

func (p *peek) Attach(n probe.Node) { p.show(n) }

// setup describes a bottleneck.
type setup struct {
	line     units.Rate // link rate of the senders
	rate     units.Rate // link rate of the receiver: the bottleneck
	delay    units.Time // delay of every link
	keys     string     // scenario keys: hosts, switch, faults
	class    string     // class of the flows
	flows    int
	interval units.Time // time between starts
}

// newSetup returns a setup with a bottleneck of 10 Gbps and a round trip of about 21 us. The
// BDP is 26.5 KB, about 25 packets.
func newSetup(class, keys string, flows int, interval units.Time) setup {
	return setup{25 * units.Gbps, 10 * units.Gbps, 5 * units.Microsecond, keys, class, flows, interval}
}

// rdmaKeys selects a congestion control for RDMA.
func rdmaKeys(control string) string { return "hosts: {cc: " + control + "}\n" }

// tcpKeys selects a congestion control for TCP and the ECN marking of the switch. The bottleneck
// queue stores at most 4 MB / 9 = 444 KB.
func tcpKeys(control, ecn string) string {
	return fmt.Sprintf(`hosts:
  payload: 1460B
  header: 58B
  cc: %s
  cnp: {mode: ack}
  reliability: {name: sack, min_rto: 1ms}
switch:
  buffer: {size: 4MB}
  policy: {name: dt, alpha_lossy: 1/8}
  ecn: %s
`, control, ecn)
}

// forever is a flow size that no run completes.
const forever = 100 * units.GB

// build creates the fabric and the engine of a setup.
func (s setup) build(t *testing.T) *bottleneck {
	t.Helper()
	text := fmt.Sprintf(`name: bottleneck
topology:
  name: one-switch
  hosts: %d
  host_link: {rate: %s, delay: %s}
  overrides: [{match: "host%d-switch0", rate: %s}]
classes:
  control: {ids: [0], kind: control}
  rdma: {ids: [3], kind: lossless}
  tcp: {ids: [5], kind: lossy}
run: {arrivals: 100s, stop: {when: time, at_most: 100s}}
%s
workload:
  - name: flows
    generator: flows
    class: %s
    flows:
`, s.flows+1, s.line, s.delay, s.flows, s.rate, s.keys, s.class)
	for i := range s.flows {
		text += fmt.Sprintf("      - {from: host%d, to: host%d, size: %dB, start: %s}\n", i, s.flows, int64(forever), units.Time(i)*s.interval)
	}
	cfg, err := scenario.Parse("bottleneck.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b := &bottleneck{t: t, setup: s, controls: make([]cc.Control, s.flows)}
	b.Fabric, err = fabric.New(cfg, fabric.Options{Invariants: true, Sink: func(node int) probe.Sink {
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
		host.Transports = slices.Clone(host.Transports) // hosts with equal settings share them
		newControl := host.Transports[0].Control
		host.Transports[0].Control = func() cc.Control {
			b.controls[i] = newControl()
			return b.controls[i]
		}
	}
	if b.engine, err = sim.NewFast(b.Spec, sim.Options{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// until runs the simulation to a time.
func (b *bottleneck) until(at units.Time) {
	b.t.Helper()
	if _, err := b.engine.RunUntil(context.Background(), at); err != nil {
		b.t.Fatal(err)
	}
}

// queue returns the queue length at the bottleneck.
func (b *bottleneck) queue() units.Bytes { return b.node.View().EgressPort(b.flows) }

// delivered returns the number of packets that arrived, by flow.
func (b *bottleneck) delivered() []float64 {
	v := make([]float64, b.flows)
	for i := range v {
		v[i] = float64(b.Flows.Recv[i].Next)
	}
	return v
}

// share runs the simulation until to. It returns Jain's fairness index of the packets
// delivered after from, and the fraction of the bottleneck that their payload used.
func (b *bottleneck) share(from, to units.Time) (jain, used float64) {
	b.t.Helper()
	b.until(from)
	before := b.delivered()
	b.until(to)
	sum, squares := 0.0, 0.0
	for i, x := range b.delivered() {
		x -= before[i]
		sum, squares = sum+x, squares+x*x
	}
	payload := b.Spec.Hosts[0].Transports[0].Payload
	return sum * sum / (float64(b.flows) * squares), sum * float64(payload) / float64(b.rate.In(to-from))
}

// checkInvariants checks that no invariant was violated.
func (b *bottleneck) checkInvariants() {
	b.t.Helper()
	for _, c := range b.Checks {
		if c.Broken > 0 {
			b.t.Error(c.First)
		}
	}
}
