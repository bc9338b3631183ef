package sim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/workload"
)

// tightPFC draws incasts in which PFC has no slack: many lossless classes with thresholds
// of a few packets, packets that may be shorter than PFC frames, long ACKs that delay
// PAUSE frames, cables of a few metres, and the shortest possible pauses.
func tightPFC(index int) *scenario.Config {
	d := &drawer{Rand: rand.New(rand.NewPCG(13, uint64(index)))}
	d.hosts = d.between(3, 6)
	cfg := star(d.hosts, units.Time(d.between(1000, 50_000)))
	d.cfg = cfg
	cfg.Name, cfg.Seed = fmt.Sprintf("tight %d", index), d.Uint64()>>1
	var ids []int
	for c := range d.between(1, 7) {
		ids = append(ids, 1+c)
	}
	cfg.Classes["rdma"] = scenario.Class{IDs: ids, Kind: "lossless"}
	h, s := &cfg.Hosts, &cfg.Switch
	h.Payload, h.Header = units.Bytes(d.between(1, 200)), units.Bytes(d.between(1, 60))
	h.Ack.Size = pick[units.Bytes](d, 64, 64, 1500, 9000)
	switch {
	case d.chance(0.4): // dozens of packets arrive while one PFC frame is sent
		h.Payload, h.Header, h.Ack.Size, h.Ack.Every = units.Bytes(d.between(1, 8)), units.Bytes(d.between(1, 8)), 1, 100
	case d.chance(0.3):
		h.Payload = 1000
	}
	s.WireOverhead = pick[units.Bytes](d, 0, 20)
	s.PFC = scenario.PFC{Hold: pick(d, "timed", "indefinite"), Coalesce: d.chance(0.5), Quanta: minQuanta(cfg)}
	s.Policy = scenario.Choice{Name: "static", Params: &buffer.StaticParams{Limit: (h.Payload + h.Header) * units.Bytes(d.between(1, 6))}}
	s.FlowControl.Params = &flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleExact}}
	switch d.IntN(3) {
	case 0:
		s.Scheduler.Choice = scenario.Choice{Name: "rr"}
	case 1:
		s.Scheduler.Groups, s.Scheduler.Strict = nil, []string{"control", "rdma"}
	}
	cfg.Workload = nil
	to := []int{d.IntN(d.hosts), d.IntN(d.hosts)}
	for k := range d.between(len(ids), 2*len(ids)) {
		cfg.Workload = append(cfg.Workload, scenario.Workload{
			Name: fmt.Sprintf("burst%d", k), Generator: "incast",
			Params: &workload.Incast{Senders: d.between(2, d.hosts-1), Size: h.Payload * units.Bytes(d.between(1, 150+2000/int(h.Payload))), At: units.Time(d.IntN(300_000))},
			Class:  scenario.ClassChoice{Fixed: fmt.Sprint(ids[k%len(ids)])}, To: scenario.Selection{fmt.Sprintf("host%d", pick(d, to...))},
		})
	}
	return cfg
}

// Exact headroom is enough for any pauses and packets, and all flows end.
func TestTightPFC(t *testing.T) { testTight(t, trials.First(40)) }

func testTight(t *testing.T, cases []int) {
	t.Helper()
	pauses, refreshes := uint64(0), uint64(0)
	for _, i := range cases {
		cfg := tightPFC(i)
		b, err := fabric.New(cfg, fabric.Options{Invariants: true})
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		r, err := fastEngines[0].run(b.Spec)
		if err != nil {
			t.Fatal(err)
		}
		totals := &r.totals
		pauses, refreshes = pauses+totals.Pauses, refreshes+totals.Refreshes
		if lost := totals.Drops[probe.Lossless]; lost > 0 || int(totals.Finished) < len(b.Flows.Flow) {
			t.Errorf("case %d: %d lossless frames dropped, %d of %d flows done\n%v", i, lost, totals.Finished, len(b.Flows.Flow), &randomCase{cfg: cfg})
		}
	}
	t.Logf("%d pauses, %d refreshes", pauses, refreshes)
	if least := uint64(75 * len(cases)); pauses < least || refreshes < least {
		t.Errorf("%d pauses, %d refreshes, want at least %d each", pauses, refreshes, least)
	}
}

// A scenario with one quantum less than the minimum is rejected.
func TestShortPauseIsRefused(t *testing.T) {
	for _, c := range []struct {
		ack, overhead units.Bytes
		least         int // (longest frame + 64 + 2 x overhead) / 32, rounded up
	}{
		{64, 0, 35},     // 1112 / 32 = 34.75
		{64, 20, 36},    // 1152 / 32 = 36
		{9000, 20, 285}, // 9104 / 32 = 284.5
	} {
		cfg := flows(star(2, units.Microsecond), workload.FlowSpec{From: "host0", To: "host1", Size: 1000})
		cfg.Hosts.Ack.Size, cfg.Switch.WireOverhead = c.ack, c.overhead
		cfg.Switch.PFC.Quanta = c.least
		if err := validated(cfg); err != nil {
			t.Errorf("%d quanta: %v", c.least, err)
		}
		cfg.Switch.PFC.Quanta--
		if err := validated(cfg); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d to 65535", c.least)) {
			t.Errorf("%d quanta: %v", c.least-1, err)
		}
		cfg.Switch.PFC.Hold = "indefinite"
		if err := validated(cfg); err != nil {
			t.Errorf("indefinite: %v", err)
		}
	}
}

func validated(cfg *scenario.Config) error {
	_, err := fabric.NewPlan(cfg)
	return err
}
