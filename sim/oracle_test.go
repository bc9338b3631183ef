package sim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/workload"
)

// Two frames reach the switch in the same picosecond: 1048 B from host1, sent at
// 0, and 548 B (43,840 ps) from host0, sent at 40,000. Port order puts host0
// first, insertion order host1.
func TestTieRules(t *testing.T) {
	for _, c := range []struct {
		engine engine
		first  uint16 // size of the frame that leaves first
	}{{reference, 548}, {fastEngines[0], 548}, {byInsertion(reference), 1048}, {byInsertion(fastEngines[0]), 1048}} {
		cfg := flows(star(3, units.Microsecond),
			workload.FlowSpec{From: "host1", To: "host2", Size: 1000},
			workload.FlowSpec{From: "host0", To: "host2", Size: 500, Start: 40_000},
		)
		o, err := (&randomCase{cfg: cfg}).run(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range o.nodes[3].log {
			if p := (packet.Packet{Meta: e.meta}); e.what == departed && p.Kind() == packet.Data {
				if e.size != c.first || e.at != 1_083_840 {
					t.Errorf("%s: %v leaves first", c.engine.name, e)
				}
				break
			}
		}
	}
}

// Both engines stop at the same multiple of CheckPeriod, or at Until, and report the same
// progress. A cancelled context stops both.
func TestStopRule(t *testing.T) {
	run := func(t *testing.T, cfg *scenario.Config, ctx context.Context, fastEngine bool) (units.Time, []units.Time, error) {
		t.Helper()
		b, err := fabric.New(cfg, fabric.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var seen []units.Time
		progress := func(now units.Time) { seen = append(seen, now) }
		if fastEngine {
			f, err := sim.NewFast(b.Spec, sim.Options{Progress: progress})
			if err != nil {
				t.Fatal(err)
			}
			end, err := f.Run(ctx)
			return end, seen, err
		}
		o, err := sim.NewOracle(b.Spec, sim.OracleOptions{Progress: progress})
		if err != nil {
			t.Fatal(err)
		}
		end, err := o.Run(ctx)
		return end, seen, err
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	us := units.Microsecond
	for _, c := range []struct {
		name   string
		ctx    context.Context
		stop   scenario.Stop
		end    units.Time
		checks int
	}{
		// One packet is done at 4.18 us: the next check is at 10 us.
		{"done", context.Background(), scenario.Stop{When: "all_flows_done", AtMost: units.Second}, 10 * us, 2},
		{"until", context.Background(), scenario.Stop{When: "time", AtMost: 33*us + 1}, 33*us + 1, 5},
		{"cancelled", cancelled, scenario.Stop{When: "time", AtMost: 33 * us}, 0, 1},
	} {
		for _, fastEngine := range []bool{true, false} {
			cfg := flows(star(2, us), workload.FlowSpec{From: "host0", To: "host1", Size: 1000})
			cfg.Run.Stop = c.stop
			end, seen, err := run(t, cfg, c.ctx, fastEngine)
			if end != c.end || len(seen) != c.checks || !errors.Is(err, c.ctx.Err()) {
				t.Errorf("%s, fast %v: ends at %v after %v, error %v, want %v after %d checks", c.name, fastEngine, end, seen, err, c.end, c.checks)
			}
		}
	}
}
