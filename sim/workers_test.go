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
		Name: "ring", Generator: "ring_allreduce", Params: &workload.RingAllReduce{Size: 64 * units.KB, Ranks: 16, Order: "across_racks", Repeat: 1},
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
	for _, n := range []int{3, 64, 70} {
		if testing.Short() && n > 3 {
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

// All traffic is between the hosts of one leaf, so every worker but one steals.
func TestStolenNodes(t *testing.T) {
	cfg := star(0, 0)
	link := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	cfg.Topology = scenario.Fabric("leaf-spine", &topo.LeafSpineParams{Leaves: 8, Spines: 2, HostsPerLeaf: 8, HostLink: link, FabricLink: link})
	var list []workload.FlowSpec
	for i := range 8 {
		list = append(list, workload.FlowSpec{From: fmt.Sprint("host", i), To: fmt.Sprint("host", (i+1)%8), Size: 200 * units.KB})
		list = append(list, workload.FlowSpec{From: fmt.Sprint("host", i), To: fmt.Sprint("host", (i+3)%8), Size: 100 * units.KB})
	}
	c := &randomCase{cfg: flows(cfg, list...), grace: 50 * units.Microsecond}
	stolen := 0
	steals := func(workers int) engine {
		return engine{fmt.Sprint(workers, " workers"), func(s *sim.Spec) (ran, error) {
			f, err := sim.NewFast(s, sim.Options{Workers: workers})
			if err != nil {
				return ran{}, err
			}
			for at := sim.CheckPeriod; at < 30*sim.CheckPeriod; at += sim.CheckPeriod {
				if _, err := f.RunUntil(t.Context(), at); err != nil {
					return ran{}, err
				}
				stolen += f.Stolen()
			}
			end, err := f.Run(t.Context())
			return ran{end, f.Totals(), f.Final()}, err
		}}
	}
	for _, order := range []func(engine) engine{func(e engine) engine { return e }, byInsertion} {
		want, err := c.run(order(steals(1)))
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{2, 8, 64} {
			stolen = 0
			got, err := c.run(order(steals(workers)))
			if err != nil {
				t.Fatal(err)
			}
			if err := want.differs(got); err != nil {
				t.Errorf("%d workers: %v", workers, err)
			}
			if stolen == 0 {
				t.Errorf("%d workers: no node was stolen", workers)
			}
		}
	}
}
