package sim_test

import (
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// The tests in this file compare runs with times worked out by hand. At 100 Gbps a byte
// takes 80 ps: a full frame of 1048 B 83,840 ps, an ACK or PFC frame of 64 B 5,120 ps.
const fullTx = 83_840 * units.Picosecond

// star returns a scenario with one switch and none of the features that complicate the
// arithmetic.
func star(hosts int, delay units.Time) *scenario.Config {
	c := scenario.Default()
	c.Topology = scenario.Fabric("one-switch", &topo.OneSwitchParams{Hosts: hosts, HostLink: topo.Cable{Rate: 100 * units.Gbps, Delay: delay}})
	c.Classes = map[string]scenario.Class{"control": {IDs: []int{0}, Kind: "control"}, "rdma": {IDs: []int{1}, Kind: "lossless"}}
	c.Switch.Buffer.PrivatePerQueue = 0
	c.Switch.ECN.Choice = scenario.Choice{Name: "none"}
	c.Hosts.CC = scenario.Choice{Name: "none"}
	c.Run.Arrivals = 10 * units.Microsecond
	c.Run.Stop = scenario.Stop{When: "all_flows_done", AtMost: 100 * units.Millisecond}
	return c
}

// flows adds a workload of single flows to a scenario.
func flows(c *scenario.Config, list ...workload.FlowSpec) *scenario.Config {
	c.Workload = append(c.Workload, scenario.Workload{Name: "single", Generator: "flows", Class: scenario.ClassChoice{Fixed: "rdma"}, Params: &workload.List{Flows: list}})
	return c
}

// simulate runs a scenario on both engines, which must agree.
func simulate(t *testing.T, cfg *scenario.Config, mayLose string) *outcome {
	t.Helper()
	c := &randomCase{cfg: cfg, loses: mayLose, faults: len(cfg.Faults) > 0, grace: 50 * units.Microsecond}
	o, err := c.check(fastEngines[0])
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestUncontendedFCT(t *testing.T) {
	leafSpine := func(host, fabric topo.Cable) *scenario.Config {
		c := star(0, 0)
		c.Topology = scenario.Fabric("leaf-spine", &topo.LeafSpineParams{Leaves: 2, Spines: 1, HostsPerLeaf: 2, HostLink: host, FabricLink: fabric})
		return c
	}
	at := func(rate units.Rate, delay units.Time) topo.Cable {
		return topo.Cable{Rate: rate, Delay: delay}
	}
	us, g100 := units.Microsecond, 100*units.Gbps
	long := leafSpine(at(g100, 20*units.Nanosecond), at(g100, 15*units.Millisecond))
	long.Switch.Buffer.Size = 1500 * units.MiB // 375 MB of headroom for each direction of 15 ms
	long.Hosts.Reliability.Timeout, long.Hosts.Reliability.MaxTimeout = 200*units.Millisecond, units.Second
	wire := star(2, us)
	wire.Switch.WireOverhead, wire.Switch.Latency = 20, 500*units.Nanosecond

	for _, c := range []struct {
		name      string
		cfg       *scenario.Config
		to        string
		size      units.Bytes
		delivered units.Time // last byte at the destination
		acked     units.Time // last ACK at the source
	}{
		// 2 x (83,840 + 1 us); the ACK 2 x (5,120 + 1 us).
		{"2 links, one packet", star(2, us), "host1", 1000, 2_167_680, 4_177_920},
		// Frames of 1048, 1048 and 548 B (43,840 ps). The last is at the switch at
		// 211,520 + 1 us, but the one before it occupies the wire until 3 x 83,840 +
		// 1 us = 1,251,520; + 43,840 + 1 us.
		{"2 links, short last packet", star(2, us), "host1", 2500, 2_295_360, 4_305_600},
		// One byte: a frame of 49 B, 3,920 ps. 2 x 3,920 + 2 us; ACK 2,010,240.
		{"2 links, one byte", star(2, us), "host1", 1, 2_007_840, 4_018_080},
		// 168 B with overhead, 13,440 ps; the pipeline adds 500 ns on the way into
		// the switch: 2 x 13,440 + 2.5 us. ACK: 84 B, 2 x 6,720 + 2.5 us.
		{"2 links, overhead and pipeline", wire, "host1", 100, 2_526_880, 5_040_320},
		{"2 links of a leaf", leafSpine(at(g100, us), at(g100, us)), "host1", 1000, 2_167_680, 4_177_920},
		// 4 x (3,920 + 1 us); ACK 4 x (5,120 + 1 us).
		{"4 links, one byte", leafSpine(at(g100, us), at(g100, us)), "host2", 1, 4_015_680, 8_036_160},
		// 100 frames follow each other: (100 + 3) x 83,840 + 4 us; ACK 4,020,480.
		{"4 links, 100 packets", leafSpine(at(g100, us), at(g100, us)), "host2", 100_000, 12_635_520, 16_656_000},
		// 25 Gbps at the hosts: 335,360 ps per frame there, 83,840 in the fabric.
		// The second frame reaches the last leaf at 2 x 335,360 + 2 x 83,840 + 3 us
		// = 3,838,400, the picosecond at which the first has left it; + 335,360 +
		// 1 us. ACK 2 x 20,480 + 2 x 5,120 + 4 us.
		{"4 links, two rates", leafSpine(at(25*units.Gbps, us), at(g100, us)), "host2", 2000, 5_173_760, 9_224_960},
		// (2000 + 3) x 83,840 + 2 x 15 ms + 2 x 20 ns; ACK 4 x 5,120 + the same.
		{"delays of 15 ms and 20 ns", long, "host2", 2_000_000, 30_167_971_520, 60_168_032_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := simulate(t, flows(c.cfg, workload.FlowSpec{From: "host0", To: c.to, Size: c.size}), "")
			checkFCT(t, o, c.delivered, c.acked)
			if o.built.Ideal[0] != c.acked {
				t.Errorf("ideal FCT %d ps, want %d ps", o.built.Ideal[0], c.acked)
			}
		})
	}
}

func checkFCT(t *testing.T, o *outcome, delivered, acked units.Time) {
	t.Helper()
	if got := o.built.Flows.Recv[0].Delivered; got != delivered {
		t.Errorf("delivered at %d ps, want %d ps", got, delivered)
	}
	if got := o.built.Flows.Send[0].Acked; got != acked {
		t.Errorf("acknowledged at %d ps, want %d ps", got, acked)
	}
}

// Two NICs on one cable, without a switch.
func TestUncontendedFCTOnOneLink(t *testing.T) {
	for _, c := range []struct {
		size             units.Bytes
		delivered, acked units.Time
	}{
		{1000, 1_083_840, 2_088_960}, // 83,840 + 1 us; + 5,120 + 1 us
		{2500, 1_211_520, 2_216_640}, // 2 x 83,840 + 43,840 + 1 us; + 5,120 + 1 us
	} {
		for _, e := range []engine{reference, fastEngines[0]} {
			b, err := fabric.New(flows(star(2, units.Microsecond), workload.FlowSpec{From: "host0", To: "host1", Size: c.size}), fabric.Options{})
			if err != nil {
				t.Fatal(err)
			}
			b.Spec.Switches = nil
			b.Spec.Cables = []sim.Cable{{B: sim.End{Node: 1}, Rate: 100 * units.Gbps, AtoB: units.Microsecond, BtoA: units.Microsecond}}
			if _, err := e.run(b.Spec); err != nil {
				t.Fatal(err)
			}
			checkFCT(t, &outcome{built: b}, c.delivered, c.acked)
		}
	}
}

// The worst case of PFC: host1 sends back to back to a host that is stuck. Frame
// 10 does not fit under the threshold of 10 frames and arrives at T = 11 x 83,840
// + D. In the same picosecond, on a lower port, a frame to host1 arrives and takes
// the wire, so that the PAUSE leaves at T + 83,840 and takes effect at
//
//	12 x 83,840 + 2 D + 5,120 + processing.
//
// D is chosen so that this is n x 83,840 + 160 ps: host1 has just begun one more frame.
// Headroom stores frames 10 to n: n - 9 frames, 2 bytes less than PHI*.
func TestHeadroomWorstCase(t *testing.T) {
	for _, c := range []struct {
		name       string
		delay      units.Time
		processing units.Time
		phi        units.Bytes // PHI* = C (2 D + processing) + 3 x 1048 + 64
		peak       units.Bytes
	}{
		// 2 D + 5,120 = 24 x 83,840 + 160. PHI* = 2,007,200 / 80 + 3,208; 27 frames.
		{"no processing", 1_003_600, 0, 28_298, 28_296},
		// 2 D + 5,120 + 307,200 = 28 x 83,840 + 160. PHI* = (2,035,360 + 307,200) /
		// 80 + 3,208; 31 frames.
		{"3840 B of processing", 1_017_680, 307_200, 32_490, 32_488},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(h link.Headroom, mayLose string) *outcome {
				cfg := star(3, c.delay)
				cfg.Switch.Policy = scenario.Choice{Name: "static", Params: staticLimit(10 * 1048)}
				cfg.Switch.FlowControl = scenario.Choice{Name: "pfc", Params: &flowctl.SIHParams{Headroom: h}}
				cfg.Switch.PFC.Processing = c.processing
				cfg.Hosts.Ack.Every = 16 // the ACK of the reverse flow must not interfere
				cfg.Faults = []scenario.Fault{{Host: "host2", Stuck: true, For: units.Second}}
				cfg.Run.Stop = scenario.Stop{When: "time", AtMost: 100 * units.Microsecond}
				return simulate(t, flows(cfg,
					workload.FlowSpec{From: "host1", To: "host2", Size: 200_000},
					workload.FlowSpec{From: "host0", To: "host1", Size: 10_000, Start: 10 * fullTx},
				), mayLose)
			}
			exact := run(link.Headroom{Rule: link.RuleExact}, "")
			if exact.totals.PeakHeadroom != c.peak {
				t.Errorf("headroom stored %d B, want %d B", exact.totals.PeakHeadroom, c.peak)
			}
			number := run(link.Headroom{Rule: link.RuleBytes, Bytes: c.phi}, "")
			if number.totals != exact.totals {
				t.Errorf("exact headroom is not %d B", c.phi)
			}
			short := run(link.Headroom{Rule: link.RuleBytes, Bytes: c.phi - 1048}, "one MTU short")
			if n := short.totals.Drops[probe.Lossless]; n != 1 {
				t.Errorf("%d frames dropped with PHI* - 1 MTU, want 1", n)
			}
		})
	}
}

// A pause of 1000 quanta (512 bit times each, 5.12 us) expires if all refreshes are lost.
// The stuck host pauses at 1 ps; the PAUSE takes effect at
// 1 + 5,120 + 1 us and expires 5,120,000 ps later, when the first frame leaves.
func TestPauseExpires(t *testing.T) {
	cfg := star(2, units.Microsecond)
	cfg.Switch.PFC.Quanta = 1000
	cfg.Faults = []scenario.Fault{
		{Host: "host1", Stuck: true, For: units.Second},
		{Link: "host1-switch0", At: 2 * units.Microsecond, Corrupt: 1},
	}
	cfg.Run.Stop = scenario.Stop{When: "time", AtMost: 20 * units.Microsecond}
	o := simulate(t, flows(cfg, workload.FlowSpec{From: "host0", To: "host1", Size: 10_000}), "")
	var got []entry
	for _, e := range o.nodes[2].log {
		if e.port == 1 && (e.what == blocked || e.what == departed) && len(got) < 3 {
			got = append(got, e)
		}
	}
	want := []entry{
		{at: 1_005_121, what: blocked, port: 1, from: 0, to: 1 << 1},
		{at: 6_125_121, what: blocked, port: 1, from: 1 << 1, to: 0},
		{at: 6_125_121, what: departed, port: 1},
	}
	for i, e := range got {
		if e.at != want[i].at || e.what != want[i].what || e.from != want[i].from || e.to != want[i].to {
			t.Errorf("event %d: %v, want %v", i, e, want[i])
		}
	}
	if len(got) != 3 {
		t.Errorf("%d events", len(got))
	}
}

// One frame of ten is lost between host0 and the switch (20 ns away). Frame k is
// on the wire from k x 83,840 to (k+1) x 83,840 + 20,000, so a link that is down
// from 207,680 to 217,680 hits only frame 2. Frame 3 reaches host1 at 5 x 83,840
// + 40,000 = 459,200; the NACK arrives at 459,200 + 2 x 25,120 = 509,440, while
// frame 6 is being sent (503,040 .. 586,880). Then frame 2 follows.
func TestGoBackN(t *testing.T) {
	cfg := star(2, 20*units.Nanosecond)
	cfg.Routing.Name = "static"
	cfg.Faults = []scenario.Fault{{Link: "host0-switch0", At: 207_680, DownFor: 10_000}}
	o := simulate(t, flows(cfg, workload.FlowSpec{From: "host0", To: "host1", Size: 10_000}), "")
	var sent []uint32
	for _, e := range o.nodes[0].log {
		if p := (packet.Packet{Meta: e.meta}); e.what == departed && p.Kind() == packet.Data {
			sent = append(sent, e.seq)
			if want := units.Time(len(sent)-1) * fullTx; e.at != want {
				t.Errorf("packet %d sent at %d ps, want %d ps", len(sent)-1, e.at, want)
			}
		}
	}
	want := []uint32{0, 1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7, 8, 9}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %v, want %v", sent, want)
	}
	r := o.built.Flows.Recv[0]
	if r.Next != 10 || r.Early != 4 || r.Twice != 0 || o.totals.Nacks != 1 || o.totals.Resent != 5 || o.totals.Lost != 1 {
		t.Errorf("received %+v, totals %+v", r, o.totals)
	}
	// 15 frames, the last one at (15 + 1) x 83,840 + 2 x 20,000.
	if r.Delivered != 1_381_440 {
		t.Errorf("delivered at %d ps", r.Delivered)
	}
}
