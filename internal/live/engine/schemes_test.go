package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// Parameters for 100 Mbps; the defaults of schemes are for 100 Gbps and short cables.
const longCable = "topology.fabric_link.delay=20ms"

var (
	ofFlowControl = map[string][]string{
		"bifrost":  {longCable, between("bifrost, slot: 1ms")},
		"bifrostx": {longCable, between("bifrostx, slot: 1ms")},
		"cbfc":     {"switch.flow_control={name: cbfc, period: 1ms}"},
		"swing": {
			"topology={name: two-dc, k: 2, hosts_per_edge: 3, host_link: {rate: 100Mbps, delay: 10us}, fabric_link: {rate: 100Mbps, delay: 10us}, " +
				"dci_link: {rate: 100Mbps, delay: 10us}, relay_link: {rate: 100Mbps, delay: 10us}, long_link: {rate: 100Mbps, delay: 20ms}}",
			`switch.overrides=[{match: "relay*", flow_control: {name: swing}}, {match: "relay*.to-relay*", flow_control: {name: swing, side: long}}]`,
		},
	}
	ofPolicy = map[string][]string{
		"reverie": {"switch.policy={name: reverie}", "switch.flow_control={name: sonic, headroom: 30KB}"},
		"sonic":   {"switch.policy={name: sonic}", "switch.flow_control={name: sonic, headroom: 30KB}"},
	}
	ofHandler = map[string][]string{
		"roundabout": {"switch.deadlock={name: roundabout, look: 1ms, retry: 20ms, mixed: 20ms, timeout: 1s}"},
		"watchdog":   {"switch.deadlock={name: watchdog, detection: 500ms, restoration: 500ms}"},
	}
	ofCC = map[string][]string{
		"dcqcn": {"hosts.cc={name: dcqcn, alpha_interval: 2ms, cut_interval: 2ms, rise_interval: 10ms, rai: 1Mbps, rhai: 5Mbps, min_rate: 100Kbps}"},
		"fixed": {"hosts.cc={name: fixed, rate: 50Mbps}"},
	}
)

// between returns a setting that uses a flow control on the links between switches.
func between(scheme string) string {
	return `switch.overrides=[{match: "leaf*.to-spine*", flow_control: {name: ` + scheme + `}}, {match: "spine*", flow_control: {name: ` + scheme + `}}]`
}

// settings returns the settings for a scheme at 100 Mbps.
func settings(of map[string][]string, key, name string) []string {
	if set, ok := of[name]; ok {
		return set
	}
	return []string{key + "={name: " + name + "}"}
}

// scaled is a test case: a scheme with its settings.
type scaled struct {
	name string
	set  []string
}

// everyScheme returns all flow controls, policies, deadlock handlers, congestion controls and
// recoveries.
func everyScheme() []scaled {
	var list []scaled
	add := func(kind, key string, names []string, of map[string][]string) {
		for _, n := range names {
			list = append(list, scaled{kind + " " + n, settings(of, key, n)})
		}
	}
	add("flow control", "switch.flow_control", flowctl.Schemes.Names(), ofFlowControl)
	add("policy", "switch.policy", buffer.Policies.Names(), ofPolicy)
	add("deadlock", "switch.deadlock", deadlock.Handlers.Names(), ofHandler)
	add("cc", "hosts.cc", cc.Algorithms.Names(), ofCC)
	return append(list,
		scaled{"recovery sack", []string{"hosts.reliability={name: sack, timeout: 100ms, min_rto: 50ms}"}},
		scaled{"recovery irn", []string{"hosts.reliability={name: irn, timeout: 100ms, rto_low: 50ms}"}},
	)
}

// schemes has lossless and lossy traffic, pauses, and enough buffer for the headroom of long
// cables.
const schemes = `
topology: {name: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 3, host_link: {rate: 100Mbps, delay: 10us}, fabric_link: {rate: 100Mbps, delay: 10us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1, 2], kind: lossless}, tcp: {ids: [5], kind: lossy}}
switch:
  buffer: {size: 8MB}
  policy: {name: static, limit: 20KB}
  flow_control: {name: pfc, headroom: 30KB}
  pfc: {coalesce: false}
  ecn: {kmin: 10KB, kmax: 40KB, pmax: 0.2}
hosts: {cc: {name: none}, cnp: {interval: 2ms}, reliability: {timeout: 1s, max_timeout: 2s}}
workload:
  - {name: a, generator: incast, senders: 4, size: 100KB, to: host0, at: 0s, class: 1}
  - {name: b, generator: incast, senders: 4, size: 100KB, to: host3, at: 2ms, class: 2}
  - {name: c, generator: incast, senders: 2, size: 50KB, to: host1, at: 1ms, class: 5}
run: {arrivals: 100ms, stop: {when: all_flows_done, at_most: 20s}}
`

// TestSchemes runs every scheme on a clock that is never late, with packets and with encoded
// frames. Results are the same, no invariant breaks, and all flows finish.
func TestSchemes(t *testing.T) {
	for _, s := range everyScheme() {
		t.Run(s.name, func(t *testing.T) {
			b := built(t, schemes, s.set...)
			memory, frames := runOn(t, b, nil), built(t, schemes, s.set...)
			e := runOn(t, frames, NewFrames(frames.Spec))
			if strange := e.Report().Rejected; len(strange) > 0 {
				t.Errorf("rejected: %v", strange)
			}
			if e.Totals() != memory.Totals() || !slices.Equal(frames.Flows.Send, b.Flows.Send) {
				t.Errorf("as frames: %+v\nas packets: %+v", e.Totals(), memory.Totals())
			}
			if s.name == "flow control none" || s.name == "flow control oversubscribed" {
				return // they lose frames
			}
			sound(t, frames)
		})
	}
}

// runOn runs a scenario on wires, with a clock that is never late.
func runOn(t testing.TB, b *fabric.Fabric, wires Wires) *Engine {
	t.Helper()
	e, err := New(b.Spec, Options{Clock: &Manual{}, Wires: wires, Check: 10 * units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return e
}
