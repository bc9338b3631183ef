package fabric

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// chipBurst is an incast of 8 hosts to host0 through a switch with policy chip, with lossy
// flows.
const chipBurst = `
topology: {name: one-switch, hosts: 9, host_link: {rate: 100Gbps, delay: 1us}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3, 4], kind: lossless}
  bulk:    {ids: [1], kind: lossy}
switch:
  buffer: {size: 4MB, cell: 208B, %s}
  policy: {name: chip, %s}
  flow_control: {name: sonic, xon: 0B, xon_offset: 2496B, minimum: 1248B, %s}
hosts: {cc: {name: none}}
workload:
  - {name: burst, generator: incast, senders: 8, size: 1MB, to: host0, at: 20us, class: {random: rdma}}
  - {name: bulk, generator: incast, senders: 4, size: 500KB, to: host0, at: 10us, class: bulk}
run: {arrivals: 30us, stop: {when: all_flows_done, at_most: 50ms}}
`

// No lossless frame is dropped with enough private headroom, also in partitions. An
// exhausted headroom pool or an egress pool that is too small drops frames, which breaks the
// promise of the flow control. All other invariants hold.
func TestChipSwitches(t *testing.T) {
	for _, c := range []struct {
		name, buffer, policy, flow string
		drops                      bool
		shared                     units.Bytes // 4,000,000 B less 9 x 2 x 1248 B of minimums and the headroom
	}{
		// 18 x 100,000 B of headroom.
		{"private", "reserve_for: cabled", "alpha: 1/8", "headroom: 100000B", false, 4_000_000 - 22_464 - 1_800_000},
		{"partitions", "partitions: 4", "alpha: 1/8", "headroom: 100000B", false, 4_000_000 - 22_464 - 1_800_000},
		{"two levels", "partitions: 2", "alpha: 1/2, port_alpha: 1/4", "headroom: 100000B", false, 4_000_000 - 22_464 - 1_800_000},
		{"cost per packet", "per_packet: 48B", "alpha: 1/8", "headroom: 100000B", false, 4_000_000 - 22_464 - 1_800_000},
		{"pool", "headroom_pool: 1800000B, partitions: 2", "alpha: 1/8", "headroom: 100000B", false, 4_000_000 - 22_464 - 1_800_000},
		{"exhausted pool", "headroom_pool: 50000B, partitions: 2", "alpha: 1/8", "headroom: 100000B", true, 4_000_000 - 22_464 - 50_000},
		{"borrowed headroom", "headroom_pool: 1800000B", "alpha: 1/8", "headroom: 20000B, borrow: true", false, 4_000_000 - 22_464 - 1_800_000},
		{"egress pool", "reserve_for: cabled", "alpha: 1/8, egress_lossless: 4MB, egress_lossy: 200KB, egress_minimum: 1664B", "headroom: 100000B", false, 4_000_000 - 22_464 - 1_800_000},
		{"egress pool that is too small", "partitions: 2", "alpha: 1/8, egress_lossless: 300KB", "headroom: 100000B", true, 4_000_000 - 22_464 - 1_800_000},
	} {
		cfg, err := Parse("a.yaml", fmt.Appendf(nil, chipBurst, c.buffer, c.policy, c.flow))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b, err := New(cfg, Options{Invariants: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := dataplane.SharedSize(b.Spec.Switches[0]); got != c.shared {
			t.Errorf("%s: %d B are shared, want %d", c.name, got, c.shared)
		}
		f, err := sim.NewFast(b.Spec, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		total := f.Totals()
		if got := total.Drops[probe.Lossless]; got > 0 != c.drops || total.Broken != got {
			t.Errorf("%s: %d lossless frames dropped, %d of them broke a promise", c.name, total.Drops[probe.Lossless], total.Broken)
		}
		if total.Pauses == 0 {
			t.Errorf("%s: no pauses", c.name)
		}
		for _, s := range b.Spec.Switches {
			if s.Checks.Broken != total.Broken {
				t.Errorf("%s: %d broken invariants, %d lossless drops; first: %s", c.name, s.Checks.Broken, total.Broken, s.Checks.First)
			}
		}
	}
}

// Newer keys at their defaults do not appear in the canonical form, which is hashed.
func TestNewKeysLeaveNoTrace(t *testing.T) {
	for _, keys := range [][2]string{
		{"buffer: {size: 4MB}", "buffer: {size: 4MB, per_packet: 0B, partitions: 0, headroom_pool: 0B}"},
		{"flow_control: {name: sonic}", "flow_control: {name: sonic, minimum: 0B, borrow: false}"},
	} {
		var texts [2]string
		for i, k := range keys {
			cfg, err := Parse("a.yaml", []byte("switch:\n  "+k+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			text, err := cfg.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
			for _, word := range []string{"per_packet", "partitions", "headroom_pool", "minimum", "borrow"} {
				if strings.Contains(texts[i], word) {
					t.Errorf("%s: the canonical form contains %s", k, word)
				}
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("%s and %s differ", keys[0], keys[1])
		}
	}
}
