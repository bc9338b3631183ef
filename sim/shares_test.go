package sim_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/workload"
)

func staticLimit(b units.Bytes) *buffer.StaticParams { return &buffer.StaticParams{Limit: b} }

// Dynamic Threshold lets n equal queues grow to alpha B / (1 + n alpha) each. The
// receiver is stuck, so nothing leaves, and the shared segment finally stores all bytes
// except those in the headroom.
func TestDynamicThresholdSteadyState(t *testing.T) {
	const shared, phi = 900_000, 60_000
	for _, c := range []struct {
		queues int
		alpha  units.Ratio
		each   units.Bytes
	}{
		{1, units.Ratio{Num: 1, Den: 1}, 450_000},  // 900,000 / (1 + 1)
		{2, units.Ratio{Num: 1, Den: 1}, 300_000},  // 900,000 / (1 + 2)
		{8, units.Ratio{Num: 1, Den: 1}, 100_000},  // 900,000 / (1 + 8)
		{1, units.Ratio{Num: 1, Den: 2}, 300_000},  // 450,000 / 1.5
		{2, units.Ratio{Num: 1, Den: 2}, 225_000},  // 450,000 / 2
		{8, units.Ratio{Num: 1, Den: 2}, 90_000},   // 450,000 / 5
		{8, units.Ratio{Num: 1, Den: 16}, 37_500},  // 56,250 / 1.5
		{1, units.Ratio{Num: 8, Den: 1}, 800_000},  // 7,200,000 / 9
		{2, units.Ratio{Num: 1, Den: 16}, 50_000},  // 56,250 / 1.125
		{8, units.Ratio{Num: 7, Den: 4}, 105_000},  // 1,575,000 / 15
		{1, units.Ratio{Num: 1, Den: 16}, 52_941},  // 56,250 / 1.0625
		{2, units.Ratio{Num: 4, Den: 1}, 400_000},  // 3,600,000 / 9
		{8, units.Ratio{Num: 1, Den: 8}, 56_250},   // 112,500 / 2
		{2, units.Ratio{Num: 16, Den: 1}, 436_363}, // 14,400,000 / 33
	} {
		t.Run(fmt.Sprintf("%d queues, alpha %d of %d", c.queues, c.alpha.Num, c.alpha.Den), func(t *testing.T) {
			cfg := star(c.queues+1, units.Microsecond)
			cfg.Switch.Buffer.Size = shared + phi*units.Bytes(c.queues+1)
			cfg.Switch.Policy = scenario.Choice{Name: "dt", Params: &buffer.DTParams{Alpha: c.alpha, AlphaLossy: units.Ratio{Num: 1, Den: 1}}}
			cfg.Switch.FlowControl = scenario.Choice{Name: "pfc", Params: &flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: phi}}}
			cfg.Faults = []scenario.Fault{{Host: fmt.Sprintf("host%d", c.queues), Stuck: true, For: units.Second}}
			cfg.Run.Stop = scenario.Stop{When: "time", AtMost: 100 * units.Microsecond}
			for i := range c.queues {
				w := scenario.Workload{Name: fmt.Sprint(i), Generator: "flows", Class: scenario.ClassChoice{Fixed: "rdma"}}
				w.Params = &workload.List{Flows: []workload.FlowSpec{{From: fmt.Sprintf("host%d", i), To: fmt.Sprintf("host%d", c.queues), Size: 2_000_000}}}
				cfg.Workload = append(cfg.Workload, w)
			}
			o := simulate(t, cfg, "")
			// A queue turns OFF at the first frame that does not fit, and the threshold
			// does not include the frame being admitted: tolerate one frame of 1048 B on
			// either side.
			got, n := o.totals.PeakUsed-o.totals.PeakHeadroom, units.Bytes(c.queues)
			if got >= n*(c.each+1048) || got <= n*(c.each-1048) {
				t.Errorf("the shared segment stores %d B, want %d x %d B, within a frame each", got, n, c.each)
			}
		})
	}
}

// Three backlogged classes with quanta of 1000, 2000 and 5000 B share the link to
// host3 as 1:2:5. A class is off by at most a quantum and a frame.
func TestDWRRShares(t *testing.T) {
	cfg := star(4, units.Microsecond)
	cfg.Classes["rdma"] = scenario.Class{IDs: []int{1, 2, 3}, Kind: "lossless"}
	cfg.Switch.Policy = scenario.Choice{Name: "static", Params: staticLimit(300_000)}
	quanta := map[int]units.Bytes{1: 1000, 2: 2000, 3: 5000}
	cfg.Switch.Scheduler.Params = &sched.DWRRParams{Quantum: sched.DefaultQuantum, Quanta: quanta}
	cfg.Run.Stop = scenario.Stop{When: "time", AtMost: 600 * units.Microsecond}
	cfg.Hosts.Reliability.Timeout = 50 * units.Millisecond
	for class := 1; class <= 3; class++ {
		flows(cfg, workload.FlowSpec{From: fmt.Sprintf("host%d", class-1), To: "host3", Size: 20_000_000, Class: fmt.Sprint(class)})
		cfg.Workload[class-1].Name = fmt.Sprint(class)
	}
	o := simulate(t, cfg, "")
	var sent [8]units.Bytes
	total := units.Bytes(0)
	for _, e := range o.nodes[4].log {
		p := packet.Packet{Meta: e.meta}
		if e.what == departed && e.port == 3 && e.at >= 200*units.Microsecond && p.Kind() == packet.Data {
			sent[p.Class()] += units.Bytes(e.size)
			total += units.Bytes(e.size)
		}
	}
	// 400 us at 100 Gbps is 5,000,000 B. ACKs and PFC frames use the reverse direction.
	if total < 4_990_000 {
		t.Errorf("only %d B departed: the link was idle", total)
	}
	for class, q := range quanta {
		want := total * q / 8000
		if off := sent[class] - want; off > q+1048 || -off > q+1048 {
			t.Errorf("class %d sent %d B of %d B, want %d B, within %d B", class, sent[class], total, want, q+1048)
		}
	}
}

// RED marks with probability pmax (q - kmin) / (kmax - kmin). At q = 200 x 1048 =
// 209,600 B, kmin 100,000 B, kmax 400,000 B, pmax 0.5 that is 0.5 x 109,600 /
// 300,000 = 0.18267, and 0.00175 more or less per frame.
//
// The queue stays at 200 frames because host0 and host1 send at 50 Gbps each, the rate of
// the egress, and host2 adds 200 frames at the start.
func TestREDProbability(t *testing.T) {
	cfg := star(4, units.Microsecond)
	cfg.Switch.FlowControl = scenario.Choice{Name: "none"}
	cfg.Switch.Policy = scenario.Choice{Name: "static", Params: staticLimit(10_000_000)}
	cfg.Hosts.Reliability.Timeout = 50 * units.Millisecond
	cfg.Run.Stop = scenario.Stop{When: "time", AtMost: 2 * units.Millisecond}
	cfg.Switch.ECN.Choice = scenario.Choice{Name: "red", Params: &mark.REDParams{KMin: 100_000, KMax: 400_000, PMax: 0.5}}
	// Pacing is per flow: two flows of 25 Gbps per host make 50 Gbps, eight make 200,
	// which the line rate limits to 100.
	cfg.Hosts.CC = scenario.Choice{Name: "fixed", Params: &cc.FixedParams{Rate: 25 * units.Gbps}}
	for i := range 12 {
		host, size := i%2, units.Bytes(20_000_000)
		if i >= 4 {
			host, size = 2, 25_000
		}
		flows(cfg, workload.FlowSpec{From: fmt.Sprintf("host%d", host), To: "host3", Size: size})
		cfg.Workload[i].Name = fmt.Sprint(i)
	}
	o := simulate(t, cfg, "")
	frames, marks := 0, 0
	for _, e := range o.nodes[4].log {
		if p := (packet.Packet{Meta: e.meta}); e.what == departed && e.port == 3 && p.Kind() == packet.Data && e.at > 100*units.Microsecond {
			frames++
			if e.flags&packet.CE != 0 {
				marks++
			}
		}
	}
	// 1900 us / 83,840 ps = 22,662 frames.
	if frames < 22_600 {
		t.Fatalf("only %d frames: the queue ran empty", frames)
	}
	const p = 0.18267
	got := float64(marks) / float64(frames)
	if slack := 4*math.Sqrt(p*(1-p)/float64(frames)) + 0.00175; math.Abs(got-p) > slack {
		t.Errorf("%d of %d frames marked, %.5f, want %.5f within %.5f", marks, frames, got, p, slack)
	}
}

// Ten frames arrive in the same picosecond. The first passes straight through,
// nine queue up; k is 4 frames of 1048 B.
func TestStepMarking(t *testing.T) {
	for _, c := range []struct {
		at   string
		want string // one character per departure: x if marked
	}{
		// At dequeue, 8, 7, 6 and 5 frames stay behind the first four: more than k.
		{"dequeue", ".xxxx....."},
		// At enqueue, the fifth to ninth frame find more than 4 frames, including
		// themselves.
		{"enqueue", ".....xxxxx"},
	} {
		cfg := star(11, units.Microsecond)
		cfg.Switch.ECN = scenario.ECN{Choice: scenario.Choice{Name: "step", Params: &mark.StepParams{K: 4 * 1048}}, At: c.at}
		for i := range 10 {
			flows(cfg, workload.FlowSpec{From: fmt.Sprintf("host%d", i), To: "host10", Size: 1000})
			cfg.Workload[i].Name = fmt.Sprint(i)
		}
		o := simulate(t, cfg, "")
		got := ""
		for _, e := range o.nodes[11].log {
			if e.what == departed && e.port == 10 {
				got += map[bool]string{true: "x", false: "."}[e.flags&packet.CE != 0]
			}
		}
		if got != c.want {
			t.Errorf("at %s: %s, want %s", c.at, got, c.want)
		}
	}
}
