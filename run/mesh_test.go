package run_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/run"
)

// Loops of three classes fill the shared segment, and their queues block each other's exits. A
// queue whose headroom was lent must not wait for room in the segment for ever.
func TestRoundaboutInAMeshOfClasses(t *testing.T) {
	drains(t, mesh{1, "1, 2, 3", "1", "0.5", "1ms", "25KB", "20ms", "60ms"})
}

// mesh is a torus with loops in rows, columns and squares.
type mesh struct {
	seed                                                      int
	classes, alpha, load, arrivals, redundant, timeout, until string
}

// drains checks that a mesh deadlocks without a handler, and that Roundabout finishes all flows.
func drains(t *testing.T, m mesh) {
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
classes: {control: {ids: [0], kind: control}, rdma: {ids: [%s], kind: lossless}}
switch:
  buffer: {size: 2MB}
  policy: {name: dt, alpha: %s}
  flow_control: {name: pfc, headroom: exact}
  pfc: {coalesce: false}
  deadlock: {name: %s}
hosts: {cc: {name: dcqcn}, reliability: {name: go-back-n, timeout: %s, max_timeout: 100ms}}
workload:
  - {name: storage, generator: poisson, sizes: ali_storage, load: {share: %s, of: host_links}, class: {random: rdma}}
run: {arrivals: %s, stop: {when: measured_flows_done, at_most: %s}}
`
	finish := func(handler, until string) *run.Result {
		return mustRun(t, fmt.Sprintf(torus, m.seed, m.classes, m.alpha, handler, m.timeout, m.load, m.arrivals, until), run.Options{})
	}
	if finish("none", "2ms").Summary.Deadlock.Standing == 0 {
		t.Errorf("%+v: no deadlock without a handler", m)
	}
	sum := finish("roundabout, redundant: "+m.redundant, m.until).Summary
	if sum.Flows.Unfinished != 0 || sum.Drops.Lossless != 0 {
		t.Errorf("%+v: %d flows unfinished, %d lossless frames dropped", m, sum.Flows.Unfinished, sum.Drops.Lossless)
	}
}
