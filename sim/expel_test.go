package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// underOccamy returns a random case whose switches expel frames from lossy queues.
func underOccamy(index, packets int) *randomCase {
	c := drawCase(index, packets)
	alphas := []units.Ratio{{Num: 1, Den: 4}, {Num: 1, Den: 1}, {Num: 8, Den: 1}}
	c.cfg.Switch.Policy = scenario.Choice{Name: "occamy", Params: &buffer.OccamyParams{
		Alpha: alphas[index/3%3], AlphaLossy: alphas[index%3], MemorySpeedup: units.Ratio{Num: int64(1 + index%2), Den: 1},
		Bucket: []units.Bytes{1, 1600, 40_000}[index/2%3],
	}}
	return c
}

// mixes reports whether a case has a lossy class.
func (c *randomCase) mixes() bool {
	for _, group := range c.cfg.Classes {
		if group.Kind == "lossy" {
			return true
		}
	}
	return false
}

// All engines expel the same frames, and all invariants hold.
func testExpels(t *testing.T, cases []int, packets int) {
	mixed, some := 0, 0
	for _, i := range cases {
		c := underOccamy(i, packets)
		if !c.mixes() {
			continue
		}
		mixed++
		want, err := c.run(reference)
		if err != nil {
			t.Fatalf("%v\n%v", err, c)
		}
		if err := c.sound(want); err != nil {
			t.Errorf("case %d: %v\n%v", i, err, c)
		}
		for _, e := range append([]engine{asksAlways(reference)}, fastEngines...) {
			got, err := c.run(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := want.differs(got); err != nil {
				t.Errorf("case %d, %s: %v\n%v", i, e.name, err, c)
			}
		}
		if want.totals.Drops[probe.Expelled] > 0 {
			some++
		}
	}
	t.Logf("%d of %d cases with lossy classes expel frames", some, mixed)
	if some < mixed/6 {
		t.Errorf("%d of %d cases expel frames, want at least a sixth", some, mixed)
	}
}

func TestEnginesAgreeOnExpelled(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnginesAgree covers the same engines under the race detector")
	}
	testExpels(t, []int{7, 8, 26, 28, 32, 38}, 2000)
}

// lateSharing fills a buffer with lossy frames and then, with an incast, lossless ones.
const lateSharing = `
topology: {name: one-switch, hosts: 8, host_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}, tcp: {ids: [2], kind: lossy}}
switch:
  buffer: {size: 8MB}
  policy: {name: occamy, alpha_lossy: 8}
  flow_control: {name: pfc, headroom: 900KB}
hosts: {cc: {name: none}, reliability: {timeout: 200us}}
workload:
  - {name: lossy, generator: incast, senders: 3, size: 1MB, to: host0, at: 0s, class: tcp}
  - {name: lossless, generator: incast, senders: 4, size: 400KB, to: host1, at: 20us, class: rdma}
run: {arrivals: 100us, stop: {when: all_flows_done, at_most: 1s}}
`

// However late timers are, only lossy frames are expelled, the counters are exact, and
// everything is delivered in the end.
func TestLateExpulsion(t *testing.T) {
	if testing.Short() {
		t.Skip("single goroutine: no races to detect")
	}
	us := units.Microsecond
	for _, lateness := range []units.Time{0, us / 5, 20 * us} {
		for seed := range uint64(1) {
			cfg, err := scenario.Parse("late.yaml", []byte(lateSharing))
			if err != nil {
				t.Fatal(err)
			}
			b, err := fabric.New(cfg, fabric.Options{Invariants: true})
			if err != nil {
				t.Fatal(err)
			}
			r := late(t, b, seed, lateness, lateness)
			for _, k := range b.Checks {
				if k.Broken > 0 {
					t.Errorf("%s late, seed %d: %s", lateness, seed, k.First)
				}
			}
			for i := range b.Flows.Flow {
				if !b.Flows.Done(i) {
					t.Errorf("%s late, seed %d: flow %d is not done", lateness, seed, i)
				}
			}
			if n := r.count(expelledFrames); n < 10 {
				t.Errorf("%s late, seed %d: %d frames expelled, want at least 10", lateness, seed, n)
			}
		}
	}
}

func expelledFrames(s *dataplane.PortStats) (n uint64) {
	for _, d := range s.Drops {
		n += uint64(d[probe.Expelled])
	}
	return n
}
