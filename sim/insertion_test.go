package sim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// insertionEngines are the engines of TestEnginesAgree with insertion order.
var insertionEngines = func() (list []engine) {
	for _, e := range fastEngines {
		list = append(list, byInsertion(e))
	}
	return list
}()

// drawTies draws a case with many simultaneous events. Each quirk of simulators that count
// in nanoseconds is enabled in half of the cases.
func drawTies(index, packets int) *randomCase {
	c := drawCase(index, packets)
	d := &drawer{Rand: rand.New(rand.NewPCG(20240915, uint64(index)))}
	if d.chance(0.5) {
		c.cfg.Compat.Tick = pick[units.Time](d, 1, 1, 10) * units.Nanosecond
		if _, err := fabric.New(c.cfg, fabric.Options{}); err != nil {
			c.cfg.Compat.Tick = 0 // no headroom would be enough for such wires
		} else if h, _ := headroomOf(c.cfg.Switch.FlowControl); h.Rule != link.RuleExact || c.cfg.Switch.FlowControl.Name != "pfc" {
			c.loses, c.ends = "wires are faster than headroom assumes", false
		}
	}
	c.cfg.Compat.EveryEnd = d.chance(0.5)
	if d.chance(0.5) {
		c.cfg.Compat.NIC = "scan"
	}
	return c
}

// testInsertion checks that with insertion order, too, both engines produce the same
// events at the same picosecond, with any number of workers and any window.
func testInsertion(t *testing.T, cases []int, packets int) {
	differ, ticks := 0, 0
	for _, i := range cases {
		c := drawTies(i, packets)
		if c.cfg.Compat.Tick > 0 {
			ticks++
		}
		want, err := c.checkWith(byInsertion(reference), insertionEngines...)
		if err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
			continue
		}
		keys, err := c.check(fastEngines[:2]...)
		if err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
			continue
		}
		if want.differs(keys) != nil {
			differ++
		}
	}
	t.Logf("insertion order changes %d of %d cases, %d have ticks", differ, len(cases), ticks)
	if 2*differ < len(cases) || len(cases) >= 20 && 5*ticks < len(cases) {
		t.Errorf("insertion order changes %d of %d cases, %d have ticks, want half and a fifth", differ, len(cases), ticks)
	}
}

// A link fails exactly when the first packet of a flow arrives at its switch. The failure
// counts as scheduled first: the packet takes the other path, and nothing is lost,
// whichever of the two links fails.
func TestChangesArePlannedFirst(t *testing.T) {
	for _, spine := range []string{"spine0", "spine1"} {
		cfg := star(0, 0)
		link := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
		cfg.Topology = scenario.Fabric("leaf-spine", &topo.LeafSpineParams{Leaves: 2, Spines: 2, HostsPerLeaf: 1, HostLink: link, FabricLink: link})
		cfg.Switch.Latency = 0
		cfg.Faults = []scenario.Fault{{Link: "leaf0-" + spine, At: 1_083_840, DownFor: 50 * units.Microsecond}}
		c := &randomCase{cfg: flows(cfg, workload.FlowSpec{From: "host0", To: "host1", Size: 1000}), faults: true}
		o, err := c.checkWith(byInsertion(reference), insertionEngines...)
		if err != nil {
			t.Fatal(err)
		}
		if o.totals.Finished != 1 || o.totals.Lost != 0 {
			t.Errorf("%s fails: %d flows finished, %d frames lost, want 1 and 0", spine, o.totals.Finished, o.totals.Lost)
		}
	}
}

// All hosts are stuck from 5 us on. This was scheduled when they started, in the order of
// their indices, so their pauses arrive at the switch at the same time in that order.
func TestNodesStartInOrder(t *testing.T) {
	cfg := star(4, units.Microsecond)
	for _, h := range []string{"host3", "host1", "host0", "host2"} {
		cfg.Faults = append(cfg.Faults, scenario.Fault{Host: h, Stuck: true, At: 5 * units.Microsecond, For: 10 * units.Microsecond})
	}
	c := &randomCase{cfg: flows(cfg, workload.FlowSpec{From: "host0", To: "host1", Size: 100_000, Start: 9 * units.Microsecond}), grace: 50 * units.Microsecond}
	o, err := c.checkWith(byInsertion(reference), insertionEngines...)
	if err != nil {
		t.Fatal(err)
	}
	next := uint16(0)
	for _, e := range o.nodes[4].log {
		if e.what == blocked && e.to != 0 && next < 4 {
			if e.port != next || e.at != 6*units.Microsecond+5_120 {
				t.Errorf("%v, want port %d at 6.00512us", e, next)
			}
			next++
		}
	}
	if next != 4 {
		t.Errorf("%d pauses arrive, want 4", next)
	}
}

// A tick shortens transmission times, and with them windows: 49 B take 3 ns instead of
// 3.92. A frame sent at 5 us arrives at 5.9992 us, so windows of 1 us would be too long.
func TestWindowsKnowTheTick(t *testing.T) {
	cfg := star(2, 996_200)
	cfg.Compat.Tick = units.Nanosecond
	cfg.Switch.Latency = 0
	o := simulate(t, flows(cfg, workload.FlowSpec{From: "host0", To: "host1", Size: 1, Start: 5 * units.Microsecond}), "")
	// Forward: 49 B and a delay, twice. Back: 64 B and a delay, twice.
	if got := o.built.Flows.Send[0].Acked; got != 5*units.Microsecond+4*996_200+2*3_000+2*5_000 {
		t.Errorf("acknowledged at %v", got)
	}
}

func TestEnginesAgreeByInsertion(t *testing.T) {
	if testing.Short() {
		testInsertion(t, trials.First(6), 500)
		return
	}
	testInsertion(t, trials.First(8), 1500)
}
