package fabric

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// longLink is a link of 50 us whose receiver is stuck for 2 ms: frames in flight fill the
// buffer of switch1.
const longLink = `
topology:
  name: linear
  switches: 2
  hosts_per_switch: 1
  host_link:   {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 50us}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [1], kind: lossless}
switch:
  buffer: {size: 64MB, %s}
  flow_control: {name: cbfc, buffer: 2MB}
  overrides: [{match: switch1, buffer: {%s}}]
  ecn: {name: none}
hosts: {cc: {name: none}, reliability: {name: go-back-n, timeout: 50ms, max_timeout: 100ms}}
workload:
  - {name: stream, generator: flows, flows: [{from: host0, to: host1, size: 6MB}]}
faults:
  - {at: 100us, host: host1, stuck: true, for: 2ms}
run: {arrivals: 1ms, stop: {when: all_flows_done, at_most: 100ms}}
`

// Both ends of a link count the same credits, even if a frame takes different space in the two buffers.
func TestCreditsOfCells(t *testing.T) {
	for _, c := range []struct{ name, all, far string }{
		{"bytes", "cell: 1B", "cell: 1B"},
		{"cells", "cell: 254B", "cell: 254B"},
		{"cost per packet", "per_packet: 200B", "per_packet: 200B"},
		{"cells and a cost per packet", "cell: 254B, per_packet: 48B", "cell: 254B"},
		{"larger cells at the far end", "cell: 1B", "cell: 1024B"},
		{"smaller cells at the far end", "cell: 1024B", "cell: 1B"},
		{"a cost per packet at the far end", "cell: 1B", "per_packet: 200B"},
	} {
		cfg, err := Parse("a.yaml", fmt.Appendf(nil, longLink, c.all, c.far))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b, f := runAll(t, cfg)
		if total := f.Totals(); total.Drops[probe.Lossless] > 0 {
			t.Errorf("%s: %d lossless frames dropped", c.name, total.Drops[probe.Lossless])
		}
		for _, s := range b.Spec.Switches {
			if s.Checks.Broken > 0 {
				t.Errorf("%s: %s", c.name, s.Checks.First)
			}
		}
	}
}

// runAll runs a scenario to its end and checks all invariants.
func runAll(t *testing.T, cfg *scenario.Config) (*Fabric, *sim.Fast) {
	t.Helper()
	b, err := New(cfg, Options{Invariants: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := sim.NewFast(b.Spec, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return b, f
}

// relays is a long link with relays; the first three hosts of dc0 send to one host of dc1.
const relays = `
topology:
  name: two-dc
  k: 4
  host_link:   {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
  dci_link:    {rate: 100Gbps, delay: 1us}
  long_link:   {rate: 400Gbps, delay: 100us}
  relay_link:  {rate: 400Gbps, delay: 1us}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [1], kind: lossless}
switch:
  buffer: {size: 20MB}
  policy: {name: static, limit: 60KB}
  flow_control: {name: pfc}
  pfc: {hold: indefinite}
  ecn: {name: none}
  overrides:
    - {match: "relay*", buffer: {size: 40MB}, flow_control: {name: swing}}
    - {match: "relay*.to-relay*", flow_control: {side: long}}
hosts: {cc: {name: none}, reliability: {name: go-back-n, timeout: 5ms, max_timeout: 10ms}}
workload:
  - name: stream
    generator: flows
    flows: [{from: host0, to: host16, size: 4MB}, {from: host1, to: host16, size: 4MB}, {from: host2, to: host16, size: 4MB}]
faults:
  - {at: 800us, link: relay0-relay1, down_for: 500us}
run: {arrivals: 1ms, stop: {when: all_flows_done, at_most: 50ms}}
`

// A pause that a relay forwarded ends when the long link fails. With indefinite pauses,
// dci0 would otherwise wait forever for a RESUME that was lost.
func TestRelaysAfterTheLinkWasDown(t *testing.T) {
	cfg, err := Parse("a.yaml", []byte(relays))
	if err != nil {
		t.Fatal(err)
	}
	if _, f := runAll(t, cfg); f.Totals().Finished != 3 {
		t.Errorf("%d of 3 flows finished", f.Totals().Finished)
	}
}

// Relays reject cables with which they would drop frames. A round trip of 200 us plus one
// of 40 us behind it is 12,000,000 B at 400 Gbps, plus 64 + 2 x 1048 B.
func TestRelaysThatWouldLose(t *testing.T) {
	for set, want := range map[string]string{
		"topology.relay_link.rate=800Gbps":                                 "the cable to the switch runs at 800Gbps, faster than the long cable at 400Gbps (expected a cable to the switch that is not faster) (relay0.port0)",
		"topology.relay_link.delay=20us":                                   "(expected at least a bandwidth-delay product up to the switch behind the other relay, 12002160 bytes) (relay0.port1)",
		"switch.overrides[0].flow_control={name: swing, side: long}":       "side is long, but the switch at the other end has 5 ports and is not a relay",
		"switch.overrides[1].flow_control={side: long, buffer: 10050000B}": "buffer is 10050000 bytes (expected at least a bandwidth-delay product up to the switch behind the other relay, 10102160 bytes",
	} {
		cfg, err := Parse("a.yaml", []byte(relays), set)
		if err == nil {
			_, err = New(cfg, Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
}
