package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// faulty has a link that fails and recovers, a link that corrupts frames, and a host that is stuck
// for 20 ms.
const faulty = `
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 3, host_link: {rate: 100Mbps, delay: 10us}, fabric_link: {rate: 100Mbps, delay: 10us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
switch:
  buffer: {size: 2MB}
  policy: {name: static, limit: 20KB}
  flow_control: {name: pfc, headroom: 40KB}
hosts: {cc: {name: none}, reliability: {timeout: 30ms, max_timeout: 60ms}}
routing: {reroute_after: 2ms}
workload:
  - {name: a, generator: incast, senders: 5, size: 200KB, to: host0, at: 0s, class: 1}
  - {name: b, generator: incast, senders: 3, size: 200KB, to: host4, at: 1ms, class: 1}
faults:
  - {at: 10ms, link: leaf0-spine0, down_for: 15ms}
  - {at: 5ms, link: leaf1-spine1, corrupt: 0.01, for: 40ms}
  - {at: 20ms, host: host4, stuck: true, for: 20ms}
run: {arrivals: 100ms, stop: {when: all_flows_done, at_most: 20s}}
`

// TestFaults checks link failures, corruption and a stuck host on several wires and clocks: lost
// packets are retransmitted, and all flows finish.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  units.Time
		wires string
	}{
		{name: "punctual", wires: "memory"},
		{name: "200 us late", late: 200 * units.Microsecond, wires: "memory"},
		{name: "200 us late, frames", late: 200 * units.Microsecond, wires: "frames"},
		{name: "real clock, udp", late: -1, wires: "udp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var slower []string
			if c.late < 0 {
				// A tenth of the rate, so that the race detector keeps up.
				slower = []string{"topology.host_link.rate=10Mbps", "topology.fabric_link.rate=10Mbps",
					"hosts.reliability={timeout: 300ms, max_timeout: 600ms}"}
			}
			b := built(t, faulty, slower...)
			random := rand.New(rand.NewPCG(9, uint64(c.late)))
			var o Options
			if c.late >= 0 {
				o.Clock = &Manual{Late: func() units.Time { return units.Time(random.Int64N(int64(c.late) + 1)) }}
			}
			switch c.wires {
			case "frames":
				o.Wires = NewFrames(b.Spec)
			case "udp":
				u, err := NewUDP(b.Spec, nil, nil, nil, false)
				if err != nil {
					t.Fatal(err)
				}
				o.Wires = u
			}
			e, err := New(b.Spec, o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			wrong, total := unsound(b), e.Totals()
			// host4 is stuck for 20 ms, so its leaf is blocked for about as long.
			leaf := e.net.Switch(7) // six hosts, leaf0, leaf1
			switch blocked := leaf.PortStats(1, e.now).Blocked[1]; {
			case wrong != "":
			case total.Lost == 0 || total.Resent == 0 || total.Pauses == 0 || total.Drops[probe.Corrupt] != total.Lost:
				wrong = fmt.Sprintf("%d lost, %d retransmissions, %d pauses", total.Lost, total.Resent, total.Pauses)
			case blocked < 18*units.Millisecond:
				wrong = fmt.Sprintf("the leaf of the stuck host is blocked for %s (expected at least 18ms)", blocked)
			}
			if c.late < 0 {
				punctual(t, wrong, e)
			} else if wrong != "" {
				t.Error(wrong)
			}
		})
	}
}
