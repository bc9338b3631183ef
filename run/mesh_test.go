package run_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/run"
)

// A small torus with more traffic than its links can carry: loops in rows, columns and
// squares block each other's exits. Rotating one loop alone frees no queue (in contrast to
// Roundabout section VII-A), and headroom lent to another queue must not keep a queue OFF.
func TestRoundaboutInAMeshOfLoops(t *testing.T) { meshOfLoops(t, 1) }

func meshOfLoops(t *testing.T, seeds ...int) {
	t.Helper()
	const torus = `
name: mesh
seed: %d
topology:
  name: torus
  rows: 4
  columns: 4
  hosts_per_switch: 4
  host_link:   {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
switch:
  buffer: {size: 2MB}
  policy: {name: dt, alpha: 1/7}
  flow_control: {name: pfc, headroom: exact}
  pfc: {coalesce: false}
  deadlock: {name: %s}
hosts: {cc: {name: dcqcn}}
workload:
  - {name: storage, generator: poisson, sizes: ali_storage, load: {share: 0.9, of: host_links}, class: rdma}
run: {arrivals: 300us, stop: {when: measured_flows_done, at_most: %s}}
`
	for _, seed := range seeds {
		left := mustRun(t, fmt.Sprintf(torus, seed, "none", "2ms"), run.Options{})
		if left.Summary.Deadlock.Standing == 0 {
			t.Errorf("seed %d: no deadlock without a handler", seed)
		}
		sum := mustRun(t, fmt.Sprintf(torus, seed, "roundabout, redundant: 10KB", "30ms"), run.Options{}).Summary
		if sum.Flows.Unfinished != 0 || sum.Drops.Lossless != 0 {
			t.Errorf("seed %d: %d flows unfinished, %d lossless frames dropped", seed, sum.Flows.Unfinished, sum.Drops.Lossless)
		}
	}
}
