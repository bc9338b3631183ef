package sim_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// A slow host that gets stuck while its headroom is in use must not resume its upstream
// when it recovers: the headroom has no room for another round trip.
func TestSlowHostRecoversFromStorm(t *testing.T) {
	cfg := star(2, units.Microsecond)
	cfg.Hosts.Receive = scenario.Receive{Rate: 20 * units.Gbps, Buffer: units.MB, Xoff: 20 * units.KB}
	for k := range 12 {
		cfg.Faults = append(cfg.Faults, scenario.Fault{Host: "host1", Stuck: true, At: units.Time(30+41*k) * units.Microsecond, For: 20 * units.Microsecond})
	}
	o := simulate(t, flows(cfg, workload.FlowSpec{From: "host0", To: "host1", Size: 2_000_000}), "")
	if o.totals.Finished != 1 {
		t.Error("the flow does not finish")
	}
}

// Lossy frames that a slow host cannot take in time must not use up the buffer reserved
// for its lossless class.
func TestLossyFloodAtSlowHost(t *testing.T) {
	cfg := star(3, units.Microsecond)
	cfg.Classes["tcp"] = scenario.Class{IDs: []int{5}, Kind: "lossy"}
	cfg.Hosts.Receive = scenario.Receive{Rate: 20 * units.Gbps, Buffer: 200 * units.KB, Xoff: 20 * units.KB}
	cfg.Run.Arrivals = 100 * units.Microsecond
	cfg.Run.Stop = scenario.Stop{When: "time", AtMost: 300 * units.Microsecond}
	o := simulate(t, flows(cfg,
		workload.FlowSpec{From: "host0", To: "host2", Size: 4_000_000, Class: "5"},
		workload.FlowSpec{From: "host1", To: "host2", Size: 1_000_000, Start: 50 * units.Microsecond},
	), "")
	if o.totals.Drops[probe.Overflow] == 0 || o.totals.Pauses == 0 {
		t.Error("no lossy frame is dropped, or nothing is paused")
	}
}

// host0 is stuck while host2 sends to it and host3 sends to host1. The pause
// storm spreads over leaf, spine and leaf to the senders, blocks the unrelated flow too,
// and ends without lasting effects.
func TestStormBlocksUpstreamAndEnds(t *testing.T) {
	for _, hold := range []string{"timed", "indefinite"} {
		t.Run(hold, func(t *testing.T) {
			cfg := star(0, 0)
			link := topo.Cable{Rate: 100 * units.Gbps, Delay: 500 * units.Nanosecond}
			cfg.Topology = scenario.Fabric("leaf-spine", &topo.LeafSpineParams{Leaves: 2, Spines: 1, HostsPerLeaf: 2, HostLink: link, FabricLink: link})
			cfg.Switch.Policy = scenario.Choice{Name: "static", Params: staticLimit(30_000)}
			cfg.Switch.PFC.Hold, cfg.Switch.PFC.Quanta = hold, 200
			cfg.Faults = []scenario.Fault{{Host: "host0", Stuck: true, At: 5 * units.Microsecond, For: 100 * units.Microsecond}}
			o := simulate(t, flows(cfg,
				workload.FlowSpec{From: "host2", To: "host0", Size: 1_000_000},
				workload.FlowSpec{From: "host3", To: "host1", Size: 1_000_000},
			), "")
			// Nodes: hosts 0-3, leaves 4 and 5, spine 6. All must be blocked at 60 us, in
			// the middle of the storm.
			for _, n := range []int{2, 4, 5, 6} {
				mask := uint8(0)
				for _, e := range o.nodes[n].log {
					if e.what == blocked && e.at < 60*units.Microsecond {
						mask = e.to
					}
				}
				if mask != 1<<1 {
					t.Errorf("node %d was not blocked by the storm", n)
				}
			}
			if !chained(o) {
				t.Error("no switch propagated the pause")
			}
			// The host pauses its leaf, the leaf the spine, the spine the other leaf, and
			// the other leaf the senders.
			if d := &o.totals.Depths; d[1] == 0 || d[2] == 0 || d[3] == 0 || d[4] == 0 || sumOf(d[5:]) != 0 {
				t.Errorf("pauses by depth: %v, want depths 1 to 4", d[:8])
			}
			for i := range 2 {
				if end := o.built.Flows.Send[i].Acked; end < 105*units.Microsecond || end > units.Millisecond {
					t.Errorf("flow %d ended at %v, want shortly after the storm", i, end)
				}
			}
			if n := o.totals.Drops[probe.Lossless]; n != 0 {
				t.Errorf("%d lossless frames dropped", n)
			}
		})
	}
}

// A link that flaps during a pause clears it on both sides: everything is delivered in
// the end, and no class stays paused.
func TestFlapsDuringPauses(t *testing.T) {
	for _, coalesce := range []bool{true, false} {
		for _, hold := range []string{"timed", "indefinite"} {
			for _, link := range []string{"host0-switch0", "host1-switch0"} {
				t.Run(fmt.Sprint(link, " ", hold, " ", coalesce), func(t *testing.T) {
					cfg := star(5, units.Microsecond)
					cfg.Switch.Policy = scenario.Choice{Name: "static", Params: staticLimit(20_000)}
					cfg.Switch.PFC.Hold, cfg.Switch.PFC.Coalesce = hold, coalesce
					cfg.Hosts.Reliability.Timeout = 100 * units.Microsecond
					cfg.Workload = []scenario.Workload{{
						Name: "burst", Generator: "incast", Params: &workload.Incast{Senders: 4, Size: 500_000}, To: scenario.Selection{"host0"}, Class: scenario.ClassChoice{Fixed: "rdma"},
					}}
					cfg.Faults = []scenario.Fault{{Link: link, At: 13 * units.Microsecond, DownFor: 3 * units.Microsecond, Times: 8, Every: 9 * units.Microsecond}}
					o := simulate(t, cfg, "pauses are cleared when a link comes up")
					if o.totals.Pauses == 0 || o.totals.Lost == 0 {
						t.Error("no pauses, or no frames lost")
					}
					if o.totals.Finished != 4 {
						t.Errorf("%d flows finish, want 4", o.totals.Finished)
					}
				})
			}
		}
	}
}

// Every link corrupts one frame in a hundred: every flow completes, and each packet is
// delivered once and in order.
func TestCompletesUnderCorruption(t *testing.T) {
	cfg := star(0, 0)
	link := topo.Cable{Rate: 100 * units.Gbps, Delay: 500 * units.Nanosecond}
	cfg.Topology = scenario.Fabric("leaf-spine", &topo.LeafSpineParams{Leaves: 2, Spines: 2, HostsPerLeaf: 4, HostLink: link, FabricLink: link})
	cfg.Hosts.Reliability.Timeout = 100 * units.Microsecond
	cfg.Hosts.Reliability.NackInterval = 20 * units.Microsecond
	cfg.Workload = []scenario.Workload{{
		Name: "all", Generator: "poisson", Params: &workload.Poisson{Sizes: "20500B", AtOnce: 1}, Load: scenario.Load{Share: 0.3, Of: "host_links"}, Class: scenario.ClassChoice{Fixed: "rdma"},
	}}
	cfg.Run.Arrivals = 200 * units.Microsecond
	for host := range 8 {
		cfg.Faults = append(cfg.Faults, scenario.Fault{Link: fmt.Sprintf("host%d-leaf%d", host, host/4), Corrupt: 0.01})
	}
	for _, l := range []string{"leaf0-spine0", "leaf0-spine1", "leaf1-spine0", "leaf1-spine1"} {
		cfg.Faults = append(cfg.Faults, scenario.Fault{Link: l, Corrupt: 0.01})
	}
	o := simulate(t, cfg, "PAUSE frames are lost")
	if n := len(o.built.Flows.Flow); n < 100 || int(o.totals.Finished) != n {
		t.Errorf("%d of %d flows finish", o.totals.Finished, n)
	}
	for i := range o.built.Flows.Recv {
		// 20,500 B are 21 packets. Next counts deliveries: it moves by one, and
		// only for the packet that is next.
		if r := &o.built.Flows.Recv[i]; r.Next != 21 || r.Delivered == 0 {
			t.Errorf("flow %d: %d packets delivered, want 21", i, r.Next)
		}
	}
	// 1 % of all hops, within 4 sigma of the binomial distribution.
	hops := float64(o.totals.Hops + o.totals.Control)
	if lost := float64(o.totals.Lost); lost < 0.008*hops || lost > 0.012*hops {
		t.Errorf("%v of %v frames corrupted, want 1 %%", lost, hops)
	}
	if o.totals.Resent == 0 || o.totals.Nacks == 0 || o.totals.Timeouts == 0 {
		t.Errorf("no loss recovery: %+v", o.totals)
	}
}

// Engines skip idle time: the only flow starts after 2000 s, which is 200 million checks and
// 2 billion windows. Both engines end at the check after the flow, Linger later, or at the end
// of the run.
func TestIdleTimeIsSkipped(t *testing.T) {
	us, late := units.Microsecond, 2000*units.Second
	for _, c := range []struct {
		name   string
		stop   scenario.Stop
		linger units.Time
		end    units.Time
	}{
		// One packet takes 4,177,920 ps; checks are every 10 us.
		{"done", scenario.Stop{When: "all_flows_done", AtMost: 2200 * units.Second}, 0, late + 10*us},
		{"linger", scenario.Stop{When: "all_flows_done", AtMost: 2200 * units.Second}, 100*units.Second + 1, late + 10*us + 100*units.Second + 1},
		{"time", scenario.Stop{When: "time", AtMost: 2200*units.Second + 1}, 0, 2200*units.Second + 1},
	} {
		cfg := flows(star(2, us), workload.FlowSpec{From: "host0", To: "host1", Size: 1000, Start: late})
		cfg.Run.Arrivals = late + us
		cfg.Run.Stop = c.stop
		for _, e := range append([]engine{reference}, fastEngines...) {
			b, err := fabric.New(cfg, fabric.Options{})
			if err != nil {
				t.Fatal(err)
			}
			b.Spec.Linger = c.linger
			r, err := e.run(b.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if acked := b.Flows.Send[0].Acked; r.end != c.end || acked != late+4_177_920 {
				t.Errorf("%s, %s: ends at %v, flow at %v, want %v, %v", c.name, e.name, r.end, acked, c.end, late+4_177_920)
			}
		}
	}
}

// Two packets fill the window, but the receiver sends an ACK only every sixteen packets:
// the second packet must request one. It arrives after 2 x 83,840 + 83,840 ps + 2 us, the
// ACK takes 2 x 5,120 ps + 2 us: 4,261,760 ps for two packets.
func TestAckAtTheEdgeOfTheWindow(t *testing.T) {
	cfg := flows(star(2, units.Microsecond), workload.FlowSpec{From: "host0", To: "host1", Size: 6000})
	cfg.Hosts.Ack.Every = 16
	cfg.Hosts.CC = scenario.Choice{Name: "fixed", Params: &cc.FixedParams{Window: 1001}}
	o := simulate(t, cfg, "")
	checkFCT(t, o, 3*4_261_760-2_010_240, 3*4_261_760)
	if o.totals.Timeouts != 0 {
		t.Errorf("%d timeouts", o.totals.Timeouts)
	}
}
