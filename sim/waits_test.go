package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/workload"
)

// In a star with links of 100 Gbps and 1 us, packets of 1000 B have 1048 B and take
// 83,840 ps on a link, ACKs of 64 B 5,120 ps. A message of one packet is delivered
// after 2 x 83,840 ps + 2 x 1 us and acknowledged 2 x 5,120 ps + 2 x 1 us later.
const (
	packetTime = 83_840 * units.Time(1)
	delivery   = 2*packetTime + 2*units.Microsecond
	ackTime    = 2*5_120 + 2*units.Microsecond
)

// began checks when flows started.
func began(t *testing.T, o *outcome, want ...units.Time) {
	t.Helper()
	for i, w := range want {
		if got, ok := o.built.Flows.Began(i); !ok || got != w {
			t.Errorf("flow %d starts at %d, %v, want %d", i, got, ok, w)
		}
	}
}

// One flow waits for a flow that its source receives, another for a flow that its source
// sends, a third for both and a delay.
func TestWaits(t *testing.T) {
	cfg := flows(star(4, units.Microsecond),
		workload.FlowSpec{From: "host0", To: "host1", Size: 1000, Start: 5000},
		workload.FlowSpec{From: "host1", To: "host2", Size: 1000, After: []int{0}},
		workload.FlowSpec{From: "host0", To: "host3", Size: 1000, After: []int{0}},
		workload.FlowSpec{From: "host1", To: "host3", Size: 1000, After: []int{0, 1}, Delay: 77},
		workload.FlowSpec{From: "host2", To: "host0", Size: 1000, After: []int{1}, Start: 9 * units.Microsecond},
	)
	o := simulate(t, cfg, "")
	// Flows are numbered by their earliest start. Of the flows that wait only the last
	// has one, so flow 0 of the list is number 3.
	first := units.Time(5000) + delivery
	began(t, o,
		first,                           // list 1: when host1 has received it
		5000+delivery+ackTime,           // list 2: when host0 has the ACK
		first+5_120+delivery+ackTime+77, // list 3: when host1 has the ACK of list 1; it sent an ACK itself before that
		5000,
		9*units.Microsecond, // list 4: list 1 is delivered at 4.34 us, so its own start counts
	)
	if o.totals.Finished != 5 {
		t.Errorf("%d flows finished, want 5", o.totals.Finished)
	}
}

// A ring all-reduce of four ranks, one packet per piece, in an empty network takes
// 2 (4 - 1) deliveries: no two flows compete for a link.
func TestRingInEmptyNetwork(t *testing.T) {
	cfg := star(4, units.Microsecond)
	cfg.Workload = []scenario.Workload{{
		Name: "ring", Generator: "ring_allreduce", Params: &workload.RingAllReduce{Size: 4000, Order: "hosts", Repeat: 2, Gap: 3 * units.Microsecond},
		Class: scenario.ClassChoice{Fixed: "rdma"},
	}}
	o := simulate(t, cfg, "")
	// ACKs have priority at NICs and at the switch. In step s each rank sends the ACK of
	// the last piece before the next piece, which starts at that time but leaves
	// 5,120 ps later. At the switch the ACK delays nothing: it leaves towards rank i - 1,
	// the piece towards rank i + 1.
	step := delivery + 5_120
	for i := range 48 {
		round, s := i/24, i%24/4
		want := units.Time(s) * step
		if s > 0 {
			want -= 5_120 // the first step waits for no ACK
		}
		if round == 1 {
			// Six pieces take 6 deliveries and 5 ACKs, then 3 us. By then the link is idle.
			want += 5*step + delivery + 3*units.Microsecond
		}
		if got, _ := o.built.Flows.Began(i); got != want {
			t.Errorf("round %d, step %d: starts at %d, want %d", round, s, got, want)
		}
	}
}

// One flow at a time until arrivals end: later flows neither start nor count, and the run
// ends.
func TestSequentialStops(t *testing.T) {
	cfg := star(2, units.Microsecond)
	cfg.Run.Arrivals = 20 * units.Microsecond
	cfg.Workload = []scenario.Workload{{
		Name: "one", Generator: "sequential", Params: &workload.Sequential{Sizes: "1000B"}, From: scenario.Selection{"host0"},
		Class: scenario.ClassChoice{Fixed: "rdma"},
	}}
	o := simulate(t, cfg, "")
	// A flow takes delivery + ackTime = 4,177,920 ps: five start before 20 us.
	began(t, o, 0, delivery+ackTime, 2*(delivery+ackTime), 3*(delivery+ackTime), 4*(delivery+ackTime))
	if o.totals.Finished != 5 {
		t.Errorf("%d flows finished, want 5", o.totals.Finished)
	}
	offered := 0
	for i := range o.built.Flows.Flow {
		if o.built.Flows.Offered(i) {
			offered++
		}
	}
	if offered != 5 || len(o.built.Flows.Flow) != 250 { // 20 us / 80 ns of payload
		t.Errorf("%d of %d flows count, want 5 of 250", offered, len(o.built.Flows.Flow))
	}
	s := o.built.Outcome(o.end, o.totals, sim.Counters{}, false).Summarize()
	if s.Flows.Offered != 5 || s.Flows.Unfinished != 0 || s.Flows.Measured != 5 || s.FCT.Max != delivery+ackTime {
		t.Errorf("%+v, %+v", s.Flows, s.FCT)
	}
}

// The stop rule does not wait for flows that cannot end in time.
func TestLongLivedDoesNotDelayEnd(t *testing.T) {
	cfg := flows(star(4, units.Microsecond), workload.FlowSpec{From: "host0", To: "host1", Size: 1000})
	cfg.Workload = append(cfg.Workload, scenario.Workload{
		Name: "long", Generator: "long_lived", Params: &workload.LongLived{Streams: 1}, From: scenario.Selection{"host2"}, To: scenario.Selection{"host3"},
		Class: scenario.ClassChoice{Fixed: "rdma"},
	})
	built, err := fabric.New(cfg, fabric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := fastEngines[0].run(built.Spec)
	if err != nil || r.end != 10*units.Microsecond {
		t.Errorf("ends at %s: %v", r.end, err)
	}
}
