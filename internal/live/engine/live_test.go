package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
)

// TestBuckets: times below 8 ps have a bucket each; above, each power of two has eight buckets.
func TestBuckets(t *testing.T) {
	for _, c := range []struct {
		t      units.Time
		bucket int
		upper  units.Time
	}{
		{-5, 0, 0}, {0, 0, 0}, {7, 7, 7},
		{8, 3 << 3, 8}, {9, 3<<3 + 1, 9}, {15, 3<<3 + 7, 15},
		{16, 4 << 3, 17}, {17, 4 << 3, 17}, {18, 4<<3 + 1, 19},
		{1 << 20, 20 << 3, 1<<20 + 1<<17 - 1},   // 1048576 to 1179647
		{1<<21 - 1, 20<<3 + 7, 1<<21 - 1},       // largest time of its power of two
		{units.MaxTime, 50<<3 + 7, 1<<51 - 1},   // 2^51 - 1
		{units.Never - 1, 62<<3 + 7, 1<<63 - 1}, // largest value
	} {
		if got := bucket(c.t); got != c.bucket {
			t.Errorf("%d ps: bucket %d, want %d", c.t, got, c.bucket)
		}
		if got := upper(c.bucket); got != c.upper {
			t.Errorf("bucket %d: up to %d ps, want %d", c.bucket, got, c.upper)
		}
	}
}

func TestLateness(t *testing.T) {
	l := Lateness{slack: 50}
	if l.Quantile(0.99) != 0 || l.Worst() != 0 {
		t.Error("lateness is not 0 without events")
	}
	for range 98 {
		l.add(LateTimer, 996, 1000)
	}
	l.add(LateWire, 1000, 1100)
	l.add(LateFrame, 500, 1500) // 400 of them after the previous event
	// 98 of 100 events are 4 late; the 99th is 100 late, in bucket 96..103 (2^6 + 4*8); the worst is
	// exact.
	for _, c := range []struct {
		share float64
		want  units.Time
	}{{0.5, 4}, {0.97, 4}, {0.98, 103}, {0.99, 1000}, {1, 1000}} {
		if got := l.Quantile(c.share); got != c.want {
			t.Errorf("%v: %d, want %d", c.share, got, c.want)
		}
	}
	// A wire 100 late, twice a frame 1000 late, a timer 4 late.
	if got := l.Costs(); got != 2104 {
		t.Errorf("costs %d, want 2104", got)
	}
	if got := l.Behind(); got != 500 {
		t.Errorf("behind for %d, want 100 + 400", got)
	}
	if l.Worst() != 1000 || l.Events() != 100 {
		t.Errorf("worst %d of %d", l.Worst(), l.Events())
	}
}

func TestDecides(t *testing.T) {
	fine := Report{P99: 40, HalfFrame: 42, Behind: 10, Ran: 1000, Costs: 500, Spare: 400}
	for _, c := range []struct {
		name   string
		change func(r *Report)
		broken uint64
		want   string
	}{
		{"nothing", func(*Report) {}, 0, ""},
		{"1 of 100 is late", func(r *Report) { r.P99 = 43 }, 0, "1 of 100 events"},
		{"more than 1 % of the time", func(r *Report) { r.Behind = 11 }, 0, "events were late by more than half a frame"},
		{"drops without enough headroom", func(*Report) {}, 3, "3 lossless frames were dropped"},
		{"drops with enough headroom", func(r *Report) { r.Spare = 500 }, 3, ""},
	} {
		r := fine
		c.change(&r)
		if got := r.LatenessVerdict(c.broken); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestReport: a full frame of 1048 B at 100 Mbps takes 83.84 us. A queue needs link.Exact: 125 B
// for 2 x 5 us of cable, three frames and a PAUSE. The rest of 30 KB lasts
// (30000 - 125 - 3 x 1048 - 64) x 80 ns = 2.13336 ms.
func TestReport(t *testing.T) {
	b := built(t, incast)
	e, err := New(b.Spec, Options{Clock: &Manual{}})
	if err != nil {
		t.Fatal(err)
	}
	r := e.Report()
	if r.HalfFrame != 41_920*units.Nanosecond || r.Spare != 2_133_360*units.Nanosecond {
		t.Errorf("half a frame %s, spare %s", r.HalfFrame, r.Spare)
	}
}

// TestAgenda compares the agenda with a linear search through all slots.
func TestAgenda(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 8, 61} {
		a := newAgenda(n)
		for range 2000 {
			slot := random.IntN(n)
			a.set(slot, units.Time(random.IntN(20)), uint64(slot))
			best := 0
			for i := range n {
				if a.due[i].before(a.due[best]) {
					best = i
				}
			}
			if a.first() != best {
				t.Fatalf("%d slots: %d is first, want %d", n, a.first(), best)
			}
		}
	}
}

func TestInbox(t *testing.T) {
	var b inbox
	random := rand.New(rand.NewPCG(3, 4))
	pushed, taken := uint32(0), uint32(0)
	for range 5000 {
		if b.n == 0 || random.IntN(100) < 52 {
			f := b.push()
			f.p = packet.Packet{Seq: pushed}
			pushed++
			continue
		}
		if got := b.front().p.Seq; got != taken {
			t.Fatalf("got frame %d, want %d", got, taken)
		}
		b.pop()
		taken++
	}
}

// incast has eight hosts at 100 Mbps with frequent pauses. A frame of 1000 B takes 80 us, and
// queues have headroom for 2 ms more than they need.
const incast = `
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: {rate: 100Mbps, delay: 5us}, fabric_link: {rate: 100Mbps, delay: 5us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1, 2], kind: lossless}}
switch:
  buffer: {size: 2MB}
  policy: {name: static, limit: 20KB}
  flow_control: {name: pfc, headroom: 30KB}
hosts: {cc: {name: none}, reliability: {timeout: 1s}}
workload:
  - {name: a, generator: incast, senders: 5, size: 60KB, to: host0, at: 0s, class: 1}
  - {name: b, generator: incast, senders: 3, size: 50KB, to: host5, at: 3ms, class: 2}
run: {arrivals: 100ms, stop: {when: all_flows_done, at_most: 10s}}
`

func built(t testing.TB, text string, set ...string) *fabric.Fabric {
	t.Helper()
	cfg, err := scenario.Parse("live.yaml", []byte(text), set...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := fabric.New(cfg, fabric.Options{Invariants: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sound fails the test if an invariant broke or a flow did not finish.
func sound(t testing.TB, b *fabric.Fabric) {
	t.Helper()
	if wrong := unsound(b); wrong != "" {
		t.Error(wrong)
	}
}

// unsound returns the first broken invariant or unfinished flow, or "".
func unsound(b *fabric.Fabric) string {
	for _, c := range b.Checks {
		if c.Broken > 0 {
			return c.First
		}
	}
	for i := range b.Flows.Flow {
		if b.Flows.Offered(i) && !b.Flows.Done(i) {
			return fmt.Sprintf("flow %d of %d is not done", i, len(b.Flows.Flow))
		}
	}
	return ""
}

// TestLateClock checks that a late clock breaks no invariant, and that lateness is measured.
func TestLateClock(t *testing.T) {
	for _, late := range []units.Time{0, 10 * units.Microsecond, 500 * units.Microsecond} {
		random := rand.New(rand.NewPCG(5, uint64(late)))
		b := built(t, incast)
		e, err := New(b.Spec, Options{Clock: &Manual{Late: func() units.Time { return units.Time(random.Int64N(int64(late) + 1)) }}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		sound(t, b)
		l := e.Lateness()
		if l.Worst() > late || l.Worst() < late*9/10 || l.Quantile(0.5) > l.Quantile(0.99) || l.Quantile(0.99) > l.Worst() {
			t.Errorf("up to %s late: p50 %s, p99 %s, worst %s", late, l.Quantile(0.5), l.Quantile(0.99), l.Worst())
		}
		if e.Totals().Pauses < 10 {
			t.Errorf("%d pauses (expected at least 10)", e.Totals().Pauses)
		}
	}
}

// TestSamplesAreNotLate checks that samples of probes are not counted in the lateness.
func TestSamplesAreNotLate(t *testing.T) {
	var events [2]uint64
	for i, set := range [][]string{nil, {"probes=[{name: occupancy, every: 100us}]"}} {
		b := built(t, incast, set...)
		e, err := New(b.Spec, Options{Clock: &Manual{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		events[i] = e.Lateness().Events()
	}
	if events[0] == 0 || events[0] != events[1] {
		t.Errorf("%d events without a probe, %d with one", events[0], events[1])
	}
}

// TestRealClock checks that a run on the real clock takes as long as it reports, and that all flows
// finish.
func TestRealClock(t *testing.T) {
	b := built(t, incast)
	clock := &Real{}
	e, err := New(b.Spec, Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	end, err := e.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// 300 kB at 100 Mbps take at least 24 ms.
	if end < 24*units.Millisecond || clock.Now() < end {
		t.Errorf("ended at %s, but the clock is at %s", end, clock.Now())
	}
	punctual(t, unsound(b), e)
}

func TestInterrupted(t *testing.T) {
	b := built(t, incast)
	ctx, cancel := context.WithCancel(context.Background())
	e, err := New(b.Spec, Options{Clock: &Manual{}, Progress: func(now units.Time) {
		if now >= 5*units.Millisecond {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if end, err := e.Run(ctx); err == nil || end != 5*units.Millisecond {
		t.Errorf("ended at %s: %v", end, err)
	}
}

// TestNoAllocation checks that events do not allocate once the queues of wires have grown.
func TestNoAllocation(t *testing.T) {
	b := built(t, incast, "workload.a.size=5MB", "workload.b.size=5MB")
	b.Checks = nil
	for _, s := range b.Spec.Switches {
		s.Checks = nil
	}
	for _, h := range b.Spec.Hosts {
		h.Checks = nil
	}
	e, err := New(b.Spec, Options{Clock: &Manual{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range e.nodes {
		n.data.Start(0)
	}
	at := 100 * units.Millisecond
	e.runTo(at)
	if n := testing.AllocsPerRun(20, func() {
		at += 10 * units.Millisecond
		e.runTo(at)
	}); n > 1 {
		t.Errorf("%v allocations in 10 ms", n)
	}
}
