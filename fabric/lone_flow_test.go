package fabric

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// loneFlow is one flow over a link of 1000 km at 10 Gbps, with frames of 9000 B.
const loneFlow = `
topology:
  name: linear
  switches: 2
  hosts_per_switch: 1
  host_link:   {rate: 10Gbps, delay: 1us}
  fabric_link: {rate: 10Gbps, delay: 5ms}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [1], kind: lossless}
switch: {buffer: {size: 60MB}, ecn: {name: none}, flow_control: {name: pfc}}
hosts: {payload: 8952B, cc: {name: none}, reliability: {name: go-back-n, timeout: 1s, max_timeout: 2s}}
workload:
  - {name: lone, generator: flows, flows: [{from: host0, to: host1, size: 20MB}]}
run: {stop: {when: all_flows_done, at_most: 9s}}
`

// A flow alone on a long link is late only by the control frames that its flow control
// sends in the same direction: 84 B on the wire.
func TestLoneFlowLosesControlFramesOnly(t *testing.T) {
	const frame = 84
	for _, c := range []struct {
		name string
		per  units.Time // a frame is sent in every one
		set  []string
	}{
		{"bifrostx", 20 * units.Microsecond, []string{"switch.overrides=[{match: 'switch*.to-switch*', flow_control: {name: bifrostx, slot: 20us}}]"}},
		// Credits and counters, on three links.
		{"cbfc", 30 * units.Microsecond / 6, []string{"switch.flow_control={name: cbfc}"}},
		// 1048 B are 16.4 blocks.
		{"cbfc, part of a block", 30 * units.Microsecond / 6, []string{"switch.flow_control={name: cbfc}", "hosts.payload=1000B", "workload[0].flows[0].size=60MB"}},
		{"cbfc, one packet", units.Second, []string{"switch.flow_control={name: cbfc}", "workload[0].flows[0].size=8952B"}},
	} {
		cfg, err := Parse("a.yaml", []byte(loneFlow), c.set...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b, _ := runAll(t, cfg)
		fct, ideal := b.Flows.Send[0].Acked, b.Ideal[0]
		late := (10 * units.Gbps).TxTime(frame * units.Bytes(fct/c.per))
		if fct == 0 || fct < ideal || fct > ideal+late {
			t.Errorf("%s: FCT %s, expected %s and at most %s more", c.name, fct, ideal, late)
		}
	}
}
