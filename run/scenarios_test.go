package run_test

import (
	"context"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// oneSwitch is a scenario with three hosts at one switch; tests append further keys.
const oneSwitch = `
name: small
topology: {name: one-switch, hosts: 3, host_link: {rate: 100Gbps, delay: 1us}}
`

func mustRun(t *testing.T, text string, o run.Options) *run.Result {
	t.Helper()
	cfg, err := scenario.Parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if o.Invariants == "" {
		o.Invariants = run.Strict
	}
	done, err := run.Scenario(context.Background(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// 100 KB of private buffer is 66 frames of 1500 B. The shared segment is almost empty, so
// two lossy flows at line rate into one port use the private segments of their queues.
func TestPrivateBufferOfLossyClasses(t *testing.T) {
	done := mustRun(t, oneSwitch+`
classes: {tcp: {ids: [1], kind: lossy}, control: {ids: [0], kind: control}}
switch:
  buffer: {size: 310KB, private_per_queue: 100KB, reserve_for: cabled}
  flow_control: {name: none}
hosts: {cc: {name: none}, reliability: {name: sack, min_rto: 1ms}}
workload:
  - {name: in, generator: flows, class: tcp, flows: [
      {from: host0, to: host2, size: 60KB}, {from: host1, to: host2, size: 60KB}]}
run: {arrivals: 1ms}
output: {watermarks: true}
`, run.Options{})
	sum := done.Summary
	if sum.Drops.Overflow != 0 || sum.Flows.Finished != 2 {
		t.Errorf("%d drops, %d flows finished", sum.Drops.Overflow, sum.Flows.Finished)
	}
	var peak mmu.QueuePeaks
	for _, p := range done.Outcome.Counters.Ports {
		if !p.Host {
			if q, _ := p.View.QueuePeaks(p.Port, 1); q.Private > peak.Private {
				peak = q
			}
		}
	}
	// Both send 60 KB in the time in which the egress sends 60 KB: half of it waits.
	if peak.Private < 25_000 || peak.Shared > 0 {
		t.Errorf("private peak %d B, shared peak %d B", peak.Private, peak.Shared)
	}
}

// A stuck host stores no more than its buffer, drops further frames of a lossy class, and
// counts the drops.
func TestStuckHostStoresNoMoreThanItsBuffer(t *testing.T) {
	for _, c := range []struct {
		name, receive string
		atMost        int64 // bytes
	}{
		{"default", "", int64(mmu.MaxBuffer)},
		{"buffer without rate", "receive: {buffer: 1MiB}", 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := mustRun(t, strings.ReplaceAll(oneSwitch, "100Gbps", "400Gbps")+`
classes: {udp: {ids: [1], kind: lossy}, control: {ids: [0], kind: control}}
switch: {buffer: {size: 4MiB}, flow_control: {name: none}}
hosts: {cc: {name: none}, payload: 60KB, header: 40B, reliability: {name: sack, min_rto: 1s, timeout: 1s}, `+c.receive+`}
workload:
  - {name: in, generator: flows, class: udp, flows: [{from: host0, to: host2, size: 10GB}]}
faults: [{host: host2, stuck: true, at: 1us, for: 200ms}]
run: {arrivals: 1ms, stop: {when: time, at_most: 200ms}}
`, run.Options{})
			if done.Summary.Drops.Overflow == 0 {
				t.Error("nothing was dropped")
			}
			for _, p := range done.Outcome.Counters.Ports {
				if stored := int64(p.View.PeakStored()); p.Host && stored > c.atMost {
					t.Errorf("host %d stored %d B, want at most %d", p.Node, stored, c.atMost)
				}
			}
		})
	}
}

// A frame of 2 B takes 1.6 ps at 10 Tbps, and windows are as short as cable delays, so a
// start at 36 s is more than 2^44 windows away. Both engines must handle it.
func TestEventsFarAway(t *testing.T) {
	const far = `
name: far
topology: {name: one-switch, hosts: 2, host_link: {rate: 10Tbps, delay: 1ps}}
hosts: {payload: 1B, header: 1B, ack: {size: 1B}, cc: {name: none}}
workload: [{name: late, generator: flows, flows: [{from: host0, to: host1, size: 3B, start: 36s}]}]
run: {arrivals: 37s, stop: {when: all_flows_done, at_most: 40s}}
`
	fast, oracle := mustRun(t, far, run.Options{}), mustRun(t, far, run.Options{Engine: run.Oracle})
	if fast.Summary.Flows.Finished != 1 || fast.Summary.End != oracle.Summary.End {
		t.Errorf("%d finished; ends at %s, the oracle at %s", fast.Summary.Flows.Finished, fast.Summary.End, oracle.Summary.End)
	}
}

// 4 GB in packets of 1 B exceeds the range of packet numbers, also if an override sets the
// payload.
func TestPacketNumbersOfOverrides(t *testing.T) {
	cfg, err := scenario.Parse("long.yaml", []byte(oneSwitch+`
hosts: {overrides: [{match: host0, payload: 1B}]}
workload: [{name: long, generator: flows, flows: [{from: host0, to: host1, size: 4GB}]}]
run: {arrivals: 1ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.New(cfg, run.Options{})
	if err == nil || !strings.Contains(err.Error(), "long.yaml:6") || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

// Large PAUSE frames and times rounded down to ticks need more headroom than standard PFC:
// `exact` covers both without lossless drops. A frame of 74 B takes 3 ns instead of 5.92.
func TestExactHeadroomInForeignModels(t *testing.T) {
	for _, compat := range []string{"pfc_size: 1500B", "tick: 3ns", "tick: 3ns, pfc_size: 1400B"} {
		t.Run(compat, func(t *testing.T) {
			done := mustRun(t, `
name: tight
topology: {name: one-switch, hosts: 9, host_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
switch: {buffer: {size: 800KB, reserve_for: cabled}, flow_control: {name: pfc, headroom: exact}, policy: {name: static, limit: 100B}}
hosts: {cc: {name: none}, payload: 26B}
workload: [{name: in, generator: incast, senders: 8, size: 100KB, to: host8}]
run: {arrivals: 1ms, stop: {when: all_flows_done, at_most: 100ms}}
compat: {`+compat+`}
`, run.Options{})
			if n := done.Summary.Drops.Lossless; n != 0 || done.Summary.Flows.Unfinished > 0 {
				t.Errorf("%d lossless drops, %d unfinished", n, done.Summary.Flows.Unfinished)
			}
		})
	}
}
