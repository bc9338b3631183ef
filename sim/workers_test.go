package sim_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Results do not depend on the number of workers, also if several share a bit of
// Fast.senders. Short cables make windows short, so most boxes have one frame.
func TestAnyNumberOfWorkers(t *testing.T) {
	cfg := star(0, 0)
	cfg.Topology = scenario.Fabric("fat-tree", &topo.FatTreeParams{
		K: 4, HostsPerEdge: 8, HostLink: topo.Cable{Rate: 100 * units.Gbps, Delay: 50 * units.Nanosecond},
		FabricLink: topo.Cable{Rate: 100 * units.Gbps, Delay: 250 * units.Nanosecond},
	})
	cfg.Switch.Buffer.Size = 8 * units.MiB
	cfg.Workload = []scenario.Workload{{
		Name: "ring", Generator: "ring_allreduce", Params: &workload.RingAllReduce{Size: 256 * units.KB, Ranks: 16, Order: "across_racks", Repeat: 1},
		Class: scenario.ClassChoice{Fixed: "rdma"},
	}}
	cfg.Run.Arrivals = 10 * units.Microsecond
	c := &randomCase{cfg: cfg, grace: 20 * units.Microsecond}
	want, err := c.run(fast("1 worker", sim.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(want.built.Flows.Flow); n != 4*16*30 || !want.built.Flows.Done(n-1) {
		t.Fatalf("%d flows, want %d complete ones", n, 4*16*30)
	}
	for _, n := range []int{2, 3, 8, 64, 70} {
		if testing.Short() && n == 64 {
			continue
		}
		got, err := c.run(fast(fmt.Sprint(n, " workers"), sim.Options{Workers: n}))
		if err != nil {
			t.Fatal(err)
		}
		if err := want.differs(got); err != nil {
			t.Errorf("%d workers: %v", n, err)
		}
	}
}
