package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// loneFlow draws a scenario with one flow and nothing that delays it: buffers never fill,
// no frame is marked, and no timeout expires.
func loneFlow(index int) *scenario.Config {
	d := &drawer{Rand: rand.New(rand.NewPCG(7, uint64(index))), cfg: scenario.Default()}
	cfg := d.cfg
	cfg.Name, cfg.Seed = fmt.Sprintf("flow %d", index), d.Uint64()>>1
	rates := []units.Rate{1 * units.Gbps, 10 * units.Gbps, 25 * units.Gbps, 30 * units.Gbps, 99 * units.Gbps, 100 * units.Gbps}
	cable := func() topo.Cable { return topo.Cable{Rate: pick(d, rates...), Delay: d.delay()} }
	t := &d.tree
	t.HostLink, t.FabricLink = cable(), cable()
	if d.chance(0.4) {
		t.FabricLink.Rate = t.HostLink.Rate
	}
	cfg.Classes = map[string]scenario.Class{"control": {IDs: []int{0}, Kind: "control"}, "rdma": {IDs: []int{1}, Kind: "lossless"}}
	h, s := &cfg.Hosts, &cfg.Switch
	to := "host1"
	d.hosts, d.leaves = 2, d.chance(0.8)
	t.Leaves, t.Spines, t.HostsPerLeaf = 3, d.between(1, 4), 2
	d.lay()
	if d.leaves {
		to = pick(d, "host1", "host2", "host5")
		cfg.Routing.Name = pick(d, "ecmp", "spray", "static")
		if to == "host5" && t.Spines > 1 && d.chance(0.3) {
			cfg.Routing.Pinned = []scenario.Pin{{From: "host0", To: to, Via: []string{"leaf0", fmt.Sprintf("spine%d", t.Spines-1), "leaf1", "spine0", "leaf2"}}}
		}
		if d.chance(0.3) { // paths differ in rate and delay
			odd := cable()
			cfg.Topology.Overrides = []scenario.LinkOverride{{Match: "leaf*-spine0", Rate: odd.Rate, Delay: odd.Delay}}
		}
	}
	h.Payload, h.Header = units.Bytes(d.between(1, 4000)), units.Bytes(d.between(1, 100))
	h.Ack.Size = pick[units.Bytes](d, 1, 64, 64, 64, units.Bytes(d.between(1, 3000)))
	h.Ack.Every = pick(d, 1, 1, 2, 3, 16, 1000)
	h.Reliability.Timeout, h.Reliability.MaxTimeout = 10*units.Second, 20*units.Second
	if d.chance(0.3) {
		h.Reliability.Name, h.Reliability.Window = pick(d, "sack", "irn"), pick(d, 0, 1, 10, d.between(1, 400))
		h.Reliability.MinRTO, h.Reliability.RTOLow = 5*units.Second, 5*units.Second
	}
	if d.chance(0.2) {
		cfg.Compat.Tick = pick(d, units.Nanosecond, 100*units.Picosecond)
		cfg.Switch.FlowControl.Params = &flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes}} // nothing is paused
	}
	h.CC = scenario.Choice{Name: "none"}
	if d.chance(0.5) {
		p := &cc.FixedParams{}
		if d.chance(0.6) {
			p.Rate = t.HostLink.Rate * units.Rate(d.between(5, 120)) / 100
		}
		if d.chance(0.8) {
			p.Window = units.Bytes(d.between(1, 60*int(h.Payload)))
		}
		h.CC = scenario.Choice{Name: "fixed", Params: p}
	}
	if d.chance(0.4) {
		h.Receive.Rate = t.HostLink.Rate * units.Rate(d.between(5, 150)) / 100
		h.Receive.Xoff, h.Receive.Buffer = 100*units.MB, 300*units.MB
		if d.chance(0.5) {
			h.Receive.Hosts = []string{pick(d, "host0", to)}
		}
	}
	s.Buffer.Size = units.GiB
	s.Policy = scenario.Choice{Name: "static", Params: &buffer.StaticParams{Limit: 500 * units.MB}}
	s.ECN.Choice = scenario.Choice{Name: "none"}
	s.WireOverhead = pick[units.Bytes](d, 0, 20)
	s.Latency = pick[units.Time](d, 0, 300*units.Nanosecond)
	n := pick(d, 1, 2, 3, d.between(1, 100), d.between(1, 3000))
	size := h.Payload * units.Bytes(n)
	if d.chance(0.6) {
		size -= units.Bytes(d.IntN(int(h.Payload)))
	}
	cfg.Workload = []scenario.Workload{{Name: "lone", Generator: "flows", Params: &workload.List{Flows: []workload.FlowSpec{{From: "host0", To: to, Size: size}}}}}
	cfg.Run.Stop = scenario.Stop{When: "all_flows_done", AtMost: 9 * units.Second}
	return cfg
}

// The ideal FCT of a flow equals its simulated FCT in an empty network, to the picosecond.
// With spraying it is a lower bound: packets may overtake each other, which causes
// retransmissions, and switches spray ACKs and data together, so neither evenly.
func TestIdealIsTheFCTAlone(t *testing.T) { testIdeal(t, trials.First(60)) }

func testIdeal(t *testing.T, cases []int) {
	t.Helper()
	exact, sprayed, bound := 0, 0, 0
	for _, i := range cases {
		cfg := loneFlow(i)
		b, err := fabric.New(cfg, fabric.Options{Invariants: true})
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		r, err := fastEngines[0].run(b.Spec)
		if err != nil {
			t.Fatal(err)
		}
		totals := &r.totals
		got, ideal, spray := b.Flows.Send[0].Acked, b.Ideal[0], cfg.Routing.Name == "spray"
		switch {
		case got == 0 && !spray || totals.Pauses > 0 || totals.Timeouts > 0:
			t.Errorf("case %d: done at %v with %d pauses and %d timeouts: the flow was delayed\n%v", i, got, totals.Pauses, totals.Timeouts, &randomCase{cfg: cfg})
		case got == ideal && !spray:
			exact++
		case got == ideal:
			sprayed++
		case spray && (ideal < got || got == 0):
			bound++
		default:
			t.Errorf("case %d: FCT %d ps, ideal %d ps\n%v", i, got, ideal, &randomCase{cfg: cfg})
		}
	}
	t.Logf("%d exact, %d sprayed and exact, %d sprayed and above the ideal", exact, sprayed, bound)
	if exact < len(cases)*2/3 || sprayed < 2*bound {
		t.Errorf("%d exact, %d sprayed and exact, %d sprayed and above the ideal: too few exact cases", exact, sprayed, bound)
	}
}

// Flowlets may take any path, and several at a time: their ideal is a lower bound over
// paths of different rates and delays.
func TestIdealOfFlowletsIsABound(t *testing.T) {
	unequal, above := 0, 0
	for i := range 120 {
		cfg := loneFlow(i)
		params, ok := cfg.Topology.Params.(*topo.LeafSpineParams)
		if !ok || params.Spines < 2 {
			continue
		}
		cfg.Routing = scenario.Routing{Choice: scenario.Choice{
			Name: []string{"flowlet", "adaptive"}[i%2], Params: &route.FlowletParams{Gap: units.Microsecond, Entries: 16},
		}}
		if i%3 > 0 {
			unequal++
			cfg.Topology.Overrides = []scenario.LinkOverride{{Match: fmt.Sprintf("leaf*-spine%d", i%params.Spines), Rate: 10 * params.FabricLink.Rate, Delay: params.FabricLink.Delay / 10}}
		}
		b, err := fabric.New(cfg, fabric.Options{Invariants: true})
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if _, err = fastEngines[0].run(b.Spec); err != nil {
			t.Fatal(err)
		}
		if got := b.Flows.Send[0].Acked; got < b.Ideal[0] {
			t.Errorf("case %d: FCT %d ps, below the ideal %d ps\n%v", i, got, b.Ideal[0], &randomCase{cfg: cfg})
		} else if got > b.Ideal[0] {
			above++
		}
	}
	if unequal < 30 || above == 0 {
		t.Errorf("%d cases with unequal paths, %d above the bound: the test has lost its grip", unequal, above)
	}
}
