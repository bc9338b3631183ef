package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// steady is a scenario with four long flows over two spines, two of them to the same host.
// Two cables between switches corrupt some frames. After the warm-up no buffer grows.
const steady = `
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1, 2], kind: lossless}}
hosts: {cc: {%s}, reliability: {name: %s, timeout: 100us}}
workload:
  - name: long
    generator: flows
    class: rdma
    flows:
      - {from: host0, to: host2, size: 100MB}
      - {from: host1, to: host2, size: 100MB}
      - {from: host2, to: host0, size: 100MB}
      - {from: host3, to: host1, size: 100MB}
faults:
  - {at: 0s, link: leaf0-spine0, corrupt: 0.001, for: 1s}
  - {at: 0s, link: leaf0-spine1, corrupt: 0.001, for: 1s}
run: {arrivals: 1us, stop: {when: time, at_most: 4ms}}
`

// Packets allocate nothing, whatever the congestion control and the retransmissions: with
// telemetry records, with selective ACKs, and with both in one extension.
func TestPacketsAllocateNothing(t *testing.T) {
	for _, cc := range []string{"name: dcqcn", "name: hpcc", "name: powertcp", "name: powertcp, preset: hpcc-sim", "name: dctcp"} {
		for i, reliability := range []string{"go-back-n", "sack", "irn"} {
			if i > 0 && cc != "name: dcqcn" && cc != "name: dctcp" {
				continue // recovery does not depend on congestion control
			}
			t.Run(cc+"/"+reliability, func(t *testing.T) {
				cfg, err := scenario.Parse("steady", fmt.Appendf(nil, steady, cc, reliability))
				if err != nil {
					t.Fatal(err)
				}
				b, err := fabric.New(cfg, fabric.Options{})
				if err != nil {
					t.Fatal(err)
				}
				f, err := sim.NewFast(b.Spec, sim.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.RunUntil(t.Context(), 2*units.Millisecond); err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				hops := f.Totals().Hops
				runtime.ReadMemStats(&before)
				if _, err := f.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				hops = f.Totals().Hops - hops
				// Buffers may double now and then. One allocation per data packet would be one
				// in eight hops.
				if allocs := after.Mallocs - before.Mallocs; hops < 100_000 || allocs > hops/5000 || f.Totals().Resent == 0 {
					t.Errorf("%d allocations in %d hops, %d retransmissions", allocs, hops, f.Totals().Resent)
				}
			})
		}
	}
}
