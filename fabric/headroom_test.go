package fabric

import (
	"context"
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// burstOf8 is an incast of 8 hosts to host0 at one Tomahawk with 32 ports and a PHI of
// 60,000 B.
const burstOf8 = `
topology: {name: one-switch, hosts: 9, host_link: {rate: 100Gbps, delay: %s}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [1, 2, 3, 4, 5, 6, 7], kind: lossless}
switch:
  ports: 32
  buffer: {size: 16MiB, private_per_queue: 3KB, reserve_for: %s}
  policy: {name: dt, alpha: 1/16}
  flow_control: %s
hosts: {cc: {name: none}}
workload:
  - {name: burst, generator: incast, senders: 8, size: %s, to: host0, at: 20us, class: {random: rdma}}
run: {arrivals: 30us, stop: {when: all_flows_done, at_most: 50ms}}
`

// All schemes reserve headroom for every port of the chip, or for cabled ports: 16 MiB is
// 16,777,216 B, private segments 32 x 7 x 3000 = 672,000 B or 9 x 7 x 3000 = 189,000 B,
// PHI 60,000 B. The exact PHI of a cable of 1 us is 25,000 + 3 x 1048 + 64 = 28,208 B.
func TestHeadroomOfChips(t *testing.T) {
	for scheme, want := range map[string][2]units.Bytes{ // size of the shared segment: chip, cabled
		"{name: pfc, headroom: 60000B}":                         {16_777_216 - 672_000 - 32*7*60_000, 16_777_216 - 189_000 - 9*7*60_000},
		"{name: adaptive, headroom: 60000B}":                    {16_777_216 - 672_000 - 32*7*60_000, 16_777_216 - 189_000 - 9*7*60_000},
		"{name: oversubscribed, headroom: 60000B}":              {16_777_216 - 672_000 - 32*7*48_000, 16_777_216 - 189_000 - 9*7*48_000},
		"{name: oversubscribed, headroom: 60000B, limit: pool}": {16_777_216 - 672_000 - 32*7*48_000, 16_777_216 - 189_000 - 9*7*48_000},
		"{name: dsh, headroom: 60000B}":                         {16_777_216 - 672_000 - 32*60_000, 16_777_216 - 189_000 - 9*60_000},
		"{name: dsh, headroom: 60000B, insurance: 0}":           {16_777_216 - 672_000, 16_777_216 - 189_000},
	} {
		for i, ports := range []string{"chip", "cabled"} {
			b := build(t, fmt.Sprintf(burstOf8, "1us", ports, scheme, "64KB"))
			if got := dataplane.SharedSize(b.Spec.Switches[0]); got != want[i] {
				t.Errorf("%s, %s ports: the shared segment has %d B, want %d", scheme, ports, got, want[i])
			}
		}
	}
}

// Each scheme runs one burst: drops, broken promises, and the bytes that adaptive ports
// give to the shared segment.
func TestHeadroomSchemes(t *testing.T) {
	for _, c := range []struct {
		scheme       string
		drops, broke bool
		grown        units.Bytes // growth of the shared segment
	}{
		{"{name: pfc, headroom: 60000B}", false, false, 0},
		// Nine ports of seven queues each need 28,208 B of their 60,000 B.
		{"{name: adaptive, headroom: 60000B}", false, false, 9 * 7 * (60_000 - 28_208)},
		{"{name: dsh}", false, false, 0},
		{"{name: dsh, estimator: table}", false, false, 0},
		{"{name: dsh, shared_headroom: false}", false, false, 0},
		{"{name: dsh, insurance: 0, shared_headroom: false}", true, false, 0},
		{"{name: oversubscribed, headroom: 28208B, ratio: 1/4}", true, false, 0},
		{"{name: oversubscribed, headroom: 28208B, ratio: 1/100, limit: pool}", true, false, 0},
		{"{name: pfc, headroom: 7052B}", true, true, 0}, // also a quarter, but pfc promises lossless classes
	} {
		b := build(t, fmt.Sprintf(burstOf8, "1us", "chip", c.scheme, "2MB"))
		f, err := sim.NewFast(b.Spec, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		total := f.Totals()
		if got := total.Drops[probe.Lossless] > 0; got != c.drops || (total.Broken > 0) != c.broke {
			t.Errorf("%s: %d lossless frames dropped, %d of them broke a promise", c.scheme, total.Drops[probe.Lossless], total.Broken)
		}
		if total.Pauses == 0 {
			t.Errorf("%s: no pauses", c.scheme)
		}
		pool := f.Final().Pools[0]
		if got := pool.View.SharedSize() - dataplane.SharedSize(b.Spec.Switches[0]); got != c.grown {
			t.Errorf("%s: the shared segment grew by %d B, want %d", c.scheme, got, c.grown)
		}
	}
}
